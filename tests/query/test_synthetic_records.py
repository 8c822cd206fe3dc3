"""`synthetic` in the policy file and in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tetraodon as td
from tetraodon.errors import PolicyError, QueryError
from tetraodon.queries import synthetic
from tetraodon.query.kinds import linear
from tetraodon.query.synthetic import SyntheticRecords

BASE: dict[str, Any] = {
    "dataset": "d",
    "presence": "public",
    "attributes": {"age": {"integer": [0, 9]}, "sex": ["f", "m"]},
    "budget": {"epsilon": 1},
}


def loaded(**item: Any) -> td.Policy:
    return td.load_policy(BASE | {"release": [{"name": "it", **item}]})


def test_forms() -> None:
    assert loaded(synthetic={"records": 5}).items[0].query == synthetic(5, "age", "sex")
    full = {"synthetic": {"records": "1_000", "attributes": "age", "tables": 3}, "bins": {"age": 5}}
    found = loaded(**full).items[0].query
    assert found == synthetic(1000, "age", tables=3, bins={"age": [[0, 4], [5, 9]]})
    assert isinstance(found, SyntheticRecords)
    assert found.document() == {
        "synthetic": {"records": 1000, "attributes": ["age"], "tables": 3},
        "bins": {"age": [[0, 4], [5, 9]]},
    }
    domain = loaded(**full).domain
    assert linear(found, domain).by[0].size(domain) == 2
    assert found.sentence(domain) == "Made-up records, 1,000 of them, with values of age."


@pytest.mark.parametrize(
    "asked",
    [
        5,
        {},
        {"records": 0},
        {"records": -3},
        {"records": "many"},
        {"records": 10**9},
        {"records": 5, "rows": 3},
        {"records": 5, "attributes": ["age", "age"]},
        {"records": 5, "attributes": {"age": 1}},
        {"records": 5, "attributes": ["height"]},
        {"records": 5, "tables": 1.5},
    ],
)
def test_what_is_no_such_item(asked: Any) -> None:
    with pytest.raises((PolicyError, QueryError)):
        loaded(synthetic=asked)


def test_it_is_about_all_records() -> None:
    with pytest.raises(td.errors.Refused, match="about all records"):
        loaded(synthetic={"records": 5, "attributes": ["sex"]}, where="age > 3")


@pytest.mark.parametrize(
    "make",
    [lambda: synthetic(5), lambda: synthetic(0, "age"), lambda: synthetic(5, "age", tables=-1)],
)
def test_bad_calls(make: Callable[[], Any]) -> None:
    with pytest.raises(QueryError):
        make()
