"""The tests behind secrets: frozen, comparable, and half-open where neighbours must not overlap."""

from fractions import Fraction

import pytest

from tetraodon.policy.secret_graph import ABSENT
from tetraodon.pufferfish.statement import And, Interval, Is, Near, Not, OneOf, Present, number_of, number_text, shown


def test_intervals_are_half_open():
    interval = Interval(Fraction(1), Fraction(2))
    assert [number in interval for number in map(Fraction, (0, 1, "1.5", 2))] == [False, True, True, False]
    assert interval.text == "[1, 2)"


def test_statements_combine_and_compare():
    assert And(Present(0), Not(Is((1,)))) == And(Present(0), Not(Is((1,))))
    assert And(Present(0), Not(Is((1,))))((0,))
    assert not And(Present(0), Not(Is((1,))))((ABSENT,))
    assert OneOf(0, frozenset({ABSENT}), attribute=1)((ABSENT,))


@pytest.mark.parametrize(("distance", "inside"), [(0, False), (1, False), (2, True), (3, True), (4, False)])
def test_a_ring_excludes_its_inner_edge(distance, inside):
    assert Near((0,), lambda x, y: abs(x[0] - y[0]), Fraction(1), Fraction(3))((distance,)) is inside


def test_numbers_of_records():
    assert number_of(ABSENT, None) is None
    assert number_of((7, 0.1), 1) == Fraction(1, 10)
    assert number_text(Fraction(1, 4)) == "0.25"


def test_what_is_shown_reads_as_people_write():
    assert shown((Fraction(1, 3), (Fraction(2),), "a", ABSENT)) == f"(1/3, (2,), 'a', {ABSENT!r})"
    assert shown(0.5) == "0.5"
