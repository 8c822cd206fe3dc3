"""Models that are summed without listing datasets, beside the listing of all datasets in fractions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from tetraodon import pufferfish as pf
from tetraodon.certificate.correlated_records import quilt_budget
from tetraodon.certificate.table_secret_loss import AnswerLaw, largest_loss
from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.attackers import Chain, stationary
from tetraodon.pufferfish.laws_of_sums import TreeModel, epidemic, exchangeable, tree_laws

STEP = [["0.9", "0.1"], ["0.2", "0.8"]]
Weighted = Iterable[tuple[tuple[int, ...], Fraction]]


def as_fractions(law: AnswerLaw) -> dict[int, Fraction]:
    """The chances of a law of one number as they are held, normalised."""
    (first,) = law.corner
    total = sum((Fraction(float(weight)) for weight in law.weights), Fraction(0))
    return {first + n: Fraction(float(weight)) / total for n, weight in enumerate(law.weights) if weight}


def given(datasets: Weighted, record: int, state: int, adds: Sequence[Sequence[int]]) -> dict[int, Fraction]:
    """The law of the sum given a record's state, by listing."""
    law: dict[int, Fraction] = {}
    for dataset, weight in datasets:
        if dataset[record] == state and weight:
            told = sum(each[value] for each, value in zip(adds, dataset, strict=True))
            law[told] = law.get(told, Fraction(0)) + weight
    total = sum(law.values(), Fraction(0))
    return {told: mass / total for told, mass in law.items()}


def close(law: AnswerLaw, exact: dict[int, Fraction]) -> bool:
    """Within the error that the law states, and doubles at that."""
    found = as_fractions(law)
    return found.keys() == exact.keys() and all(
        abs(found[n] / exact[n] - 1) <= 2 * Fraction(law.error) < Fraction(1, 10**10) for n in exact
    )


def listed(model: TreeModel) -> list[tuple[tuple[int, ...], Fraction]]:
    states = [range(len(adds)) for adds in model.adds]
    found = []
    for dataset in itertools.product(*states):
        weight = Fraction(float(model.root[dataset[0]]))
        for record, (parent, edge) in enumerate(zip(model.parents, model.edges, strict=True)):
            if edge is not None:
                weight *= Fraction(float(edge[dataset[parent], dataset[record]]))
        found.append((dataset, weight))
    return found


def matches(model: TreeModel, about: Iterable[int] | None = None) -> bool:
    datasets = listed(model)
    found = iter(tree_laws(model, about))
    good = True
    for record in range(len(model.parents)) if about is None else about:
        for x, y in itertools.combinations(range(len(model.adds[record])), 2):
            pair = next(found)
            for law, state in ((pair.one, x), (pair.other, y)):
                good = good and close(law, given(datasets, record, state, model.adds))
    return good and next(found, None) is None


def test_an_epidemic_is_the_contagion_of_everybody() -> None:
    joint = pf.scenarios.contagion(6, introduced=Fraction(1, 10), spread=Fraction(1, 4))
    (pair,) = epidemic(6, introduced="0.1", spread="1/4")
    adds = [(0, 1)] * 6
    assert close(pair.one, given(joint.items(), 2, 1, adds))
    assert close(pair.other, given(joint.items(), 2, 0, adds))
    assert epidemic(6, introduced=0, spread=1) == ()


def test_exchangeable_people_are_the_flu() -> None:
    (pair,) = exchangeable(["0.1", "0.15", "0.5", "0.15", "0.1"])
    ways = (1, 4, 6, 4, 1)
    chances = [Fraction(n, 100) for n in (10, 15, 50, 15, 10)]
    joint = [(who, chances[sum(who)] / ways[sum(who)]) for who in itertools.product((0, 1), repeat=4)]
    assert close(pair.one, given(joint, 0, 1, [(0, 1)] * 4))
    assert close(pair.other, given(joint, 0, 0, [(0, 1)] * 4))


def test_histograms_of_exchangeable_people_against_all_datasets() -> None:
    """Three people with three values: calibrated noise on all counts is accepted by exact verification, less is not."""
    world = pf.World.product((0, 1, 2), individuals=3)

    def histogram(rows: Sequence[int]) -> tuple[int, ...]:
        return tuple(sum(row == value for row in rows) for value in (0, 1, 2))

    chances = {counts: Fraction(0) for counts in map(histogram, world.datasets)}
    weights = {dataset: Fraction(1 + 5 * (len(set(dataset)) == 1), 27 + 3 * 5) for dataset in world.datasets}
    for dataset, weight in weights.items():
        chances[histogram(dataset)] += weight
    made = pf.least_noise_on(pf.exchangeable_histogram(chances), epsilon=1, promise="a value", answer=histogram)
    level = pf.Definition(pf.pairs.values(), pf.scenarios.explicit([pf.Prior.of(weights)]), epsilon=1)
    assert pf.verify(pf.Additive(histogram, pf.DiscreteLaplace(made.scale), world), level).holds
    less = pf.Additive(histogram, pf.DiscreteLaplace(made.scale * Fraction(998, 1000)), world)
    assert not pf.verify(less, level).holds
    with pytest.raises(PolicyError, match="same people"):
        pf.exchangeable_histogram({(1, 0): "1/2", (1, 1): "1/2"})


def test_chains_hidden_chains_and_spins() -> None:
    assert matches(pf.chain_model(STEP, start=["2/3", "1/3"], length=7))
    assert matches(pf.chain_model(STEP, start=[1, 0], length=5, adds=[-2, 3]), about=[1, 3])
    hidden = pf.hidden_chain_model(STEP, [["0.7", "0.3"], ["0.1", "0.9"]], start=["0.5", "0.5"], length=4)
    assert matches(hidden)
    spins = pf.ising_model(6, coupling="0.4", field="-0.2")
    assert matches(spins)
    low, high = (spins.edges[1][0, n] for n in (0, 1))
    assert high / low == pytest.approx(math.exp(-0.8 - 0.4))


def test_a_tree_with_branches() -> None:
    three = np.array([[0.2, 0.5, 0.3], [0.6, 0.0, 0.4]])
    back = np.array([[0.5, 0.5], [0.1, 0.9], [1.0, 0.0]])
    two = np.array([[0.9, 0.1], [0.3, 0.7]])
    model = TreeModel(
        (-1, 0, 0, 1, 0, 1),
        np.array([0.25, 0.75]),
        (None, three, two, back, three, back),
        ((0, 1), (0, 2, 5), (0, 1), (1, 0), (0, 1, 1), (0, 1)),
    )
    assert matches(model)


def test_a_hundred_thousand_records_need_no_more_than_sixty_do() -> None:
    exact = [
        pf.least_noise_on(
            tree_laws(pf.chain_model(STEP, start=["2/3", "1/3"], length=n)), epsilon=1, promise="a state"
        ).scale
        for n in (8, 60)
    ]
    long = pf.long_chain(STEP, length=100_000, epsilon=1)
    assert exact[0] < exact[1] <= long.scale * Fraction(1001, 1000)
    assert long.scale < exact[1] * Fraction(1001, 1000)


def test_refusals() -> None:
    with pytest.raises(PolicyError, match="no epidemic"):
        epidemic(3, introduced=2, spread=0)
    with pytest.raises(Refused, match="too large"):
        epidemic(2000, introduced="0.1", spread="0.1")
    with pytest.raises(Refused, match="too large"):
        tree_laws(pf.chain_model(STEP, start=["2/3", "1/3"], length=5000))
    with pytest.raises(PolicyError, match="parents come first"):
        TreeModel((-1, 2, 0), np.ones(1), (None, np.ones((1, 1)), np.ones((1, 1))), ((0,),) * 3)
    with pytest.raises(PolicyError, match="does not fit"):
        TreeModel((-1, 0), np.ones(1), (None, -np.ones((1, 1))), ((0,),) * 2)
    with pytest.raises(PolicyError, match="one parent"):
        TreeModel((), np.ones(1), (), ())


# -- long chain --------------------------------------------------------------------------------------
# Chains of any length: the bound is not below the exact loss of any record of a short one.

STEPS = {
    "slow": [["0.9", "0.1"], ["0.2", "0.8"]],
    "three": [["0.6", "0.3", "0.1"], ["0.2", "0.5", "0.3"], ["0.25", "0.25", "0.5"]],
    "not reversible": [["0.1", "0.8", "0.1"], ["0.1", "0.1", "0.8"], ["0.8", "0.1", "0.1"]],
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("epsilon", ["1/2", 2])
def test_no_record_of_a_chain_loses_more(name: str, epsilon: str) -> None:
    """The loss of every record of a chain of 40, summed over all of it, at the noise that the quilt found."""
    steps = [[Fraction(p) for p in row] for row in STEPS[name]]
    adds = [0, 2, 1][: len(steps)]
    found = pf.long_chain(steps, length=40, epsilon=epsilon, adds=adds)
    exact = tree_laws(pf.chain_model(steps, start=stationary(tuple(map(tuple, steps))), length=40, adds=adds))
    low, high = largest_loss(exact, 1 / found.scale)
    assert high <= Fraction(epsilon) + Fraction(1, 10**9)
    assert low > Fraction(epsilon) * Fraction(7, 10)  # and not far too much noise


def test_it_needs_less_than_the_markov_quilt() -> None:
    matrix = tuple(tuple(Fraction(p) for p in row) for row in STEPS["slow"])
    every = ~np.eye(2, dtype=bool)
    quilt = 1 / quilt_budget(Chain("t", (matrix,), (), "a study"), every, Fraction(1))
    assert pf.long_chain(STEPS["slow"], length=10**5, epsilon=1).scale < quilt * Fraction(2, 3)


def test_states_that_cannot_follow_each_other() -> None:
    steps = [["0.5", "0.5", 0], ["0.25", "0.5", "0.25"], [0, "0.5", "0.5"]]
    found = pf.long_chain(steps, length=30, epsilon=2)
    exact = tree_laws(pf.chain_model(steps, start=["1/4", "1/2", "1/4"], length=30))
    assert largest_loss(exact, 1 / found.scale)[1] <= 2 + 1e-9


def test_refusals_of_long_chain() -> None:
    with pytest.raises(Refused, match="too slowly"):
        pf.long_chain([["0.999", "0.001"], ["0.001", "0.999"]], length=1000, epsilon="0.01")
    with pytest.raises(Refused, match="too short"):
        pf.long_chain(STEPS["slow"], length=2, epsilon=1)
    with pytest.raises(PolicyError, match="one whole number"):
        pf.long_chain(STEPS["slow"], length=9, epsilon=1, adds=[1])
