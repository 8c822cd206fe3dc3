"""Releases that could come out: made-up people, real noise. No table is read, and nothing is charged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tetraodon as td
from tetraodon.errors import QueryError, Refused

POLICY: dict[str, Any] = {
    "dataset": "d",
    "presence": "public",
    "attributes": {
        "age": {"integer": [0, 99], "missing": "separate"},
        "sex": ["f", "m"],
        "hours": {"integer": [0, 24]},
    },
    "budget": {"epsilon": 1},
    "release": [
        {"name": "ages", "histogram": "age"},
        {"name": "both", "histogram": ["age", "sex"], "bins": {"age": 10}},
        {"name": "mean", "mean": "hours", "where": "sex = 'f'"},
        {"name": "old", "count": "age >= 65"},
        {"name": "shares", "quantiles": "hours", "at": [0.5], "bounds": True},
    ],
}


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
