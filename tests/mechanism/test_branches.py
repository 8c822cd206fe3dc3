"""Noise along the steps of trees of secrets, against every matrix written out.

False alarms: coverage of each of 9 values over `RUNS` releases is compared with the 1e-11 quantile of
Binomial(RUNS, 0.95), so that the file fails by chance with probability below 1e-10.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import tetraodon as td
from tetraodon.errors import QueryError
from tetraodon.gate import without_ledger
from tetraodon.mechanism.edge_noise import BRANCHES, tree_of, used_of
from tetraodon.mechanism.strategy import Scaled, Strategy
from tetraodon.noise.laws import LAPLACE
from tetraodon.policy.attribute_graph import Pairs
from tetraodon.query.contribution import Beyond, One
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.releases.counting import count
from tetraodon.releases.release import infer
from tetraodon.releases.run import noisy

RUNS = 200
FEWEST = int(binom.ppf(1e-11, RUNS, 0.95))
TREE = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)]  # and 7 and 8 by themselves
NAMES = [f"v{number}" for number in range(9)]


def policy(pairs: list[tuple[int, int]] = TREE, **changes: Any) -> td.Policy:
    document: dict[str, Any] = {
        "dataset": "d",
        "individuals": "one row each",
        "presence": "public",
        "attributes": {"x": NAMES, "sex": ["f", "m"]},
        "secrets": {"x": {"pairs": [[NAMES[a], NAMES[b]] for a, b in pairs]}, "sex": "public"},
        "budget": {"epsilon": 1},
        "release": [{"name": "h", "histogram": "x"}],
    }
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
    [strategy] = BRANCHES.propose(here.items[0].query, here)
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
    assert list(BRANCHES.propose(here.items[0].query, here)) == []


def test_totals_must_be_public() -> None:
    here = policy(secrets={"x": {"pairs": [["v0", "v1"]]}}, release=[{"name": "h", "histogram": ["x", "sex"]}])
    assert list(BRANCHES.propose(here.items[0].query, here)) == []


def test_trees_go_out_from_the_middle() -> None:
    line = Pairs(6, frozenset({(0, 1), (1, 2), (2, 3), (3, 4)}))
    assert tree_of(line) == (1, 2, 2, 2, 3, 5)


def at(by: tuple[Split, ...] = ()) -> Scaled:
    here = policy(release=[{"name": "h", "histogram": ["x", *(split.name for split in by)]}])
    [strategy] = BRANCHES.propose(here.items[0].query, here)
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
    exact, permit = count(plan, table), without_ledger(plan.certificate)
    held = np.zeros(9, np.int64)
    for _ in range(RUNS):
        columns = infer(plan, {"h": noisy(plan["h"], exact["h"], permit)}, "", "")["h"].columns
        held += (columns["lower"] <= truth) & (truth <= columns["upper"])
        assert columns["count"].sum() == 300
        assert columns["count"][7:].tolist() == truth[7:].tolist()
    assert held.min() >= FEWEST


def test_a_folder_is_released_and_verified(tmp_path: Path) -> None:
    table = pl.DataFrame({"x": NAMES * 20, "sex": ["f", "m"] * 90})
    here = policy(release=[{"name": "h", "histogram": ["x", "sex"]}])
    with td.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open(here.dataset, 1, here.document)
        made = td.release(here, table, ledger=ledger, out=tmp_path / "out")
    assert made.plan["h"].mechanism == "branches"
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    assert float(made.ask("x = 'v8'")) == 20


def test_what_is_measured_otherwise_is_refused() -> None:
    strategy = Strategy(BRANCHES, (LinearQuery(One(), (Split("x"),)),), (), (Split("x"),))
    with pytest.raises(QueryError, match="not measured like this"):
        used_of(strategy)
    with pytest.raises(QueryError, match="ring"):
        Beyond.of("x", (1, 2, 0))
