"""Charts: the right kind for every answer, only released numbers in them, and never too much of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest
import vl_convert
from tests.releases.made import release_with

import tetraodon as td
from tetraodon.releases.release import Release
from tetraodon.releases.report import chart_spec, chart_svg
from tetraodon.report.chart import MOST_POINTS

NASTY = "<b>&\"'\\"
ATTRIBUTES: Mapping[str, Any] = {
    "age": {"integer": [17, 90], "unit": "years"},
    "sex": ["Female", "Male"],
    "grade": {"ordered": ["low", "middle", "high"]},
    "region": [NASTY, "south", "east", "west"],
    "loss": {"integer": [0, 4999], "unit": "USD"},
    "day": {"date": ["2026-01-01", "2026-03-31"]},
    "town": [f"town {n}" for n in range(70)],
    "mark": {"real": [0, 10], "step": 0.5},
}
ROWS = 500


def noise(shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(7).integers(-9, 10, shape)


def made(*items: Mapping[str, Any], **changes: Any) -> Release:
    document = {
        "tetraodon": 1,
        "dataset": "charts",
        "presence": "public",
        "attributes": ATTRIBUTES,
        "secrets": {"age": {"within": 5}, "sex": "public"},
        "together": "one attribute at a time",
        "budget": {"epsilon": 1},
        "release": list(items),
    }
    rng = np.random.default_rng(11)
    table = pl.DataFrame(
        {
            "age": rng.integers(17, 91, ROWS),
            "sex": rng.choice(["Female", "Male"], ROWS),
            "grade": rng.choice(["low", "middle", "high"], ROWS),
            "region": rng.choice([NASTY, "south", "east", "west"], ROWS),
            "loss": rng.integers(0, 5000, ROWS),
            "day": pl.Series(np.datetime64("2026-01-01") + rng.integers(0, 90, ROWS)).cast(pl.Date),
            "town": [f"town {n}" for n in rng.integers(0, 70, ROWS)],
            "mark": rng.integers(0, 21, ROWS) / 2,
        }
    )
    return release_with(td.load_policy(document | changes), table, noise)


def spec_of(item: Mapping[str, Any]) -> dict[str, Any]:
    (answer,) = made({"name": "it"} | item).values()
    spec = chart_spec(answer)
    assert spec is not None
    return spec


def marks_of(spec: Mapping[str, Any]) -> list[str]:
    inner = spec.get("spec", spec)
    return [layer["mark"] if isinstance(layer["mark"], str) else layer["mark"]["type"] for layer in inner["layer"]]


KINDS: dict[str, tuple[Mapping[str, Any], list[str]]] = {
    "few names": ({"histogram": ["region"]}, ["bar", "rule"]),
    "few ranks": ({"histogram": ["grade"]}, ["bar", "rule"]),
    "bins": ({"histogram": ["age"], "bins": {"age": [[17, 29], [30, 90]]}}, ["bar", "rule"]),
    "few numbers": ({"histogram": ["mark"]}, ["bar", "rule"]),
    "many numbers": ({"histogram": ["age"]}, ["area", "line", "point"]),
    "many days": ({"histogram": ["day"]}, ["area", "line", "point"]),
    "many names": ({"histogram": ["town"]}, ["bar", "rule"]),
    "coloured bars": ({"histogram": ["region", "sex"]}, ["bar", "rule"]),
    "coloured steps": ({"histogram": ["age", "sex"]}, ["area", "line", "point"]),
    "heat map": ({"histogram": ["age", "mark"]}, ["rect"]),
    "long heat map": ({"histogram": ["loss", "mark"]}, ["rect"]),
    "three": ({"histogram": ["age", "sex", "grade"]}, ["area", "line", "point"]),
    "cdf": ({"cdf": "age"}, ["area", "line", "point"]),
    "cdf of days": ({"cdf": "day", "by": "sex"}, ["area", "line", "point"]),
    "cdf of ranks": ({"cdf": "grade"}, ["area", "line", "point"]),
    "cdf by two": ({"cdf": "age", "by": ["sex", "region"]}, ["area", "line", "point"]),
    "every range": ({"ranges": "age"}, ["area", "line", "point"]),
    "named ranges": ({"ranges": {"age": {"young": [17, 29], "old": [60, 90]}}, "by": "sex"}, ["rule", "point"]),
    "count by": ({"count": "age > 30", "by": "sex"}, ["rule", "point"]),
    "total": ({"total": "loss", "by": "region"}, ["rule", "point"]),
    "mean": ({"mean": "mark", "by": "sex"}, ["rule", "point"]),
    "mean by age": ({"mean": "mark", "by": "age"}, ["area", "line", "point"]),
    "quantiles": ({"quantiles": "age", "bounds": True}, ["rule", "point"]),
    "quantiles by": ({"quantiles": "age", "bounds": True, "by": ["sex", "region"]}, ["rule", "point"]),
    "quantiles of ranks": ({"quantiles": "grade", "bounds": True, "by": "sex"}, ["rule", "point"]),
    "quantiles of days": ({"quantiles": "day", "bounds": True}, ["rule", "point"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_answer_has_a_chart_that_vega_lite_accepts(kind: str) -> None:
    item, marks = KINDS[kind]
    spec = spec_of(item)
    assert marks_of(spec) == marks
    assert spec["description"].endswith(".")
    assert "95%" in spec["usermeta"]["caption"]
    assert json.loads(json.dumps(spec, allow_nan=False)) == spec
    compiled = vl_convert.vegalite_to_vega(spec | ({} if "facet" in spec else {"width": 600}))
    assert compiled["marks"]
    assert len(spec["data"]["values"]) <= 6000


def test_pictures_for_the_documentation() -> None:
    (answer,) = made({"name": "it", "histogram": ["region", "sex"]}).values()
    svg = chart_svg(answer)
    assert svg is not None
    assert svg.startswith("<svg")
    assert "&lt;b&gt;&amp;" in svg
    assert "currentColor" not in svg


@pytest.mark.parametrize("item", [{"count": "age > 30"}, {"mean": "mark"}, {"median": "day", "bounds": True}])
def test_a_single_number_has_no_chart(item: Mapping[str, Any]) -> None:
    (answer,) = made({"name": "it"} | item).values()
    assert chart_spec(answer) is None


def test_beyond_three_attributes_there_is_only_a_table() -> None:
    (answer,) = made({"name": "it", "histogram": ["sex", "grade", "region", "mark"]}).values()
    assert chart_spec(answer) is None
    assert chart_svg(answer) is None


@pytest.mark.parametrize("attributes", [["town", "sex"], ["town", "age"], ["town", "mark", "age"]])
def test_too_many_names_in_a_table_are_not_drawn(attributes: list[str]) -> None:
    (answer,) = made({"name": "it", "histogram": attributes}).values()
    assert chart_spec(answer) is None


def test_numbers_drawn_are_the_released_ones() -> None:
    (answer,) = made({"name": "it", "histogram": ["age", "sex"]}).values()
    spec = chart_spec(answer)
    assert spec is not None
    columns = answer.columns
    rows = {(row["a0"], row["a1"]): row for row in spec["data"]["values"]}
    assert len(rows) == 148
    drawn = zip(columns["age"], columns["sex"], columns["count"], columns["lower"], columns["upper"], strict=True)
    for age, sex, count, lower, upper in drawn:
        row = rows[(age, sex)]
        assert (row["v"], row["lo"], row["hi"]) == pytest.approx((count, lower, upper), abs=0.06)


def test_a_long_cdf_is_thinned_keeps_its_ends_and_says_so() -> None:
    (answer,) = made({"name": "it", "cdf": "loss"}).values()
    spec = chart_spec(answer)
    assert spec is not None
    values = spec["data"]["values"]
    assert len(values) <= MOST_POINTS
    assert (values[0]["a0"], values[-1]["a0"]) == (0, 4999)
    assert values[-1]["v"] == ROWS
    assert f"Drawn at {len(values):,} of 5,000 values" in spec["usermeta"]["caption"]
    assert "5,000 steps" in spec["description"]


def test_long_histograms_are_averaged_and_their_intervals_hold_the_truth() -> None:
    (answer,) = made({"name": "it", "histogram": ["loss"]}).values()
    spec = chart_spec(answer)
    assert spec is not None
    values = spec["data"]["values"]
    assert len(values) == 500
    assert "10 at a time" in spec["usermeta"]["caption"]
    assert values[0]["t0"] == "0..9"
    assert values[0]["a0"] == 4.5
    assert values[0]["v"] == pytest.approx(answer.columns["count"][:10].mean(), abs=0.01)
    whole = answer.between(0, 9)
    assert values[0]["hi"] - values[0]["lo"] <= (whole.upper - whole.lower) / 10 + 0.02
    assert values[0]["lo"] <= values[0]["v"] <= values[0]["hi"]


def test_only_the_largest_of_many_names_are_drawn() -> None:
    (answer,) = made({"name": "it", "histogram": ["town"]}).values()
    spec = chart_spec(answer)
    assert spec is not None
    counts = sorted(answer.columns["count"], reverse=True)[:60]
    assert [row["v"] for row in spec["data"]["values"]] == pytest.approx(counts, abs=0.06)
    assert "Only the 60 largest of 70" in spec["usermeta"]["caption"]


def test_units_stand_on_the_axes() -> None:
    steps = spec_of({"cdf": "age"})["layer"][0]["encoding"]
    assert steps["x"]["title"] == "age (years)"
    assert steps["y"]["title"] == "records at or below the value"
    assert spec_of({"total": "loss", "by": "sex"})["layer"][0]["encoding"]["x"]["title"] == "sum of loss (USD)"


def test_a_legend_and_its_shapes_agree() -> None:
    spec = spec_of({"histogram": ["age", "sex"]})
    line = spec["layer"][1]["encoding"]
    assert line["color"]["scale"]["domain"] == line["strokeDash"]["scale"]["domain"] == ["Female", "Male"]


def test_exact_answers_have_no_error_bars() -> None:
    spec = spec_of({"histogram": ["sex"]})
    assert all(row["lo"] == row["v"] == row["hi"] for row in spec["data"]["values"])
    assert spec["usermeta"]["caption"] == "Exact numbers, without error bars."


def test_what_is_drawn_is_said_in_a_sentence() -> None:
    assert spec_of({"histogram": ["age", "sex"]})["description"] == "Histogram of age (years) and sex; 148 steps."
    assert spec_of({"mean": "mark", "by": "sex"})["description"] == "Average of mark by sex; 2 points."
    assert (
        spec_of({"quantiles": "age", "bounds": True, "by": "sex"})["description"]
        == "Quantiles of age by sex; 6 points."
    )
    assert spec_of({"count": "age > 30", "by": "sex"})["description"] == (
        "Number of records with age > 30 by sex; 2 points."
    )
