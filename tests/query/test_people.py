"""Questions about people with several rows."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.releases.made import release_with, silent

import tetraodon as td
from tetraodon.domain import Attribute, Grid, Integers
from tetraodon.errors import QueryError, Refused
from tetraodon.queries import mean_per_person, people, total_per_person
from tetraodon.query.linear import LinearQuery
from tetraodon.query.number import EachPerson
from tetraodon.query.people import MeanPerPerson, PeopleCount, TotalPerPerson
from tetraodon.releases.report import chart_spec

# -- people -----------------------------------------------------------------------------------------
# `people`: read, written, answered and drawn; and refused without a key.


BASE: dict[str, Any] = {
    "dataset": "d",
    "individuals": {"key": "who", "at most": 3},
    "attributes": {"x": {"integer": [0, 3]}},
    "budget": {"epsilon": 1},
    "release": [{"name": "all", "people": "all"}, {"name": "visits", "people": "by rows", "whole": True}],
}
TABLE = pl.DataFrame({"who": [1, 1, 2, 3, 3, 3, 4, 4, 4, 4], "x": [0, 1, 3, 3, 2, 0, 0, 0, 0, 0]})


def test_it_is_read_and_written() -> None:
    policy = td.load_policy(BASE)
    assert [item.query for item in policy.items] == [PeopleCount(), PeopleCount(3)] == [people(), people(by_rows=3)]
    assert td.load_policy(policy.document) == policy
    page = (Path(__file__).parents[2] / "docs" / "policy-file.md").read_text(encoding="utf-8")
    assert "`people`" in page


def test_answers_are_those_of_the_people_whose_rows_count() -> None:
    """Whoever has more rows than allowed is cut here, since any two records are a secret, and still counts once."""
    release = release_with(td.load_policy(BASE), TABLE, silent)
    assert release["all"].columns["people"].tolist() == [4]
    assert list(release["all"].columns) == ["people", "lower", "upper"]
    visits = release["visits"].columns
    assert (visits["rows"].tolist(), visits["people"].tolist()) == ([1, 2, 3], [1, 1, 2])
    left_out = release_with(td.load_policy(BASE | {"secrets": {"x": "public"}}), TABLE, silent)
    assert left_out["all"].columns["people"].tolist() == [3]
    assert left_out["visits"].columns["people"].tolist() == [1, 1, 1]
    assert chart_spec(release["all"]) is None
    assert chart_spec(release["visits"]) is not None


def test_one_person_moves_it_by_one_and_their_rows_by_two() -> None:
    assert td.sensitivity(BASE, people()).value == 1
    assert td.sensitivity(BASE, people(by_rows=3)).value == 2
    plan = td.plan(BASE | {"release": BASE["release"][:1]})
    assert plan["all"].scale == 1


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"release": [{"name": "all", "people": "some"}]}, "all together, or by their rows"),
        ({"release": [{"name": "all", "people": "all", "by": "x"}]}, "means nothing for `people`"),
        ({"individuals": "one row each", "release": [{"name": "v", "people": "by rows"}]}, "whose row it is"),
        ({"individuals": "one row each", "release": [{"name": "v", "people": "all"}]}, "whose row it is"),
    ],
)
def test_what_it_cannot_be_is_refused(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(td.errors.TetraodonError, match=match):
        td.load_policy(BASE | changes)


# -- per person -------------------------------------------------------------------------------------
# Sums and means per person: each person's rows added up and capped, against plain Python; and what is refused.


PER_PERSON_BASE: dict[str, Any] = {
    "dataset": "d",
    "individuals": {"key": "who", "at most": 3},
    "attributes": {
        "pay": {"real": [0.5, 4], "step": 0.5, "unit": "EUR"},
        "x": {"integer": [-1, 3]},
        "none": {"integer": [0, 0]},
    },
    "secrets": {"x": "public"},
    "budget": {"epsilon": 1},
    "release": [
        {"name": "sum", "total per person": "pay", "cap": 5.5},
        {"name": "each", "mean per person": "pay", "cap": 5.5},
    ],
}
WHO, PAY = [1, 1, 2, 3, 3, 3, 4, 4, 4, 4], [0.5, 1, 4, 4, 3, 0.5, 1, 1, 1, 1]
PER_PERSON_TABLE = pl.DataFrame({"who": WHO, "pay": PAY, "x": [0] * 10, "none": [0] * 10})


def capped(cap: float) -> list[float]:
    """What those with at most three rows have."""
    mine = [[p for w, p in zip(WHO, PAY, strict=True) if w == who] for who in {*WHO}]
    return [min(cap, sum(rows)) for rows in mine if len(rows) <= 3]


def test_they_are_read_and_written() -> None:
    policy = td.load_policy(PER_PERSON_BASE)
    assert [type(item.query) for item in policy.items] == [TotalPerPerson, MeanPerPerson]
    assert [item.query for item in policy.items] == [
        total_per_person("pay", cap="5.5"),
        mean_per_person("pay", cap=5.5),
    ]
    assert td.load_policy(policy.document) == policy
    page = (Path(__file__).parents[2] / "docs" / "policy-file.md").read_text(encoding="utf-8")
    for key in ("total per person", "mean per person", "cap"):
        assert f"`{key}`" in page


def test_answers_are_capped_sums_over_people() -> None:
    release = release_with(td.load_policy(PER_PERSON_BASE), PER_PERSON_TABLE, silent)
    assert release["sum"].columns["total"].tolist() == [sum(capped(5.5))] == [11.0]
    assert release["each"].columns["mean"].tolist() == pytest.approx([sum(capped(5.5)) / 3])
    for answer in release.values():
        lower, upper = answer.columns["lower"][0], answer.columns["upper"][0]
        assert 0 <= lower <= next(iter(answer.columns.values()))[0] <= upper


def test_a_person_moves_them_by_the_cap_or_by_all_their_rows() -> None:
    assert (
        td.sensitivity(PER_PERSON_BASE, total_per_person("pay", cap=5.5)).value
        == td.load_policy(PER_PERSON_BASE).items[0].query.cap
    )
    assert td.sensitivity(PER_PERSON_BASE, total_per_person("pay", cap=100)).value == 12
    assert td.sensitivity(PER_PERSON_BASE, td.queries.total("pay")).value == 12
    capped_scale = td.plan(PER_PERSON_BASE | {"release": PER_PERSON_BASE["release"][:1]})["sum"].expected_error
    rows = td.plan(PER_PERSON_BASE | {"release": [{"name": "sum", "total": "pay"}]})["sum"].expected_error
    assert capped_scale < rows / 2


@pytest.mark.parametrize(
    ("item", "match"),
    [
        ({"total per person": "pay"}, "at most"),
        ({"total per person": "pay", "cap": "much"}, "cap"),
        ({"total per person": "pay", "cap": 5.2}, "not on the grid"),
        ({"total per person": "x", "cap": 5}, "can be negative"),
        ({"total per person": "none", "cap": 5}, "has one value only"),
        ({"mean per person": "pay", "cap": -1}, "not above zero"),
        ({"mean per person": "pay", "cap": 5, "by": "x"}, "means nothing"),
        ({"mean per person": "sex", "cap": 5}, "no attribute"),
    ],
)
def test_what_they_cannot_be_is_refused(item: dict[str, Any], match: str) -> None:
    with pytest.raises(td.errors.TetraodonError, match=match):
        td.load_policy(PER_PERSON_BASE | {"release": [{"name": "it", **item}]})


def test_a_key_is_needed() -> None:
    with pytest.raises(td.errors.TetraodonError, match="whose row it is"):
        td.load_policy(PER_PERSON_BASE | {"individuals": "one row each"})


# -- each person ------------------------------------------------------------------------------------
# What each person adds: units, caps, and that single rows are not asked.


HALVES = Attribute("pay", Grid(Fraction(1, 2), Fraction(5), Fraction(1, 2)))


def test_units_are_those_of_the_attribute() -> None:
    asked = EachPerson(HALVES, cap=16)
    assert (asked.unit, asked.line) == (Fraction(1, 2), (1, 1))
    assert (asked.most(1), asked.most(2), asked.least()) == (10, 16, 1)
    assert (EachPerson().most(7), EachPerson().least(), EachPerson().names) == (1, 1, ())


def test_answers_from_counts_by_rows() -> None:
    rows, people, totals = np.array([3, 1]), np.array([5, 7]), np.array([40, 9])
    assert EachPerson().answer(rows, people, totals).tolist() == [12]
    assert EachPerson(rows=4).answer(rows, people, totals).tolist() == [7, 0, 5, 0]
    assert EachPerson(HALVES, cap=16).answer(rows, people, totals).tolist() == [49]
    nobody = np.array([], np.int64)
    assert EachPerson(rows=2).answer(nobody, nobody, nobody).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("attribute", "cap", "match"),
    [
        (Attribute("x", Integers(-1, 3)), 5, "can be negative"),
        (Attribute("x", Integers(0, 3)), 0, "not above zero"),
        (Attribute("x", Integers(0, 2**27)), 5, "too long"),
        (Attribute("x", Integers(2**41, 2**41 + 1)), 5, "too long"),
        (Attribute("x", Integers(0, 3)), 2**30, "too long"),
    ],
)
def test_what_cannot_be_bounded_or_added_up_is_refused(attribute: Attribute, cap: int, match: str) -> None:
    with pytest.raises((QueryError, Refused), match=match):
        EachPerson(attribute, cap)


def test_it_is_no_matter_of_single_rows() -> None:
    asked, codes = EachPerson(), np.array([0])
    for ask in (
        asked.columns,
        lambda: asked.alone(codes),
        lambda: asked.apart(codes, codes),
        lambda: asked.potential(codes),
    ):
        with pytest.raises(Refused, match="single rows"):
            ask()
    from tetraodon.domain import Domain

    with pytest.raises(Refused, match="row by row"):
        LinearQuery(asked).evaluate(Domain((HALVES,)), np.zeros((1, 0), np.int64), np.array([1]))
