"""Examples of the four papers that are worlds, each against enumeration.

Elsewhere are: [KM12] Theorems 3.1, 6.1, 6.2, 7.1, Examples 9.1, 9.2 (tests/pufferfish/test_named.py, test_laplace.py),
Equation 14 and Theorem 8.1 (test_composition.py), Lemma 7.1 (test_calibrated.py); [HMD14] Example 8.2 and section 8
(test_policy_graph.py, test_closed_forms.py), Lemma 6.1 (tests/pufferfish/test_sampled.py); [RS07] Example 4.1
(tests/views/test_estimate.py), sections 6.1 and 6.2 (test_attacker.py), Definitions 3.1, 3.2, 6.5
(test_meaningful.py); [MK15] two hospitals and sums of neighbouring counts (tests/attacks).
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from operator import ne
from typing import Any

import pytest

import tetraodon as td
from tests.pufferfish.oracle import two_point_priors, worst_odds
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.noise import gaussian_pmf
from tetraodon.pufferfish import Channel, Definition, Prior, Secret, World, pairs, scenarios, verify
from tetraodon.pufferfish.view_attackers import exclusive, independent
from tetraodon.views.channel import SetChannel
from tetraodon.views.perturbation import frapp

F = Fraction


def policy(attributes: dict[str, Any], **more: Any) -> td.Policy:
    document = {"dataset": "d", "presence": "public", "attributes": attributes, "budget": {"epsilon": 1}}
    return td.load_policy(document | more)


def test_sick_or_healthy_may_be_told_and_not_the_disease() -> None:
    """[KM12] section 3: the only pair is ("Bob has cancer", "Bob has AIDS")."""
    world = World.product(("healthy", "cancer", "aids"), individuals=2)

    def law(dataset: tuple[str, ...]) -> dict[str, Fraction]:
        told, other = dataset[0], {"cancer": "aids", "aids": "cancer"}.get(dataset[0])
        return {"healthy": F(1)} if other is None else {told: F(2, 3), other: F(1, 3)}

    channel = Channel.of(law, world)
    disease = pairs.explicit([(Secret.value(0, "cancer"), Secret.value(0, "aids"))])
    found = verify(channel, Definition(disease, scenarios.independent(), epsilon=1))
    assert found.odds == worst_odds(channel, disease, two_point_priors(world, apart=1)) == 2
    ill = pairs.explicit([(Secret.value(0, "cancer"), Secret.value(0, "healthy"))])
    assert verify(channel, Definition(ill, scenarios.independent(), epsilon=1)).odds == math.inf


def total(dataset: tuple[int, ...]) -> dict[int, Fraction]:
    """The sum of two bits, told rightly with 1/2 and else as one of the others."""
    return {told: F(1, 2) if told == sum(dataset) else F(1, 4) for told in range(3)}


def test_attackers_who_know_no_individual_learn_less() -> None:
    """[KM12] Examples 3.2 and 3.3: records with one law, and with laws of their own, from a grid of laws."""
    world = World.product((0, 1), individuals=2)
    channel, grid = Channel.of(total, world), [F(k, 24) for k in range(25)]

    def prior(first: Fraction, second: Fraction) -> Prior:
        chances = [(1 - first, first), (1 - second, second)]
        return Prior.of(
            {(a, b): chances[0][a] * chances[1][b] for a, b in world.datasets if chances[0][a] * chances[1][b]}
        )

    same = worst_odds(channel, pairs.values(), [prior(one, one) for one in grid])
    own = worst_odds(channel, pairs.values(), [prior(one, other) for one in grid for other in grid])
    assert own == verify(channel, Definition(pairs.values(), scenarios.independent(), epsilon=1)).odds == 2
    found = verify(channel, Definition(pairs.values(), scenarios.iid(), epsilon=1))
    assert same < own
    assert float(same) <= math.exp(float(found.upper)) + 1e-9


def test_odds_move_by_the_likelihood_ratio() -> None:
    """[KM12] section 3.1: posterior odds over prior odds, from beliefs, are what Definition 3.1 bounds."""
    world = World.product((0, 1), individuals=2)
    channel = Channel.of(total, world)
    prior = Prior.of({(0, 0): "1/7", (0, 1): "2/7", (1, 0): "1/7", (1, 1): "3/7"})
    worst = F(1)
    for told in range(3):
        joint = {dataset: weight * total(dataset)[told] for dataset, weight in prior.weights}
        before = [sum((w for d, w in prior.weights if d[0] == value), F(0)) for value in (0, 1)]
        after = [sum((w for d, w in joint.items() if d[0] == value), F(0)) for value in (0, 1)]
        ratio = (after[0] / after[1]) / (before[0] / before[1])
        worst = max(worst, ratio, 1 / ratio)
    first = pairs.explicit([(Secret.value(0, 0), Secret.value(0, 1))])
    assert verify(channel, Definition(first, scenarios.explicit([prior]), epsilon=1)).odds == worst


CELLS = list(itertools.product((0, 1), (0, 1), (0, 1, 2)))


def test_every_pair_lifts_one_count_and_lowers_one_or_none() -> None:
    """[HMD14] Example 8.1: the marginal of A1 and A2 is known; from a1 b1 c1 to a2 b2 c2, q1 falls and q4 rises."""
    counts = list(itertools.product((0, 1), (0, 1)))
    for x, y in itertools.permutations(CELLS, 2):
        lifted = [q for q in counts if x[:2] != q == y[:2]]
        lowered = [q for q in counts if x[:2] == q != y[:2]]
        assert (len(lifted), len(lowered)) in ((1, 1), (0, 0))
    assert [q for q in counts if (0, 0) != q == (1, 1)] == [counts[3]]


def test_the_worst_neighbours_beside_a_marginal() -> None:
    """[HMD14] Example 8.3: four records that all move, 8 apart, and no part of the move keeps the marginal."""
    before = [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0)]
    after = [(0, 1, 1), (1, 0, 1), (1, 1, 1), (0, 0, 1)]

    def marginal(rows: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        return sorted(row[:2] for row in rows)

    assert marginal(before) == marginal(after)
    for some in itertools.product((False, True), repeat=4):
        mixed = [new if move else old for old, new, move in zip(before, after, some, strict=True)]
        assert (marginal(mixed) == marginal(before)) == (len(set(some)) == 1)
    assert sum(abs(before.count(cell) - after.count(cell)) for cell in CELLS) == 8
    attributes = {"a1": ["x", "y"], "a2": ["x", "y"], "a3": ["x", "y", "z"]}
    known = policy(attributes, known=[{"marginal": ["a1", "a2"]}])
    histogram = [[int(cell == other) for other in range(12)] for cell in range(12)]
    assert td.certify(known, histogram, 8).epsilon == 1


@pytest.mark.parametrize(
    ("secrets", "moves"),
    [
        ("everything", 100),
        ({"within": 5}, 5),
        ({"blocks": [[0, 10], *([low, low + 9] for low in range(11, 100, 10))]}, 10),
    ],
)
def test_a_sum_of_ages(secrets: Any, moves: int) -> None:
    """[MK15] "Answering queries with Blowfish": 100 in general, 5 within five years, 10 within ranges of ten."""
    made = policy({"age": {"integer": [0, 100]}}, secrets={"age": secrets})
    edges = (abs(x - y) for x, y in itertools.combinations(range(101), 2) if made.graph.is_edge((x,), (y,)))
    assert max(edges) == moves
    assert td.certify(made, [list(range(101))], moves).epsilon == 1


def test_the_class_of_a_disease_may_be_told() -> None:
    """[MK15] "Partitioned": which class everybody is in is exact; which disease of the class costs as a histogram."""
    classes = [["well"], ["flu", "measles"], ["cancer", "stroke"]]
    diseases = [name for those in classes for name in those]
    made = policy({"disease": diseases}, secrets={"disease": {"blocks": classes}})
    by_class = [[int(name in those) for name in diseases] for those in classes]
    each = [[int(name == other) for name in diseases] for other in diseases]
    moved = max(
        sum(abs(row[x] - row[y]) for row in each)
        for x, y in itertools.combinations(range(5), 2)
        if made.graph.is_edge((diseases[x],), (diseases[y],))
    )
    assert td.certify(made, by_class, 1).epsilon == 0
    assert td.certify(made, each, moved).epsilon == 1


def test_places_more_than_ten_miles_apart() -> None:
    """[MK15] "Distance threshold": the exponent is ceil(d / 10), not floor, by a mechanism that keeps every edge."""
    world, base = World.product(range(31), individuals=1), F(3, 2)
    weights = {x: {w: base ** -abs(x - w) for w in range(31)} for x in range(31)}
    rows = {x: {w: part / sum(each.values()) for w, part in each.items()} for x, each in weights.items()}
    channel = Channel.of(lambda dataset: rows[dataset[0]], world)

    def odds(apart: int) -> Fraction:
        both = [(x, x + apart) for x in range(31 - apart)]
        return max(max(rows[x][w] / rows[y][w], rows[y][w] / rows[x][w]) for x, y in both for w in range(31))

    near = max(odds(apart) for apart in range(1, 11))
    domain = Domain((Attribute("mile", Integers(0, 30)),))
    made = policy({"mile": {"integer": [0, 30]}}, secrets={"mile": {"within": 10}})
    assert made.domain.size == domain.size == 31
    assert verify(channel, Definition(pairs.graph(made), scenarios.independent(), epsilon=99)).odds == near
    for apart in range(1, 31):
        assert odds(apart) <= near ** math.ceil(apart / 10)
    assert odds(15) > near ** (15 // 10)


def test_a_bit_with_gaussian_noise_of_one() -> None:
    """[MK15] "Minimizing probabilistic failure": 10 is told; the bit 1 is e^9.5, 13,000 times, as likely as 0."""
    odds = gaussian_pmf(F(1), 10 - 1) / gaussian_pmf(F(1), 10)
    assert odds == pytest.approx(math.exp(9.5))
    assert 13_000 < odds < 14_000


@pytest.mark.parametrize("people", [2, 4])
def test_a_random_record_costs_one_nth_of_delta_at_any_epsilon(people: int) -> None:
    """[MK15] the same: somebody's record is told as it is, and delta is exactly 1/N, whatever epsilon."""
    world = World.product((0, 1), individuals=people)

    def law(dataset: tuple[int, ...]) -> dict[tuple[int, int], Fraction]:
        return {(person, value): F(1, people) for person, value in enumerate(dataset)}

    channel = Channel.of(law, world)
    changed = [(x, y) for x in world.datasets for y in world.datasets if sum(map(ne, x, y)) == 1]
    for epsilon in (1, 20):
        times = F(math.ceil(math.exp(epsilon)))
        over = (sum(max(F(0), p - times * law(y).get(told, F(0))) for told, p in law(x).items()) for x, y in changed)
        assert max(over) == F(1, people)
        enough = Definition(pairs.values(), scenarios.independent(), epsilon=epsilon, delta=F(1, people))
        less = Definition(pairs.values(), scenarios.independent(), epsilon=epsilon, delta=F(99, 100 * people))
        assert (verify(channel, enough).holds, verify(channel, less).holds) == (True, False)


def test_two_ways_to_a_posterior_of_one_third() -> None:
    """[RS07] section 1.4: keep 2/3 and noise 1/150 take 6/1200 to 101/300; FRAPP keeps a third, two of six records."""
    channel, prior = SetChannel(F(2, 3), F(1, 150)), F(6, 1200)
    attacker = independent({"t": prior, "u": prior})
    assert attacker.posterior(channel, {"t"})["t"] == F(101, 300)
    assert attacker.leakage(channel).posterior == F(101, 300)
    domain = Domain((Attribute("x", Integers(1, 1200)),))
    assert 6 * frapp(domain, keep=F(1, 3)).keep == 2 < 6 * channel.keep == 4


def test_every_tuple_is_a_bucket_of_its_own_and_exclusive_attackers_leak() -> None:
    """[RS07] Theorem 6.6: given a view tuples stay independent, so each is a bucket; and a view that is of use leaks to
    exclusive attackers: with a prior of 1/2 they come to believe with more than 4/5.
    """
    channel, names = SetChannel(F(2, 5), F(1, 10)), ("a", "b", "c")
    attacker = independent({"a": "1/3", "b": "1/4", "c": "1/5"})
    for shown in itertools.product((False, True), repeat=3):
        view = {name for name, yes in zip(names, shown, strict=True) if yes}
        chance = {name: channel.shown if name in view else 1 - channel.shown for name in names}
        empty = {name: channel.noise if name in view else 1 - channel.noise for name in names}
        joint = {
            table: weight * math.prod((chance[n] if n in table else empty[n] for n in names), start=F(1))
            for table, weight in attacker.tables.items()
        }
        whole, after = sum(joint.values()), attacker.posterior(channel, view)
        for table, weight in joint.items():
            assert weight / whole == math.prod((after[n] if n in table else 1 - after[n] for n in names), start=F(1))
    groups = exclusive([{"a": "1/2", "b": "1/2"}])
    ratio = channel.replace_ratio
    assert groups.leakage(channel).posterior == ratio / (1 + ratio) > F(4, 5)
