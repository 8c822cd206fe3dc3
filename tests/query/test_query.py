"""What every kind of question must say; and what it asks, against plain Python loops over the cells."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.releases.made import release_with, silent

import tetraodon as td
from tetraodon import queries as ask
from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.errors import DomainError, PolicyError, QueryError, Refused, TetraodonError
from tetraodon.queries import (
    cdf,
    correlation,
    count,
    covariance,
    histogram,
    mean,
    proportion,
    quantiles,
    ranges,
    ratio,
    regression,
    standard_deviation,
    total,
    variance,
)
from tetraodon.query.counts import Count, Histogram
from tetraodon.query.kinds import KINDS, linear
from tetraodon.query.kmeans import KMeans
from tetraodon.query.people import MeanPerPerson, PeopleCount, TotalPerPerson
from tetraodon.query.query import Places, Query, asked_in_words
from tetraodon.query.ranges import Rectangles
from tetraodon.query.synthetic import SyntheticRecords
from tetraodon.releases.answer import Answer
from tetraodon.releases.codec import measurement_document, measurement_from
from tetraodon.releases.report import chart_spec

ABOUT_PEOPLE = {PeopleCount, TotalPerPerson, MeanPerPerson}
"""These are not about single rows, and need a key: see `test_people` and `test_per_person`."""
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
    (variance("pay"), [lambda r: (r[1] - Fraction("0.25")) ** 2]),
    (standard_deviation("pay"), [lambda r: (r[1] - Fraction("0.25")) ** 2]),
    (proportion("age > 12", by="sex"), [holding(lambda r, s=s: r[0] > 12 and r[2] == s) for s in "FM"]),
    (proportion("sex = 'F'", weight="age"), [lambda r: r[0] * (r[2] == "F")]),
    (count("sex = 'F'", weight="age"), [lambda r: r[0] * (r[2] == "F")]),
    (histogram("sex", weight="age"), [lambda r, s=s: r[0] * (r[2] == s) for s in "FM"]),
    (ratio("pay", "age", by="sex"), [lambda r, s=s: r[1] * (r[2] == s) for s in "FM"]),
    (covariance("age", "pay"), [lambda r: (r[0] - 12) * (r[1] - Fraction("0.25"))]),
    (
        correlation("pay", "age", by="sex"),
        [lambda r, s=s: (r[0] - 12) * (r[1] - Fraction("0.25")) * (r[2] == s) for s in "FM"],
    ),
    (regression("pay", on="age"), [lambda r: (r[0] - 12) * (r[1] - Fraction("0.25"))]),
    (mean("age", by=["grade"]), [lambda r, g=g: r[0] * (r[3] == g) for g in GRADES]),
]


@pytest.mark.parametrize(("query", "rows"), EVERY, ids=lambda v: v.words[0] if not isinstance(v, list) else "")
def test_it_asks_what_it_says(query: Query, rows: list[Row]) -> None:
    matrix, unit = linear(query, DOMAIN).matrix(DOMAIN)
    assert [[int(entry) * unit for entry in row] for row in matrix] == by_loops(rows)


def test_every_kind_is_asked_above() -> None:
    """Maps, clusters and made-up records are the table of their attributes: see `test_rectangles` and the like."""
    assert {type(query) for query, _ in EVERY} | {Rectangles, KMeans, SyntheticRecords} | ABOUT_PEOPLE == set(KINDS)


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
        (lambda: variance("sex"), QueryError, "sex is not a number"),
        (lambda: variance("age", by="age"), QueryError, "used twice"),
        (lambda: covariance("age", "sex"), QueryError, "sex is not a number"),
        (lambda: covariance("age", "age"), QueryError, "two different attributes"),
        (lambda: correlation("age", "pay", by="age"), QueryError, "used twice"),
        (lambda: regression("age", on=[]), QueryError, "on nothing"),
        (lambda: regression("age", on=["pay", "age"]), QueryError, "named twice"),
        (lambda: regression("grade", on="pay"), QueryError, "grade is not a number"),
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


# -- whatever its kind -------------------------------------------------------------------------

ITEMS: dict[str, dict[str, object]] = {
    "count": {"count": "x > 1", "by": "g"},
    "histogram": {"histogram": ["x", "g"]},
    "cdf": {"cdf": "x", "by": "g"},
    "ranges": {"ranges": {"x": [[0, 2], [1, 3]]}, "by": "g"},
    "total": {"total": "x", "by": "g"},
    "mean": {"mean": "x", "by": "g"},
    "proportion": {"proportion": "x > 1", "by": "g"},
    "ratio": {"ratio": ["x", "g"]},
    "variance": {"variance": "x", "by": "g"},
    "standard deviation": {"standard deviation": "x", "by": "g"},
    "covariance": {"covariance": ["x", "g"]},
    "correlation": {"correlation": ["x", "g"]},
    "regression": {"regression": "x", "on": ["g"]},
    "quantiles": {"quantiles": "x", "at": [0.5, 0.9], "by": "g"},
    "rectangles": {"rectangles": ["x", "g"]},
    "kmeans": {"kmeans": ["x"], "clusters": 2},
    "synthetic": {"synthetic": {"records": 9}},
}
every_kind = pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in ABOUT_PEOPLE], ids=lambda kind: kind.words[0]
)


def policy_asking(kind: type[Query], group: str = "g") -> td.Policy:
    item = {key: [group] if value in ("g", ["g"]) else value for key, value in ITEMS[kind.words[0]].items()}
    if item.get(kind.words[0]) == ["x", "g"]:
        item[kind.words[0]] = ["x", group]
    return td.load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"x": {"integer": [0, 3], "unit": "EUR"}, group: {"integer": [0, 1]}},
            "secrets": {group: "public"},
            "budget": {"epsilon": 1},
            "release": [{"name": "it", **item}],
        }
    )


def answer_to(kind: type[Query], group: str = "g") -> Answer:
    table = pl.DataFrame({"x": [0, 1, 3, 3, 2], group: [0, 0, 0, 1, 1]})
    return release_with(policy_asking(kind, group), table, silent)["it"]


@every_kind
def test_it_is_read_and_written_in_the_policy_file(kind: type[Query]) -> None:
    policy = policy_asking(kind)
    query = policy.items[0].query
    assert isinstance(query, kind)
    assert td.load_policy(policy.document) == policy
    assert set(query.document()) <= set(kind.keys)
    page = (Path(__file__).parents[2] / "docs" / "policy-file.md").read_text(encoding="utf-8")
    for key in kind.keys:
        assert re.search(rf"`{key}\b", page), f"the documentation does not tell of `{key}`"


@every_kind
def test_keys_of_other_kinds_are_refused(kind: type[Query]) -> None:
    for key in {key for other in KINDS for key in other.keys} - set(kind.keys):
        document = policy_asking(kind).document
        grouped = {"x": [[0, 1], [2, 3]]}
        given = {"shape": "sparse", "bins": grouped, "ranges": grouped}
        document["release"][0][key] = given.get(key, 1)
        with pytest.raises(PolicyError, match=r"means nothing for|this says both|stands where|neither true|a list is"):
            td.load_policy(document)


WORDS = Domain((Attribute("x", Integers(0, 3), unit="EUR"), Attribute("y", Integers(0, 1))))


@pytest.mark.parametrize(
    ("query", "asked", "sentence", "off"),
    [
        (ask.count("x = 1"), "records where x = 1", "How many records satisfy: x = 1.", "records."),
        (ask.histogram("y"), "counts by y", "How many records there are for each value of y.", "records."),
        (
            ask.histogram("x", "y", bins={"x": [[0, 1], [2, 3]]}, weight="y"),
            "counts by x and y in bins, weighted by y",
            "each combination of x (in 2 groups) and y, each counting as much as its y.",
            "off by 7.",
        ),
        (ask.cdf("x", by="y"), "running counts of x by y", "or below each of its values, for each y.", "records."),
        (ask.ranges("x", {"a": [0, 1]}), "1 range of x", "have x in each of 1 range.", "The number is"),
        (ask.ranges("x"), "all ranges of x", "The table holds running counts", "A range picked at random is"),
        (ask.total("x", weight="y"), "sum of x times y", "x in EUR, each record times its y.", "off by 7 EUR."),
        (ask.proportion("x > 1"), "share of records where x > 1", "satisfy: x > 1.", "number of records behind"),
        (ask.regression("y", on="x"), "regression of y on x", "where it is zero.", "The sum of products"),
        (ask.people(by_rows=2), "people by their number of rows", "have each", "off by 7 people."),
        (ask.mean_per_person("x", cap=5), "of x, at most 5 each", "rows added up, to at most 5.", "off by 7 EUR."),
    ],
)  # fmt: skip
def test_what_is_said_in_words(query: Query, asked: str, sentence: str, off: str) -> None:
    assert asked_in_words(query).endswith(asked)
    assert sentence in query.sentence(WORDS)
    assert off in query.off_by("7", "The number", WORDS)


@every_kind
def test_words(kind: type[Query]) -> None:
    policy = policy_asking(kind)
    query = policy.items[0].query
    assert asked_in_words(query) == query.asked() + (" by g" if query.by else "")
    told = [query.sentence(policy.domain), query.off_by("7", "Each number", policy.domain)]
    assert all(re.fullmatch(r"[A-Z].*\.", sentence) for sentence in told)
    assert "x" in told[0]
    assert "off by 7" in told[1]


@every_kind
def test_its_columns_are_the_numbers_that_are_drawn(kind: type[Query]) -> None:
    answer = answer_to(kind)
    query, columns = answer.item.item.query, answer.columns
    assert kind.column in columns
    drawing = query.drawing(answer.domain, answer.item.strategy.table)
    if drawing is not None:
        sizes = [len(s.names) if isinstance(s, Places) else s.size(answer.domain) for s in drawing.sides]
        assert {len(column) for column in columns.values()} == {math.prod(sizes)}
        assert [name for name in columns if name != "measured"][-2:] == ["lower", "upper"]
        assert (chart_spec(answer) is None) is (math.prod(sizes) == 1)  # a single number is said


@every_kind
def test_no_attribute_takes_the_place_of_its_answer(kind: type[Query]) -> None:
    names = list(answer_to(kind).columns)
    for taken in ("lower", "upper", kind.column, *kind.more_columns):
        renamed = list(answer_to(kind, taken).columns)
        assert renamed == [f"{taken}_value" if name == "g" else name for name in names]


@every_kind
def test_what_is_measured_has_a_certificate_and_can_be_read_back(kind: type[Query]) -> None:
    policy = policy_asking(kind)
    plan = td.plan(policy)
    assert plan.epsilon == 1
    for measurement in plan["it"].measurements:
        again = measurement_from(measurement_document(measurement), policy.items[0].query, policy.domain)
        if kind is SyntheticRecords:  # no linear query
            assert again == measurement
            continue
        assert again.query.matrix(policy.domain)[0].tolist() == measurement.query.matrix(policy.domain)[0].tolist()
        assert (again.scale, again.noise) == (measurement.scale, measurement.noise)
