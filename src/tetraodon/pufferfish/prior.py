"""What one attacker believes before seeing anything: an exact distribution over datasets."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tetraodon.errors import PolicyError
from tetraodon.pufferfish.secret import Secret, shown
from tetraodon.pufferfish.world import Dataset, World
from tetraodon.rational import Number, decimal_text, probabilities, rational


@dataclass(frozen=True)
class Prior:
    """A distribution over datasets, theta in the papers. Datasets of probability zero are left out.

    >>> coin = Prior.of({(0,): "1/2", (1,): "1/2"})
    >>> coin.probability(Secret.value(0, 1)), coin.given(Secret.value(0, 1)).weights
    (Fraction(1, 2), (((1,), Fraction(1, 1)),))
    """

    weights: tuple[tuple[Dataset, Fraction], ...]
    name: str = "the stated prior"

    def __post_init__(self) -> None:
        if any(weight <= 0 for _, weight in self.weights):
            raise PolicyError("a probability is negative", fix="write probabilities of at least zero")
        total = sum((weight for _, weight in self.weights), Fraction(0))
        if total != 1:
            raise PolicyError(
                f"the probabilities of {self.name} sum to {decimal_text(total)}, not to 1",
                fix="write them as exact fractions such as 1/3, or use Prior.proportional",
            )
        if len({dataset for dataset, _ in self.weights}) != len(self.weights):
            raise PolicyError("a dataset is listed twice in a prior", fix="list each dataset once")

    def __repr__(self) -> str:
        return f"Prior({self.name!r}, {len(self.weights)} datasets)"

    @classmethod
    def of(cls, weights: Mapping[Any, Number] | Iterable[tuple[Any, Number]], name: str = "the stated prior") -> Prior:
        """A prior from numbers as people write them: `0.1` is one tenth."""
        items = tuple(weights.items() if isinstance(weights, Mapping) else weights)
        exact = zip((dataset for dataset, _ in items), probabilities(weight for _, weight in items), strict=True)
        return cls(tuple((dataset, weight) for dataset, weight in exact if weight), name)

    @classmethod
    def proportional(cls, weights: Mapping[Any, Number], name: str = "the stated prior") -> Prior:
        """A prior from weights that need not sum to one."""
        exact = {dataset: rational(weight, name="a weight") for dataset, weight in weights.items()}
        total = sum(exact.values(), Fraction(0))
        if total <= 0:
            raise PolicyError("all weights are zero", fix="give at least one dataset a weight above zero")
        return cls(tuple((dataset, weight / total) for dataset, weight in exact.items() if weight), name)

    @classmethod
    def uniform(cls, world: World, name: str = "all datasets equally likely") -> Prior:
        """Every dataset of a world equally likely."""
        return cls(tuple((dataset, Fraction(1, world.size)) for dataset in world.datasets), name)

    @classmethod
    def either(cls, one: Dataset, other: Dataset) -> Prior:
        """Whoever knows all but which of two datasets it is, and thinks both as likely."""
        half = Fraction(1, 2)
        return cls(((one, half), (other, half)), f"the attacker who knows it is {shown(one)} or {shown(other)}")

    def probability(self, secret: Secret) -> Fraction:
        """How likely the attacker thinks a secret is."""
        return sum((weight for dataset, weight in self.weights if secret.holds(dataset)), Fraction(0))

    def given(self, secret: Secret) -> Prior:
        """What the attacker would believe on learning a secret. Refuses a secret of probability zero."""
        total = self.probability(secret)
        if not total:
            raise PolicyError(f"“{secret.text}” has probability zero here", fix="condition on something possible")
        kept = tuple((dataset, weight / total) for dataset, weight in self.weights if secret.holds(dataset))
        return Prior(kept, f"{self.name}, given that {secret.text}")

    def on(self, world: World) -> list[Fraction]:
        """The probability of each dataset of a world. Refuses a prior that believes in others."""
        weights = [Fraction(0)] * world.size
        for dataset, weight in self.weights:
            place = world.index.get(dataset)
            if place is None:
                raise PolicyError(
                    f"{self.name} gives a probability to {dataset!r}, which is no dataset of this world",
                    fix="let the mechanism say what it does on every dataset that somebody thinks possible",
                )
            weights[place] = weight
        return weights

    def sample(self, chance: random.Random) -> Dataset:
        """One dataset, drawn exactly. For simulations, not for noise: the stream is not secret."""
        common = math.lcm(*(weight.denominator for _, weight in self.weights))
        left = chance.randrange(common)
        for dataset, weight in self.weights:
            left -= int(weight * common)
            if left < 0:
                return dataset
        raise AssertionError  # the weights sum to one
