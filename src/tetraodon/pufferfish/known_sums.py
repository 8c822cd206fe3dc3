"""Independent records, given sums over them that everybody knows: the exact neighbours, and nothing to search for.

Known counts and totals make records depend on each other. For sums, which datasets to compare is known exactly
(docs/errata.md, Blowfish, N*): those between which no other possible dataset lies.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.errors import PolicyError, Refused
from tetraodon.exact.rational import rational
from tetraodon.pufferfish.pair import Masks, Pair, SecretPairs
from tetraodon.pufferfish.scenario import Composable, IndependentGroups, Prior, Scenario, check_product
from tetraodon.pufferfish.world import World

CHANGES_LIMIT = 16


@dataclass(frozen=True)
class KnownSums(Scenario):
    """Attackers with independent records who know the total of `amounts(record)` over all records.

    `amounts` gives a number or a tuple of numbers: 0 or 1 for a known count, several for several counts.
    """

    amounts: Callable[[Any], Any]
    words: str = "the published sums"

    @property
    def text(self) -> str:
        return f"attackers to whom the records are independent, and who know {self.words}"

    def totals(self, world: World) -> list[tuple[Fraction, ...]]:
        """What is known, for each dataset of a world."""
        return [_sum(self._parts(dataset)) for dataset in world.datasets]

    def draw(self, world: World, chance: random.Random) -> Prior:
        prior = IndependentGroups().draw(world, chance)
        seen = _sum(self._parts(prior.sample(chance)))
        kept = {dataset: weight for dataset, weight in prior.weights if _sum(self._parts(dataset)) == seen}
        return Prior.proportional(kept, f"a random independent prior, given {self.words}")

    def composability(self, pairs: SecretPairs, world: World) -> Composable:
        if all(_one(pair) is not None for pair in pairs.on(world)):
            return Composable(False, True, "each pair concerns one record, so the definition compares neighbours")
        return Composable(False, None, "a pair concerns several records: nothing is proved")

    def neighbours(self, pairs: tuple[Pair, ...], world: World) -> Masks:
        """Every two datasets that the definition compares, for each pair.

        Pre   each pair concerns one record, and every combination of records is a dataset of the world.
        Post  the largest odds ratio over all these attackers is the largest likelihood ratio over the result.
        Why   two datasets with equal totals between which no third lies are all that an attacker who is unsure of just
              their records has left; and given the two values of a record, the two conditional laws can be coupled so
              that the datasets always are of that kind (docs/errata.md, N*). A secret that leaves several values is a
              mixture of them.
        """
        check_product(world)
        listed: list[tuple[Pair, int, int]] = []
        totals = self.totals(world)
        for pair in pairs:
            if _one(pair) is None:
                raise Refused(
                    "with known sums, a pair that concerns several records has no known exact form",
                    fix="use scenarios.given(constraint), which encloses the loss",
                )
            one, other = (np.flatnonzero(secret.mask(world)).tolist() for secret in pair)
            for x, y in itertools.product(one, other):
                if totals[x] == totals[y] and self._minimal(world.datasets[x], world.datasets[y]):
                    listed.append((pair, x, y))
        places = sorted({n for _, x, y in listed for n in (x, y)})
        row = {n: k for k, n in enumerate(places)}
        masks = np.zeros((len(places), world.size), np.bool_)
        masks[np.arange(len(places)), places] = True
        first = np.array([row[x] for _, x, _ in listed], np.int64)
        second = np.array([row[y] for _, _, y in listed], np.int64)
        return Masks(tuple(pair for pair, _, _ in listed), masks, first, second)

    def _minimal(self, one: Any, other: Any) -> bool:
        """Whether no proper part of the changes keeps the totals."""
        steps = zip(self._parts(one), self._parts(other), one, other, strict=True)
        moves = [_less(b, a) for a, b, x, y in steps if x != y]
        if len(moves) > CHANGES_LIMIT:
            raise Refused("too many records change at once to look at every part", fix="take a smaller world")
        return not any(
            not any(_sum(part)) for size in range(1, len(moves)) for part in itertools.combinations(moves, size)
        )

    def _parts(self, dataset: Any) -> list[tuple[Fraction, ...]]:
        return [_vector(self.amounts(record)) for record in dataset]


def _one(pair: Pair) -> int | None:
    """The one record that decides a pair."""
    return next(iter(pair.about)) if pair.about is not None and len(pair.about) == 1 else None


def _vector(amount: Any) -> tuple[Fraction, ...]:
    parts = amount if isinstance(amount, tuple | list) else (amount,)
    return tuple(rational(int(part) if isinstance(part, bool) else part, name="a known amount") for part in parts)


def _sum(parts: Any) -> tuple[Fraction, ...]:
    columns = list(zip(*parts, strict=True))
    if not columns:
        raise PolicyError("no amount is known", fix="let `amounts` return at least one number")
    return tuple(sum(column, Fraction(0)) for column in columns)


def _less(one: tuple[Fraction, ...], other: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    return tuple(a - b for a, b in zip(one, other, strict=True))
