"""Whatever the noise, estimates come out, and tables that share a margin agree on it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.releases.conftest import POLICY
from tests.releases.made import release_with

import tetraodon as td
from tetraodon.inference.consistency import Margin
from tetraodon.releases.release import Release

ITEMS = [
    {"histogram": ["age", "sex"]},
    {"histogram": ["region", "sex"]},
    {"histogram": ["age"], "bins": {"age": [[20, 24], [25, 29]]}},
    {"histogram": ["age"], "bins": {"age": [[20, 22], [23, 29]]}},
    {"cdf": "age", "by": "sex"},
    {"cdf": "age", "by": "region"},
    {"cdf": "age"},
    {"quantiles": "age", "bounds": True, "by": ["sex", "region"]},
    {"ranges": "income", "by": "sex"},
    {"histogram": ["region"], "bins": {"region": "secret blocks"}},
    {"histogram": ["region", "age"]},
    {"count": "all", "by": "region"},
]


def disagreement(release: Release) -> float:
    tables = [a.table for a in release.values() if a.values is not None]
    domain = release.plan.policy.domain
    worst = 0.0
    for i, first in enumerate(tables):
        for second in tables[:i]:
            margin = Margin.of(first.item.strategy.table).meet(Margin.of(second.item.strategy.table))
            totals = [
                np.bincount(
                    margin.places(t.item.strategy.table, domain),
                    weights=t.values.ravel(),
                    minlength=margin.cells(domain),
                )
                for t in (first, second)
            ]
            worst = max(worst, float(np.abs(totals[0] - totals[1]).max()))
    return worst


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    chosen=st.lists(st.sampled_from(ITEMS), min_size=1, max_size=4, unique_by=repr),
    presence=st.sampled_from(["public", "secret"]),
    reach=st.sampled_from([2, 50, 5000]),
    seed=st.integers(0, 10**6),
    whole=st.booleans(),
)
def test_any_noise_gives_tables_that_agree(
    table: pl.DataFrame, chosen: list[dict[str, object]], presence: str, reach: int, seed: int, whole: bool
) -> None:
    release = [{"name": f"q{i}", **item, "whole": whole} for i, item in enumerate(chosen)]
    policy = td.load_policy({**POLICY, "presence": presence, "release": release})
    rng = np.random.default_rng(seed)
    made = release_with(policy, table, lambda shape: rng.integers(-reach, reach, shape))
    assert disagreement(made) < (1e-6 * (1 + reach) if not whole else 1e-9)
    for answer in made.values():
        for column in answer.columns.values():
            if column.dtype.kind == "f":
                assert np.isfinite(column).all()


def test_sharing_a_margin_lowers_the_error(table: pl.DataFrame) -> None:
    """Two tables of the same counts, averaged, are better than one: half the variance, give or take."""
    one, two = (
        td.plan({**POLICY, "budget": {"epsilon": n}, "release": [{"name": x, "histogram": ["age"]} for x in "ab"[:n]]})
        for n in (1, 2)
    )
    assert one["a"].scale == two["a"].scale
    truth = [table.filter(pl.col("age") == age).height for age in range(20, 30)]
    rng = np.random.default_rng(11)
    errors = [
        np.mean(
            [
                (release_with(p, table, lambda s: rng.normal(0, 50, s).round())["a"].columns["measured"] - truth) ** 2
                for _ in range(60)
            ]
        )
        for p in (one, two)
    ]
    assert errors[1] == pytest.approx(errors[0] / 2, rel=0.3)
