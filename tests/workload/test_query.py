"""Questions as they are written, against plain Python loops over the cells."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.errors import DomainError, PolicyError, QueryError, Refused, TetraodonError
from tetraodon.workload.query import (
    KINDS,
    Count,
    Histogram,
    Query,
    cdf,
    count,
    histogram,
    kind_of,
    linear,
    mean,
    quantiles,
    ranges,
    total,
)

DOMAIN = Domain(
    (
        Attribute("age", Integers(10, 14)),
        Attribute("pay", Grid(Fraction("-0.5"), Fraction("1"), Fraction("0.5"))),
        Attribute("sex", Categories(("F", "M")), other=0),
        Attribute("grade", Categories(("low", "middle", "high"), ordered=True), other=0),
    )
)
Record = tuple[Any, ...]
Row = Callable[[Record], Fraction | int]


def by_loops(rows: list[Row]) -> list[list[Fraction]]:
    records = [DOMAIN.value(cell) for cell in range(DOMAIN.size)]
    return [[Fraction(row(record)) for record in records] for row in rows]


def holding(test: Callable[[Record], bool]) -> Row:
    return lambda r: int(test(r))


GRADES = ("low", "middle", "high")
AGES = range(10, 15)
EVERY: list[tuple[Query, list[Row]]] = [
    (count(), [lambda _: 1]),
    (count("age > 12 and sex = 'F'"), [holding(lambda r: r[0] > 12 and r[2] == "F")]),
    (
        count("pay < 0", by=["sex"]),
        [holding(lambda r, s=s: r[1] < 0 and r[2] == s) for s in "FM"],
    ),
    (
        histogram("sex", "age"),
        [holding(lambda r, s=s, a=a: (r[2], r[0]) == (s, a)) for s in "FM" for a in AGES],
    ),
    (
        histogram("age", "sex", bins={"age": [[12, 14], [10, 11]]}),
        [holding(lambda r, o=o, s=s: (r[0] < 12) == o and r[2] == s) for o in (False, True) for s in "FM"],
    ),
    (
        histogram("grade", bins={"grade": [["middle", "high"], ["low"]]}),
        [holding(lambda r: r[3] != "low"), holding(lambda r: r[3] == "low")],
    ),
    (cdf("age"), [holding(lambda r, a=a: r[0] <= a) for a in AGES]),
    (
        cdf("grade", by=["sex"]),
        [holding(lambda r, s=s, g=g: r[2] == s and GRADES.index(r[3]) <= g) for s in "FM" for g in range(3)],
    ),
    (quantiles("age"), [holding(lambda r, a=a: r[0] <= a) for a in AGES]),
    (
        ranges("age", {"young": [10, 11], "all": (10, 14)}),
        [holding(lambda r: r[0] <= 11), lambda _: 1],
    ),
    (
        ranges("grade", by="sex"),
        [
            holding(lambda r, s=s, lo=lo, hi=hi: r[2] == s and lo <= GRADES.index(r[3]) <= hi)
            for s in "FM"
            for lo in range(3)
            for hi in range(lo, 3)
        ],
    ),
    (total("pay"), [lambda r: r[1]]),
    (total("pay", weight="age", by=["sex"]), [lambda r, s=s: r[1] * r[0] * (r[2] == s) for s in "FM"]),
    (mean("age", by=["grade"]), [lambda r, g=g: r[0] * (r[3] == g) for g in GRADES]),
]


@pytest.mark.parametrize(("query", "rows"), EVERY, ids=lambda v: kind_of(v) if not isinstance(v, list) else "")
def test_it_asks_what_it_says(query: Query, rows: list[Row]) -> None:
    matrix, unit = linear(query, DOMAIN).matrix(DOMAIN)
    assert [[int(entry) * unit for entry in row] for row in matrix] == by_loops(rows)


def test_every_kind_is_asked_above() -> None:
    """Maps and clusters are not one linear query each: see `test_areas`."""
    assert {kind_of(query) for query, _ in EVERY} | {"rectangles", "kmeans"} == set(KINDS)


def test_builders_take_one_name_or_several() -> None:
    assert count(by="sex") == count(by=["sex"]) == Count("", ("sex",))
    assert cdf("age", by="sex") == cdf("age", by=("sex",))
    assert histogram("age") == Histogram(("age",))
    assert ranges("age", [[10, 11]]).named == (("10..11", 10, 11),)
    assert quantiles("age").at == (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
    assert quantiles("age", at=[0.1, "1/3"]).at == (Fraction(1, 10), Fraction(1, 3))


def test_bins_carry_labels() -> None:
    by = linear(histogram("age", "sex", bins={"age": [[10, 12], [13, 14]], "sex": [["M"], ["F"]]}), DOMAIN).by
    assert [(split.bins, split.labels) for split in by] == [
        ((0, 0, 0, 1, 1), ("10..12", "13..14")),
        ((1, 0), ("M", "F")),
    ]
    listed = linear(histogram("age", bins={"age": [[10], [11, 14]]}), DOMAIN).by[0]
    assert listed.labels == ("10", "11..14")


@pytest.mark.parametrize(
    ("make", "error", "what"),
    [
        (lambda: count("agee > 3"), QueryError, "did you mean 'age'"),
        (lambda: count("age > 3", by=["age"]), QueryError, "used twice"),
        (lambda: count(by=["sexx"]), DomainError, "did you mean 'sex'"),
        (lambda: count("1 = 1"), QueryError, "names no attribute"),
        (lambda: count("true", by=["sex"]), QueryError, "names no attribute"),
        (lambda: histogram("age", "age"), QueryError, "used twice"),
        (lambda: histogram("height"), DomainError, "no attribute 'height'"),
        (lambda: histogram("age", bins={"agee": [[10, 14]]}), QueryError, "did you mean 'age'"),
        (lambda: histogram("age", bins={"age": [[10, 12], [12, 14]]}), QueryError, "overlap"),
        (lambda: histogram("age", bins={"age": [[10, 12]]}), QueryError, "leave values out"),
        (lambda: histogram("age", bins={"age": [[10, 14], [12, 11]]}), QueryError, "a bin of age is empty"),
        (lambda: histogram("age", bins={"age": [[10, 14], []]}), QueryError, "a bin of age is empty"),
        (lambda: histogram("age", bins={"age": [[10, 99]]}), DomainError, "age"),
        (lambda: histogram("sex", bins={"sex": [["F", "F"], ["M"]]}), QueryError, "overlap"),
        (lambda: cdf("sex"), QueryError, "no order"),
        (lambda: quantiles("sex"), QueryError, "no order"),
        (lambda: quantiles("age", at=[1.5]), QueryError, "between 0 and 1"),
        (lambda: quantiles("age", at=[-0.1]), QueryError, "between 0 and 1"),
        (lambda: quantiles("age", at=["half"]), PolicyError, "not a finite number"),
        (lambda: ranges("sex"), QueryError, "no order"),
        (lambda: ranges("age", [[14, 10]]), QueryError, "empty"),
        (lambda: ranges("age", [[10]]), QueryError, "not a pair"),
        (lambda: ranges("age", [10, 11]), QueryError, "not a pair"),
        (lambda: ranges("age", {"x": 3}), QueryError, "not a pair"),
        (lambda: ranges("age", [[10, 99]]), DomainError, "age"),
        (lambda: total("sex"), QueryError, "sex is not a number"),
        (lambda: total("grade"), QueryError, "grade is not a number"),
        (lambda: total("age", weight="sex"), QueryError, "sex is not a number"),
        (lambda: total("age", weight="age"), QueryError, "used twice"),
        (lambda: mean("sex"), QueryError, "sex is not a number"),
        (lambda: mean("agee"), DomainError, "did you mean 'age'"),
    ],
)
def test_bad_questions(make: Callable[[], Query], error: type[TetraodonError], what: str) -> None:
    with pytest.raises(error, match=what):
        linear(make(), DOMAIN)


def test_dates_and_booleans_can_be_asked_about() -> None:
    domain = Domain(
        (
            Attribute("day", Dates(dt.date(2020, 2, 28), dt.date(2020, 3, 1))),
            Attribute("alive", Booleans(), other=0),
        )
    )
    found = linear(ranges("day", [["2020-02-29", dt.date(2020, 3, 1)]], by="alive"), domain).matrix(domain)[0]
    assert found.tolist() == [[0, 0, 1, 0, 1, 0], [0, 0, 0, 1, 0, 1]]
    with pytest.raises(QueryError, match="day is not a number"):
        linear(total("day"), domain)
    with pytest.raises(QueryError, match="alive have no order"):
        linear(cdf("alive"), domain)


@pytest.mark.parametrize("query", [ranges("id", [[1, 5]]), histogram("id", bins={"id": [[1, 5], [6, 10**12]]})])
def test_lists_over_a_huge_attribute_are_refused(query: Query) -> None:
    with pytest.raises(Refused, match="id has more than"):
        linear(query, Domain((Attribute("id", Integers(1, 10**12)),)))


@pytest.mark.parametrize("query", [cdf("id"), ranges("id"), histogram("id"), total("id"), mean("id"), count(by="id")])
def test_anything_else_over_a_huge_attribute_costs_nothing_to_describe(query: Query) -> None:
    domain = Domain((Attribute("id", Integers(1, 10**12)),))
    assert linear(query, domain).names == ("id",)
