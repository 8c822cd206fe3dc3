"""Plans as they are asked for, and as tables and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tetraodon.ledger import shown_above
from tetraodon.policy.load import load_policy, stated_policy
from tetraodon.releases.codec import number, plan_document
from tetraodon.releases.estimates import joint_errors
from tetraodon.releases.least_epsilon import plan_for_error
from tetraodon.releases.plan import Plan, PlannedItem, plan
from tetraodon.wording import of_one, shown_number

# -- plan table -------------------------------------------------------------------------------------
# A plan as a table: what is asked, how it is answered, what that costs and how far off it is.

PLAN_HEADS = ("item", "what is asked", "how", "epsilon", "expected error", "plain DP", "ratio", "together")
"""`together`, where something is told there: the error once all items are estimated together."""


def plan_rows(plan: Plan) -> list[list[str]]:
    """One row of texts for every item, in the order of `PLAN_HEADS`, without those at the end that say nothing."""
    domain, together = plan.policy.domain, joint_errors(plan)
    rows = [
        [
            item.name,
            item.item.asked,
            item.strategy.mechanism.words,
            shown_above(item.epsilon),
            error_in_words(item.expected_error, item.item.query.unit(domain)),
            "no answer" if item.strategy.mechanism.in_shares else error_in_words(item.baseline_error, ""),
            _ratio(item),
            error_in_words(together[item.name], "") if item.name in together else "",
        ]
        for item in plan
    ] + [
        [
            item.name,
            item.asked,
            f"above {item.above.threshold:,}, with noise",
            shown_above(item.epsilon),
            error_in_words(item.expected_error, "people"),
            "",
            "",
            "",
        ]
        for item in plan.names
    ]
    return rows if together else [row[:-1] for row in rows]


def error_in_words(error: float, unit: str) -> str:
    """An expected error: `±12 records`, `±1 record`, or the word for none.

    >>> error_in_words(12.0, "records"), error_in_words(1.0, "records"), error_in_words(0, "records")
    ('±12 records', '±1 record', 'none')
    """
    off = shown_number(error)
    return "none" if error == 0 else f"±{off} {of_one(unit) if off == '1' else unit}".rstrip()


def _ratio(item: PlannedItem) -> str:
    """How many times the error of plain differential privacy is larger."""
    if item.strategy.mechanism.in_shares:
        return ""
    if item.baseline_error == 0:
        return "1"
    return "∞" if item.expected_error == 0 else f"{item.baseline_error / item.expected_error:.3g}"


# -- plan shape -------------------------------------------------------------------------------------


def plan_shape(found: Plan, if_public: Mapping[str, float] | None) -> dict[str, Any]:
    """A plan as JSON; `if_public` are its errors if only presence were public."""
    document, together = plan_document(found), joint_errors(found)
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
