"""Tables of counts beside a view: they lose what the view does, and both are asked the same."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.releases.made import release_with

import tetraodon as td
from reproduce import three_way
from reproduce.three_way import EVERY, KINDS, compared, tables_plan
from tetraodon.views.plan import ViewPlan, plan_view

SIZES = {"a": 3, "b": 4, "c": 2, "d": 5}


def view() -> ViewPlan:
    made = {"dataset": "few", "attributes": {name: {"integer": [1, size]} for name, size in SIZES.items()}}
    return plan_view(
        td.load_policy({**made, "budget": {"epsilon": 9}}), td.research.Adversary(d="0.05", gamma="0.2", records=400)
    )


def test_the_tables_lose_what_the_view_loses() -> None:
    plan = tables_plan(view())
    assert [item.name for item in plan] == ["a_b_c", "a_b_d", "a_c_d", "b_c_d"]
    assert plan.epsilon == view().loss


def test_every_kind_is_asked_as_often_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(three_way, "EACH", 4)
    held = np.stack([np.random.default_rng(3).integers(0, size, 400) for size in SIZES.values()], axis=1)
    table, _ = compared(view(), held, range(2), where="dense", times=1)
    asked = {str(row[0]): row[1] for row in table.rows}
    cells = 3 * 4 * 2 + 3 * 4 * 5 + 3 * 2 * 5 + 4 * 2 * 5
    assert asked == {**dict.fromkeys(KINDS, 8), "all of these": 48, EVERY: 2 * cells}
    for _, _, by_view, by_tables, ratio in table.rows:
        assert by_view > 0
        assert by_tables > 0
        assert ratio == pytest.approx(by_view / by_tables)


def test_what_is_read_from_a_table_is_what_a_release_answers() -> None:
    coins = np.random.default_rng(4)
    table = pl.DataFrame({name: coins.integers(1, size + 1, 400) for name, size in SIZES.items()})
    release = release_with(tables_plan(view()), table, lambda shape: coins.integers(-9, 9, shape))
    for bounds in ([(1, 2, 3)], [(0, 1, 2), (3, 4, 4)], [(3, 2, 5), (2, 1, 1), (1, 3, 4)]):
        asked = " and ".join(f"{'abcd'[at]} between {low} and {high}" for at, low, high in bounds)
        assert three_way._told(release, "abcd", bounds) == release.ask(asked).value
