"""What an attacker believes before and after a view of distinct rows, on worlds small enough to list ([RS07] 2.1, 6).

An attacker is a probability for every possible table, which is a set of tuples. Three families have names: d-bounded
(no tuple more likely than d, unless certain), d-independent (and the tuples independent), d-exclusive (and the tuples
in groups of which exactly one is in the table).
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from tetraodon.errors import PolicyError, Refused
from tetraodon.exact.rational import rational

if TYPE_CHECKING:
    from tetraodon.views.channel import SetChannel

Tuple: TypeAlias = Hashable
Table: TypeAlias = frozenset[Any]
LIMIT = 20
"""The most tuples of a world whose tables are listed."""


@dataclass(frozen=True)
class Attacker:
    """A probability for every table that the attacker thinks possible; `tuples` are all that there could be.

    >>> brothers = Attacker(("Joe", "Jim"), {frozenset(): "9/10", frozenset({"Joe", "Jim"}): "1/10"})
    >>> brothers.prior("Joe"), brothers.independent
    (Fraction(1, 10), False)
    """

    tuples: tuple[Tuple, ...]
    tables: Mapping[Table, Any]

    def __post_init__(self) -> None:
        if not self.tuples or len(self.tuples) > LIMIT or len(set(self.tuples)) != len(self.tuples):
            raise PolicyError(f"an attacker needs 1 to {LIMIT} tuples, all different", fix="list each tuple once")
        exact = {frozenset(table): rational(p, name="a probability") for table, p in self.tables.items()}
        if any(p < 0 for p in exact.values()) or sum(exact.values()) != 1:
            raise PolicyError("an attacker's beliefs do not sum to 1", fix="write exact fractions such as 1/3")
        if any(not table <= set(self.tuples) for table in exact):
            raise PolicyError("an attacker thinks of a tuple that is not listed", fix="list every tuple")
        object.__setattr__(self, "tables", {table: p for table, p in exact.items() if p})

    def prior(self, tuple_: Tuple) -> Fraction:
        """How likely a tuple is to be in the table, before the view."""
        return sum((p for table, p in self.tables.items() if tuple_ in table), Fraction(0))

    def bounded(self, d: Fraction) -> bool:
        """Whether no tuple is more likely than d, unless it is certain ([RS07] Def. 2.1)."""
        return all(prior <= d or prior == 1 for prior in map(self.prior, self.tuples))

    @cached_property
    def independent(self) -> bool:
        """Whether the tuples are independent ([RS07] Def. 2.2)."""
        if len(self.tables) == 1:
            return True
        priors = {one: self.prior(one) for one in self.tuples}
        return all(
            self.tables.get(table, Fraction(0)) == _product(p if one in table else 1 - p for one, p in priors.items())
            for table in all_tables(self.tuples)
        )

    def exclusive(self, groups: Sequence[Iterable[Tuple]]) -> bool:
        """Whether every group has exactly one tuple in the table, the groups independent of each other (Def. 6.2)."""
        sets = [frozenset(group) for group in groups]
        if sorted(map(repr, itertools.chain(*sets))) != sorted(map(repr, self.tuples)):
            return False
        return all(
            self.tables.get(frozenset(choice), Fraction(0)) == _product(self.prior(one) for one in choice)
            for choice in itertools.product(*sets)
        )

    def posterior(self, channel: SetChannel, view: Iterable[Tuple]) -> dict[Tuple, Fraction]:
        """How likely each tuple is after a view, exactly."""
        shown = frozenset(view)
        weights = {table: p * likelihood(channel, self.tuples, table, shown) for table, p in self.tables.items()}
        total = sum(weights.values(), Fraction(0))
        return {one: sum((w for t, w in weights.items() if one in t), Fraction(0)) / total for one in self.tuples}

    def leakage(self, channel: SetChannel) -> Leakage:
        """The worst view for the most suspicious tuple, and for the one most cleared: positive and negative apart."""
        uncertain = [one for one in self.tuples if 0 < self.prior(one) < 1]
        if not uncertain:
            raise PolicyError("this attacker has nothing to learn", fix="give some tuple a probability below 1")
        positive: tuple[Fraction, Any, Table] = (Fraction(-1), None, frozenset())
        negative: tuple[Fraction, Any, Table] = (Fraction(2), None, frozenset())
        for view in all_tables(self.tuples):
            after = self.posterior(channel, view)
            for one in uncertain:
                positive = max(positive, (after[one], one, view), key=lambda found: found[0])
                negative = min(negative, (after[one] / self.prior(one), one, view), key=lambda found: found[0])
        return Leakage(*positive, *negative)


@dataclass(frozen=True)
class Leakage:
    """The largest posterior of any tuple, and the largest fall of one, each with its tuple and view."""

    posterior: Fraction
    raised: Any
    raised_by: Table
    fall: Fraction
    lowered: Any
    lowered_by: Table

    def positive(self, gamma: Fraction) -> bool:
        """Whether some tuple becomes more likely than gamma ([RS07] Def. 2.3, the right inequality)."""
        return self.posterior > gamma

    def negative(self, d: Fraction, gamma: Fraction) -> bool:
        """Whether some tuple falls below d/gamma of what it was (Def. 2.3, the left inequality)."""
        return self.fall < d / gamma


def independent(priors: Mapping[Tuple, Any]) -> Attacker:
    """The attacker to whom tuples are independent, with these probabilities."""
    exact = {one: rational(p, name="a probability") for one, p in priors.items()}
    if len(exact) > LIMIT:
        raise Refused("there are too many tables to list", fix=f"take at most {LIMIT} tuples")
    tables = {
        table: _product(p if one in table else 1 - p for one, p in exact.items()) for table in all_tables(tuple(exact))
    }
    return Attacker(tuple(exact), tables)


def exclusive(groups: Sequence[Mapping[Tuple, Any]]) -> Attacker:
    """The attacker who knows that each group has exactly one tuple in the table, with these probabilities.

    It is the attacker who joins the view with what they know of people: age and postcode of Joe leave one disease.
    """
    exact = [{one: rational(p, name="a probability") for one, p in group.items()} for group in groups]
    tables = {
        frozenset(choice): _product(group[one] for group, one in zip(exact, choice, strict=True))
        for choice in itertools.product(*exact)
    }
    return Attacker(tuple(one for group in exact for one in group), tables)


def likelihood(channel: SetChannel, tuples: Iterable[Tuple], table: Table, view: Table) -> Fraction:
    """The exact probability of a view, given the table ([RS07] Algorithm 1)."""
    chances = ((channel.shown if one in table else channel.noise, one in view) for one in tuples)
    return _product(p if shown else 1 - p for p, shown in chances)


def all_tables(tuples: Sequence[Tuple]) -> Iterator[Table]:
    """Every set of tuples."""
    for size in range(len(tuples) + 1):
        yield from map(frozenset, itertools.combinations(tuples, size))


def _product(numbers: Iterable[Fraction]) -> Fraction:
    found = Fraction(1)
    for number in numbers:
        found *= number
    return found
