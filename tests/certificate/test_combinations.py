"""Patterns of several axes that make one step: all of them, but for those that another makes superfluous."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.certificate import combinations as module
from tetraodon.certificate.axis import UNCHANGED, Crossing, Pattern, Peak, Term
from tetraodon.certificate.combinations import combinations
from tetraodon.errors import Refused
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import Split


@dataclass(frozen=True)
class Listed:
    """An axis that has some patterns and, with terms, needs every one of them."""

    listed: tuple[Pattern, ...]
    terms: tuple[int, ...] = (1,)
    crossings: tuple[object, ...] = ()

    def patterns(self) -> tuple[Pattern, ...]:
        return self.listed


STEP = Pattern(1, frozenset())
CROSS = Pattern(1, frozenset({0}))
TABLE = Crossing(0, Split("x"))


@pytest.mark.parametrize("at_most", [1, 2, 3])
def test_between_one_and_at_most_factors_change(at_most: int) -> None:
    axes = [Listed((UNCHANGED, STEP, CROSS)) for _ in range(3)]
    found = list(combinations(axes, at_most))  # type: ignore[arg-type]
    every = itertools.product((UNCHANGED, STEP, CROSS), repeat=3)
    assert found == [one for one in every if 1 <= sum(p.cost for p in one) <= at_most]


def test_where_nothing_but_splits_is_measured_more_crossing_is_enough() -> None:
    axes = [Listed((UNCHANGED, STEP, CROSS), terms=())]
    assert list(combinations(axes, 1)) == [(CROSS,)]  # type: ignore[arg-type]


@dataclass(frozen=True)
class Moving(Listed):
    """An axis along which one query without splits is measured, that moves so much."""

    most: int = 0

    def peak(self, pattern: Pattern, crossed: frozenset[int]) -> Peak:
        assert pattern.cost
        assert crossed <= {0}
        return Peak(self.most, 0, 1)


def worth(axes: list[Moving], combination: tuple[Pattern, ...]) -> int:
    crossed = any(pattern.crossed for pattern in combination)
    return 5 * crossed + sum(axis.most for axis, pattern in zip(axes, combination, strict=True) if pattern.cost)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=5), st.integers(1, 5))
def test_of_axes_that_are_alike_those_that_move_the_most_are_enough(kinds: list[Any], at_most: int) -> None:
    axes = [
        Moving((UNCHANGED, CROSS if crosses else STEP), (Term(place + 1, One(), 1),), (TABLE,), most)  # type: ignore[arg-type]
        for place, (crosses, most) in enumerate(kinds)
    ]
    found = list(combinations(axes, at_most))  # type: ignore[arg-type]
    every = itertools.product(*(axis.listed for axis in axes))
    allowed = [one for one in every if 1 <= sum(p.cost for p in one) <= at_most]
    assert set(found) <= set(allowed)
    assert len(found) == len(set(found)) <= (len(axes) + 2) ** 2
    assert max(worth(axes, one) for one in found) == max(worth(axes, one) for one in allowed)


def test_a_query_with_splits_depends_on_what_else_is_crossed() -> None:
    axes = [Moving((UNCHANGED, CROSS), (Term(0, One(), 1),), (TABLE,), 1) for _ in range(3)]  # type: ignore[arg-type]
    assert len(list(combinations(axes, 3))) == 7  # type: ignore[arg-type]


def test_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMBINATION_LIMIT", 8)
    axes = [Listed((UNCHANGED, STEP, CROSS)) for _ in range(3)]
    with pytest.raises(Refused, match="too many attributes"):
        list(combinations(axes, 3))  # type: ignore[arg-type]
