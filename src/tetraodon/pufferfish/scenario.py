"""Scenarios: the distributions over datasets that attackers may hold."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import PolicyError, Refused
from tetraodon.exact.rational import Number, decimal_text, probabilities, rational
from tetraodon.policy.attackers import checked_source
from tetraodon.pufferfish.pair import SecretPairs, masks_of
from tetraodon.pufferfish.world import Dataset, Secret, World, shown

# -- prior ------------------------------------------------------------------------------------------
# What one attacker believes before seeing anything: an exact distribution over datasets.


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


# -- scenario ---------------------------------------------------------------------------------------

BY_HAND = "stated by the analyst"


@dataclass(frozen=True)
class Composable:
    """Whether losses add up under a set of attackers, and why.

    `universally` is the condition of [KM12] Thm 8.1. `adds_up` is True where linear self-composition is proved,
    and None where nothing is proved either way.
    """

    universally: bool
    adds_up: bool | None
    reason: str


class Scenario(ABC):
    """A set of distributions over datasets. Numbers in it come from somewhere other than the protected table."""

    source: str = BY_HAND

    @property
    @abstractmethod
    def text(self) -> str:
        """The attackers, in words."""

    def priors(self, world: World) -> tuple[Prior, ...] | None:  # noqa: ARG002 - for the finite kinds
        """Every attacker, when there are finitely many; None when there are not."""
        return None

    @abstractmethod
    def draw(self, world: World, chance: random.Random) -> Prior:
        """One attacker of the set."""

    def sample(self, world: World, chance: random.Random) -> Dataset:
        """A dataset as one of the attackers imagines it."""
        return self.draw(world, chance).sample(chance)

    @abstractmethod
    def composability(self, pairs: SecretPairs, world: World) -> Composable:
        """Whether the losses of several releases add up for these attackers and pairs."""


def universally_composable(prior: Prior, pairs: SecretPairs, world: World) -> Composable:
    """Whether one attacker fits [KM12] Thm 8.1: each secret of a possible pair leaves a single dataset."""
    restricted = World(tuple(dataset for dataset, _ in prior.weights), world.names)
    masks = masks_of(pairs.on(world), restricted)
    counts = masks.masks.sum(axis=1)
    for pair, one, other in zip(masks.pairs, masks.first, masks.second, strict=True):
        if counts[one] and counts[other] and counts[one] + counts[other] > 2:
            loose = pair.first if counts[one] > 1 else pair.second
            reason = f"under {prior.name}, “{loose.text}” leaves more than one dataset possible ([KM12] Thm 8.1)"
            return Composable(False, None, reason)
    reason = f"under {prior.name}, every secret of a possible pair leaves one dataset ([KM12] Thm 8.1)"
    return Composable(True, True, reason)


def random_simplex(size: int, chance: random.Random, grain: int = 1000) -> list[Fraction]:
    """A random exact distribution on `size` outcomes, none impossible."""
    weights = [1 + chance.randrange(grain) for _ in range(size)]
    return [Fraction(weight, sum(weights)) for weight in weights]


@dataclass(frozen=True)
class Anything(Scenario):
    """Every distribution over the possible datasets ([KM12] Example 3.1)."""

    @property
    def text(self) -> str:
        return "every attacker, whatever they believe"

    def draw(self, world: World, chance: random.Random) -> Prior:
        weights = random_simplex(world.size, chance)
        return Prior(tuple(zip(world.datasets, weights, strict=True)), "a random prior")

    def composability(self, pairs: SecretPairs, world: World) -> Composable:  # noqa: ARG002
        reason = "against every prior the definition compares single datasets, two at a time ([KM12] Thm 3.1)"
        return Composable(False, True, reason)


@dataclass(frozen=True)
class IndependentGroups(Scenario):
    """Records in different groups are independent; inside a group anything may be correlated with anything.

    One group for each individual is [KM12] Example 3.3; one group of everybody is Example 3.1. Individuals that
    are not named have a group of their own.
    """

    members: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        everyone = [i for group in self.members for i in group]
        if len(set(everyone)) != len(everyone):
            raise PolicyError("somebody is in two groups", fix="put each individual in one group")

    @property
    def text(self) -> str:
        if not self.members:
            return "attackers to whom the records are independent"
        largest = max(len(group) for group in self.members)
        return f"attackers to whom the groups are independent, the members of one ({largest} at most) not"

    def group_of(self, individual: int) -> frozenset[int]:
        """Whoever may be correlated with an individual, the individual included."""
        return next((frozenset(g) for g in self.members if individual in g), frozenset({individual}))

    def fits(self, about: frozenset[int] | None, world: World) -> frozenset[int] | None:
        """The one group that decides a pair, if there is one."""
        everyone = frozenset(range(world.individuals))
        inside = everyone if about is None else about
        group = frozenset[int]().union(*(self.group_of(i) for i in inside))
        one = self.group_of(min(inside)) if inside else frozenset[int]()
        return one if group == one else None

    def draw(self, world: World, chance: random.Random) -> Prior:
        check_product(world)
        done: set[int] = set()
        weights: NDArray[Any] = np.array([Fraction(1)] * world.size, dtype=object)
        for individual in range(world.individuals):
            if individual in done:
                continue
            group = sorted(self.group_of(individual))
            done.update(group)
            parts = [tuple(row) for row in world.codes[:, group].tolist()]
            masses = dict(zip(dict.fromkeys(parts), random_simplex(len(set(parts)), chance), strict=True))
            weights = weights * np.array([masses[part] for part in parts], dtype=object)
        return Prior(tuple(zip(world.datasets, weights.tolist(), strict=True)), "a random independent prior")

    def composability(self, pairs: SecretPairs, world: World) -> Composable:
        if world.is_product and all(self.fits(pair.about, world) is not None for pair in pairs.on(world)):
            what = "group" if self.members else "record"
            reason = f"each pair concerns one {what}, so the definition compares neighbours ([KM12] Thm 6.1)"
            return Composable(False, True, reason)
        return Composable(False, None, "a pair concerns records that are independent of each other: nothing is proved")


@dataclass(frozen=True)
class SharedLaw(Scenario):
    """Independent records from one common law, except for at most `informed` individuals of whom more is known.

    0 is i.i.d. ([KM12] Example 3.2); everybody but one is the same as independent.
    """

    informed: int = 0

    def __post_init__(self) -> None:
        if self.informed < 0:
            raise PolicyError("`informed` is negative", fix="write 0 or the number of known individuals")

    @property
    def text(self) -> str:
        if not self.informed:
            return "attackers to whom the records are independent draws from one law"
        return f"attackers to whom the records are draws from one law, with more known of at most {self.informed}"

    def check(self, world: World) -> None:
        """Refuses a world in which the records cannot be draws from one law."""
        check_product(world)
        if len({frozenset(options) for options in world.options}) > 1:
            raise Refused(
                "the individuals of this world have different records to choose from, so they share no law",
                fix="give everybody the same values, or use scenarios.independent()",
            )

    def draw(self, world: World, chance: random.Random) -> Prior:
        self.check(world)
        known = chance.sample(range(world.individuals), min(self.informed, world.individuals))
        common = dict(zip(world.options[0], random_simplex(len(world.options[0]), chance), strict=True))
        own = {
            i: dict(zip(world.options[i], random_simplex(len(world.options[i]), chance), strict=True)) for i in known
        }
        laws = [own.get(i, common) for i in range(world.individuals)]
        return product_prior(world, laws, "a random law shared by all")

    def composability(self, pairs: SecretPairs, world: World) -> Composable:
        if self.informed >= world.individuals - 1:
            return IndependentGroups().composability(pairs, world)
        return Composable(False, None, "nothing is proved about draws from one unknown law")


@dataclass(frozen=True)
class Given(Scenario):
    """The attackers of another set after learning that a constraint holds ([KM12] Eq. 17)."""

    constraint: Callable[[Any], bool]
    scenario: Scenario
    words: str = "a known constraint"

    @property
    def source(self) -> str:  # type: ignore[override]
        return self.scenario.source

    @property
    def text(self) -> str:
        return f"{self.scenario.text}, who know that {self.words} holds"

    def restrict(self, world: World) -> World:
        """The datasets that satisfy the constraint."""
        return world.where(bool(self.constraint(dataset)) for dataset in world.datasets)

    def priors(self, world: World) -> tuple[Prior, ...] | None:
        inner = self.scenario.priors(world)
        return None if inner is None else tuple(self._condition(prior) for prior in inner)

    def draw(self, world: World, chance: random.Random) -> Prior:
        return self._condition(self.scenario.draw(world, chance))

    def _condition(self, prior: Prior) -> Prior:
        kept = {dataset: weight for dataset, weight in prior.weights if self.constraint(dataset)}
        if not kept:
            raise PolicyError("the constraint contradicts the prior", fix="check the constraint")
        return Prior.proportional(kept, f"{prior.name}, given {self.words}")

    def composability(self, pairs: SecretPairs, world: World) -> Composable:
        if isinstance(self.scenario, Anything):
            return self.scenario.composability(pairs, world)
        priors = self.priors(world)
        if priors is not None:
            return first_loose(priors, pairs, world)
        return Composable(False, None, "nothing is proved about independence given a constraint")


def first_loose(priors: tuple[Prior, ...], pairs: SecretPairs, world: World) -> Composable:
    """What [KM12] Thm 8.1 says of a finite list: all of them, or the first that does not fit."""
    answers = [universally_composable(prior, pairs, world) for prior in priors]
    return next((answer for answer in answers if not answer.universally), answers[0])


@dataclass(frozen=True)
class Finite(Scenario):
    """A finite list of attackers: `spell_out(world, *arguments)` gives the prior of each."""

    words: str
    spell_out: Callable[..., Iterable[Prior]] = field(repr=False)
    arguments: tuple[Any, ...] = field(repr=False)
    source: str = BY_HAND

    def __post_init__(self) -> None:
        checked_source(self.source)

    @property
    def text(self) -> str:
        return f"{self.words} ({self.source})"

    def priors(self, world: World) -> tuple[Prior, ...]:
        return tuple(self.spell_out(world, *self.arguments))

    def draw(self, world: World, chance: random.Random) -> Prior:
        return chance.choice(self.priors(world))

    def composability(self, pairs: SecretPairs, world: World) -> Composable:
        return first_loose(self.priors(world), pairs, world)


def product_prior(world: World, laws: list[dict[Any, Fraction]], name: str) -> Prior:
    """Independent records, each with its own law."""
    weights = []
    for dataset in world.datasets:
        weight = Fraction(1)
        for law, record in zip(laws, dataset, strict=True):  # type: ignore[call-overload]
            weight *= law.get(record, Fraction(0))
        if weight:
            weights.append((dataset, weight))
    return Prior(tuple(weights), name)


def check_product(world: World) -> None:
    """Refuses a world in which the records cannot be independent."""
    if not world.is_product:
        raise Refused(
            "not every combination of records is a dataset of this world, so the records cannot be independent",
            fix="list all combinations, or say what is known with scenarios.given(constraint)",
        )
