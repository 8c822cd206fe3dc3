"""What the combination makes of every item's error, against dense least squares, and against releases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.releases.made import release_with, silent
from tests.releases.test_combined import ITEMS, PLANS, POLICY, SECRETS, TABLE, Dense

import tetraodon as td
from tetraodon.exact.arrays import Floats
from tetraodon.query.query import EveryRectangle
from tetraodon.releases import joint_errors as together
from tetraodon.releases.estimates import estimate
from tetraodon.releases.plan import PlannedItem
from tetraodon.releases.release import Release

BUDGETS = [{"epsilon": 1}, {"rho": "1/50"}, {"epsilon": 1, "delta": 1e-6}]


def quiet(chosen: list[dict[str, Any]], presence: str, secrets: dict[str, Any], budget: dict[str, Any]) -> Release:
    items = [{"name": f"q{place}", **item} for place, item in enumerate(chosen)]
    document = {**POLICY, "presence": presence, "secrets": secrets, "budget": budget, "release": items}
    return release_with(td.load_policy(document), TABLE, silent)


def answers(item: PlannedItem, domain: td.research.Domain) -> Floats:
    """Every answer that an item is about, as a row over the whole domain; every rectangle too."""
    asked = item.item.query.linear(domain) if item.strategy.table else item.measurements[0].query
    matrix, unit = asked.matrix(domain)
    if isinstance(item.item.query.reading(domain), EveryRectangle):
        sides = [every_range(split.size(domain)) for split in item.item.query.table(domain)]
        return np.asarray(np.kron(*sides) @ matrix)
    return np.asarray(matrix * float(unit))


def every_range(size: int) -> Floats:
    codes, ends = np.arange(size), [(low, high) for low in range(size) for high in range(low, size)]
    return np.array([(low <= codes) & (codes <= high) for low, high in ends], np.float64)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([ITEMS[18], ITEMS[8]], "public", SECRETS[2], BUDGETS[0]).via("the number of records, from another item")
@example([ITEMS[3], ITEMS[8], ITEMS[16]], "public", SECRETS[2], BUDGETS[1]).via("bins that tell one of two ranges")
@given(**PLANS, budget=st.sampled_from(BUDGETS))
def test_errors_together_are_those_of_dense_least_squares(
    chosen: list[dict[str, Any]], presence: str, secrets: dict[str, Any], budget: dict[str, Any]
) -> None:
    """For every item, whether or not others make it better; what is told is never above the error alone."""
    release = quiet(chosen, presence, secrets, budget)
    plan, told = release.plan, td.joint_errors(release.plan)
    if not any(item.strategy.noisy for item in plan):
        assert told == {}
        return
    dense = Dense(release)
    for item in plan:
        error = math.sqrt(((answers(item, plan.policy.domain) @ dense.inverse) ** 2).sum(axis=1).mean())
        assert told.get(item.name, item.expected_error) == pytest.approx(error, rel=1e-4, abs=1e-6)
        assert told.get(item.name, 0) <= item.expected_error


def test_every_kind_is_made_better_by_a_second_one_like_it() -> None:
    """Two equal measurements have half the variance: so nothing is left out by mistake."""
    for item in ITEMS:
        plan = td.plan({**POLICY, "presence": "secret", "release": [{"name": name, **item} for name in ("a", "b")]})
        told = td.joint_errors(plan)
        assert {*told} == {"a", "b"}
        assert all(told[one.name] <= one.expected_error / math.sqrt(2) * (1 + 1e-6) for one in plan)


def test_what_is_alone_or_too_long_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    one = {"name": "a", "cdf": "age"}
    alone = {**POLICY, "presence": "public", "release": [one]}
    both = {**alone, "release": [one, {"name": "b", "histogram": ["age"]}]}
    assert td.joint_errors(td.plan(alone)) == {}
    assert {*td.joint_errors(td.plan(both))} == {"a", "b"}
    monkeypatch.setattr(together, "MOST_WORK", 8)
    assert {*td.joint_errors(td.plan(both))} == {"b"}, "of cells that are alike one tells all"
    monkeypatch.undo()
    monkeypatch.setattr(together, "MOST_NUMBERS", 8)
    assert td.joint_errors(td.plan(both)) == {}


def test_releases_are_as_far_off_as_they_were_told_to_be() -> None:
    """The mean square of 500 releases with Gaussian noise is a quadratic form q of normal numbers with mean m; it is
    farther from m than 2 |a| sqrt(x) + 2 max(a) x, a its eigenvalues, with at most 2 e^-x (Laurent and Massart 2000,
    Lemma 1). False alarms, two items with x = 20: below 1e-8. That noise is whole moves these by less than 1e-3.
    """
    release = quiet([ITEMS[5], ITEMS[18], ITEMS[0]], "secret", {}, {"rho": "1/50"})
    plan, runs, sure = release.plan, 500, 20.0
    truth, squares = estimate(plan, release.measured), dict.fromkeys(("q0", "q2"), 0.0)
    for _ in range(runs):
        noisy = {
            item.name: tuple(
                array + (td.noise.discrete_gaussian(m.scale, array.size).reshape(array.shape) if m.scale else 0)
                for m, array in zip(item.measurements, release.measured[item.name], strict=True)
            )
            for item in plan
        }
        found = estimate(plan, noisy)
        for name in squares:
            off = found.tables[name, None].unbiased - truth.tables[name, None].unbiased
            squares[name] += float(np.mean((np.cumsum(off) if name == "q0" else off) ** 2)) / runs
    dense, told = Dense(release), td.joint_errors(plan)
    for name, square in squares.items():
        matrix = answers(plan[name], plan.policy.domain)
        each = np.linalg.svd(matrix @ dense.inverse, compute_uv=False) ** 2 / len(matrix)
        reach = 2 * math.sqrt(sure * (each**2).sum() / runs) + 2 * each.max() * sure / runs
        assert abs(square - told[name] ** 2) <= reach + 1e-3 * square
        assert told[name] ** 2 + reach < plan[name].expected_error ** 2, "the bound could not tell them apart"
