"""A release is answers by name, and can be asked."""

from __future__ import annotations

import polars as pl
import pytest
from tests.releases.made import release_with, silent

import tetraodon as td


def test_every_item_has_its_answer(policy: td.Policy, table: pl.DataFrame) -> None:
    release = release_with(policy, table, silent)
    assert list(release) == [item.name for item in policy.items]
    assert len(release) == len(policy.items)
    assert release["ages"].kind == "histogram"
    with pytest.raises(td.QueryError, match="did you mean 'older'"):
        release["oldest"]


def test_asking_names_the_table_that_answered(policy: td.Policy, table: pl.DataFrame) -> None:
    estimate = release_with(policy, table, silent).ask("age <= 24")
    assert estimate.source in {item.name for item in policy.items}
    assert estimate == pytest.approx(table.filter(pl.col("age") <= 24).height)
