"""What a release loses to attackers to whom rows depend on each other, against the verdict on every output."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.policy.test_build_attackers import CHAIN, read

import tetraodon as td
from tetraodon import pufferfish as pf
from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.correlated_records import (
    _beside_names,
    adds_up,
    certify_release,
    priced_for_each,
    require_independent,
    secret_pairs,
)
from tetraodon.errors import Refused
from tetraodon.exact.zcdp import rho_at
from tetraodon.noise import gaussian_pmf
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.pufferfish import Additive, DiscreteLaplace
from tetraodon.queries import cdf, histogram, total
from tetraodon.query.kinds import linear
from tetraodon.query.linear import Measurement

QUERIES = {
    "histogram": (histogram("x"), lambda rows: tuple(sum(row == v for row in rows) for v in range(3))),
    "cdf": (cdf("x"), lambda rows: tuple(sum(row is not ABSENT and row <= v for row in rows) for v in range(3))),
    "total": (total("x"), lambda rows: sum(0 if row is ABSENT else row for row in rows)),
}


def policy(attackers: list[Any], **changes: Any) -> Policy:
    return read(attackers, **({"attributes": {"x": {"integer": [0, 2]}}} | changes))


def measured(here: Policy, name: str, scale: Fraction) -> Certificate:
    return certify_release(here, [Measurement(linear(QUERIES[name][0], here.domain), scale)])


def verdict(world: pf.World, function: Callable[[Any], Any], scale: Fraction, scenario: Any, epsilon: Fraction) -> Any:
    answers = function(world.datasets[0])
    kind = DiscreteLaplace(scale)
    noise = (kind,) * len(answers) if isinstance(answers, tuple) else kind
    return pf.verify(Additive(function, noise, world), pf.Definition(pf.pairs.values(), scenario, epsilon=epsilon))


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("presence", ["public", "secret"])
def test_groups_of_two_among_three_people(name: str, presence: str) -> None:
    here = policy([{"groups": "home", "at most": 2}], presence=presence)
    scale = Fraction(5, 2)
    found = measured(here, name, scale)
    world = pf.World.product(range(3), individuals=3, absent=presence == "secret")
    scenario = pf.scenarios.groups([(0, 1), (2,)])
    assert found.exact
    assert verdict(world, QUERIES[name][1], scale, scenario, Fraction(found.epsilon)).holds
    assert not verdict(world, QUERIES[name][1], scale, scenario, Fraction(99, 100) * found.epsilon).holds


def test_a_secret_shows_in_changes_that_are_none_themselves() -> None:
    """Two blocks: their counts are exact for independent people, and tell on a group."""
    blocks = {"secrets": {"x": {"blocks": [[0, 1], [2, 2]]}}, "release": [{"name": "h", "histogram": "x"}]}
    alone, grouped = policy(["independent"], **blocks), policy([{"groups": "home", "at most": 2}], **blocks)
    exact = [Measurement(linear(td.queries.count("x = 2"), alone.domain), Fraction(0))]
    assert certify_release(alone, exact).epsilon == 0
    assert not certify_release(grouped, exact).finite
    world = pf.World.product(range(3), individuals=2)
    told = pf.Channel(
        [[int(sum(row == 2 for row in rows) == n) for n in range(3)] for rows in world.datasets],
        world.datasets,
        range(3),
    )
    pairs = pf.pairs.explicit([(pf.Secret.value(0, 0), pf.Secret.value(0, 1))])
    together = pf.Definition(pairs, pf.scenarios.groups([(0, 1)]), epsilon=1)
    assert not pf.verify(told, together).holds
    assert pf.verify(told, pf.Definition(pairs, pf.scenarios.independent(), epsilon=0)).holds


@pytest.mark.parametrize("name", QUERIES)
def test_chains(name: str) -> None:
    rows = [["0.5", "0.3", "0.2"], ["0.2", "0.7", "0.1"], ["0.3", "0.3", "0.4"]]
    here = policy([{"chain": CHAIN | {"states": 3, "transition": rows}}])
    scale = Fraction(20)
    found = measured(here, name, scale)
    assert not found.exact
    world = pf.World.product(range(3), individuals=4)
    scenario = pf.scenarios.chain(transition=rows, source="a study")
    assert verdict(world, QUERIES[name][1], scale, scenario, Fraction(found.epsilon)).holds
    independent = measured(policy(["independent"]), name, scale).epsilon
    assert found.epsilon >= independent  # so `independent` beside a chain adds nothing


def test_a_plan_for_one_row_keeps_the_budget_of_all() -> None:
    for attackers in ([{"groups": "home", "at most": 4}], [{"chain": CHAIN}], ["independent"]):
        here = read(attackers, release=[{"name": "h", "histogram": "on"}, {"name": "c", "histogram": "on"}])
        made = td.plan(here)
        assert 0 < made.epsilon <= here.epsilon
        assert float(made.epsilon) == pytest.approx(1, rel=1e-9)
        assert (priced_for_each(here) is here) == (attackers == ["independent"])


def test_without_secrets_nothing_is_lost() -> None:
    here = policy([{"groups": "home", "at most": 4}], secrets={"x": "public"})
    assert measured(here, "histogram", Fraction(0)).epsilon == 0
    assert priced_for_each(here) is here


def test_sensitivity_says_how_many_rows_it_is_for() -> None:
    assert td.sensitivity(policy([{"groups": "home", "at most": 4}]), total("x")).value == 8
    assert (
        td.sensitivity(policy([{"chain": CHAIN | {"states": 3, "transition": [["1/3"] * 3] * 3}}]), total("x")).value
        == 2
    )


def test_only_some_losses_add_up() -> None:
    assert adds_up(policy(["independent"]).attackers)
    assert adds_up(policy([{"groups": "home", "at most": 4}]).attackers)
    assert not adds_up(read([{"chain": CHAIN}]).attackers)


def test_mechanisms_for_independent_people_are_refused() -> None:
    here = policy([{"groups": "home", "at most": 4}])
    with pytest.raises(Refused, match="k-means is priced"):
        require_independent(here, "k-means")
    with pytest.raises(Refused, match="matrix of rows"):
        td.certify(here, [[1, 0, 0]], 1)


def test_gaussian_noise_for_a_group_by_its_exact_delta() -> None:
    """Two people of a group of two: the rho is that of both moving together, and verification agrees at its epsilon."""
    here = policy([{"groups": "home", "at most": 2}], budget={"epsilon": 1, "delta": "0.001"})
    world = pf.World.product((0, 1, 2), individuals=3)
    anything = pf.scenarios.groups([[0, 1]])
    for query, function in ((total("x"), sum), (histogram("x"), QUERIES["histogram"][1])):
        found = certify_release(here, [Measurement(linear(query, here.domain), Fraction(30), GAUSSIAN)])
        moved = 4**2 if query == total("x") else 2 * 2**2
        assert found.rho == Fraction(moved, 2 * 30**2)
        assert found.exact
        assert found.epsilon < math.inf
        level = pf.Definition(pf.pairs.values(), anything, epsilon=found.epsilon, delta=found.delta)
        assert pf.verify(Additive(function, pf.Gaussian(30), world), level).holds
    plan = td.plan({**here.document, "release": [{"name": "h", "histogram": ["x"]}], "budget": {"rho": "0.02"}})
    assert plan.certificate.rho <= Fraction("0.02")
    assert plan.certificate.rho > Fraction("0.0199")
    assert priced_for_each(plan.policy, GAUSSIAN).rho == Fraction("0.02") / 4


def test_gaussian_noise_is_refused_under_a_chain() -> None:
    here = read([{"chain": CHAIN}])
    with pytest.raises(Refused, match="who know a chain"):
        certify_release(here, [Measurement(linear(histogram("on"), here.domain), Fraction(3), GAUSSIAN)])
    with pytest.raises(Refused, match="who know a chain"):
        priced_for_each(dataclasses.replace(here, delta=Fraction(1, 1000)), GAUSSIAN)
    with pytest.raises(Refused, match="who know a chain"):
        read([{"chain": CHAIN}], budget={"epsilon": 1, "delta": "0.001"})


def test_secret_pairs_are_the_edges() -> None:
    here = policy(["independent"], secrets={"x": {"within": 1}})
    assert secret_pairs(here.graph).tolist() == [[False, True, False], [True, False, True], [False, True, False]]


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("scale", [Fraction(3), Fraction(8)])
def test_one_release_is_priced_by_the_law_of_its_noise(rows: int, scale: Fraction) -> None:
    """Two counts, of which one person, or two that depend on each other, move records: over every output."""
    dependent: list[Any] = [] if rows == 1 else [{"groups": "house", "at most": rows}]
    budget = {"epsilon": 1, "delta": "1e-5", "once": True}
    here = policy(dependent or ["independent"], attributes={"x": ["a", "b"]}, presence="public", budget=budget)
    measurement = Measurement(linear(histogram("x"), here.domain), scale, GAUSSIAN)
    found, counted = (certify_release(one, [measurement]) for one in (here, dataclasses.replace(here, once=False)))
    assert found.rho is None
    assert found.delta == here.delta == counted.delta
    assert found.epsilon < counted.epsilon
    law = np.array([gaussian_pmf(scale, k) for k in range(-80, 81)])
    one, other = np.outer(law, law), np.outer(np.roll(law, rows), np.roll(law, -rows))
    assert np.maximum(one - math.exp(found.epsilon) * other, 0).sum() <= float(here.delta)
    assert np.maximum(one - math.exp(0.9 * found.epsilon) * other, 0).sum() > float(here.delta)


def test_what_is_not_gaussian_is_not_priced_by_that_law_and_names_not_beside_it() -> None:
    here = policy(["independent"], presence="public", budget={"epsilon": 1, "delta": "1e-5", "once": True})
    query = linear(histogram("x"), here.domain)
    both = [Measurement(query, Fraction(9), GAUSSIAN), Measurement(query, Fraction(40))]
    found, counted = (certify_release(one, both) for one in (here, dataclasses.replace(here, once=False)))
    assert (found.epsilon, found.delta, found.rho) == (counted.epsilon, here.delta, None)
    pure = certify_release(here, both[1:])
    assert (pure.epsilon, pure.delta) == (Fraction(1, 20), 0)
    with pytest.raises(Refused, match="not priced beside Gaussian noise"):
        _beside_names(found, pure)


@pytest.mark.parametrize("sigma", [3, 6, 12])
@pytest.mark.parametrize("stays", ["0.6", "0.8"])
def test_one_release_under_a_chain_by_the_law_of_every_path(sigma: int, stays: str) -> None:
    """Seven rows: the law of the noisy count given each value of each row, from all paths, keeps what is certified."""
    p, delta, rows = Fraction(stays), Fraction(1, 10**4), 7
    matrix = [[str(p), str(1 - p)], [str(1 - p), str(p)]]
    budget = {"epsilon": 1, "delta": str(delta), "once": True}
    on = {"attributes": {"on": {"integer": [0, 1]}}}
    here = read([{"chain": CHAIN | {"transition": matrix}}], budget=budget, **on)
    count = Measurement(linear(total("on"), here.domain), Fraction(sigma), GAUSSIAN)
    found = certify_release(here, [count])
    assert found.rho is None
    assert found.delta == delta
    noise = np.array([gaussian_pmf(Fraction(sigma), k) for k in range(-120, 121)])
    spent = 0.0
    for row in range(rows):
        laws = np.zeros((2, rows + 1))
        for path in itertools.product((0, 1), repeat=rows):
            moved = sum(a != b for a, b in itertools.pairwise(path))
            laws[path[row], sum(path)] += float(p) ** (rows - 1 - moved) * float(1 - p) ** moved
        zero, one = (np.convolve(law / law.sum(), noise) for law in laws)
        for first, second in ((zero, one), (one, zero)):
            spent = max(spent, float(np.maximum(first - math.exp(found.epsilon) * second, 0).sum()))
    assert 0 < spent <= float(delta)


def test_a_chain_that_forgets_at_once_costs_what_one_row_does() -> None:
    budget = {"epsilon": 1, "delta": "1e-6", "once": True}
    here = read([{"chain": CHAIN | {"transition": [["1/2", "1/2"], ["1/2", "1/2"]]}}], budget=budget)
    alone = read(["independent"], budget=budget)
    measured = [Measurement(linear(histogram("on"), here.domain), Fraction(7), GAUSSIAN)]
    lost, row = (float(certify_release(one, measured).epsilon) for one in (here, alone))
    assert row < lost < row + 1e-5
    assert priced_for_each(here, GAUSSIAN).rho == pytest.approx(float(rho_at(here.epsilon, here.delta)), rel=1e-4)
