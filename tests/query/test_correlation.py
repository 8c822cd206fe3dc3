"""Correlations: intervals against every data set that noise may have hidden.

False alarms: `check_coverage` compares six numbers with a quantile at 1e-10: by chance it fails with less than 1e-9.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.query.released import answered, check_coverage
from tests.query.test_covariance import DOMAIN, people, policy, records_of

import tetraodon as td
from tetraodon.query.kinds import correlation

ITEMS = [
    {"name": "both", "correlation": ["age", "pay"]},
    {"name": "by-sex", "correlation": ["age", "pay"], "by": "sex"},
]
REACHES = (40, 60, 60, 20, 20, 4)


@given(st.data())
def test_where_the_noise_is_within_its_reach_the_interval_holds_the_truth(data: st.DataObject) -> None:
    records = np.array(data.draw(records_of))
    reach = tuple(data.draw(st.integers(0, most)) for most in REACHES)
    noise = tuple(data.draw(st.integers(-far, far)) for far in reach)
    query = correlation("age", "pay")
    columns = query.columns(answered(query, DOMAIN, records, noise, reach))  # type: ignore[arg-type]
    [lower], [value], [upper] = columns["lower"], columns["correlation"], columns["upper"]
    assert -1 <= lower <= value <= upper <= 1
    if min(np.var(records, axis=0)) == 0:
        assert (lower, upper) == (-1, 1)
    else:
        assert lower - 1e-6 <= np.corrcoef(records.T)[0, 1] <= upper + 1e-6


def test_without_noise_it_is_the_correlation_itself() -> None:
    records = np.array([[0, 1], [1, 3], [2, 2], [4, 7], [3, 0]])
    query = correlation("age", "pay")
    columns = query.columns(answered(query, DOMAIN, records, (0,) * 6, (0,) * 6))  # type: ignore[arg-type]
    assert columns["correlation"][0] == pytest.approx(np.corrcoef(records.T)[0, 1])
    assert columns["upper"][0] - columns["lower"][0] < 1e-9


@pytest.mark.parametrize("presence", ["public", "secret"])
def test_intervals_cover_and_say_something(presence: str) -> None:
    table = people(3000)
    parts = [table.filter(pl.col("sex") == sex) for sex in ("f", "m")]
    truth = [np.corrcoef(part["age"], part["pay"])[0, 1] for part in (table, *parts)]
    here = policy(presence=presence, release=ITEMS)
    check_coverage(here, table, {"both": truth[:1], "by-sex": truth[1:]})


def test_in_words() -> None:
    asked = correlation("age", "pay")
    assert asked.asked() == "correlation of age and pay"
    assert asked.sentence(DOMAIN) == "The correlation of age in years and pay in EUR."
    assert asked != td.queries.covariance("age", "pay")
    assert len(asked.sums(DOMAIN)) == 6
