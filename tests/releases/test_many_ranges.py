"""Many ranges at once are the ranges one at a time, for every mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
from tests.releases.conftest import POLICY

import tetraodon as td
from tetraodon.gate import without_ledger
from tetraodon.releases.counting import count
from tetraodon.releases.release import Release, infer
from tetraodon.releases.run import noisy


def made(changes: Mapping[str, Any], table: pl.DataFrame) -> Release:
    plan = td.plan(td.load_policy({**POLICY, **changes}))
    exact = count(plan, table)
    return infer(plan, {i.name: noisy(i, exact[i.name], without_ledger(plan.certificate)) for i in plan}, "", "")


@pytest.mark.parametrize("secret", [{"within": 1}, "everything", "public", {"within": 4}])
def test_they_agree_with_one_at_a_time(secret: Any, table: pl.DataFrame) -> None:
    changes = {"secrets": POLICY["secrets"] | {"age": secret}, "release": [{"name": "q", "cdf": "age"}]}
    answer = made(changes, table)["q"]
    low = [low for low in range(20, 30) for _ in range(low, 30)]
    high = [high for low in range(20, 30) for high in range(low, 30)]
    many = answer.between_many(low, high)
    for number, (first, last) in enumerate(zip(low, high, strict=True)):
        one = answer.between(first, last)
        assert many["count"][number] == pytest.approx(float(one), abs=1e-9)
        assert many["lower"][number] <= many["count"][number] <= many["upper"][number]
        if answer.item.mechanism != "identity":  # there, a known total moves the interval of a single range
            assert many["lower"][number] <= one.lower + 1e-9
            assert many["upper"][number] >= one.upper - 1e-9


def test_bad_ranges_are_refused(table: pl.DataFrame) -> None:
    release = made({"release": [{"name": "q", "cdf": "age"}, {"name": "by", "cdf": "age", "by": "sex"}]}, table)
    with pytest.raises(td.errors.QueryError, match="empty"):
        release["q"].between_many([25], [24])
    with pytest.raises(td.errors.QueryError, match="as many"):
        release["q"].between_many([25], [26, 27])
    with pytest.raises(td.errors.QueryError, match="split"):
        release["by"].between_many([25], [26])
    with pytest.raises(td.errors.TetraodonError):
        release["q"].between_many([19], [26])
