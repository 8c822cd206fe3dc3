"""Documents of policies for tests: epsilon 1 for a data set `d`, but for what a test says."""

from __future__ import annotations

from typing import Any


def policy_document(**changes: Any) -> dict[str, Any]:
    """A policy's document."""
    return {"dataset": "d", "budget": {"epsilon": 1}} | changes


def public_policy(**changes: Any) -> dict[str, Any]:
    """The same, with a public number of records."""
    return policy_document(presence="public") | changes
