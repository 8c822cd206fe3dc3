"""Checking a view folder without the data: hashes, and that its probabilities withstand the adversary it names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tetraodon.errors import ReleaseError
from tetraodon.ledger import document_hash
from tetraodon.policy.load import load_policy
from tetraodon.publishing.folder import files_of
from tetraodon.publishing.plan import plan_view
from tetraodon.publishing.view import MANIFEST, channel_document, load_view, read_manifest
from tetraodon.releasing.verify import Check, check_files, same_numbers


def verify_view(folder: Path) -> list[Check]:
    """Everything about a view that can be checked without the data.

    A view is planned anew from its policy, and its probabilities, loss and errors must be those that it states. The
    terms of a series follow from its first view, so of later ones only the stated probabilities are compared.
    """
    manifest = read_manifest(folder)
    load_view(folder)
    try:
        checks = check_files(folder, manifest["files"], files_of(folder), MANIFEST)
        found = document_hash(manifest["policy"])
        checks.append(Check("policy hash", found == manifest["policy_sha256"], found))
        checks.append(_planned(manifest))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ReleaseError("the view does not fit together", fix="ask for a new copy", where=str(folder)) from None
    return checks


def _planned(manifest: dict[str, Any]) -> Check:
    policy, stated = load_policy(manifest["policy"]), manifest["plan"]
    if policy.adversary is not None and policy.adversary.views > 1:
        return Check("probabilities as planned", stated["channel"] == manifest["channel"], "a series")
    plan = plan_view(policy, records=manifest["n"])
    good = same_numbers(plan.document(), stated) and channel_document(plan.channel) == manifest["channel"]
    return Check("probabilities withstand the adversary", good, f"epsilon {stated['epsilon']}")
