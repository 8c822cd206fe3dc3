"""Noise along edges: trees and maps."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom
from tests.policies import public_policy
from tests.releases.made import drawn, kept

import tetraodon as td
from tetraodon.errors import QueryError
from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.mechanism.edge_noise import (
    BRANCHES,
    EDGES,
    LineErrors,
    best_line,
    flow_errors,
    flows_of,
    tree_of,
    used_of,
)
from tetraodon.mechanism.registry import MECHANISMS
from tetraodon.mechanism.strategy import Scaled, Strategy, box_sums
from tetraodon.noise.laws import LAPLACE
from tetraodon.policy.attribute_graph import Pairs
from tetraodon.query.contribution import Beyond, One
from tetraodon.query.edge_flows import PARTS, FlowLine, Flows
from tetraodon.query.linear import LinearQuery, Split

# -- branches ---------------------------------------------------------------------------------------
# Noise along the steps of trees of secrets, against every matrix written out. False alarms: coverage of each of 9
# values over `RUNS` releases is compared with the 1e-11 quantile of Binomial(RUNS, 0.95), so that the file fails by
# chance with probability below 1e-10.

RUNS = 200
FEWEST = int(binom.ppf(1e-11, RUNS, 0.95))
TREE = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)]  # and 7 and 8 by themselves
NAMES = [f"v{number}" for number in range(9)]


def policy(pairs: list[tuple[int, int]] = TREE, **changes: Any) -> td.Policy:
    document: dict[str, Any] = public_policy(
        attributes={"x": NAMES, "sex": ["f", "m"]},
        secrets={"x": {"pairs": [[NAMES[a], NAMES[b]] for a, b in pairs]}, "sex": "public"},
        release=[{"name": "h", "histogram": "x"}],
    )
    return td.load_policy(document | changes)


@pytest.mark.parametrize("item", [{"histogram": "x"}, {"histogram": ["x", "sex"]}])
def test_a_tree_of_secrets_costs_one_for_every_step(item: dict[str, Any]) -> None:
    plan = td.plan(policy(release=[{"name": "h", **item}]))
    found = plan["h"]
    assert (found.mechanism, found.scale, plan.epsilon, plan.certificate.exact) == ("branches", 1, 1, True)
    ends = 2 * len(TREE) / len(NAMES)
    assert found.expected_error**2 == pytest.approx(ends * LAPLACE.variance(Fraction(1)))
    assert found.expected_error < 0.7 * LAPLACE.variance(Fraction(2)) ** 0.5


@pytest.mark.parametrize(
    ("pairs", "steps"), [([(0, 1), (1, 2), (2, 3), (0, 3)], 3), ([(0, 1), (1, 2), (0, 2)], 2), ([*TREE, (5, 6)], 2)]
)
def test_pairs_beyond_a_tree_pass_several_steps(pairs: list[tuple[int, int]], steps: int) -> None:
    here = policy(pairs)
    [strategy] = BRANCHES.proposals(here.items[0].query, here)
    assert td.certificate.certify_measurements(here.graph, strategy.measurements(Fraction(1))).epsilon == steps


@pytest.mark.parametrize(
    "changes",
    [
        {"presence": "secret"},
        {"secrets": {"x": {"blocks": [NAMES[:4], NAMES[4:]]}}},
        {"release": [{"name": "h", "histogram": "x", "bins": {"x": {"few": NAMES[:4], "many": NAMES[4:]}}}]},
        {"release": [{"name": "h", "count": "x = 'v1'"}]},
    ],
)
def test_it_is_not_proposed_where_it_is_of_no_use(changes: dict[str, Any]) -> None:
    here = policy(**changes)
    assert list(BRANCHES.proposals(here.items[0].query, here)) == []


def test_totals_must_be_public() -> None:
    here = policy(secrets={"x": {"pairs": [["v0", "v1"]]}}, release=[{"name": "h", "histogram": ["x", "sex"]}])
    assert list(BRANCHES.proposals(here.items[0].query, here)) == []


def test_trees_go_out_from_the_middle() -> None:
    line = Pairs(6, frozenset({(0, 1), (1, 2), (2, 3), (3, 4)}))
    assert tree_of(line) == (1, 2, 2, 2, 3, 5)


def at(by: tuple[Split, ...] = ()) -> Scaled:
    here = policy(release=[{"name": "h", "histogram": ["x", *(split.name for split in by)]}])
    [strategy] = BRANCHES.proposals(here.items[0].query, here)
    return Scaled(strategy, Fraction(2), here.domain)


def test_noise_in_every_sum_is_that_of_the_matrix() -> None:
    scaled = at((Split("sex"),))
    sums = scaled.strategy.noisy[0].contribution
    parts = np.array([0] * 7 + [1, 2])
    whole = np.concatenate([sums.columns(), parts == np.arange(3)[:, None]])
    inverse = np.linalg.inv(whole)
    coins = np.random.default_rng(1)
    exact = coins.integers(0, 50, (2, 9))
    beyond, totals = exact @ sums.columns().T, exact @ whole[6:].T
    assert BRANCHES.fit(scaled, (beyond, totals[..., None])).tolist() == exact.tolist()
    weights = coins.normal(size=(3, 18))
    used = np.kron(np.eye(2), inverse[:, :6])
    assert BRANCHES.parts(scaled, weights)[0] == pytest.approx(weights @ used)
    covariance = used @ used.T * LAPLACE.variance(Fraction(2))
    assert BRANCHES.covariance_times(scaled, weights) == pytest.approx(weights @ covariance)
    assert BRANCHES.cell_variance(scaled) == pytest.approx(np.diag(covariance).mean())
    low, high = (np.array([0, 0, 1]), np.array([0, 2, 7])), (np.array([0, 1, 1]), np.array([3, 6, 8]))
    found = BRANCHES.box_terms(scaled, low, high)
    for place in range(3):
        mask = np.zeros((2, 9), np.bool_)
        mask[low[0][place] : high[0][place] + 1, low[1][place] : high[1][place] + 1] = True
        assert found[place] == BRANCHES.terms(scaled, mask) == np.abs(mask.ravel() @ used).sum().round()
    assert BRANCHES.most_terms(policy().items[0].query, scaled) == 3


def test_intervals_hold_the_truth() -> None:
    table = pl.DataFrame({"x": [NAMES[i * i % 9] for i in range(300)], "sex": ["f"] * 300})
    truth = np.array([table["x"].to_list().count(name) for name in NAMES])
    plan = td.plan(policy())
    held = np.zeros(9, np.int64)
    for release in drawn(plan, table, RUNS):
        columns = release["h"].columns
        held += (columns["lower"] <= truth) & (truth <= columns["upper"])
        assert columns["count"].sum() == 300
        assert columns["count"][7:].tolist() == truth[7:].tolist()
    assert held.min() >= FEWEST


def test_a_folder_is_released_and_verified(tmp_path: Path) -> None:
    table = pl.DataFrame({"x": NAMES * 20, "sex": ["f", "m"] * 90})
    here = policy(release=[{"name": "h", "histogram": ["x", "sex"]}])
    made = kept(here, table, tmp_path)
    assert made.plan["h"].mechanism == "branches"
    assert float(made.ask("x = 'v8'")) == 20


def test_what_is_measured_otherwise_is_refused() -> None:
    strategy = Strategy(BRANCHES, (LinearQuery(One(), (Split("x"),)),), (), (Split("x"),))
    with pytest.raises(QueryError, match="not measured like this"):
        used_of(strategy)
    with pytest.raises(QueryError, match="ring"):
        Beyond.of("x", (1, 2, 0))


# -- edges ------------------------------------------------------------------------------------------
# Maps with noise along their steps: planned errors, measured ones, and intervals that hold the truth. False alarms:
# coverage of each of 600 rectangles over `RUNS` releases is compared with the 1e-12 quantile of Binomial(RUNS,
# 0.95); the mean squared error of 300 rectangles with its plan within 40%, which is more than eight standard
# deviations of its mean over `RUNS` releases. So the file fails by chance with probability below 2e-9.

EDGES_RUNS = 60
EDGES_FEWEST = int(binom.ppf(1e-12, EDGES_RUNS, 0.95))


def policy_of_edges(sizes: tuple[int, int], **changes: Any) -> td.Policy:
    document: dict[str, Any] = public_policy(
        dataset="map",
        attributes={name: {"integer": [0, size - 1]} for name, size in zip("xy", sizes, strict=True)},
        together={"metric": "l1", "over": ["x", "y"], "within": 1},
        release=[{"name": "m", "rectangles": ["x", "y"]}],
    )
    return td.load_policy(document | changes)


@pytest.mark.parametrize(("size", "most"), [(64, 12.5), (256, 18)])
def test_maps_under_steps_of_one_are_as_good_as_was_asked(
    size: int, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = td.plan(policy_of_edges((size, size)))
    assert (plan["m"].mechanism, plan.epsilon) == ("edges", 1)
    assert plan["m"].expected_error <= most
    monkeypatch.delitem(MECHANISMS, "edges")
    assert plan["m"].expected_error < 0.5 * td.plan(policy_of_edges((size, size)))["m"].expected_error


@pytest.mark.parametrize(
    "changes",
    [
        {"presence": "secret"},
        {"together": "one attribute at a time", "secrets": {"x": "public"}},
        {"known": [{"marginal": ["x"]}]},
    ],
)
def test_it_is_not_proposed_where_it_has_no_price(changes: dict[str, Any]) -> None:
    here = policy_of_edges((8, 9), **changes)
    assert list(EDGES.proposals(here.items[0].query, here)) == []


def scaled(first: FlowLine, second: FlowLine, scale: Fraction = Fraction(3)) -> Scaled:
    here = policy_of_edges((second.size, first.size))
    flows = LinearQuery(Flows(("x", "y"), first, second))
    strategy = Strategy(EDGES, (flows,), (LinearQuery(One()),), (Split("x"), Split("y")))
    return Scaled(strategy, scale, here.domain)


AT = scaled(FlowLine(7, Fraction(2), 3, Fraction(9)), FlowLine(5, Fraction(1)))


def test_errors_are_those_of_the_covariance_of_all_cells() -> None:
    item = policy_of_edges((5, 7)).items[0]
    cells = EDGES.covariance_times(AT, np.eye(35))
    found = []
    for (a, b), (c, d) in product(zip(*np.triu_indices(5), strict=True), zip(*np.triu_indices(7), strict=True)):
        mask = np.zeros((5, 7), np.bool_)
        mask[a : b + 1, c : d + 1] = True
        flat = mask.ravel()
        found.append(float(flat @ cells @ flat))
        ends = [np.array([code]) for code in (a, c, b, d)]
        assert flow_errors(AT).of(ends[:2], ends[2:])[0] == pytest.approx(found[-1])
        assert EDGES.reach(AT, mask, CONFIDENCE) <= EDGES.box_reach(AT, ends[:2], ends[2:], CONFIDENCE)[0] + 1e-9
    assert EDGES.expected_error(item.query, AT) ** 2 == pytest.approx(np.mean(found))
    assert flow_errors(AT).largest() >= max(found)
    assert found[-1] >= 0
    assert EDGES.is_certain(AT, np.ones((5, 7), np.bool_))


def test_parts_are_how_much_of_each_noise_is_in_a_sum() -> None:
    weights = np.random.default_rng(1).normal(size=(2, 35))
    parts, scales = EDGES.parts(AT, weights), EDGES.part_scales(AT)
    assert scales == (6, 27, 3)
    variances = sum((part**2).sum(axis=1) * LAPLACE.variance(s) for part, s in zip(parts, scales, strict=True))
    assert variances == pytest.approx((weights * EDGES.covariance_times(AT, weights)).sum(axis=1))


@pytest.mark.parametrize("size", [2, 9, 64, 600])
def test_a_step_costs_one_and_long_borders_have_bins(size: int) -> None:
    line = best_line(size)
    assert 1 / line.steps + (line.width / line.smooth if line.width else 0) == 1
    assert bool(line.width) == (size > 60)
    errors = LineErrors(line, *(LAPLACE.variance(scale) for scale in line.scales))
    low, high = np.triu_indices(size)
    assert errors.mean() == pytest.approx(errors.of(low, high).mean())
    assert errors.largest() >= errors.of(low, high).max()
    alone = LineErrors(FlowLine(size, Fraction(1)), LAPLACE.variance(Fraction(1)))
    assert errors.mean() <= alone.mean()


def test_both_kinds_of_borders_share_a_step_that_crosses_both() -> None:
    here = policy_of_edges((12, 90), together="all at once", secrets={"x": {"within": 1}, "y": {"within": 2}})
    query = here.items[0].query
    [strategy] = EDGES.proposals(query, here)

    def error(times: Fraction) -> float:
        flows = flows_of(Scaled(strategy, Fraction(1), here.domain))
        second = flows.second
        louder = FlowLine(second.size, second.steps * times, second.width, second.smooth * times)
        at = scaled(flows.first, louder, Fraction(1))
        loss = td.certificate.certify_measurements(here.graph, at.strategy.measurements(Fraction(1))).epsilon
        return EDGES.expected_error(query, scaled(flows.first, louder, Fraction(loss) * 10)) / 10

    assert error(Fraction(1)) <= min(error(Fraction(11, 10)), error(Fraction(10, 11))) * (1 + 1e-4)


@pytest.mark.parametrize("changes", [{}, {"budget": {"epsilon": 1, "delta": "1e-6"}}])
def test_errors_are_as_planned_and_intervals_hold(changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(MECHANISMS, "grid")
    coins = np.random.default_rng(3)
    codes = np.clip(np.rint(coins.normal([10, 30], [4, 15], (1500, 2))), 0, [19, 69]).astype(np.int64)
    asked = policy_of_edges((20, 70), **changes)
    made = drawn(asked, pl.DataFrame({"x": codes[:, 0], "y": codes[:, 1]}), EDGES_RUNS)
    item = made[0].plan["m"]
    assert item.mechanism == "edges"
    ends = np.sort(coins.integers(0, [[[20]], [[70]]], (2, 300, 2)), axis=2)
    low, high = ends[:, :, 0].T, ends[:, :, 1].T
    cells = np.histogram2d(*codes.T, bins=[range(21), range(71)])[0]
    truth = box_sums(cells, low.T, high.T)
    sides = {"x": (low[:, 0], high[:, 0]), "y": (low[:, 1], high[:, 1])}
    found = [release["m"].rectangles_many(sides) for release in made]
    planned = flow_errors(item.scaled(asked.domain)).of(low.T, high.T).mean()
    assert np.mean([(one["count"] - truth) ** 2 for one in found]) == pytest.approx(planned, rel=0.4)
    assert sum(((one["lower"] <= truth) & (truth <= one["upper"])).astype(int) for one in found).min() >= EDGES_FEWEST
    one = made[0]["m"].rectangle(x=(3, 12), y=(20, 41))
    assert one.lower <= float(one) <= one.upper
    whole = [float(release["m"].rectangle(x=(0, 19))) for release in made]
    assert whole == pytest.approx([1500] * EDGES_RUNS)


def test_another_table_tells_of_the_map_too() -> None:
    table = pl.DataFrame({"x": [code % 6 for code in range(400)], "y": [code % 7 for code in range(400)]})
    items = [{"name": "m", "rectangles": ["x", "y"]}, {"name": "h", "histogram": "x", "share": 9}]
    [made] = drawn(policy_of_edges((6, 7), release=items), table, 1)
    assert made.plan["m"].mechanism == "edges"
    strip = made["m"].rectangle(x=(2, 3))
    mask = np.zeros((6, 7), np.bool_)
    mask[2:4] = True
    alone = EDGES.reach(made.plan["m"].scaled(made.plan.policy.domain), mask, CONFIDENCE)
    assert strip.upper - strip.lower < alone


def test_a_folder_is_released_and_verified_edges(tmp_path: Path) -> None:
    table = pl.DataFrame({"x": [code % 30 for code in range(900)], "y": [code % 70 for code in range(900)]})
    here = policy_of_edges((30, 70))
    made = kept(here, table, tmp_path)
    assert made.plan["m"].mechanism == "edges"
    assert flows_of(made.plan["m"].scaled(here.domain)).first.width


def test_a_bound_does_not_keep_others_from_rising() -> None:
    """No step moves both, so that each item has the whole budget, whatever its share."""
    sides = {name: {"integer": [0, 69]} for name in "xy"}
    items = [{"name": "m", "rectangles": ["x", "y"]}, {"name": "h", "histogram": "age", "share": 3}]
    plan = td.plan(
        policy_of_edges(
            (70, 70),
            attributes=sides | {"age": {"integer": [0, 5]}},
            secrets={name: {"within": 1} for name in ("x", "y", "age")},
            together="one attribute at a time",
            release=items,
        )
    )
    assert [(item.mechanism, item.epsilon) for item in plan] == [("edges", 1), ("ordered", 1)]
    assert not plan.certificate.exact


def test_the_map_is_told_on_a_grid_of_parts() -> None:
    measured = np.arange(35) * PARTS // 2
    assert EDGES.fit(AT, (measured,)).ravel().tolist() == (np.arange(35) / 2).tolist()


def test_what_is_measured_otherwise_is_refused_edges() -> None:
    strategy = Strategy(EDGES, (LinearQuery(One(), (Split("x"),)),), (), (Split("x"),))
    with pytest.raises(QueryError, match="not measured like this"):
        flows_of(Scaled(strategy, Fraction(1), policy_of_edges((3, 4)).domain))
