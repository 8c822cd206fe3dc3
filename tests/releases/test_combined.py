"""Everything that was measured is estimated together: as dense least squares over the whole domain does it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.releases.made import release_with

import tetraodon as td
from tetraodon.exact.arrays import Floats
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery
from tetraodon.releases.estimates import Combined, CombinedGroup
from tetraodon.releases.release import Release, infer

SURE = Fraction(95, 100)
POLICY: dict[str, Any] = {
    "tetraodon": 1,
    "dataset": "small",
    "individuals": "one row each",
    "attributes": {
        "age": {"integer": [20, 27]},
        "sex": ["F", "M"],
        "region": ["n", "s", "w"],
        "pay": {"integer": [0, 5]},
    },
    "budget": {"epsilon": 1},
}
SECRETS = [{}, {"age": {"within": 1}, "sex": "public"}, {"age": {"within": 2}, "region": "public"}]
ITEMS: list[dict[str, Any]] = [
    {"histogram": ["age", "sex"]},
    {"histogram": ["region", "sex"]},
    {"histogram": ["age"], "bins": {"age": [[20, 23], [24, 27]]}},
    {"histogram": ["age", "region"], "bins": {"age": [[20, 22], [23, 27]]}},
    {"cdf": "age", "by": "sex"},
    {"cdf": "age"},
    {"quantiles": "age", "bounds": True, "by": ["region"]},
    {"ranges": "age"},
    {"ranges": {"age": [[20, 24], [23, 27]]}, "by": "sex"},
    {"count": "all", "by": "region"},
    {"count": "all"},
    {"count": "age < 24"},
    {"count": "sex = 'F' and age >= 22", "by": "region"},
    {"total": "pay"},
    {"total": "pay", "by": "sex"},
    {"mean": "pay", "by": "region"},
    {"mean": "age"},
    {"variance": "age", "by": "sex"},
    {"histogram": ["pay"]},
    {"rectangles": ["age", "pay"]},
]
TABLE = pl.DataFrame(
    {
        "age": [20 + (row * row + row // 3) % 8 for row in range(300)],
        "sex": ["FM"[row % 5 % 2] for row in range(300)],
        "region": ["nsw"[(row // 7) % 3] for row in range(300)],
        "pay": [(row * 3 + row // 11) % 6 for row in range(300)],
    }
)


def made(chosen: list[dict[str, Any]], presence: str, secrets: dict[str, Any], seed: int = 1) -> Release:
    items = [{"name": f"q{place}", **item} for place, item in enumerate(chosen)]
    policy = td.load_policy({**POLICY, "presence": presence, "secrets": secrets, "release": items})
    rng = np.random.default_rng(seed)
    return release_with(policy, TABLE, lambda shape: rng.integers(-30, 30, shape))


def combined(release: Release) -> Combined:
    found = next(iter(release.values())).estimates.combined
    assert found is not None
    return found


class Dense:
    """Least squares over every cell of the domain, with each measurement as a row."""

    def __init__(self, release: Release) -> None:
        self.domain = release.plan.policy.domain
        rows, values, variances, exact, told = [], [], [], [], []
        for item in release.plan:
            for measurement, array in zip(item.measurements, release.measured[item.name], strict=True):
                matrix, unit = measurement.query.matrix(self.domain)
                target = (rows, values) if measurement.scale else (exact, told)
                target[0].append(matrix * float(unit))
                target[1].append(array.ravel() * float(unit))
                if measurement.scale:
                    one = measurement.noise.variance(measurement.scale) * float(unit) ** 2
                    variances.append(np.full(array.size, one))
        self.rows, self.values = np.concatenate(rows), np.concatenate(values)
        self.weight = 1 / np.sqrt(np.concatenate(variances))
        self.exact = np.concatenate(exact) if exact else np.zeros((0, self.domain.size))
        self.told = np.concatenate(told) if told else np.zeros(0)
        free = np.eye(self.domain.size) - np.linalg.pinv(self.exact, rcond=1e-9) @ self.exact
        self.inverse = free @ np.linalg.pinv(self.rows * self.weight[:, None] @ free, rcond=1e-9)

    def estimate(self) -> Floats:
        """Counts of the whole domain; only what was measured about them means something."""
        start = np.linalg.pinv(self.exact, rcond=1e-9) @ self.told if len(self.exact) else np.zeros(self.domain.size)
        return start + self.inverse @ (self.weight * (self.values - self.rows @ start))

    def answers(self, query: LinearQuery) -> Floats:
        matrix, unit = query.matrix(self.domain)
        return np.asarray(matrix @ self.estimate() * float(unit))

    def variances(self, query: LinearQuery) -> Floats:
        matrix, unit = query.matrix(self.domain)
        return np.asarray(((matrix * float(unit) @ self.inverse) ** 2).sum(axis=1))


def query_of(group: CombinedGroup, place: int) -> LinearQuery:
    return LinearQuery(group.pieces[place].contribution, group.pieces[place].table.splits)


PLANS = {
    "chosen": st.lists(st.sampled_from(ITEMS), min_size=2, max_size=5, unique_by=repr),
    "presence": st.sampled_from(["public", "secret"]),
    "secrets": st.sampled_from(SECRETS),
}


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([ITEMS[0], ITEMS[5], ITEMS[8]], "secret", SECRETS[0]).via("values between ranges are hardly known")
@example([ITEMS[3], ITEMS[6], ITEMS[8]], "public", SECRETS[2]).via("and some are known exactly")
@given(**PLANS)
def test_estimates_and_their_variances_are_those_of_dense_least_squares(
    chosen: list[dict[str, Any]], presence: str, secrets: dict[str, Any]
) -> None:
    release = made(chosen, presence, secrets)
    dense = Dense(release)
    for group in combined(release).groups:
        for place, piece in enumerate(group.pieces):
            query, size = query_of(group, place), piece.table.values.size
            assert group.estimates[place].ravel() == pytest.approx(dense.answers(query), abs=1e-4)
            asked = [np.zeros((size, other.table.values.size)) for other in group.pieces]
            asked[place] = np.eye(size)
            weights = group.combination.weights(asked)
            assert group.combination.covariance(weights, weights) == pytest.approx(
                dense.variances(query), rel=1e-5, abs=1e-6
            )


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([ITEMS[3], ITEMS[8], ITEMS[2]], "public", SECRETS[2]).via("bins that tell one of two ranges")
@given(**PLANS)
def test_two_published_numbers_never_disagree(
    chosen: list[dict[str, Any]], presence: str, secrets: dict[str, Any]
) -> None:
    """There are counts of the whole domain, perhaps broken or negative, from which every published number follows."""
    real = [
        {**item, "whole": False} if {*item} & {"histogram", "cdf", "ranges", "count", "quantiles"} else item
        for item in chosen
    ]
    release = made(real, presence, secrets)
    estimates, domain = next(iter(release.values())).estimates, release.plan.policy.domain
    rows, told = [], []
    for key, estimated in estimates.tables.items():
        item = release.plan[key[0]]
        query = LinearQuery(One(), item.strategy.table) if key[1] is None else item.measurements[key[1]].query
        if "whole" not in item.item.query.keys and isinstance(query.contribution, One):
            continue  # the counts behind a mean are whole numbers, and these are not
        matrix, unit = query.matrix(domain)
        rows.append(matrix * float(unit))
        told.append(estimated.published.ravel())
    for item in release.plan:
        for measurement, array in zip(item.measurements, release.measured[item.name], strict=True):
            if not measurement.scale:
                matrix, unit = measurement.query.matrix(domain)
                rows.append(matrix * float(unit))
                told.append(array.ravel() * float(unit))
    every, numbers = np.concatenate(rows), np.concatenate(told)
    follows = every @ np.linalg.lstsq(every, numbers, rcond=1e-10)[0]
    assert np.abs(follows - numbers).max() <= 1e-6 * (1 + np.abs(numbers).max())


def test_what_is_remembered_of_a_plan_changes_no_number() -> None:
    first = made(ITEMS[:6] + ITEMS[13:16], "public", SECRETS[1])
    assert all(answer.columns for answer in first.values())
    rows = len(first.plan._estimators.found)
    noisy = {
        item.name: tuple(a + 3 * (np.arange(a.size).reshape(a.shape) % 2) if m.scale else a for m, a in measured)
        for item in first.plan
        if (measured := list(zip(item.measurements, first.measured[item.name], strict=True)))
    }
    warm, cold = infer(first.plan, noisy, "", ""), infer(replace(first.plan), noisy, "", "")
    for one, other, before in zip(warm.values(), cold.values(), first.values(), strict=True):
        assert all(np.array_equal(one.columns[name], other.columns[name]) for name in one.columns)
        assert not all(np.array_equal(one.columns[name], before.columns[name]) for name in one.columns)
    assert rows == len(first.plan._estimators.found) > 0
