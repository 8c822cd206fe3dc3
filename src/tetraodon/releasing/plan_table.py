"""A plan as a table: what is asked, how it is answered, what that costs and how far off it is."""

from __future__ import annotations

from tetraodon.ledger import shown_above
from tetraodon.releasing.plan import Plan, PlannedItem
from tetraodon.releasing.together import errors_together
from tetraodon.wording import of_one, shown_number

PLAN_HEADS = ("item", "what is asked", "how", "epsilon", "expected error", "plain DP", "ratio", "together")
"""`together`, where something is told there: the error once all items are estimated together."""


def plan_rows(plan: Plan) -> list[list[str]]:
    """One row of texts for every item, in the order of `PLAN_HEADS`, without those at the end that say nothing."""
    domain, together = plan.policy.domain, errors_together(plan)
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
