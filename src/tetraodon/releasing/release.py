"""A release: answers, the plan they follow, and nothing that was not meant to be published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tetraodon.errors import QueryError, did_you_mean
from tetraodon.inference.estimate import Estimate
from tetraodon.mechanism.strategy import Measured
from tetraodon.releasing.answer import Answer
from tetraodon.releasing.estimates import estimate_tables
from tetraodon.releasing.plan import Plan


@dataclass(frozen=True, eq=False)
class Release:
    """Answers by name. Made from a plan with its certificate, and from noisy measurements; never without both.

    `when` is the UTC day of the release; `charged` what the ledger took for it, as text.
    """

    plan: Plan
    measured: Mapping[str, Measured]
    when: str
    charged: str
    answers: Mapping[str, Answer] = field(init=False)

    def __post_init__(self) -> None:
        tables = estimate_tables(self.plan, self.measured)
        domain = self.plan.policy.domain
        made = {i.name: Answer(i, domain, self.measured[i.name], tables.get(i.name)) for i in self.plan}
        object.__setattr__(self, "answers", made)

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
        from tetraodon.releasing.ask import ask

        return ask(self, condition)
