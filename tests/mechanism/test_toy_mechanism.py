"""A mechanism of one's own, added by the steps of docs/adding.md and by nothing else: everything above knows it.

Where secrets are blocks of two values and presence is public, the totals of blocks are exact. So noise on the running
counts is only needed inside a block: each value is known by one noisy number, where the mechanisms there are need two.

False alarms: coverage of each of 14 numbers over `RUNS` releases is compared with the 1e-10 quantile of
Binomial(RUNS, 0.95), so that the file fails by chance with probability below 2e-9.
"""

# ruff: noqa: ARG002 - every mechanism is asked in the same way, whatever it needs to know

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom
from tests.policies import public_policy
from tests.releases.made import kept

import tetraodon as td
from tetraodon.domain import Domain
from tetraodon.errors import ReleaseError
from tetraodon.exact.arrays import Bools, Floats
from tetraodon.gate import without_ledger
from tetraodon.mechanism.one_scale import OneScale, free_totals
from tetraodon.mechanism.registry import MECHANISMS
from tetraodon.mechanism.strategy import Measured, Scaled, Strategy
from tetraodon.noise.laws import LAPLACE
from tetraodon.policy.attribute_graph import Blocks
from tetraodon.policy.policy import Policy
from tetraodon.query.contribution import Prefix
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.query import Cells, Query
from tetraodon.releases.counting import count
from tetraodon.releases.release import Release, infer
from tetraodon.releases.run import noisy

RUNS = 400
FEWEST = int(binom.ppf(1e-10, RUNS, 0.95))
POLICY: dict[str, Any] = public_policy(
    dataset="toy",
    attributes={"x": {"integer": [0, 9]}},
    secrets={"x": {"blocks": [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]}},
    release=[{"name": "h", "histogram": "x"}],
)
TABLE = pl.DataFrame({"x": [(i * i * 7 + i // 3) % 10 for i in range(300)]})
TRUTH = np.bincount(TABLE["x"], minlength=10)


@dataclass(frozen=True)
class Pinned(OneScale):
    """Running counts, with those at the ends of blocks pinned to the exact totals."""

    name = "pinned"
    words = "noise on pinned running counts"

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        graph, table = policy.graph.factor_of("x").graph, query.table(policy.domain)
        if isinstance(query.reading(policy.domain), Cells) and table == (Split("x"),) and self._pairs(graph):
            running = LinearQuery(Prefix("x", graph.size, graph.size - 1))
            yield Strategy(self, (running,), free_totals((Split("x"),), policy), (Split("x"),))

    @staticmethod
    def _pairs(graph: object) -> bool:
        return isinstance(graph, Blocks) and np.array_equal(graph.components(), np.arange(graph.size) // 2)

    def variance_factor(self, query: Query, strategy: Strategy, domain: Domain) -> float:
        return 1.0

    def most_terms(self, query: Query, at: Scaled) -> int:
        return 1

    def sentence(self, at: Scaled, noise: str, size: str) -> str:
        return f"{noise} was added to running counts, pinned at the ends of blocks{size}."

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        totals = measured[1][..., 0].astype(np.float64)
        first = measured[0][0::2] - np.append(0.0, np.cumsum(totals)[:-1])
        return np.stack([first, totals - first], axis=1).ravel()

    def terms(self, at: Scaled, mask: Bools) -> int:
        return int((mask[0::2] != mask[1::2]).sum())


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MECHANISMS, Pinned.name, Pinned())


def release_once(plan: td.Plan, exact: Any) -> Release:
    permit = without_ledger(plan.certificate)
    return infer(plan, {i.name: noisy(i, exact[i.name], permit) for i in plan}, "", "")


def test_nobody_offers_it_before() -> None:
    assert td.plan(POLICY)["h"].mechanism != "pinned"


@pytest.mark.usefixtures("registered")
def test_the_planner_takes_it_and_the_kernel_prices_it() -> None:
    plan = td.plan(POLICY)
    item = plan["h"]
    assert item.mechanism == "pinned"
    assert (plan.epsilon, item.scale, plan.certificate.exact) == (1, 1, True)
    running = [[int(x <= end) for x in range(10)] for end in range(9)]
    assert td.certify(td.load_policy(POLICY), running, 1).epsilon == 1
    assert item.expected_error == pytest.approx(LAPLACE.variance(Fraction(1)) ** 0.5)


@pytest.mark.usefixtures("registered")
def test_its_intervals_hold_the_truth() -> None:
    plan = td.plan(POLICY)
    exact = count(plan, TABLE)
    asked = {"x <= 4": TRUTH[:5].sum(), "x in (0, 2, 5)": TRUTH[[0, 2, 5]].sum(), "x between 1 and 8": TRUTH[1:9].sum()}
    cells, parts, middle = np.zeros(10), dict.fromkeys(asked, 0), 0
    median = int(np.searchsorted(np.cumsum(TRUTH), len(TABLE) / 2))
    for _ in range(RUNS):
        made = release_once(plan, exact)
        columns = made["h"].columns
        cells += (columns["lower"] <= TRUTH) & (columns["upper"] >= TRUTH)
        for question, truth in asked.items():
            parts[question] += made.ask(question).lower <= truth <= made.ask(question).upper
        _, low, high = made["h"].quantile_interval("0.5")
        middle += low <= median <= high
        assert made.ask("x in (0, 1)").interval == (TRUTH[:2].sum(), TRUTH[:2].sum())  # a block, known exactly
    assert min(*cells, *parts.values(), middle) >= FEWEST, (cells, parts, middle)


@pytest.mark.usefixtures("registered")
def test_it_is_released_read_verified_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = td.load_policy(POLICY)
    made = kept(td.plan(policy), TABLE, tmp_path)
    again = td.load_release(tmp_path / "out")
    assert again.plan["h"].strategy == made.plan["h"].strategy
    assert again.ask("x <= 4").interval == made.ask("x <= 4").interval
    assert "pinned at the ends of blocks" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    monkeypatch.delitem(MECHANISMS, Pinned.name)
    with pytest.raises(ReleaseError, match="does not describe a release"):
        td.load_release(tmp_path / "out")


@pytest.mark.usefixtures("registered")
def test_its_errors_are_bounded_before_any_data() -> None:
    found = td.plan_for_error(POLICY, 5)
    assert found["h"].mechanism == "pinned"
    assert found.epsilon < Fraction(1)
