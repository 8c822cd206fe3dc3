"""Simulated releases and synthetic records."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from tests.policies import public_policy

import tetraodon as td
from tetraodon.errors import QueryError, Refused, ReleaseError
from tetraodon.releases.release import Release
from tetraodon.releases.simulated import write_table

# -- simulated --------------------------------------------------------------------------------------
# Releases that could come out: made-up people, real noise. No table is read, and nothing is charged.

POLICY: dict[str, Any] = public_policy(
    attributes={"age": {"integer": [0, 99], "missing": "separate"}, "sex": ["f", "m"], "hours": {"integer": [0, 24]}},
    release=[
        {"name": "ages", "histogram": "age"},
        {"name": "both", "histogram": ["age", "sex"], "bins": {"age": 10}},
        {"name": "mean", "mean": "hours", "where": "sex = 'f'"},
        {"name": "old", "count": "age >= 65"},
        {"name": "shares", "quantiles": "hours", "at": [0.5], "bounds": True},
    ],
)


@pytest.fixture(scope="module")
def planned() -> td.Plan:
    return td.plan(POLICY)


def test_releases_of_the_same_people_differ_by_noise_alone(planned: td.Plan) -> None:
    found = td.editor.simulate(planned, n=2000, times=2)
    one, other = found.releases
    assert [*one.answers] == [*found.truth.answers] == [item["name"] for item in POLICY["release"]]
    for name in one.answers:
        for measurement, a, b, exact in zip(
            planned[name].measurements,
            one.measured[name],
            other.measured[name],
            found.truth.measured[name],
            strict=True,
        ):
            assert a.shape == b.shape == exact.shape
            assert (measurement.scale == 0) == bool((a == exact).all() and (b == exact).all())
    again = td.editor.simulate(planned, n=2000, times=1).truth
    assert (found.truth["ages"].values == again["ages"].values).all()


def test_the_truth_is_that_of_the_made_up_people(planned: td.Plan) -> None:
    truth = td.editor.simulate(planned, "flat", 4000, times=0).truth
    assert truth["ages"].values is not None
    assert truth["ages"].values.sum() == 4000
    assert truth["ages"].values[-1] == 0  # everybody answered
    old = truth["old"].columns["count"].item()
    assert old == truth["ages"].values[65:100].sum()
    assert 1000 < old < 1800  # 35 of 100 ages; ten standard deviations are 300
    assert truth["mean"].columns["mean"].item() == pytest.approx(12, abs=2)


def test_shapes_are_what_they_are_called(planned: td.Plan) -> None:
    ages = {
        shape: td.editor.simulate(planned, shape, 5000, times=0).truth["ages"].values for shape in ("hump", "long tail")
    }
    assert ages["hump"].argmax() in range(30, 60)
    assert ages["long tail"][:20].sum() > 4000
    # as in a release that has a table of the attribute, here behind a histogram and behind quantiles
    released = td.editor.simulate(planned, "long tail", 5000, times=1).releases[0]
    again = td.editor.simulate(planned, released, 5000, times=0).truth
    assert again["ages"].values[:20].sum() > 3500
    assert again["shares"].quantile("0.5") in range(5)


def test_statistics_of_people_are_simulated_too() -> None:
    people = POLICY | {"individuals": {"key": "id", "at most": 3}, "presence": "secret"}
    people["release"] = [{"name": "n", "people": "all"}, {"name": "all", "total per person": "hours", "cap": 40}]
    truth = td.editor.simulate(td.plan(people), n=300, times=1).truth
    assert truth["n"].columns["people"].item() == 300
    assert all(np.isfinite(answer.measured[0]).all() for answer in truth.values())


def test_what_cannot_be_made_up_is_refused(planned: td.Plan) -> None:
    with pytest.raises(QueryError, match="did you mean 'hump'"):
        td.editor.simulate(planned, "humpp")
    with pytest.raises(QueryError, match="made up"):
        td.editor.simulate(planned, n=0)
    attributes = {"sex": ["f", "m"]}
    known = {
        **POLICY,
        "attributes": attributes,
        "known": [{"count": "sex = 'f'", "is": 3}],
        "release": [{"name": "n", "histogram": "sex"}],
    }
    with pytest.raises(Refused, match="known already"):
        td.editor.simulate(td.plan(known))


# -- synthetic --------------------------------------------------------------------------------------
# A table of made-up records whose counts are those of a release: nothing is measured anew, so it costs no privacy.

SYNTHETIC_POLICY: dict[str, Any] = public_policy(
    attributes={
        "age": {"integer": [0, 79], "missing": "separate"},
        "sex": ["=f", "m"],
        "size": {"real": [0, 1], "step": 0.25},
        "day": {"date": ["2026-01-01", "2026-01-10"]},
        "never": "boolean",
    },
    release=[
        {"name": "both", "histogram": ["age", "sex"]},
        {"name": "tens", "histogram": ["age", "size"], "bins": {"age": 10}},
        {"name": "days", "histogram": ["day", "size"]},
        {"name": "old", "count": "age >= 65"},
        {"name": "men", "histogram": "day", "where": "sex = 'm'"},
    ],
)


@pytest.fixture(scope="module")
def exact() -> Release:
    """A release without noise: what it tells can be had."""
    return td.editor.simulate(td.plan(SYNTHETIC_POLICY), "hump", 3000, times=0).truth


def test_the_counts_of_a_release_without_noise_are_met(exact: Release) -> None:
    found = td.synthesize(exact)
    assert len(found) == 3000
    assert {*found.distance} == {"both", "tens", "days"}
    assert max(found.distance.values()) < 0.02
    assert found.left_out == ("never",)
    # by a count of its own: the share of records that are elsewhere
    both = np.zeros((81, 2))
    np.add.at(both, (found.codes["age"], found.codes["sex"]), 1)
    assert np.abs(both - exact["both"].values).sum() / 6000 == pytest.approx(found.distance["both"])


def test_records_with_noise_follow_what_was_published() -> None:
    plan = td.plan(SYNTHETIC_POLICY | {"budget": {"epsilon": 20}})
    (release,) = td.editor.simulate(plan, "hump", 3000, times=1).releases
    found = td.synthesize(release)
    assert max(found.distance.values()) < 0.05
    assert (found.codes["age"] < 81).all()


def test_the_same_release_gives_the_same_records_in_any_number(exact: Release) -> None:
    one, other = td.synthesize(exact, 500), td.synthesize(exact, 500)
    assert len(one) == 500
    assert all((one.codes[name] == other.codes[name]).all() for name in one.codes)
    assert len(td.synthesize(exact, 1)) == 1
    with pytest.raises(Refused, match="Fix: ask for"):
        td.synthesize(exact, 10**9)


def test_values_are_those_of_the_policy(exact: Release) -> None:
    frame = td.synthesize(exact, 400).to_polars()
    assert frame.columns == ["age", "sex", "size", "day"]
    assert {*frame["sex"]} == {"=f", "m"}
    assert {*frame["size"]} <= {0, 0.25, 0.5, 0.75, 1}
    assert min(frame["day"]) >= dt.date(2026, 1, 1)


def test_nothing_is_made_up_from_nothing() -> None:
    counts = SYNTHETIC_POLICY | {"release": [{"name": "old", "count": "age >= 65"}]}
    with pytest.raises(QueryError, match="no table of counts"):
        td.synthesize(td.editor.simulate(td.plan(counts), n=10, times=0).truth)


def test_a_table_of_nobody_is_spread_evenly() -> None:
    sparse = {"dataset": "d", "attributes": {"x": {"integer": [0, 3]}}, "budget": {"epsilon": 1}}
    plan = td.plan(sparse | {"release": [{"name": "x", "histogram": "x"}]})
    empty = td.editor.simulate(plan, n=1, times=0).truth
    empty["x"].values[...] = 0
    assert np.bincount(td.synthesize(empty, 8).codes["x"]).tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_are_read_back_and_run_no_formula(exact: Release, ending: str, tmp_path: Path) -> None:
    found = td.synthesize(exact, 300)
    write_table(found, path := tmp_path / f"people.{ending}")
    read = duckdb.sql(f"SELECT * FROM '{path}'").fetchall()
    assert [row[2] for row in read] == [float(value) for value in found.columns["size"]]
    sexes = {"csv": {"'=f", "m"}, "parquet": {"=f", "m"}}[ending]
    assert {row[1] for row in read} == sexes
    with pytest.raises(ReleaseError, match="cannot be written"):
        write_table(found, tmp_path / "nowhere" / f"people.{ending}")
