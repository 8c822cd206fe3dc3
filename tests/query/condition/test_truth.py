"""Truth has three values, and cells are looked at block by block."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tetraodon.errors import QueryError
from tetraodon.query.condition import nodes as room
from tetraodon.query.condition.nodes import (
    Always,
    Code,
    Junction,
    Negation,
    NumberComparison,
    Reading,
    cells_where,
    evaluate,
)

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
