"""Who might attack: `td.pufferfish.scenarios`, one function for each set of attackers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tetraodon.errors import PolicyError
from tetraodon.exact.rational import Number, rational
from tetraodon.policy.attackers import Matrix, Vector, distribution, stationary, transition_matrix
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.pufferfish.known_sums import KnownSums
from tetraodon.pufferfish.scenario import (
    BY_HAND,
    Anything,
    Composable,
    Finite,
    Given,
    IndependentGroups,
    Prior,
    Scenario,
    SharedLaw,
)
from tetraodon.pufferfish.world import World

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
