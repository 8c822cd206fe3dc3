"""What a policy says of people with several rows, as sentences."""

from __future__ import annotations

from tetraodon.policy.policy import Policy
from tetraodon.policy.words import number_of


def rows_in_a_step(policy: Policy) -> str:
    """What one step does to the rows of a person. Pre: there is a key."""
    return (
        f"One step may change every row of a person, up to {number_of(policy.rows_per_person, 'row')}, each along one "
        "secret; and rows of theirs may come, or rows may go. The examples below hold even if every row of the person "
        "says the same."
    )


def cost_of_rows(policy: Policy) -> list[str]:
    """What several rows per person cost, beyond one."""
    if policy.rows_per_person == 1:
        return []
    return [
        f"A person has up to {number_of(policy.rows_per_person, 'row')}, and all of them may change in one step: "
        f"the loss, and with it the noise, is {policy.rows_per_person:,} times that of one row."
    ]


def whose_rows(policy: Policy) -> str:
    """Which rows are whose, and which of them are used. Pre: there is a key."""
    more = f"more than {number_of(policy.rows_per_person, 'row')}"
    if policy.cuts_rows:
        used = f"Of a person with {more} only that many are used, the first in the order of their values."
    else:
        used = (
            f"A person with {more} is left out with all of them: were some used, a secret could decide which, and so "
            "show what else they say."
        )
    return f"The column {policy.key} says whose row it is. {used}"
