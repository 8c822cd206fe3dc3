"""A release: answers, the plan they follow, and nothing that was not meant to be published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tetraodon.errors import QueryError, did_you_mean
from tetraodon.inference.estimate import Estimate
from tetraodon.mechanism.strategy import Measured
from tetraodon.releasing.answer import Answer
from tetraodon.releasing.ask import ask
from tetraodon.releasing.estimates import estimate_tables
from tetraodon.releasing.plan import Plan


@dataclass(frozen=True, eq=False)
class Release:
    """Answers by name, inferred from noisy measurements that a plan with its certificate asked for (`infer`).

    `when` is the UTC day of the release; `charged` what the ledger took for it, as text.
    """

    plan: Plan
    measured: Mapping[str, Measured]
    when: str
    charged: str
    answers: Mapping[str, Answer]

    def __getitem__(self, name: str) -> Answer:
        try:
            return self.answers[name]
        except KeyError:
            raise QueryError(f"the release has no item {name!r}", fix=did_you_mean(name, self.answers)) from None

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers.values())

    def __len__(self) -> int:
        return len(self.answers)

    def ask(self, condition: str) -> Estimate:
        """How many records satisfy a condition, from the table that was planned to know it best: its `source`."""
        return ask(tuple(self), self.plan.policy, condition)


def infer(plan: Plan, measured: Mapping[str, Measured], when: str, charged: str) -> Release:
    """The release that follows from noisy measurements: tables that agree, and the answers read from them.

    Pre   they were measured as the plan says. No data is looked at, so this costs no privacy.
    """
    tables = estimate_tables(plan, measured)
    domain = plan.policy.domain
    answers = {i.name: Answer(i, domain, measured[i.name], tables.get(i.name)) for i in plan}
    return Release(plan, measured, when, charged, answers)
