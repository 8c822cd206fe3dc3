"""Nodes of checked conditions: their bounds, and their truth in three values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tetraodon.errors import QueryError
from tetraodon.query.condition import nodes as room
from tetraodon.query.condition.nodes import (
    LARGEST,
    Always,
    Arithmetic,
    Choice,
    Code,
    Constant,
    Extreme,
    Junction,
    Lookup,
    Negation,
    NumberComparison,
    Reading,
    Unknown,
    Whole,
    as_number,
    cells_where,
    evaluate,
    is_one,
    together,
)

# -- nodes ------------------------------------------------------------------------------------------
# Nodes know what they look at, how large their numbers become, and when there are too many of them.


A, B = Code(0, 10), Code(3, 5)


def test_places_and_bounds() -> None:
    product = Arithmetic("*", A, B)
    assert product.bound == 9 * 4
    assert Arithmetic("%", A, B).bound == 4
    assert Arithmetic("//", A, B).bound == 9
    assert Arithmetic("-", A, B).bound == 13
    assert Lookup(1, (3, None, -8)).bound == 8
    assert Extreme(True, (A, B)).bound == 9
    chosen = Choice((is_one(B),), (A, Constant(-70)))
    assert (chosen.bound, chosen.places) == (70, (0, 3))
    assert Unknown(product).places == (0, 3)


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
    large = Constant(LARGEST)
    with pytest.raises(QueryError, match="too large"):
        Arithmetic("+", large, A)
    with pytest.raises(QueryError, match="too deeply"):
        _nested(40)
    assert NumberComparison("<", _nested(10), A).weight > 2**10


def _nested(depth: int) -> Whole:
    return A if depth == 0 else Extreme(True, (_nested(depth - 1),) * 2)


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
