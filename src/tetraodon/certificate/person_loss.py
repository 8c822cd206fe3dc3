"""What one person's step moves answers about people, all their rows together.

Between two tables that are one step apart, one person's bag of rows differs. Either they have rows that count in one of
the tables alone, or in both:

- in one alone, they count there and not in the other: every answer moves by what they add, at most that of a person
  with as many rows as they may have, all of the largest value, who comes or goes;
- in both, they still count once; they may go from one number of rows to another, which moves two answers; and their sum
  moves from that of one row of the least value at most.

Whether rows of people with too many are left out or cut makes no difference: both cases cover whatever counts of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from tetraodon.errors import Refused
from tetraodon.policy.attackers import Independent
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.workload.each_person import EachPerson
from tetraodon.workload.linear import Measurement

Rated: TypeAlias = tuple[EachPerson, Fraction]
"""What each person adds, and what a move by one unit of it costs."""


def person_loss(answers: Sequence[Rated], rows_per_person: int, *, squares: bool = False) -> tuple[Fraction, bool]:
    """The most that one person's step costs, or the most of squared costs; and whether some step costs that much."""
    power = 2 if squares else 1
    going = changing = Fraction(0)
    for asked, rate in answers:
        most = asked.most(rows_per_person)
        going += (rate * most) ** power
        if rows_per_person > 1 and asked.attribute is not None:
            changing += (rate * (most - asked.least())) ** power
        elif rows_per_person > 1 and asked.rows > 1:
            changing += 2 * rate**power
    summed = any(asked.attribute is not None for asked, _ in answers)
    return max(going, changing), going >= changing or not summed


def answers_about_people(graph: SecretGraph, measurements: Sequence[Measurement]) -> list[Measurement]:
    """Those that are about people. Refused where it is no secret how many rows a person has, since there is no key."""
    found = [measurement for measurement in measurements if isinstance(measurement.query.contribution, EachPerson)]
    if found and not graph.absent:
        raise _no_key()
    return found


def require_people(policy: Policy, measurements: Sequence[Measurement]) -> None:
    """Refuse answers about people where no column says whose row it is, or rows depend on each other otherwise."""
    if not answers_about_people(policy.graph, measurements):
        return
    if not policy.key:
        raise _no_key()
    if policy.every_row:
        raise Refused(
            "answers about people are priced where all rows of a person are a secret",
            fix="write `at most` in place of `secret`, or ask about rows",
            where="individuals",
        )
    if not isinstance(policy.attackers, Independent):
        raise Refused(
            "answers about people are priced for attackers to whom people are independent only",
            fix="ask about rows",
            where="attackers",
        )


def _no_key() -> Refused:
    return Refused(
        "the policy does not say whose row is whose",
        fix="write `individuals: {key: person_id, at most: 3 rows}`",
        where="individuals",
    )
