"""Scenarios, the distributions over datasets that attackers may hold: `td.pufferfish.scenarios`."""

from __future__ import annotations

import itertools
import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import PolicyError, Refused
from tetraodon.exact.rational import Number, decimal_text, probabilities, rational
from tetraodon.policy.attackers import Matrix, Vector, checked_source, distribution, stationary, transition_matrix
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.pufferfish.pairs import Masks, Pair, SecretPairs, masks_of
from tetraodon.pufferfish.world import Dataset, Secret, World, shown

__all__ = [
    "Composable",
    "Prior",
    "Scenario",
    "anything",
    "chain",
    "contagion",
    "explicit",
    "given",
    "groups",
    "iid",
    "independent",
    "informed",
    "known_sums",
    "network",
    "stationary",
]


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


# -- known sums -------------------------------------------------------------------------------------
# Independent records, given sums over them that everybody knows: the exact neighbours, and nothing to search for.
#
# Known counts and totals make records depend on each other. For sums, which datasets to compare is known exactly
# (docs/errata.md, Blowfish, N*): those between which no other possible dataset lies.

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


# -- kinds ------------------------------------------------------------------------------------------


def anything() -> Anything:
    """Every distribution: no assumption at all ([KM12] Example 3.1)."""
    return Anything()


def independent() -> IndependentGroups:
    """Independent records, each with any law of its own ([KM12] Example 3.3, Eq. 7)."""
    return IndependentGroups()


def iid() -> SharedLaw:
    """Independent draws from one unknown law ([KM12] Example 3.2)."""
    return SharedLaw(0)


def informed(k: int) -> SharedLaw:
    """Draws from one unknown law, with anything known of at most k individuals ([KM12] Example 3.3)."""
    return SharedLaw(k)


def given(constraint: Callable[[Any], bool], scenario: Scenario | None = None, *, words: str = "a constraint") -> Given:
    """Another set of attackers, independent records unless stated, who know a constraint ([KM12] Eq. 17)."""
    return Given(constraint, IndependentGroups() if scenario is None else scenario, words)


def known_sums(amounts: Callable[[Any], Any], *, words: str = "the published sums") -> KnownSums:
    """Independent records of which everybody knows the total of `amounts(record)`: counts, marginals, sums.

    A known constraint of this form is verified exactly; any other goes to `given` and is enclosed.
    """
    return KnownSums(amounts, words)


def explicit(listed: Iterable[Prior | Mapping[Any, Number] | Sequence[Number]], *, source: str = BY_HAND) -> Finite:
    """A finite list of priors: mappings from datasets to probabilities, or lists of them in the order of the datasets.

    >>> explicit([{(0,): "1/3", (1,): "2/3"}, ["1/2", "1/2"]]).text
    '2 listed attackers (stated by the analyst)'
    """
    each = [listed] if isinstance(listed, Prior | Mapping) else listed
    priors = tuple(_prior(one, f"attacker {n}") for n, one in enumerate(each))
    if not priors:
        raise PolicyError("no attacker is listed", fix="list at least one prior, or use scenarios.anything()")
    name = priors[0].name if isinstance(priors[0], Prior) else "attacker 0"
    words = f"one attacker: {name}" if len(priors) == 1 else f"{len(priors)} listed attackers"
    return Finite(words, _listed, priors, source)


def _prior(one: Any, name: str) -> Prior | Vector:
    if isinstance(one, Prior):
        return one
    if isinstance(one, Mapping):
        return Prior.of(one, name)
    numbers = list(one) if isinstance(one, Iterable) and not isinstance(one, str) else []
    if not numbers or any(isinstance(number, Sequence) and not isinstance(number, str) for number in numbers):
        raise PolicyError(f"{name} is no prior", fix="write {dataset: probability}, or a probability for each dataset")
    return distribution(numbers, name=name)


def _listed(world: World, *listed: Prior | Vector) -> Iterator[Prior]:
    for n, one in enumerate(listed):
        if isinstance(one, Prior):
            yield one
            continue
        if len(one) != world.size:
            raise PolicyError(
                f"attacker {n} has {len(one)} probabilities where the world has {world.size} datasets",
                fix="give one for each dataset, in their order, or write {dataset: probability}",
            )
        yield Prior.of(zip(world.datasets, one, strict=True), f"attacker {n}")


def chain(
    transition: Sequence[Any],
    start: str | Sequence[Any] = "stationary",
    *,
    states: Sequence[Any] = (),
    source: str = BY_HAND,
) -> Finite:
    """A Markov chain along the records; a list of matrices or of starts means a set of chains, every mix of both.

    Pre   row x, column y of `transition` is P(next = y | now = x), states in the order of `states` or sorted.
    """
    if not len(transition) or not len(transition[0]):
        raise PolicyError("a chain has no transition matrix", fix="write one row of probabilities for each state")
    several = isinstance(transition[0][0], Sequence) and not isinstance(transition[0][0], str)
    matrices = tuple(transition_matrix(m) for m in (transition if several else [transition]))
    if not isinstance(start, str):
        many = isinstance(start[0], Sequence) and not isinstance(start[0], str)
        starts = tuple(distribution(one, name="the start") for one in (start if many else [start]))
        models = tuple(itertools.product(matrices, starts))
    elif start == "stationary":
        models = tuple((matrix, stationary(matrix)) for matrix in matrices)
    else:
        raise PolicyError("a chain starts in an unknown way", fix="write start='stationary' or probabilities")
    sizes = {len(part) for model in models for part in model}
    if len(sizes) != 1 or (states and {len(states)} != sizes):
        raise PolicyError("the matrices, starts and states of a chain differ in size", fix="use one order of states")
    what = "a Markov chain" if len(matrices) == 1 else f"one of {len(matrices)} Markov chains"
    return Finite(f"attackers who know that the records follow {what}", _chains, (models, tuple(states)), source)


def _chains(world: World, models: tuple[tuple[Matrix, Vector], ...], states: tuple[Any, ...]) -> Iterator[Prior]:
    if any(ABSENT in options for options in world.options):
        raise PolicyError("no individual is absent from a chain", fix="take a world without absence")
    place = {state: n for n, state in enumerate(states or sorted(world.values))}
    if len(place) != len(models[0][0]) or not set(world.values) <= set(place):
        raise PolicyError("the states of the chain are not the values of the world", fix="give `states=` in order")
    paths: dict[Any, list[int]] = {dataset: [place[record] for record in dataset] for dataset in _tuples(world)}
    for number, (matrix, start) in enumerate(models):
        weights = {
            dataset: start[path[0]] * math.prod((matrix[x][y] for x, y in itertools.pairwise(path)), start=Fraction(1))
            for dataset, path in paths.items()
        }
        yield Prior.of(weights, "the Markov chain" if len(models) == 1 else f"Markov chain {number}")


def groups(
    members: Iterable[Iterable[int]], joint: Mapping[tuple[Any, ...], Number] | None = None, *, source: str = BY_HAND
) -> IndependentGroups | Finite:
    """Groups that are independent of each other, such as households.

    Without `joint` anything may be correlated inside a group. With it, the records of every group follow that joint
    distribution; `contagion(size, ...)` makes one.
    """
    listed = tuple(tuple(group) for group in members)
    if joint is None:
        return IndependentGroups(listed)
    law = tuple((tuple(records), rational(mass, name="a probability")) for records, mass in joint.items())
    everyone = sorted(i for group in listed for i in group)
    if everyone != list(range(len(everyone))):
        raise PolicyError("the groups do not name each individual once", fix="put each individual in one group")
    if any(len(records) != len(group) for group in listed for records, _ in law):
        raise PolicyError("a joint distribution does not fit its group", fix="give one record for each member")
    if listed and sum((mass for _, mass in law), Fraction(0)) != 1:
        raise PolicyError("the probabilities of a group do not sum to 1", fix="write exact fractions")
    words = f"attackers who know how the records of each of {len(listed)} groups depend"
    return Finite(words, _correlated, (listed, law), source)


def _correlated(
    world: World, members: tuple[tuple[int, ...], ...], law: tuple[tuple[tuple[Any, ...], Fraction], ...]
) -> Iterator[Prior]:
    _check_size(sum(map(len, members)), world)
    weights: dict[tuple[Any, ...], Fraction] = {}
    for combination in itertools.product(law, repeat=len(members)):
        records = {
            i: r
            for group, (values, _) in zip(members, combination, strict=True)
            for i, r in zip(group, values, strict=True)
        }
        dataset = tuple(records[i] for i in range(world.individuals))
        mass = math.prod((part for _, part in combination), start=Fraction(1))
        weights[dataset] = weights.get(dataset, Fraction(0)) + mass
    yield Prior.of(weights, "the correlated groups")


def network(
    nodes: Sequence[tuple[Sequence[int], Mapping[tuple[Any, ...], Mapping[Any, Number]]]], *, source: str = BY_HAND
) -> Finite:
    """A Bayesian network: for each individual its parents, and its law for each choice of their records.

    >>> flu = network([((), {(): {0: "0.9", 1: "0.1"}}), ((0,), {(0,): {0: 1}, (1,): {0: "0.5", 1: "0.5"}})])
    >>> from tetraodon.pufferfish.world import World
    >>> flu.priors(World.product((0, 1), individuals=2))[0].weights[1]
    ((1, 0), Fraction(1, 20))
    """
    exact = []
    for individual, (parents, table) in enumerate(nodes):
        if any(not 0 <= parent < individual for parent in parents):
            raise PolicyError(
                f"individual {individual} depends on somebody who does not come before",
                fix="number the individuals so that parents come first",
            )
        laws = {
            tuple(given): {value: rational(mass, name="a probability") for value, mass in law.items()}
            for given, law in table.items()
        }
        if any(sum(law.values(), Fraction(0)) != 1 or min(law.values()) < 0 for law in laws.values()):
            raise PolicyError("the probabilities in a row of the network do not sum to 1", fix="use fractions")
        exact.append((tuple(parents), tuple((given, tuple(law.items())) for given, law in laws.items())))
    return Finite(f"attackers who know a Bayesian network of {len(exact)} records", _network, tuple(exact), source)


def _network(world: World, *nodes: tuple[tuple[int, ...], tuple[tuple[tuple[Any, ...], Any], ...]]) -> Iterator[Prior]:
    _check_size(len(nodes), world)
    laws = [(parents, {given: dict(law) for given, law in table}) for parents, table in nodes]
    weights = {}
    for dataset in _tuples(world):
        given = [table.get(tuple(dataset[parent] for parent in parents), {}) for parents, table in laws]
        chances = (law.get(record, Fraction(0)) for law, record in zip(given, dataset, strict=True))
        weights[dataset] = math.prod(chances, start=Fraction(1))
    yield Prior.of(weights, "the Bayesian network")


def _tuples(world: World) -> tuple[tuple[Any, ...], ...]:
    assert world.individuals  # refuses other datasets
    return world.datasets  # type: ignore[return-value]


def _check_size(named: int, world: World) -> None:
    """Refuse a world with other individuals than a scenario speaks of."""
    if named != world.individuals:
        raise PolicyError(
            f"the scenario speaks of {named} individuals and the world has {world.individuals}",
            fix="name each individual of the world once",
        )


def contagion(size: int, *, introduced: Fraction, spread: Fraction) -> Mapping[tuple[int, ...], Fraction]:
    """Who is infected (1) in a group: each is infected from outside, then by each of those, independently.

    >>> contagion(2, introduced=Fraction(1, 2), spread=Fraction(1))
    {(0, 0): Fraction(1, 4), (0, 1): Fraction(0, 1), (1, 0): Fraction(0, 1), (1, 1): Fraction(3, 4)}
    """
    joint = dict.fromkeys(itertools.product((0, 1), repeat=size), Fraction(0))
    for outside in itertools.product((0, 1), repeat=size):
        mass = introduced ** sum(outside) * (1 - introduced) ** (size - sum(outside))
        spared = (1 - spread) ** sum(outside)
        for inside in joint:
            if all(i >= o for i, o in zip(inside, outside, strict=True)):
                new = sum(inside) - sum(outside)
                joint[inside] += mass * (1 - spared) ** new * spared ** (size - sum(inside))
    return joint
