"""What each person adds: units, caps, and that single rows are not asked."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tetraodon.domain import Attribute, Grid, Integers
from tetraodon.errors import QueryError, Refused
from tetraodon.query.linear import LinearQuery
from tetraodon.query.number import EachPerson

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
