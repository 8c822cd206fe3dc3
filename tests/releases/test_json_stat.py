"""Tables as JSON-stat: valid by a validator of that format, and with the numbers of the answers."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest
from jsonstat_validator import validate_jsonstat
from tests.releases.made import release_with, silent

import tetraodon as td
from tetraodon.releases.folder import json_tables
from tetraodon.releases.open_formats import MOST_CELLS, json_stat_text


@pytest.mark.parametrize("name", ["ages", "older", "pay", "mean_pay", "bands", "middle", "blocks", "men"])
def test_every_table_is_valid_and_has_the_numbers_of_its_answer(
    name: str, policy: td.Policy, table: pl.DataFrame
) -> None:
    made = release_with(policy, table, lambda shape: np.random.default_rng(5).integers(-9, 9, shape))
    found = json.loads(json_stat_text(made[name], "A survey", "2026-01-01"))
    assert validate_jsonstat(found)
    assert math.prod(found["size"]) == len(found["value"])
    columns = made[name].columns
    measures = list(columns)[list(columns).index("lower") - 1 :]
    stacked = np.array(found["value"]).reshape(-1, len(measures))
    for place, column in enumerate(measures):
        assert stacked[:, place].tolist() == columns[column].astype(float).tolist()


def test_a_cell_is_found_by_its_categories(policy: td.Policy, table: pl.DataFrame) -> None:
    found = json.loads(json_stat_text(release_with(policy, table, silent)["ages"], "A survey", "2026-01-01"))
    assert found["id"] == ["age", "sex", "measure"]
    index = [found["dimension"][name]["category"]["index"] for name in found["id"]]
    cell = np.ravel_multi_index((index[0].index("24"), index[1].index("Male"), 0), found["size"])
    assert found["value"][cell] == pytest.approx(table.filter(age=24, sex="Male").height)


def test_days_are_times_and_names_differ() -> None:
    document = {
        "dataset": "d",
        "attributes": {"measure": {"date": ["2026-01-01", "2026-01-03"]}},
        "budget": {"epsilon": 1},
        "release": [{"name": "all", "histogram": "measure"}],
    }
    made = release_with(td.load_policy(document), pl.DataFrame({"measure": ["2026-01-02"]}), silent)
    found = json.loads(json_stat_text(made["all"], "d", "2026-01-01"))
    assert validate_jsonstat(found)
    assert found["id"] == ["measure", "measure_"]
    assert found["role"] == {"metric": ["measure_"], "time": ["measure"]}


def test_what_is_no_table_of_numbers_or_too_long_has_none() -> None:
    document = {
        "dataset": "d",
        "attributes": {"x": {"integer": [0, MOST_CELLS]}, "day": {"date": ["2026-01-01", "2026-01-03"]}},
        "budget": {"epsilon": 1},
        "release": [
            {"name": "long", "cdf": "x"},
            {"name": "middle", "median": "day", "bounds": True},
            {"name": "spots", "kmeans": ["x"], "clusters": 2},
            {"name": "days", "histogram": "day"},
        ],
    }
    assert json_tables(td.plan(document)) == {"days": "answers/days.json"}
