"""Counts as a question."""

from __future__ import annotations

import numpy as np
import polars as pl
from tests.releases.made import release_with

import tetraodon as td
from tetraodon.query.kinds import count
from tetraodon.query.query import Cells


def released(noise: int, **item: object) -> td.Release:
    policy = {
        "dataset": "d",
        "attributes": {"x": {"integer": [0, 3]}},
        "budget": {"epsilon": 1},
        "release": [{"name": "n", "count": "x > 1", **item}],
    }
    table = pl.DataFrame({"x": [0, 2, 3]})
    return release_with(td.load_policy(policy), table, lambda shape: np.full(shape, noise))


def test_no_interval_reaches_below_nobody() -> None:
    columns = released(-40, whole=False)["n"].columns
    assert columns["count"].tolist() == [-38.0]
    assert (columns["lower"][0], columns["upper"][0]) == (0.0, 3.0)
    assert "measured" not in columns


def test_counts_are_whole_and_have_what_was_measured_beside_them() -> None:
    """An interval that lies below zero does not become the point zero: its reach is laid from there."""
    columns = released(-40)["n"].columns
    assert {name: column.tolist() for name, column in columns.items()} == {
        "count": [0],
        "lower": [0],
        "upper": [3],
        "measured": [-38.0],
    }
    assert {column.dtype.kind for name, column in columns.items() if name != "measured"} == {"i"}


def test_a_table_answers_counts_of_everybody_by_attributes_and_no_others() -> None:
    domain = td.load_policy({"dataset": "d", "attributes": {"x": [1, 2]}, "budget": {"epsilon": 1}}).domain
    assert count(by="x").reading(domain) == Cells()
    assert count("x = '1'").reading(domain) is None
    assert count("x = '1'").table(domain) == count().table(domain) == ()
    assert count("x = '1'").sentence(domain) == "How many records satisfy: x = '1'."
    assert count("x = '1'").drawing(domain, ()).head == "Number of records with x = '1'"
