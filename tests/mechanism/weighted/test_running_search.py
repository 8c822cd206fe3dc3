"""Kernels for short steps: where the best is known, beside the least error of all strategies, and other spectra."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.mechanism.weighted.test_weighted import TABLE, policy, proposed

import tetraodon as td
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.errors import ReleaseError
from tetraodon.mechanism.hierarchical.fit import RunningFit
from tetraodon.mechanism.strategy import Scaled
from tetraodon.mechanism.strategy_optimiser import RUNNING_NEAR as NEAR
from tetraodon.mechanism.strategy_optimiser import AskedPairs, best_spectrum, least_error, running_sums
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.policy.attribute_graph import Within
from tetraodon.query.query import RunningCounts
from tetraodon.query.smooth import SmoothRunning
from tetraodon.releases.codec import measurement_document, measurement_from


def test_for_steps_of_one_running_counts_are_best() -> None:
    assert best_spectrum(1)[:2] == pytest.approx((1, 1))
    assert running_sums("x", 50, 1).kernel.tolist() == [5000]


@pytest.mark.parametrize("reach", [2, 5, 60])
def test_no_spectrum_errs_less_than_the_bound(reach: int) -> None:
    bound, error, spectrum = best_spectrum(reach)
    assert bound <= error <= 1.001 * bound
    assert NEAR < 1.001
    many, dice = 2 * (len(spectrum) - 1), np.random.default_rng(7)
    waves = np.pi * np.arange(1, many) / many
    moved = [np.append(k**2, (np.sin(k * waves) / np.sin(waves)) ** 2) for k in range(1, reach + 1)]
    whole = np.append(spectrum, spectrum[-2:0:-1])
    for size in (0.0, 0.01, 0.3):
        other = whole * np.exp(size * dice.standard_normal(many))
        lost = max(float((one * other).mean()) for one in moved)
        assert lost * float((1 / other).mean()) >= bound
        assert size or lost == pytest.approx(1)


@pytest.mark.parametrize(("size", "reach"), [(60, 2), (200, 4)])
def test_what_is_found_errs_hardly_more_than_any_strategy_can(size: int, reach: int) -> None:
    sums, code, graph = running_sums("x", size, reach), np.arange(size), Within(size, reach)
    asked = AskedPairs(RunningCounts(), size).times(np.eye(size))
    least, _, _ = least_error(asked, graph.adjacent(code[:, None], code), absent=False)
    error = float(RunningFit(sums, 1.0).running_variances(code).sum()) * int(sums.moved[1 : reach + 1].max())
    assert least <= error <= 1.01 * least


@pytest.mark.parametrize("reach", [2, 6])
def test_losses_of_running_sums_are_those_of_a_listing(reach: int) -> None:
    here = policy({"within": reach}, size=200, presence="public", budget={"rho": "1/10"})
    [strategy] = proposed(here)
    measurement, total = replace(strategy, noise=GAUSSIAN).measurements(Fraction(7, 3))
    rows = measurement.query.matrix(here.domain)[0]
    most = max(int(((rows[:, x] - rows[:, y]) ** 2).sum()) for x, y in zip(*here.graph.edge_cells(), strict=True))
    found = certify_measurements(here.graph, [measurement, total])
    assert (found.rho, found.exact) == (Fraction(most) / measurement.scale**2 / 2, True)


def test_running_sums_go_with_groups_and_longer_attributes() -> None:
    attributes, secrets = {"x": {"integer": [0, 9999]}, "g": ["a", "b"]}, {"x": {"within": 20}, "g": "public"}
    item = {"name": "q", "ranges": "x", "by": "g"}
    here = policy(attributes=attributes, secrets=secrets, presence="public", budget={"rho": "1/2"}, release=[item])
    [strategy] = proposed(here)
    at = replace(strategy, noise=GAUSSIAN)
    found = certify_measurements(here.graph, at.measurements(Fraction(10000)))
    assert found.exact
    error = Scaled(at, Fraction(10000), here.domain).expected_error(here.items[0].query)
    assert 2 * float(found.rho or 0) * error**2 == pytest.approx(2 * best_spectrum(20)[1], rel=0.01)
    assert not proposed(policy({"within": 300}, size=9000, presence="public", budget={"rho": "1/2"}))


def test_running_sums_are_released_read_back_verified_and_asked(tmp_path: Path) -> None:
    here = policy({"within": 3}, size=300, presence="public", budget={"rho": "1/2"})
    book = td.Ledger(tmp_path / "ledger.db")
    book.open(here.dataset, 10, here.document, delta=here.delta)
    plan = td.plan(here)
    sums = plan["q"].measurements[0].query.contribution
    assert isinstance(sums, SmoothRunning)
    td.release(plan, TABLE, ledger=book, out=tmp_path / "out")
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    loaded = td.load_release(tmp_path / "out")
    assert loaded.plan["q"].expected_error == pytest.approx(plan["q"].expected_error, rel=1e-12)
    inside = loaded.ask("x < 100")
    assert inside.lower <= inside.value <= inside.upper
    document = measurement_document(plan["q"].measurements[0])
    for damaged in ({"kernel": " ".join(["1"] * 601)}, {"kernel": "0"}, {"kernel": str(2**31)}, {"parts": 0}):
        broken = {**document, "counts": {**document["counts"], **damaged}}
        with pytest.raises(ReleaseError, match="does not describe its measurements"):
            measurement_from(broken, plan["q"].item.query, here.domain)
    assert "each with some of those around it" in (tmp_path / "out" / "report.html").read_text()
