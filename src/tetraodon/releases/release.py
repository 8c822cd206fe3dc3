"""A release: answers, the plan they follow, what it can be asked, and nothing that was not meant to be published."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tetraodon.display import Displayed
from tetraodon.errors import PolicyError, QueryError, did_you_mean
from tetraodon.exact.arrays import Bools
from tetraodon.exact.rational import Number, confidence_level
from tetraodon.inference.estimate import CONFIDENCE, Answered, Estimate, answered, miss, needed
from tetraodon.mechanism.strategy import Measured
from tetraodon.policy.policy import Policy
from tetraodon.query.condition.nodes import Code, Constant, NumberComparison, Truth, together
from tetraodon.query.condition.select import read_question
from tetraodon.query.condition.syntax import Names
from tetraodon.releases.answer import Answer, cells_where, truth_of
from tetraodon.releases.estimates import Inference, count_of, estimate, joint_errors
from tetraodon.releases.names import NamesAnswer, Told
from tetraodon.releases.plan import Plan, original
from tetraodon.wording import listing

MOST_GROUPS = 10_000
SUREST = 1 - Fraction(1, 10**9)
"""The highest confidence of an interval: what floats leave of the rest must still mean something."""


@dataclass(frozen=True, eq=False)
class Release(Displayed, Mapping[str, Answer]):
    """A mapping from names to answers, inferred from the noisy measurements of a certified plan (`infer`).

    `when` is the UTC day of the release; `charged` what the ledger took for it, as text.
    """

    plan: Plan
    measured: Mapping[str, Measured]
    when: str
    charged: str
    answers: Mapping[str, Answer]
    names: Mapping[str, NamesAnswer] = field(default_factory=dict)
    """The released names of columns of open text; the mapping holds the other answers."""
    inference: Inference = Inference.COMBINED
    chained: str = ""
    """The hash of its charge in the ledger's chain."""

    def __getitem__(self, name: str) -> Answer:
        try:
            return self.answers[name]
        except KeyError:
            fix = f"write release.names[{name!r}]" if name in self.names else did_you_mean(name, self.answers)
            raise QueryError(f"the release has no item {name!r}", fix=fix) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.answers)

    def __contains__(self, name: object) -> bool:
        return name in self.answers

    def __len__(self) -> int:
        return len(self.answers)

    def __repr__(self) -> str:
        return f"<Release {self.plan.policy.dataset} of {self.when}: {listing([*self.answers, *self.names])}>"

    @cached_property
    def joint_errors(self) -> Mapping[str, float]:
        """Expected errors of items that others make better, as `errors_together` of the plan; for each alone the plan
        has `expected_error`.
        """
        return joint_errors(self.plan) if self.inference is Inference.COMBINED else {}

    def ask(self, condition: str, *, confidence: Number = CONFIDENCE) -> Any:
        """How many records satisfy a condition, from the table that was planned to know it best: its `source`.

        The interval holds the truth with at least the `confidence`: 95, 95% and 0.95 are the same. The answer is an
        `Estimate`; to a SELECT with `group by` it is a dict with one for each group.
        """
        return ask(tuple(self.values()), self.plan.policy, condition, confidence)


def infer(
    plan: Plan,
    measured: Mapping[str, Measured],
    when: str,
    charged: str,
    names: Mapping[str, Told] | None = None,
    inference: Inference = Inference.COMBINED,
    chained: str = "",
) -> Release:
    """The release that follows from noisy measurements: tables that agree, and the answers read from them.

    Pre   they were measured as the plan says. No data is looked at, so this costs no privacy.
    """
    estimates, domain = estimate(plan, measured, inference), plan.policy.domain
    answers = {}
    for item in plan:
        first = original(item, plan)
        if first is not item:
            item = replace(first, item=item.item)
        answers[item.name] = Answer(item, item.strategy.inside(domain), measured[first.name], estimates)
    told = {item.name: NamesAnswer(item, (names or {})[item.name]) for item in plan.names}
    return Release(plan, measured, when, charged, answers, told, inference, chained)


def ask(answers: Sequence[Answer], policy: Policy, question: str, confidence: Number = CONFIDENCE) -> Answered:
    """How many records satisfy a condition, by groups or not, by everything that was measured about them.

    Only what was released is used: asking costs nothing, however often. As with a view, the condition may stand in
    `select count(*) from people where ... group by ...`.
    """
    _check_closed(question, policy)
    domain, sure = policy.domain, _level(confidence)
    asked = read_question(question, Names(domain, policy.dataset))
    if any(aggregate.kind != "count" for aggregate in asked.aggregates):
        raise QueryError("a release answers counts only", fix="ask for `select count(*)`, or publish a view")
    wanted = needed(asked, domain)
    if len(wanted) > MOST_GROUPS:
        raise QueryError("there are too many groups", fix="group by fewer attributes, or read the tables")
    each = _level(1 - miss(asked, domain, sure))
    groups = list(np.ndindex(*(domain.shape[place] for place in asked.by)))
    columns: list[dict[int, Estimate]] = []
    for aggregate in asked.aggregates:
        those = [part for part in (asked.condition, aggregate.known) if part is not None]
        told = {}
        for at in wanted:
            codes = zip(asked.by, groups[at], strict=True)
            group = [NumberComparison("=", Code(place, domain.shape[place]), Constant(int(c))) for place, c in codes]
            told[at] = _count(answers, policy, [*those, *group], each)
        if each != sure:  # all of them hold together with what was asked for
            told = {at: Estimate(e.value, e.lower, e.upper, sure).of(e.source) for at, e in told.items()}
        columns.append(told)
    return answered(asked, domain, columns)


def _count(answers: Sequence[Answer], policy: Policy, parts: Sequence[Truth], sure: Fraction) -> Estimate:
    """How many records satisfy some conditions, by everything that was measured about them.

    An item about some of the records knows it where it holds for nobody else.

    Why   all that was measured is estimated together, so that tables which know the condition tell the same. It is
          read at the one whose own noise can be off least, which depends on the plan alone. Of many intervals the one
          that looks shortest after the noise is drawn misses the truth more often than any of them: where counts are
          small, an interval that noise has pushed below zero is cut there, and looks short.
    """
    names, holds = truth_of(together(True, parts) if parts else None, policy.domain)
    best: tuple[float, Answer, Bools] | None = None
    split: QueryError | None = None
    for answer in answers:
        try:
            mask = _cells(answer, names, holds)
        except QueryError as error:  # it splits a bin of this table; another may know more
            split = error
            continue
        if mask is not None and (best is None or answer.counts.reach(mask) < best[0]):
            best = answer.counts.reach(mask), answer, mask
    if best is None:
        counted = count_of(answers[0].estimates, names, holds, policy.domain, sure) if answers else None
        if counted is None:
            raise split or _nobody_knows(answers, names)
        return counted
    _, answer, mask = best
    return answer.counts.add_up(mask, sure).of(answer.name)


def _level(confidence: Number) -> Fraction:
    try:
        sure = confidence_level(confidence)
    except PolicyError as error:
        raise QueryError(error.what, fix=error.fix) from None
    if sure > SUREST:
        raise QueryError("intervals are not worked out for a confidence so near to 100%", fix="ask for 99.9999%")
    return sure


def _cells(answer: Answer, names: tuple[str, ...], holds: Bools) -> Bools | None:
    """The cells of an item's table that add up to the records that satisfy a condition; None where it does not tell."""
    table, those = answer.table, answer.item.strategy.among
    if table is None:
        return None
    told = (names, holds) if those is None else those.inside_of(names, holds, table.names)
    return cells_where(table, *told) if told is not None and set(told[0]) <= set(table.names) else None


def _check_closed(question: str, policy: Policy) -> None:
    """Refuse to be asked about open text: only names that enough people have were told, and these are listed."""
    for column in policy.open:
        if re.search(rf"\b{re.escape(column.name)}\b", question, re.IGNORECASE):
            items = [item.name for item in policy.names if item.column == column.name]
            raise QueryError(
                f"{column.name} is open text, of which a release tells names and answers no questions",
                fix=f"look the name up in answers/{items[0]}.csv" if items else "ask about another attribute",
            )


def _nobody_knows(answers: Sequence[Answer], names: tuple[str, ...]) -> QueryError:
    together = f"{' and '.join(names)} together" if len(names) > 1 else "".join(names)
    tables = {}
    for a in answers:
        if a.table is not None:  # and which records it is about, where these are not all
            those = a.item.strategy.among
            there = "".join(f", {name} not missing" for name in (those.answered if those else ()))
            tables[a] = f"{a.name} ({', '.join(a.table.names)}{a.item.item.among_whom}{there})"
    some = [told for answer, told in tables.items() if set(names) <= set(answer.counts.names)]
    if some:
        return QueryError(
            f"the released tables that count {f'by {together}' if names else 'records'} are about some of the records",
            fix=f"repeat in the question whom one of them is about: {listing(some)}",
        )
    return QueryError(
        f"no released table counts {f'records by {together}' if names else 'all records'}",
        fix=f"ask about attributes that one of its tables has: {listing(tables.values())}"
        if tables
        else "read its answers; it has no table of counts",
    )
