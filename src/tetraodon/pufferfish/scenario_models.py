"""Attackers with numbers: finite lists of priors, Markov chains, correlated groups, small Bayesian networks."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tetraodon.errors import PolicyError
from tetraodon.policy.attackers import Matrix, Vector, checked_source, stationary
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.pufferfish.pair import SecretPairs
from tetraodon.pufferfish.prior import Prior
from tetraodon.pufferfish.scenario import BY_HAND, Composable, Scenario, first_loose
from tetraodon.pufferfish.world import World


@dataclass(frozen=True)
class Finite(Scenario):
    """A finite list of attackers that some world spells out."""

    def draw(self, world: World, chance: random.Random) -> Prior:
        return chance.choice(self.spelled_out(world))

    def priors(self, world: World) -> tuple[Prior, ...]:
        return self.spelled_out(world)

    def spelled_out(self, world: World) -> tuple[Prior, ...]:
        """Every attacker."""
        raise NotImplementedError

    def composability(self, pairs: SecretPairs, world: World) -> Composable:
        return first_loose(self.spelled_out(world), pairs, world)


@dataclass(frozen=True)
class Listed(Finite):
    """Priors written out one by one."""

    listed: tuple[Prior | Vector, ...]
    """Probabilities without datasets are those of the world's datasets, in their order."""
    source: str = BY_HAND

    def __post_init__(self) -> None:
        checked_source(self.source)
        if not self.listed:
            raise PolicyError("no attacker is listed", fix="list at least one prior, or use scenarios.anything()")

    @property
    def text(self) -> str:
        if len(self.listed) == 1:
            one = self.listed[0]
            return f"one attacker: {one.name if isinstance(one, Prior) else 'attacker 0'} ({self.source})"
        return f"{len(self.listed)} listed attackers ({self.source})"

    def spelled_out(self, world: World) -> tuple[Prior, ...]:
        return tuple(
            one if isinstance(one, Prior) else _placed(one, world, f"attacker {n}") for n, one in enumerate(self.listed)
        )


def _placed(numbers: Vector, world: World, name: str) -> Prior:
    if len(numbers) != world.size:
        raise PolicyError(
            f"{name} has {len(numbers)} probabilities where the world has {world.size} datasets",
            fix="give one for each dataset, in their order, or write {dataset: probability}",
        )
    return Prior.of(zip(world.datasets, numbers, strict=True), name)


@dataclass(frozen=True)
class MarkovChains(Finite):
    """The records are successive states of a Markov chain: one, or every mix of given matrices and starts.

    An empty `starts` means that each chain starts in its own stationary distribution.
    """

    transitions: tuple[Matrix, ...]
    starts: tuple[Vector, ...] = ()
    states: tuple[Any, ...] = ()
    source: str = BY_HAND

    def __post_init__(self) -> None:
        checked_source(self.source)
        sizes = {len(matrix) for matrix in self.transitions} | {len(start) for start in self.starts}
        if len(sizes) != 1 or (self.states and {len(self.states)} != sizes):
            raise PolicyError(
                "the matrices, starts and states of a chain differ in size", fix="use one order of states"
            )

    @property
    def text(self) -> str:
        what = "a Markov chain" if len(self.transitions) == 1 else f"one of {len(self.transitions)} Markov chains"
        return f"attackers who know that the records follow {what} ({self.source})"

    def models(self) -> tuple[tuple[Matrix, Vector], ...]:
        """Every (transition, start) of the set."""
        return tuple((p, start) for p in self.transitions for start in (self.starts or (stationary(p),)))

    def spelled_out(self, world: World) -> tuple[Prior, ...]:
        if any(ABSENT in options for options in world.options):
            raise PolicyError("nobody is absent from a chain", fix="take a world without absence")
        states = self.states or tuple(sorted(world.values))
        place = {state: n for n, state in enumerate(states)}
        if len(place) != len(self.transitions[0]) or not set(world.values) <= set(place):
            raise PolicyError("the states of the chain are not the values of the world", fix="give `states=` in order")
        priors = []
        for number, (matrix, start) in enumerate(self.models()):
            weights = {}
            for dataset in world.datasets:
                path = [place[record] for record in dataset]  # type: ignore[attr-defined]
                weight = start[path[0]]
                for here, there in itertools.pairwise(path):
                    weight *= matrix[here][there]
                weights[dataset] = weight
            name = "the Markov chain" if len(self.models()) == 1 else f"Markov chain {number}"
            priors.append(Prior.of(weights, name))
        return tuple(priors)


@dataclass(frozen=True)
class Correlated(Finite):
    """Groups that are independent of each other, each with a stated joint distribution of its members' records."""

    members: tuple[tuple[int, ...], ...]
    joints: tuple[tuple[tuple[tuple[Any, ...], Fraction], ...], ...] = field(repr=False)
    source: str = BY_HAND

    def __post_init__(self) -> None:
        checked_source(self.source)
        everyone = sorted(i for group in self.members for i in group)
        if everyone != list(range(len(everyone))):
            raise PolicyError("the groups do not name each individual once", fix="put each individual in one group")
        for group, joint in zip(self.members, self.joints, strict=True):
            if any(len(records) != len(group) for records, _ in joint):
                raise PolicyError("a joint distribution does not fit its group", fix="give one record for each member")
            if sum((mass for _, mass in joint), Fraction(0)) != 1:
                raise PolicyError("the probabilities of a group do not sum to 1", fix="write exact fractions")

    @property
    def text(self) -> str:
        return f"attackers who know how the records of each of {len(self.members)} groups depend ({self.source})"

    def spelled_out(self, world: World) -> tuple[Prior, ...]:
        check_size(sum(len(group) for group in self.members), world)
        weights: dict[tuple[Any, ...], Fraction] = {}
        for combination in itertools.product(*self.joints):
            records: dict[int, Any] = {}
            mass = Fraction(1)
            for group, (values, part) in zip(self.members, combination, strict=True):
                records.update(zip(group, values, strict=True))
                mass *= part
            dataset = tuple(records[i] for i in range(world.individuals))
            weights[dataset] = weights.get(dataset, Fraction(0)) + mass
        return (Prior.of(weights, "the correlated groups"),)


@dataclass(frozen=True)
class Network(Finite):
    """A Bayesian network over the individuals: the law of each record given the records of its parents."""

    parents: tuple[tuple[int, ...], ...]
    tables: tuple[tuple[tuple[tuple[Any, ...], tuple[tuple[Any, Fraction], ...]], ...], ...] = field(repr=False)
    source: str = BY_HAND

    def __post_init__(self) -> None:
        checked_source(self.source)
        for individual, before in enumerate(self.parents):
            if any(not 0 <= parent < individual for parent in before):
                raise PolicyError(
                    f"individual {individual} depends on somebody who does not come before",
                    fix="number the individuals so that parents come first",
                )
        for table in self.tables:
            for _, law in table:
                if sum((mass for _, mass in law), Fraction(0)) != 1 or any(mass < 0 for _, mass in law):
                    raise PolicyError("the probabilities in a row of the network do not sum to 1", fix="use fractions")

    @property
    def text(self) -> str:
        return f"attackers who know a Bayesian network of {len(self.parents)} records ({self.source})"

    def spelled_out(self, world: World) -> tuple[Prior, ...]:
        check_size(len(self.parents), world)
        laws = [{given: dict(law) for given, law in table} for table in self.tables]
        weights = {}
        for dataset in world.datasets:
            mass = Fraction(1)
            for individual, before in enumerate(self.parents):
                given = tuple(dataset[parent] for parent in before)  # type: ignore[index]
                mass *= laws[individual].get(given, {}).get(dataset[individual], Fraction(0))  # type: ignore[index]
            weights[dataset] = mass
        return (Prior.of(weights, "the Bayesian network"),)


def check_size(named: int, world: World) -> None:
    """Refuses a world with other individuals than a scenario speaks of."""
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
