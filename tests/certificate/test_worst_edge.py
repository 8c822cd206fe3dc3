"""Queries at one value of an attribute push as far as the given ones do there."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tetraodon.certificate.pair_loss import loss_of_pair, rho_of_pair
from tetraodon.certificate.worst_edge import at_value
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.query.contribution import AllRanges, One, Prefix, Table
from tetraodon.query.linear import LinearQuery, Measurement, Split, splits
from tetraodon.query.number import Number
from tetraodon.query.records_where import RecordsWhere

DOMAIN = Domain((Attribute("g", Integers(-1, 2)), Attribute("a", Integers(0, 2)), Attribute("b", Integers(0, 1))))
QUERIES = [
    LinearQuery(One(), splits(("g", "a"))),
    LinearQuery(One(), (Split("b"),)),
    LinearQuery(Prefix("g", 4, 3), (Split("a"),)),
    LinearQuery(Prefix("a", 3, 3), (Split("g"), Split("b"))),
    LinearQuery(Number(DOMAIN["g"]), (Split("a"),)),
    LinearQuery(Number(DOMAIN["a"], times=DOMAIN["g"]), (Split("b"),)),
    LinearQuery(Number(DOMAIN["g"], times=DOMAIN["a"])),
    LinearQuery(Number(DOMAIN["g"], DOMAIN["a"], centred=True), (Split("b"),)),
    LinearQuery(Number(DOMAIN["a"], DOMAIN["g"], centred=True)),
    LinearQuery(AllRanges("g", 4), (Split("b"),)),
    LinearQuery(Table(("a", "g"), np.arange(24).reshape(2, 12) - 7), (Split("b"),)),
    # a table of those for whom a condition holds has a column for each of their cells, and for nobody else's
    *(
        RecordsWhere(where, (), DOMAIN).lifted(LinearQuery(Table(("a", "g"), np.arange(2 * cells).reshape(2, -1) - 5)))
        for where, cells in (("g <= 0", 6), ("g >= 0", 9), ("g > 0 and a > 0 or g = 1 and b = 0", 6))
    ),
]


@pytest.mark.parametrize("query", QUERIES, ids=[str(number) for number in range(len(QUERIES))])
def test_distances_are_the_same(query: LinearQuery) -> None:
    for code in range(4):
        here = at_value([(query, Fraction(2, 3))], DOMAIN, "g", code)
        assert all("g" not in one.names for one, _ in here)
        records = [DOMAIN.value_of((code, a, b)) for a in range(3) for b in range(2)]
        for x in records:
            for y in records:
                before = Fraction(2, 3) * loss_of_pair(DOMAIN, [Measurement(query, Fraction(1))], (x, y))
                after = sum(w * loss_of_pair(DOMAIN, [Measurement(one, Fraction(1))], (x, y)) for one, w in here)
                assert after == before
        for_squares = at_value([(query, Fraction(2, 3))], DOMAIN, "g", code, squares=True)
        for x in records:
            for y in records:
                before = Fraction(2, 3) * rho_of_pair(DOMAIN, [Measurement(query, Fraction(1))], (x, y))
                after = sum(w * rho_of_pair(DOMAIN, [Measurement(one, Fraction(1))], (x, y)) for one, w in for_squares)
                assert after == before


def test_what_adds_nothing_is_dropped() -> None:
    weighted = LinearQuery(Number(DOMAIN["a"], times=DOMAIN["g"]))
    assert at_value([(weighted, Fraction(1))], DOMAIN, "g", 1) == ()
    nothing = LinearQuery(Table(("g", "a"), np.array([[0] * 3 + [1] * 9])))
    assert at_value([(nothing, Fraction(1))], DOMAIN, "g", 0) == ()
