"""A plan as it is asked for and read elsewhere: of items under a policy that governs, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tetraodon.policy.load import load_policy, stated_policy
from tetraodon.releasing.documents import number, plan_document
from tetraodon.releasing.least_epsilon import plan_for_error
from tetraodon.releasing.plan import Plan, plan
from tetraodon.releasing.together import errors_together


def plan_shape(found: Plan, if_public: Mapping[str, float] | None) -> dict[str, Any]:
    """A plan as JSON; `if_public` are its errors if only presence were public."""
    document, together = plan_document(found), errors_together(found)
    queries = [
        query
        | {
            "asked": item.item.asked,
            "unit": item.item.query.unit(found.policy.domain),
            "error_together": together.get(item.name),
            "expected_error_if_presence_public": None if if_public is None else if_public[item.name],
        }
        for item, query in zip(found, document["queries"], strict=True)
    ]
    budget = {"budget": number(found.policy.epsilon), "delta": number(found.policy.delta)}
    return {"dataset": found.policy.dataset} | budget | document | {"queries": queries}


def errors_if_public(found: Plan) -> dict[str, float] | None:
    """Expected errors of the same items at the same budget, if only presence were public; None where it is."""
    if found.policy.presence == "public":
        return None
    public = load_policy({**found.policy.document, "presence": "public"})
    return {item.name: item.expected_error for item in plan(public)}


def asked_plan(policy: Mapping[str, Any], asked: Mapping[str, Any]) -> Plan:
    """The plan of `items` under a policy's document, for an `epsilon`, or for an `error` with `confidence`."""
    read = stated_policy({**policy, "release": asked["items"]})
    if asked.get("error") is None:
        return plan(read, epsilon=asked.get("epsilon"))
    sure = 95 if asked.get("confidence") is None else asked["confidence"]
    return plan_for_error(read, asked["error"], confidence=sure, records=asked.get("records"))
