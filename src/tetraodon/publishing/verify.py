"""Checking a view folder without the data: its files, that its probabilities withstand the adversary, loss and rows."""

from __future__ import annotations

import filecmp
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tetraodon.errors import ReleaseError
from tetraodon.ledger import document_hash
from tetraodon.ledger.signature import stated_hash
from tetraodon.publishing.channel import SourceChannel, channel_document
from tetraodon.publishing.channel_choice import withstands
from tetraodon.publishing.exposure import Exposure, folder_exposure
from tetraodon.publishing.folder import CSV_ROWS, ROWS_AS_TEXT, file_names, pages_of, policy_document, stated_plan
from tetraodon.publishing.plan import ViewPlan
from tetraodon.publishing.source_noise import withstands_source
from tetraodon.publishing.stated_rows import check_parts, check_rows
from tetraodon.publishing.tuple_files import PARTS, TUPLES, write_csv
from tetraodon.publishing.view import MANIFEST, load_view
from tetraodon.releasing.manifest import BROKEN, read_manifest
from tetraodon.releasing.verify import (
    Check,
    check_files,
    check_policy,
    check_statements,
    check_text,
    files_beside,
    is_other_version,
    same_numbers,
)

KEYS = {"tetraodon_view", "m", "n", "tuples", "seen", "public", "rows", "channel", "exposure"}


def verify_view(folder: Path) -> list[Check]:
    """Everything about a view that can be checked without the data: also of every view of a series."""
    manifest = read_manifest(folder, "view")
    found = files_beside(folder, MANIFEST)
    view = load_view(folder)
    try:
        plan, later = stated_plan(manifest), manifest["seen"] is not None
        names = file_names(manifest["tuples"], manifest["public"], later)
        checks = check_files(folder, manifest["files"], names, found)
        digest = document_hash(manifest["policy"])
        checks.append(Check("policy hash", digest == manifest["policy_sha256"], digest))
        checks.append(_check_plan(plan, manifest))
        if all(check.passed for check in checks):
            checks.append(check_statements(manifest, _statements(plan, manifest)))
            checks.append(check_policy(folder, plan.policy, manifest))
            checks.append(check_rows(folder / TUPLES, plan, manifest["tuples"]))
            if view.seen is not None:
                checks.append(check_parts(folder, plan.policy.domain))
        if all(check.passed for check in checks):
            exposed = folder_exposure(folder, plan, manifest["seen"])
            checks.append(_check_exposure(exposed, manifest))
            checks += _check_texts(folder, plan, manifest, exposed)
    except BROKEN:
        raise ReleaseError("the view does not fit together", fix="ask for a new copy", where=str(folder)) from None
    return checks


def _statements(plan: ViewPlan, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest as we would write it, as far as it follows from the plan and from itself."""
    policy, mine = plan.policy, policy_document(plan, manifest["public"])
    same = {name: manifest.get(name) for name in (*KEYS, "files", "date", "charged", "software")}
    return {**same, "name": policy.dataset, "title": policy.title, "policy": mine, "policy_sha256": "", "plan": None}


def _check_texts(folder: Path, plan: ViewPlan, manifest: Mapping[str, Any], exposed: Exposure) -> list[Check]:
    """The rows as CSV, and the pages and the estimator, which readers run."""
    checks = []
    if manifest["tuples"] <= CSV_ROWS:
        with tempfile.TemporaryDirectory() as place:
            write_csv(folder / TUPLES, Path(place) / ROWS_AS_TEXT)
            same = filecmp.cmp(folder / ROWS_AS_TEXT, Path(place) / ROWS_AS_TEXT, shallow=False)
        checks.append(Check(f"{ROWS_AS_TEXT} has the same rows", same, ""))
    said = manifest["tuples"], manifest["charged"], Exposure.of(exposed.document()), stated_hash(manifest)
    made = pages_of(plan, *said, later=manifest["seen"] is not None)
    return checks + [check_text(folder, name, text, manifest) for name, text in made.items()]


def _check_exposure(found: Exposure, manifest: Mapping[str, Any]) -> Check:
    """That the view exposes what it says, by playing the attack on it anew. Version 0.1 says nothing of it."""
    stated = manifest.get("exposure")
    told = f"{found.new:,} tuples newly exposed{'; nothing is stated' if stated is None else ''}"
    silent = stated is None and is_other_version(manifest)
    return Check("the exposure is as stated", stated is not None and found.agrees(stated), told, other_version=silent)


def _withstands(plan: ViewPlan) -> bool:
    if isinstance(plan.channel, SourceChannel):
        return withstands_source(plan.channel, plan.policy.domain, plan.adversary)
    return not plan.adversary.source and withstands(plan.channel, plan.adversary, plan.prior)


def _check_plan(plan: ViewPlan, manifest: Mapping[str, Any]) -> Check:
    """That the probabilities keep the bounds that the policy states, whoever chose them, and lose what is stated."""
    later = manifest["seen"]
    if plan.series is None:
        kept = _withstands(plan) and later is None
    else:
        kept = plan.series.withstands(plan.adversary, plan.prior)
        channel = channel_document(plan.series.seen)
        kept = kept and (later is None or later == {"number": later["number"], "channel": channel, **PARTS})
    kept = kept and manifest["channel"]["rows"] == plan.adversary.rows and plan.loss <= plan.policy.epsilon
    same = same_numbers(plan.document(), manifest["plan"])
    same = same and manifest["policy"].get("public", {}) == manifest["public"]
    public = (plan.records, str(plan.tuples), channel_document(plan.channel))
    good = kept and same and public == (manifest["n"], manifest["m"], manifest["channel"])
    return Check("probabilities withstand the adversary", good, f"epsilon {float(plan.loss):.9g}")
