"""Nodes of checked conditions: their bounds, and their truth in three values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from tetraodon.errors import QueryError
from tetraodon.query.condition import nodes as room
from tetraodon.query.condition.nodes import (
    LARGEST,
    SIGNS,
    Always,
    Call,
    Choice,
    Code,
    Constant,
    Junction,
    Lookup,
    Negation,
    Number,
    NumberComparison,
    Reading,
    Sign,
    Unknown,
    as_number,
    call,
    cells_where,
    evaluate,
    is_one,
    listed,
    numbers,
    together,
)

# -- nodes ------------------------------------------------------------------------------------------
# Nodes know what they look at, and when there are too many of them.


A, B = Code(0, 10), Code(3, 5)


def test_places() -> None:
    chosen = Choice((is_one(B),), (A, Constant(-70)))
    assert chosen.places == Unknown(Call("*", (A, B))).places == (0, 3)


def test_what_reads_tables_says_so_wherever_it_is() -> None:
    reading = Reading("EXISTS (SELECT 1 FROM t)", ((2, 4),))
    held = is_one(as_number(Negation(reading)))
    assert held.reads
    assert held.places == (2,)
    assert not is_one(A).reads


def test_parts_of_one_kind_are_taken_apart() -> None:
    one = together(True, [Always(True), together(True, [Always(False), Always(None)])])
    assert one == Junction(True, (Always(True), Always(False), Always(None)))
    assert together(False, [Always(True)]) == Always(True)


def test_numbers_and_trees_have_their_limits() -> None:
    for large in (
        call("+", Constant(LARGEST), A),
        call("/", A, call("power", call("power", B, Constant(16)), Constant(8))),
    ):
        with pytest.raises(QueryError, match="too large"):
            numbers(large, {0: np.arange(10), 3: np.array([4])})
    with pytest.raises(QueryError, match="too deeply"):
        _nested(40)
    assert NumberComparison("<", _nested(10), A).weight > 2**10


def _nested(depth: int) -> Number:
    return A if depth == 0 else call("greatest", *(_nested(depth - 1),) * 2)


# -- numbers ----------------------------------------------------------------------------------------
# Numbers are exact: every function equals that of Python's fractions, for every sign, on constants and on arrays.

SOME = [Fraction(n, d) for n, d in itertools.product(range(-7, 8), (1, 2, 3))]
TABLE, OTHER = Lookup(0, tuple(SOME)), Lookup(1, (*SOME[::5], None))


def in_python(name: str, a: Fraction, b: Fraction) -> Fraction | int | None:
    if b == 0 and name in ("/", "//", "%"):
        return None
    return {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "/": lambda: a / b,
        "//": lambda: math.trunc(a / b),
        "%": lambda: a - b * math.trunc(a / b),
        "least": lambda: min(a, b),
        "greatest": lambda: max(a, b),
    }[name]()


@pytest.mark.parametrize("name", ["+", "-", "*", "/", "//", "%", "least", "greatest"])
def test_two_numbers(name: str) -> None:
    """A divisor of its own for each cell makes fractions without one denominator."""
    for right in (OTHER, call("/", OTHER, Lookup(1, tuple(range(1, len(OTHER.numbers) + 1))))):
        seconds = listed(right, 1, len(OTHER.numbers))
        codes = {0: np.arange(len(SOME))[:, None], 1: np.arange(len(seconds))[None, :]}
        found = numbers(call(name, TABLE, right), codes)
        for (i, a), (j, b) in itertools.product(enumerate(SOME), enumerate(seconds)):
            over, under, known = (
                np.broadcast_to(part, (len(SOME), len(seconds)))[i, j]
                for part in (found.over, found.under, found.known)
            )
            expected = (a if name in ("least", "greatest") else None) if b is None else in_python(name, a, b)
            assert (Fraction(int(over), int(under)) if known else None) == expected
            assert int(under) > 0
            if b is not None:
                constant = call(name, Constant(a), Constant(b))
                assert isinstance(constant, Constant)
                assert constant.number == expected


@pytest.mark.parametrize(
    ("name", "more", "expected"),
    [
        ("negative", (), lambda a: -a),
        ("abs", (), abs),
        ("floor", (), math.floor),
        ("ceil", (), math.ceil),
        ("power", (Constant(3),), lambda a: a**3),
        ("round", (Constant(0),), lambda a: math.trunc(a + Fraction(1 if a > 0 else -1, 2))),
        ("round", (Constant(1),), lambda a: Fraction(math.trunc(a * 10 + Fraction(1 if a > 0 else -1, 2)), 10)),
    ],
)
def test_one_number(name: str, more: tuple[Number, ...], expected: Callable[[Fraction], object]) -> None:
    assert listed(call(name, TABLE, *more), 0, len(SOME)) == [expected(a) for a in SOME]


@pytest.mark.parametrize("sign", SIGNS)
def test_comparisons(sign: Sign) -> None:
    for bound in (*SOME[::4], Fraction(10**40), -Fraction(10**40), Fraction(1, 10**40)):
        true, false = evaluate(NumberComparison(sign, TABLE, Constant(bound)), {0: np.arange(len(SOME))})
        assert true.tolist() == [SIGNS[sign](a, bound) for a in SOME]
        assert (true ^ false).all()


# -- truth ------------------------------------------------------------------------------------------
# Truth has three values, and cells are looked at block by block.


THREE = (True, False, None)


def kleene(every: bool, a: bool | None, b: bool | None) -> bool | None:
    """And is the least of false < unknown < true, or the largest."""
    rank = {False: 0, None: 1, True: 2}
    return (min if every else max)((a, b), key=lambda one: rank[one])


@pytest.mark.parametrize(("a", "b"), list(itertools.product(THREE, THREE)))
@pytest.mark.parametrize("every", [True, False])
def test_and_or_not(every: bool, a: bool | None, b: bool | None) -> None:
    true, false = evaluate(Junction(every, (Always(a), Always(b))), {})
    expected = kleene(every, a, b)
    assert (bool(true), bool(false)) == (expected is True, expected is False)
    true, false = evaluate(Negation(Always(a)), {})
    assert (bool(true), bool(false)) == (a is False, a is True)


@pytest.mark.parametrize("block", [1, 7, 2**22])
def test_blocks_make_no_difference(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "BLOCK", block)
    found = cells_where(NumberComparison("<", Code(5, 9), Code(2, 4)), (2, 5), (4, 9))
    assert found.tolist() == (np.arange(9)[None, :] < np.arange(4)[:, None]).tolist()
    assert cells_where(Always(True), (), ()).item() is True


def test_public_tables_need_a_reader() -> None:
    with pytest.raises(QueryError, match="no public table can be read here"):
        evaluate(Reading("EXISTS (SELECT 1 FROM t)", ()), {})
