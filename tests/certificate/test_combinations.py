"""Patterns of several axes that make one step: all of them, but for those that another makes superfluous."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import pytest

from tetraodon.certificate import combinations as module
from tetraodon.certificate.axis import UNCHANGED, Pattern
from tetraodon.certificate.combinations import combinations
from tetraodon.errors import Refused


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


@pytest.mark.parametrize("at_most", [1, 2, 3])
def test_between_one_and_at_most_factors_change(at_most: int) -> None:
    axes = [Listed((UNCHANGED, STEP, CROSS)) for _ in range(3)]
    found = list(combinations(axes, at_most))  # type: ignore[arg-type]
    every = itertools.product((UNCHANGED, STEP, CROSS), repeat=3)
    assert found == [one for one in every if 1 <= sum(p.cost for p in one) <= at_most]


def test_where_nothing_but_splits_is_measured_more_crossing_is_enough() -> None:
    axes = [Listed((UNCHANGED, STEP, CROSS), terms=())]
    assert list(combinations(axes, 1)) == [(CROSS,)]  # type: ignore[arg-type]


def test_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMBINATION_LIMIT", 8)
    axes = [Listed((UNCHANGED, STEP, CROSS)) for _ in range(3)]
    with pytest.raises(Refused, match="too many attributes"):
        list(combinations(axes, 3))  # type: ignore[arg-type]
