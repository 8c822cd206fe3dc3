"""Secrets say what they mean, and hold where they should."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tetraodon.policy.secret_graph import ABSENT
from tetraodon.pufferfish import Secret, pairs
from tetraodon.pufferfish.world import And, HalfOpen, In, Is, Near, Not, shown, value_of


def test_intervals_are_half_open():
    interval = HalfOpen(Fraction(1), Fraction(2))
    assert [number in interval for number in map(Fraction, (0, 1, "1.5", 2))] == [False, True, True, False]
    assert interval.text == "[1, 2)"


def test_statements_combine_and_compare():
    present = Not(In(0, frozenset({ABSENT})))
    assert And(present, Not(Is((1,)))) == And(present, Not(Is((1,))))
    assert And(present, Not(Is((1,))))((0,))
    assert not And(present, Not(Is((1,))))((ABSENT,))
    assert In(0, frozenset({ABSENT}), attribute=1)((ABSENT,))


@pytest.mark.parametrize(("distance", "inside"), [(0, False), (1, False), (2, True), (3, True), (4, False)])
def test_a_ring_excludes_its_inner_edge(distance, inside):
    assert Near((0,), lambda x, y: abs(x[0] - y[0]), Fraction(1), Fraction(3))((distance,)) is inside


def test_values_of_records():
    assert value_of(ABSENT, 1) is ABSENT
    assert value_of((7, 0.1), 1) == 0.1
    assert 0.1 in HalfOpen(Fraction(1, 10), Fraction(1))
    assert ABSENT not in HalfOpen(Fraction(0), Fraction(1))


def test_what_is_shown_reads_as_people_write():
    assert shown((Fraction(1, 3), (Fraction(2),), "a", ABSENT)) == f"(1/3, (2,), 'a', {ABSENT!r})"
    assert shown(0.5) == "0.5"


def test_secrets_compare_print_and_combine():
    assert Secret.value(0, 1) == Secret.value(0, 1) != Secret.value(1, 1)
    assert len({Secret.present(0), Secret.present(0)}) == 1
    assert Secret.value(0, ABSENT) == Secret.absent(0)
    both = Secret.present(0) & ~Secret.value(0, 1)
    assert [both.holds(d) for d in ((0,), (1,), (ABSENT,))] == [True, False, False]
    assert both.about == {0}
    assert (Secret.that("odd", lambda d: sum(d) % 2) & Secret.present(0)).about is None
    assert Secret.agree(0, 1).holds((2, 2))
    assert not Secret.agree(0, 1).holds((ABSENT, ABSENT))
    assert Secret.agree(0, 1, attribute=1).holds(((0, 5), (1, 5)))
    assert Secret.one_of(0, {5}, attribute=1).holds(((0, 5),))
    assert Secret.between(0, 1, 2).text == "individual 0 lies in [1, 2)"
    assert Secret.aggregate("total", sum, 1, 3).holds((1, 1))
    assert Secret.near((0, 0), 2, pairs.hamming, beyond=1).holds((1, 1))
    assert not Secret.between(0, 1, 2).holds((ABSENT,))
