"""Checking a policy before anything is spent: how far one person moves each answer, and how a table fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tetraodon.certificate.certificate import Sensitivity
from tetraodon.certificate.sensitivity import sensitivity
from tetraodon.displayed import Displayed
from tetraodon.engine import ColumnReport, DataRefusal, Source
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Policy
from tetraodon.releasing.counting import open_policy_table
from tetraodon.releasing.readable import Fitness, fitness
from tetraodon.releasing.selection import selected
from tetraodon.wording import number_of

CURATOR_ONLY = "For the curator only: these counts are exact. Do not publish them or pass them on."


@dataclass(frozen=True, slots=True)
class Checked(Displayed):
    """What was found. Whatever is about a table is exact, hence for the curator only; never published.

    `sensitivities` says of every item how far one person can move it; `columns` counts what does not fit.
    """

    policy: Policy
    sensitivities: Mapping[str, Sensitivity]
    columns: tuple[ColumnReport, ...] = ()

    @property
    def fitness(self) -> tuple[Fitness, ...]:
        """How the columns of attributes fit them."""
        return tuple(fitness(self.policy, self.columns))

    @property
    def becomes(self) -> tuple[str, ...]:
        """What share of each column becomes what, in words."""
        return tuple(sentence for one in self.fitness for sentence in one.sentences())

    @property
    def refusals(self) -> tuple[DataRefusal, ...]:
        """Why the table would be refused, column by column; empty if it would not."""
        return tuple(refusal for one in self.fitness if (refusal := one.refusal(self.policy.unreadable)))

    def __repr__(self) -> str:
        return f"<Checked {self.policy.dataset}: {number_of(len(self.sensitivities), 'item')}>"


def check(policy: AnyPolicy, table: Source | None = None) -> Checked:
    """How far one person can move each answer of a policy and, with a table, how many of its values do not fit.

    Nothing is released, and no ledger is asked. What is said of a table is the curator's alone.

    Raises PolicyError for a file that is no policy, and TableError for a table that cannot be opened.
    """
    read, table = selected(load_policy(policy), table)
    found = {item.name: sensitivity(read, item.query, where=item.where) for item in read.items}
    if table is None:
        return Checked(read, found)
    with open_policy_table(read, table) as engine:
        return Checked(read, found, tuple(engine.dry_run()))
