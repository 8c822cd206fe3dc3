"""Some of the records: what they can be like, and what is asked of them lifted to all records."""

from __future__ import annotations

import datetime as dt
import itertools
from fractions import Fraction

import numpy as np
import pytest

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.errors import QueryError, Refused
from tetraodon.exact.arrays import Bools
from tetraodon.query import condition
from tetraodon.query.contribution import One, Prefix
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.number import Number
from tetraodon.query.records_where import RecordsWhere, records_where

DOMAIN = Domain(
    (
        Attribute("n", Integers(-2, 2)),
        Attribute("g", Grid(Fraction(0), Fraction(1), Fraction(1, 2))),
        Attribute("d", Dates(dt.date(2026, 1, 1), dt.date(2026, 1, 3))),
        Attribute("c", Categories(("x", "y", "z")), other=0),
        Attribute("t", Booleans(), other=0),
    )
)


def test_values_that_nobody_can_have_are_left_out() -> None:
    those = records_where("n > 0 and g < 1 and d > '2026-01-01' and c <> 'y' and t", (), DOMAIN)
    assert those is not None
    assert those.inside["n"].values == Integers(1, 2)
    assert those.inside["g"].values == Grid(Fraction(0), Fraction(1, 2), Fraction(1, 2))
    assert those.inside["d"].values == Dates(dt.date(2026, 1, 2), dt.date(2026, 1, 3))
    assert those.inside["c"].labels == ("x", "z")
    assert those.inside["t"].labels == ("true",)


def test_gaps_among_numbers_stay_and_are_refused_as_cells() -> None:
    those = records_where("n < 0 or n > 1", (), DOMAIN)
    assert those is not None
    assert those.inside == DOMAIN
    those.check_cells((Split("c"),))
    with pytest.raises(Refused, match="nobody"):
        those.check_cells((Split("n"),))
    tied = records_where("n > 0 or c = 'x'", (), DOMAIN)
    assert tied is not None
    tied.check_cells((Split("n"),))
    tied.check_cells((Split("c"), Split("g")))
    with pytest.raises(Refused, match="n and c"):
        tied.check_cells((Split("c"), Split("n")))


def test_everybody_and_nobody() -> None:
    assert records_where("", (), DOMAIN) is None
    assert records_where("n >= -2", (), DOMAIN) is None
    with pytest.raises(QueryError, match="no record can satisfy"):
        records_where("n > 1 and n < 1", (), DOMAIN)


@pytest.mark.parametrize("where", ["n > 0", "n <= 0 and c in ('x', 'z')", "c = 'y' or n = 2", "n < 0 or n > 1"])
def test_lifted_queries_answer_about_those_records(where: str) -> None:
    """Against the query over their own domain, of a table that only they are in."""
    those = RecordsWhere(where, (), DOMAIN)
    names = ("n", "c")
    records = np.array(list(itertools.product(range(5), range(3))))
    counts = np.arange(1, 16) ** 2 % 11
    inside = those.inside
    kept = [
        [inside[name].code(DOMAIN[name].value(code)) for name, code in zip(names, record, strict=True)]
        for record, there in zip(records.tolist(), those_hold(those, records), strict=True)
        if there
    ]
    weights = counts[those_hold(those, records)]
    asked = [
        LinearQuery(One(), (Split("c"), Split("n"))),
        LinearQuery(One(), (Split("n", tuple(code % 2 for code in range(inside["n"].size))),)),
        LinearQuery(Prefix("n", inside["n"].size, inside["n"].size), (Split("c"),)),
        LinearQuery(Number(inside["n"])),
        LinearQuery(One()),
    ]
    for query in asked:
        lifted = those.lifted(query)
        codes = records[:, [names.index(name) for name in lifted.names]]
        own = np.array(kept)[:, [names.index(name) for name in query.names]]
        assert lifted.shape(DOMAIN) == query.shape(inside)
        assert lifted.evaluate(DOMAIN, codes, counts).tolist() == query.evaluate(inside, own, weights).tolist()


def those_hold(those: RecordsWhere, records: np.ndarray) -> np.ndarray:
    table = those.holds if those.names == ("n", "c") else those.holds[:, None] & np.ones((5, 3), np.bool_)
    return np.asarray(table[tuple(records.T)])


def test_one_condition_per_category() -> None:
    those = records_where("c <> 'y'", (), DOMAIN)
    assert those is not None
    from tetraodon.queries import count

    with pytest.raises(QueryError, match="two conditions look at c"):
        those.lifted(count("c = 'x'").linear(those.inside))


@pytest.mark.parametrize("where", ["n > 0", "n > 0 and c = 'x'", "c <> 'y'", "n > 0 or c = 'x'", "t and c <> 'x'"])
@pytest.mark.parametrize(
    "asked", ["n > 1", "n > 0", "n = 2 and c = 'x'", "c = 'x'", "n > 0 and t", "c <> 'y'", "1 = 0"]
)
@pytest.mark.parametrize("known", [("n",), ("n", "c"), ("c",), ("t", "n", "c"), ("d",)])
def test_a_condition_is_told_by_a_part_where_it_tells_it_whatever_the_records(
    where: str, asked: str, known: tuple[str, ...]
) -> None:
    """By the definition, over every record: it holds for nobody else, and never for one of two who look alike."""
    those = RecordsWhere(where, (), DOMAIN)
    names, holds = condition.truth_table(asked, DOMAIN) if asked != "1 = 0" else ((), np.array(False))
    every = list(itertools.product(*(range(attribute.size) for attribute in DOMAIN)))

    def truth(record: tuple[int, ...], of: tuple[str, ...], table: Bools) -> bool:
        return bool(table.reshape([DOMAIN[name].size for name in of])[tuple(record[DOMAIN.position(n)] for n in of)])

    within = [record for record in every if truth(record, those.names, those.holds)]
    satisfy = {record for record in every if truth(record, names, holds)}
    alike: dict[tuple[int, ...], set[bool]] = {}
    for record in within:
        alike.setdefault(tuple(record[DOMAIN.position(n)] for n in known), set()).add(record in satisfy)
    tells = satisfy <= {*within} and all(len(found) == 1 for found in alike.values())
    told = those.inside_of(names, holds, known)
    assert (told is not None) == tells
    if told is not None:
        left, inside = told
        for record in within:
            values = [DOMAIN[name].value(record[DOMAIN.position(name)]) for name in left]
            codes = tuple(those.inside[name].code(value) for name, value in zip(left, values, strict=True))
            assert bool(inside[codes]) == (record in satisfy)
