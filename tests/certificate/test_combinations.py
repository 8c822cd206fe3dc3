"""Steps along several axes: all of them where a query ties the axes together, and the worst of each where none does."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tetraodon.certificate import edge_loss as module
from tetraodon.certificate.axis import UNCHANGED, Crossing, Pattern, Term
from tetraodon.certificate.edge_loss import Step, Worst, _ways_of, count_steps, steps, worst_steps
from tetraodon.query.contribution import One
from tetraodon.query.linear import Split

STEP = Pattern(1, frozenset())
CROSS = Pattern(1, frozenset({0}))
TWO = Pattern(2, frozenset())


@dataclass(frozen=True)
class Listed:
    """An axis that has some patterns, along which some queries are measured, or split."""

    listed: tuple[Pattern, ...]
    terms: tuple[Term, ...] = ()
    crossings: tuple[Crossing, ...] = ()

    def patterns(self) -> tuple[Pattern, ...]:
        return self.listed


def term(number: int) -> Term:
    return Term(number, One(), 1)


@pytest.mark.parametrize("at_most", [1, 2, 3])
@pytest.mark.parametrize("kinds", [(UNCHANGED, STEP, CROSS), (UNCHANGED, TWO), (STEP, CROSS)])
def test_every_step_of_up_to_so_many_factors(at_most: int, kinds: tuple[Pattern, ...]) -> None:
    parts = [_ways_of(place, kinds) for place in range(3)]
    found = list(steps(parts, at_most))
    every = itertools.product(kinds, repeat=3)
    wanted = [
        tuple((n, p) for n, p in enumerate(one) if p.cost) for one in every if sum(p.cost for p in one) <= at_most
    ]
    assert len(found) == len(wanted)
    assert set(found) == set(wanted)
    assert count_steps(parts, at_most) == len(wanted)


def test_where_nothing_but_splits_is_measured_more_crossing_is_enough() -> None:
    axis = Listed((UNCHANGED, STEP, CROSS), crossings=(Crossing(0, Split("x")),))
    [only] = worst_steps([axis], 1, lambda step: Worst(1, True, (step,)), len)  # type: ignore[list-item]
    assert only.steps == (((0, CROSS),),)


@given(st.data(), st.integers(1, 5))
def test_what_no_query_ties_together_is_added_up(data: st.DataObject, at_most: int) -> None:
    """The worst of all steps, found apart; and where there are too many steps of those tied together, a bound."""
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    ties = [tie for tie, size in enumerate(sizes) for _ in range(size)]
    axes: list[Any] = [Listed((UNCHANGED, STEP, TWO), (term(tie),)) for tie in ties]
    changes = itertools.product(range(len(ties)), (1, 2))
    worth = {change: data.draw(st.integers(0, 9)) for change in changes}

    def moved(step: Step) -> Worst:
        """Axes tied together move less than what each of them moves."""
        value = 0
        for tie in range(len(sizes)):
            mine = [worth[place, pattern.cost] for place, pattern in step if ties[place] == tie]
            value += max(mine, default=0) + sum(mine) // 3
        return Worst(value, True, (step,))

    found = max(worst_steps(axes, at_most, moved, lambda _: 1), key=lambda one: one.value)
    every = [_ways_of(place, (UNCHANGED, STEP, TWO)) for place in range(len(ties))]
    truth = max(moved(step).value for step in steps(every, at_most) if step)
    assert (found.value, found.exact) == (truth, True)
    assert found.steps is not None
    assert moved(tuple(change for step in found.steps for change in step)).value == truth
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "COMBINATION_LIMIT", 0)
        bound = max(worst_steps(axes, at_most, moved, lambda _: 1), key=lambda one: one.value)
    assert bound.value >= truth
    assert (bound.exact, bound.steps) == (False, None)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=5), st.integers(1, 5))
def test_of_axes_that_are_alike_those_that_move_the_most_are_enough(most: list[int], at_most: int) -> None:
    """All of them cross the same table, and each has a query of its own without splits."""
    table = Crossing(0, Split("x"))
    axes: list[Any] = [Listed((UNCHANGED, CROSS), (term(n),), (table,)) for n in range(1, len(most) + 1)]
    looked_at = []

    def moved(step: Step) -> Worst:
        looked_at.append(step)
        return Worst(5 + sum(most[place] for place, _ in step), True, (step,))

    found = max(worst_steps(axes, at_most, moved, lambda _: 1), key=lambda one: one.value)
    assert (found.value, found.exact) == (5 + sum(sorted(most)[-at_most:]), True)
    assert len(looked_at) <= 2 * len(most)
