"""Who might attack: `td.pufferfish.scenarios`, one function for each set of attackers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tetraodon.errors import PolicyError
from tetraodon.exact.rational import Number, rational
from tetraodon.policy.attackers import Vector, distribution, stationary, transition_matrix
from tetraodon.pufferfish.known_sums import KnownSums
from tetraodon.pufferfish.scenario import (
    BY_HAND,
    Anything,
    Composable,
    Correlated,
    Given,
    IndependentGroups,
    Listed,
    MarkovChains,
    Network,
    Prior,
    Scenario,
    SharedLaw,
    contagion,
)

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


def explicit(listed: Iterable[Prior | Mapping[Any, Number] | Sequence[Number]], *, source: str = BY_HAND) -> Listed:
    """A finite list of priors: mappings from datasets to probabilities, or lists of them in the order of the datasets.

    >>> explicit([{(0,): "1/3", (1,): "2/3"}, ["1/2", "1/2"]]).text
    '2 listed attackers (stated by the analyst)'
    """
    each = [listed] if isinstance(listed, Prior | Mapping) else listed
    return Listed(tuple(_prior(one, f"attacker {n}") for n, one in enumerate(each)), source)


def _prior(one: Any, name: str) -> Prior | Vector:
    if isinstance(one, Prior):
        return one
    if isinstance(one, Mapping):
        return Prior.of(one, name)
    numbers = list(one) if isinstance(one, Iterable) and not isinstance(one, str) else []
    if not numbers or any(isinstance(number, Sequence) and not isinstance(number, str) for number in numbers):
        raise PolicyError(f"{name} is no prior", fix="write {dataset: probability}, or a probability for each dataset")
    return distribution(numbers, name=name)


def chain(
    transition: Sequence[Any],
    start: str | Sequence[Any] = "stationary",
    *,
    states: Sequence[Any] = (),
    source: str = BY_HAND,
) -> MarkovChains:
    """A Markov chain along the records; a list of matrices or of starts means a set of chains.

    Pre   row x, column y of `transition` is P(next = y | now = x), states in the order of `states` or sorted.
    """
    if not len(transition) or not len(transition[0]):
        raise PolicyError("a chain has no transition matrix", fix="write one row of probabilities for each state")
    several = isinstance(transition[0][0], Sequence) and not isinstance(transition[0][0], str)
    matrices = tuple(transition_matrix(m) for m in (transition if several else [transition]))
    if isinstance(start, str):
        if start != "stationary":
            raise PolicyError("a chain starts in an unknown way", fix="write start='stationary' or probabilities")
        starts: tuple[Any, ...] = ()
    else:
        many = isinstance(start[0], Sequence) and not isinstance(start[0], str)
        starts = tuple(distribution(one, name="the start") for one in (start if many else [start]))
    return MarkovChains(matrices, starts, tuple(states), source)


def groups(
    members: Iterable[Iterable[int]], joint: Mapping[tuple[Any, ...], Number] | None = None, *, source: str = BY_HAND
) -> IndependentGroups | Correlated:
    """Groups that are independent of each other, such as households.

    Without `joint` anything may be correlated inside a group. With it, the records of every group follow that joint
    distribution; `contagion(size, ...)` makes one.
    """
    listed = tuple(tuple(group) for group in members)
    if joint is None:
        return IndependentGroups(listed)
    exact = tuple((tuple(records), rational(mass, name="a probability")) for records, mass in joint.items())
    return Correlated(listed, tuple(exact for _ in listed), source)


def network(
    nodes: Sequence[tuple[Sequence[int], Mapping[tuple[Any, ...], Mapping[Any, Number]]]], *, source: str = BY_HAND
) -> Network:
    """A Bayesian network: for each individual its parents, and its law for each choice of their records.

    >>> flu = network([((), {(): {0: "0.9", 1: "0.1"}}), ((0,), {(0,): {0: 1}, (1,): {0: "0.5", 1: "0.5"}})])
    >>> from tetraodon.pufferfish.world import World
    >>> flu.priors(World.product((0, 1), individuals=2))[0].weights[1]
    ((1, 0), Fraction(1, 20))
    """
    tables = tuple(
        tuple(
            (tuple(given), tuple((value, rational(mass, name="a probability")) for value, mass in law.items()))
            for given, law in table.items()
        )
        for _, table in nodes
    )
    return Network(tuple(tuple(parents) for parents, _ in nodes), tables, source)
