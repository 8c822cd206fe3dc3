"""Weighted sums: what they cost against a listing of all steps, their errors against plain linear algebra, and that
their intervals hold the truth.

False alarms: coverage of each of 16 numbers over `RUNS` releases is compared with the 1e-10 quantile of
Binomial(RUNS, 0.95), three times, and that of 100 numbers once, so that the file fails by chance with probability below
1.5e-8.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom
from tests.mechanism.hierarchical.test_hierarchical import variance_by_matrices

import tetraodon as td
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.errors import ReleaseError
from tetraodon.gate import without_ledger
from tetraodon.mechanism.registry import MECHANISMS, proposals
from tetraodon.mechanism.strategy import Scaled, Strategy
from tetraodon.mechanism.strategy_optimiser import (
    LONGEST,
    LONGEST_SQUARES,
    SHORT,
    WEIGHTED,
    AskedPairs,
    Sought,
    least_error,
    searched_sums,
)
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.policy.attribute_graph import Blocks, Everything, Public, Within
from tetraodon.policy.policy import Policy
from tetraodon.query.contribution import WeightedSums
from tetraodon.query.query import EveryRange, RunningCounts
from tetraodon.query.smooth import SmoothRunning, SmoothSums
from tetraodon.releases.codec import measurement_document, measurement_from
from tetraodon.releases.counting import count
from tetraodon.releases.release import infer
from tetraodon.releases.run import noisy

RUNS = 300
FEWEST = int(binom.ppf(1e-10, RUNS, 0.95))
SECRETS = {"near": {"within": 3}, "all": "everything", "blocks": {"blocks": [[0, 5], [6, 15]]}}


def policy(secret: Any = "everything", *, size: int = 16, **changes: Any) -> Policy:
    document: dict[str, Any] = {
        "dataset": "line",
        "presence": "secret",
        "attributes": {"x": {"integer": [0, size - 1]}},
        "secrets": {"x": secret},
        "budget": {"epsilon": 1},
        "release": [{"name": "q", "cdf": "x"}],
    }
    return td.load_policy(document | changes)


def proposed(here: Policy) -> list[Strategy]:
    return list(WEIGHTED.propose(here.items[0].query, here))


@pytest.mark.parametrize("asked", [{"cdf": "x"}, {"ranges": "x"}, {"ranges": {"x": [[0, 3], [2, 9]]}}])
@pytest.mark.parametrize("presence", ["public", "secret"])
@pytest.mark.parametrize("secrets", SECRETS)
def test_costs_and_errors_are_those_of_a_listing(secrets: str, presence: str, asked: dict[str, Any]) -> None:
    here = policy(SECRETS[secrets], presence=presence, release=[{"name": "q", **asked}])
    found = proposed(here)
    assert found or secrets == "all" or (secrets, presence) == ("blocks", "public")
    for strategy in found:
        measurements = strategy.measurements(Fraction(7, 3))
        losses = []
        for x, y in zip(*here.graph.edge_cells(), strict=True):
            moved = Fraction(0)
            for one in measurements:
                rows = one.query.matrix(here.domain)[0]
                if one.scale:
                    moved += Fraction(int(np.abs(rows[:, x] - rows[:, y]).sum())) / one.scale
            losses.append(moved)
        if here.graph.absent:
            every = [(one.query.matrix(here.domain)[0], one.scale) for one in measurements if one.scale]
            losses += [
                sum((Fraction(int(np.abs(rows[:, x]).sum())) / s for rows, s in every), Fraction(0))
                for x in range(here.domain.size)
            ]
        certificate = td.certify(
            here,
            np.concatenate([m.query.matrix(here.domain)[0] for m in measurements if m.scale]),
            [m.scale for m in measurements if m.scale for _ in range(m.query.size(here.domain))],
        )
        assert certificate.epsilon == max(losses)
        query, at = here.items[0].query, Fraction(7, 3)
        error = Scaled(strategy, at, here.domain).expected_error(query)
        assert error**2 == pytest.approx(variance_by_matrices(query, strategy, at, here.domain))


def test_the_planner_takes_it_only_where_it_is_better(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = policy({"blocks": [[0, 31], [32, 63]]}, size=64)
    best, near = td.plan(wide)["q"], td.plan(policy({"within": 1}, presence="public"))["q"]
    assert (best.mechanism, best.epsilon, near.mechanism) == ("weighted", 1, "ordered")
    monkeypatch.delitem(MECHANISMS, "weighted")
    assert best.expected_error < 0.95 * td.plan(wide)["q"].expected_error


def test_plain_differential_privacy_is_not_said_to_have_it() -> None:
    """What `verify` computes anew must not hang on the last digits of a descent."""
    near = td.plan(policy({"within": 2}))["q"]
    assert (near.mechanism, near.baseline.name) == ("weighted", "identity")
    everything = policy(size=64)
    assert {one.mechanism.usual for one in proposals(everything.items[0].query, everything, usual=True)} == {True}
    same = td.plan(everything)["q"]  # the promise is that of plain differential privacy: nothing else is gained
    assert (same.mechanism, same.baseline.name, same.baseline_error) == ("weighted", "weighted", same.expected_error)


def test_what_it_leaves_to_others() -> None:
    assert not proposed(policy(size=LONGEST + 1))
    assert not proposed(policy(size=LONGEST_SQUARES + 1, budget={"rho": "1/2"}))
    assert not proposed(policy(size=SHORT + 1, presence="public"))
    assert not proposed(policy(size=4))
    assert not proposed(policy(release=[{"name": "q", "histogram": "x"}]))
    assert not proposed(policy({"within": 1}, size=300, presence="public", budget={"rho": "1/2"}))
    assert not proposed(policy({"within": 1}, presence="public"))
    assert len(proposed(policy({"within": 1}))) == 2  # for steps along it, and for steps to anywhere
    assert len(proposed(policy("public"))) == 1


def test_one_question_is_searched_once() -> None:
    first, again = (searched_sums("x", Within(16, 2), EveryRange(), None) for _ in range(2))
    assert first is again is not None
    assert searched_sums("x", Public(16), EveryRange(), None) is None


def test_presence_alone_errs_no_more_than_published_strategies() -> None:
    """About the mean squared error of HDMM's p-identity for running counts of 1,024 values at epsilon 1: 94 is
    published, 91.13 came of 600 rounds."""
    item = td.plan(policy("public", size=1024))["q"]
    assert (item.mechanism, item.epsilon, item.certificate.exact) == ("weighted", 1, True)
    assert item.expected_error**2 <= 91.3
    sums = item.measurements[0].query.contribution
    assert isinstance(sums, WeightedSums)
    assert set(sums.matrix.sum(axis=0).tolist()) == {1 / sums.unit}  # rounded so that nobody costs more than others


@pytest.mark.parametrize("asked", ["ranges", "cdf"])
@pytest.mark.parametrize(
    ("secret", "presence", "size", "most"),
    [
        ("public", "secret", 100, 1.01),
        ("everything", "public", 100, 1.01),
        ({"within": 5}, "public", 100, 1.02),
        ({"within": 5}, "secret", 100, 1.01),
        ("public", "secret", 300, 1.01),
        ("everything", "public", 300, 1.02),
        ({"within": 8}, "public", 300, 1.015),
        ({"within": 2}, "public", 300, 1.006),
    ],
)
def test_gaussian_strategies_are_near_the_least_error(
    secret: Any, presence: str, size: int, most: float, asked: str
) -> None:
    """At rho = 1/2 squares of what a step moves may add up to one; up to 257 values all are knots, and 300 are not.
    Short steps have running sums."""
    here = policy(secret, size=size, presence=presence, budget={"rho": "1/2"}, release=[{"name": "q", asked: "x"}])
    item = td.plan(here)["q"]
    assert (item.mechanism, item.certificate.exact) == ("weighted", True)
    assert Fraction("0.4999") < (item.certificate.rho or 0) <= Fraction(1, 2)
    reading: Sought = EveryRange() if asked == "ranges" else RunningCounts()
    graph, code = here.graph.factor_of("x").graph, np.arange(size)
    pairs, steps = AskedPairs(reading, size).times(np.eye(size)), graph.adjacent(code[:, None], code)
    least = least_error(pairs, steps, absent=presence == "secret")[0] / (
        size * (size + 1) / 2 if asked == "ranges" else size
    )
    assert least <= item.expected_error**2 <= most * least


@pytest.mark.parametrize("size", [16, 300])
@pytest.mark.parametrize("secret", ["public", "everything", {"within": 9}])
def test_losses_in_zcdp_are_those_of_a_listing(secret: Any, size: int) -> None:
    here = policy(secret, size=size, budget={"rho": "1/10"})
    for strategy in proposed(here):
        [measurement] = replace(strategy, noise=GAUSSIAN).measurements(Fraction(7, 3))
        rows = measurement.query.matrix(here.domain)[0]
        steps = [rows[:, x] - rows[:, y] for x, y in zip(*here.graph.edge_cells(), strict=True)]
        most = max(int((step**2).sum()) for step in [*steps, *rows.T])
        assert certify_measurements(here.graph, [measurement]).rho == Fraction(most) / measurement.scale**2 / 2


def test_a_total_is_free_where_presence_and_values_are_secret() -> None:
    [sums] = [one.noisy[0].contribution for one in proposed(policy(size=64))]
    assert isinstance(sums, WeightedSums)
    assert len(set(sums.matrix[-1].tolist())) == 1
    found = td.certify(policy(size=64), sums.matrix, 1), td.certify(policy(size=64), sums.matrix[:-1], 1)
    assert found[0].epsilon <= found[1].epsilon * Fraction("1.01")


TABLE = pl.DataFrame({"x": [(i * i * 7 + i // 3) % 16 for i in range(900)]})


@pytest.mark.parametrize(
    ("presence", "budget", "size"),
    [("public", "epsilon", 16), ("secret", "epsilon", 16), ("public", "rho", 16), ("public", "rho", 100)],
)
def test_intervals_hold_the_truth(presence: str, budget: str, size: int) -> None:
    here = policy({"within": 4}, presence=presence, budget={budget: 1}, size=size)
    plan = td.plan(here)
    assert plan["q"].mechanism == "weighted"
    assert isinstance(plan["q"].measurements[0].query.contribution, SmoothRunning) == (size == 100)
    exact, permit = count(plan, TABLE), without_ledger(plan.certificate)
    truth, held = np.cumsum(np.bincount(TABLE["x"], minlength=size)), np.zeros(size)
    for _ in range(RUNS):
        answer = infer(plan, {"q": noisy(plan["q"], exact["q"], permit)}, "", "")["q"].to_polars()
        held += (answer["lower"].to_numpy() <= truth) & (truth <= answer["upper"].to_numpy())
    assert held.min() >= FEWEST


def test_it_is_released_read_back_verified_and_asked(tmp_path: Path) -> None:
    domain = {
        "attributes": {"x": {"integer": [0, 15]}, "g": ["a", "b"]},
        "secrets": {"x": {"within": 4}, "g": "public"},
    }
    here = policy(**domain, release=[{"name": "q", "quantiles": "x", "bounds": True, "at": [0.5], "by": "g"}])
    book = td.Ledger(tmp_path / "ledger.db")
    book.open(here.dataset, 1, here.document)
    plan = td.plan(here)
    assert plan["q"].mechanism == "weighted"
    table = TABLE.with_columns(g=pl.Series(["a", "b"] * 450))
    td.release(plan, table, ledger=book, out=tmp_path / "out")
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    loaded = td.load_release(tmp_path / "out")
    assert loaded.plan["q"].expected_error == plan["q"].expected_error
    inside = loaded.ask("x < 8 and g = 'a'")
    assert inside.lower <= inside.value <= inside.upper
    assert "weighted sums" in (tmp_path / "out" / "report.html").read_text()


def test_gaussian_sums_between_knots_are_released_read_back_verified_and_asked(tmp_path: Path) -> None:
    here = policy(size=300, presence="public", budget={"rho": "1/2"}, release=[{"name": "q", "ranges": "x"}])
    book = td.Ledger(tmp_path / "ledger.db")
    book.open(here.dataset, 10, here.document, delta=here.delta)
    plan = td.plan(here)
    sums = plan["q"].measurements[0].query.contribution
    assert isinstance(sums, SmoothSums)
    assert (plan["q"].mechanism, sums.width) == ("weighted", 2)
    td.release(plan, TABLE, ledger=book, out=tmp_path / "out")
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    loaded = td.load_release(tmp_path / "out")
    assert loaded.plan["q"].expected_error == pytest.approx(plan["q"].expected_error, rel=1e-12)
    inside = loaded.ask("x < 100")
    assert inside.lower <= inside.value <= inside.upper
    document = measurement_document(plan["q"].measurements[0])
    for damaged in (
        {"kernel": " ".join(["1"] * 601)},
        {"kernel": "0"},
        {"width": 3},
        {"width": 301},
        {"parts": 0},
        {"single": " ".join(["0"] * 300)},
        {"rows": []},
        {"rows": [" ".join([str(2**31)] * 151)]},
    ):
        broken = {**document, "counts": {**document["counts"], **damaged}}
        with pytest.raises(ReleaseError, match="does not describe its measurements"):
            measurement_from(broken, plan["q"].item.query, here.domain)


def test_its_document_comes_back_and_a_damaged_one_is_refused() -> None:
    here = policy({"within": 4})
    item = td.plan(here)["q"]
    document = measurement_document(item.measurements[0])
    found = measurement_from(document, item.item.query, here.domain)
    assert measurement_document(found) == document
    assert np.array_equal(found.query.contribution.columns(), item.measurements[0].query.contribution.columns())
    rows = document["counts"]["rows"]
    for damaged in (
        {"rows": []},
        {"rows": [rows[0].rpartition(" ")[0]]},
        {"rows": [" ".join(["0.5"] * 16)]},
        {"rows": [[1] * 16]},
        {"parts": 0},
        {"single": " ".join(["1"] * 15)},
        {"single": " ".join(["0"] * 16)},
        {"rows": [" ".join([str(10**12)] * 16)]},
    ):
        with pytest.raises(ReleaseError, match="does not describe its measurements"):
            measurement_from({**document, "counts": {**document["counts"], **damaged}}, item.item.query, here.domain)


def test_kinds_of_steps() -> None:
    for graph in (Everything(16), Within(16, 3), Blocks(tuple(code // 8 for code in range(16)))):
        sums = searched_sums("x", graph, RunningCounts(), None)
        assert sums is not None
        assert np.array_equal(sums.add_up(np.eye(16, dtype=np.int64)), sums.columns().T)


def test_sums_are_offered_where_steps_cross_groups_whose_totals_nobody_knows() -> None:
    """Presence is public, and a step may lead to another group: the loss is that of every pair of records."""
    attributes, item = {"x": {"integer": [0, 8]}, "g": ["a", "b"]}, {"name": "r", "cdf": "x", "by": "g"}
    document = {"dataset": "d", "presence": "public", "attributes": attributes, "release": [item]}
    found = td.plan({**document, "budget": {"rho": "0.5"}})
    [measured] = [m for m in found["r"].measurements if m.scale]
    assert found["r"].mechanism == "weighted"
    columns = measured.query.matrix(found.policy.domain)[0].astype(object)
    squares = [((columns[:, [x]] - columns) ** 2).sum(axis=0).max() for x in range(found.policy.domain.size)]
    assert found.certificate.rho == max(squares) / (2 * measured.scale**2)
    assert found.certificate.exact
