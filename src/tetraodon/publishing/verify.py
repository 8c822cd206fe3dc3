"""Checking a view folder without the data: hashes, that the probabilities withstand the adversary, and the loss."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tetraodon.domain import Domain
from tetraodon.engine import DataRefusal, open_table
from tetraodon.errors import ReleaseError, TableError
from tetraodon.ledger import document_hash
from tetraodon.publishing.conditions import withstands
from tetraodon.publishing.folder import VERSION, files_of, stated_plan
from tetraodon.publishing.plan import ViewPlan
from tetraodon.publishing.view import MANIFEST, channel_document, load_view, read_manifest
from tetraodon.releasing.folder import BROKEN
from tetraodon.releasing.verify import Check, check_files, same_numbers


def verify_view(folder: Path) -> list[Check]:
    """Everything about a view that can be checked without the data: also of every view of a series."""
    manifest = read_manifest(folder)
    if manifest.get("tetraodon_view") != VERSION:
        raise ReleaseError("the view was made by another version", fix="upgrade tetraodon", where=str(folder))
    load_view(folder)
    try:
        checks = check_files(folder, manifest["files"], files_of(folder), MANIFEST)
        found = document_hash(manifest["policy"])
        checks.append(Check("policy hash", found == manifest["policy_sha256"], found))
        plan = stated_plan(manifest)
        checks.append(_check_plan(plan, manifest))
        if all(check.passed for check in checks):
            checks.append(_check_rows(folder, plan.policy.domain, manifest))
    except BROKEN:
        raise ReleaseError("the view does not fit together", fix="ask for a new copy", where=str(folder)) from None
    return checks


def _check_plan(plan: ViewPlan, manifest: Mapping[str, Any]) -> Check:
    """That the probabilities keep the bounds that the policy states, whoever chose them, and lose what is stated."""
    later = manifest["seen"]
    if plan.series is None:
        kept = withstands(plan.channel, plan.adversary, plan.prior) and later is None
    else:
        kept = plan.series.withstands(plan.adversary, plan.prior)
        kept = kept and (later is None or later["channel"] == channel_document(plan.series.seen))
    kept = kept and manifest["channel"]["rows"] == plan.adversary.rows and plan.loss <= plan.policy.epsilon
    same = same_numbers(plan.document(), manifest["plan"])
    public = (plan.records, str(plan.tuples), channel_document(plan.channel))
    good = kept and same and public == (manifest["n"], manifest["m"], manifest["channel"])
    return Check("probabilities withstand the adversary", good, f"epsilon {float(plan.loss):.9g}")


def _check_rows(folder: Path, domain: Domain, manifest: Mapping[str, Any]) -> Check:
    """That the rows are tuples of the domain, as many as stated, and each once where rows all differ."""
    what = "the rows are tuples of the domain"
    try:
        with open_table(folder / manifest["rows"], domain) as engine:
            outside = any(report.outside for report in engine.dry_run())
            counts = engine.counts([domain.names])[0].counts
    except (DataRefusal, TableError):
        return Check(what, False, "they cannot be read")
    rows = int(np.sum(counts))
    once = manifest["channel"]["rows"] != "distinct" or int(np.max(counts, initial=0)) <= 1
    return Check(what, not outside and once and rows == manifest["tuples"], f"{rows:,} rows")
