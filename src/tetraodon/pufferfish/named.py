"""Definitions known by name, as pairs and attackers ([KM12] sections 3, 6, 7.3 and 9; [RS07]; [HMD14])."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from typing import Any

from tetraodon.errors import PolicyError
from tetraodon.exact.rational import Number, rational
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import ABSENT, SecretGraph
from tetraodon.pufferfish import pairs, scenarios
from tetraodon.pufferfish.definition import Definition
from tetraodon.pufferfish.pairs import Pair, hamming
from tetraodon.pufferfish.scenarios import Scenario
from tetraodon.pufferfish.world import Dataset, Is, Metric, Secret, World


def no_free_lunch(*, epsilon: Number) -> Definition:
    """Privacy with no assumptions: any two datasets must look alike ([KM12] Thm 3.1)."""
    protected = pairs.membership() | pairs.all_values()
    return Definition(protected, scenarios.anything(), epsilon=epsilon, name="privacy with no assumptions")


def differential_privacy(*, epsilon: Number, delta: Number = 0) -> Definition:
    """Presence with any value, or absence, against independent records ([KM12] Thm 6.1)."""
    name = "differential privacy"
    return Definition(pairs.presence(), scenarios.independent(), epsilon=epsilon, delta=delta, name=name)


def indistinguishability(*, epsilon: Number, delta: Number = 0) -> Definition:
    """Any two values of one record, with the number of records known, against independent records."""
    name = "epsilon-indistinguishability"
    return Definition(pairs.all_values(), scenarios.independent(), epsilon=epsilon, delta=delta, name=name)


def blowfish(
    policy: Policy | SecretGraph,
    *,
    epsilon: Number | None = None,
    known: Callable[[Any], Any] | None = None,
    constraint: Callable[[Any], bool] | None = None,
) -> Definition:
    """The edges of a secret graph against independent records, given what is known ([HMD14] Thms 4.4, 4.5).

    `known` gives, for a record, the amounts whose totals are known, and is verified exactly; any other `constraint` on
    datasets is enclosed.
    """
    if known is not None and constraint is not None:
        raise PolicyError("both known sums and a constraint are given", fix="give one of the two")
    if epsilon is None:
        if not isinstance(policy, Policy):
            raise PolicyError("a graph has no epsilon", fix="give epsilon=")
        epsilon = policy.epsilon
    attackers: Scenario = scenarios.independent()
    if known is not None:
        attackers = scenarios.known_sums(known)
    elif constraint is not None:
        attackers = scenarios.given(constraint)
    return Definition(pairs.graph(policy), attackers, epsilon=epsilon, name="Blowfish")


def dgamma(*, d: Number, gamma: Number) -> Definition:
    """(d, gamma)-privacy: nobody whose prior is at most d ends above gamma, or far below ([RS07] Def. 2.2).

    The odds of presence stay between d / gamma and gamma (1 - d) / (d (1 - gamma)).
    """
    small, large = rational(d, name="d"), rational(gamma, name="gamma")
    if not 0 < small < large < 1:
        raise PolicyError("d and gamma are not in order", fix="write 0 < d < gamma < 1")
    odds = (small / large, large * (1 - small) / (small * (1 - large)))
    return Definition(pairs.membership(), scenarios.independent(), odds=odds, name="(d, gamma)-privacy")


def neighbours(
    world: World, related: Callable[[Any, Any], bool], *, epsilon: Number, name: str = "neighbours"
) -> Definition:
    """Any definition by neighbours: two related datasets must look alike ([KM12] after Thm 8.1)."""
    listed = tuple(
        Pair(is_dataset(one), is_dataset(other))
        for one, other in itertools.combinations(world.datasets, 2)
        if related(one, other) or related(other, one)
    )
    return Definition(pairs.listed_pairs(listed), scenarios.anything(), epsilon=epsilon, name=name)


def is_dataset(dataset: Dataset) -> Secret:
    """The statement that the data is exactly this dataset."""
    return Secret(f"the data is {dataset!r}", Is(dataset))


def induced_neighbours(world: World, constraint: Callable[[Any], bool], *, epsilon: Number) -> Definition:
    """Induced neighbours privacy ([KM12] Def. 9.2-9.3): no part of the moves between two datasets is possible alone.

    "No subset" means no proper, non-empty subset: the empty one and the whole always are possible.
    """
    possible = [dataset for dataset in world.datasets if constraint(dataset)]

    def records(dataset: Any) -> frozenset[Any]:
        return frozenset((i, record) for i, record in enumerate(dataset) if record is not ABSENT)

    def moves(one: Any, other: Any) -> frozenset[Any]:
        return records(one) ^ records(other)

    def induced(one: Any, other: Any) -> bool:
        if not (constraint(one) and constraint(other)):
            return False
        needed = moves(one, other)
        return not any(set() < moves(one, between) < needed for between in possible)

    return neighbours(world, induced, epsilon=epsilon, name="induced neighbours privacy")


def delta_constrained(world: World, metric: Metric, *, delta: Number, epsilon: Number) -> Definition:
    """Datasets that differ in one value and by at most delta must look alike ([KM12] Def. 7.1)."""
    reach = rational(delta, name="delta")
    return neighbours(
        world,
        lambda one, other: hamming(one, other) == 1 and metric(one, other) <= reach,
        epsilon=epsilon,
        name="delta-constrained differential privacy",
    )


def zlw(
    world: World, metric: Metric, *, delta: Number, epsilon: Number, among: Collection[Dataset] | None = None
) -> Definition:
    """Datasets of a set that share a record and are less than delta apart must look alike ([KM12] Def. 7.1)."""
    reach = rational(delta, name="delta")

    def close(one: Any, other: Any) -> bool:
        listed = among is None or (one in among and other in among)
        return listed and metric(one, other) < reach and hamming(one, other) < len(one)

    return neighbours(world, close, epsilon=epsilon, name="ZLW distributional privacy")


def modified_zlw(world: World, metric: Metric, *, delta: Number, epsilon: Number) -> Definition:
    """Datasets at most delta apart must look alike ([KM12] Def. 7.2)."""
    reach = rational(delta, name="delta")
    name = "modified ZLW privacy"
    return neighbours(world, lambda one, other: metric(one, other) <= reach, epsilon=epsilon, name=name)
