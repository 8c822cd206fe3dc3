"""Losses add up; they need not for disjoint people, unless a secret changes a known count."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest

import tetraodon as td
from tests.theory.composition import parallel, sequential
from tetraodon.certificate import oracle


def policy(**changed: Any) -> td.Policy:
    return td.load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"v": {"integer": [0, 3]}},
            "secrets": {"v": {"blocks": [[0, 1], [2, 3]]}},
            "budget": {"epsilon": 1},
            **changed,
        }
    )


def test_losses_add_up_exactly() -> None:
    assert sequential(["0.1", "0.2", Fraction(1, 3)]) == Fraction(19, 30)
    assert sequential([]) == 0
    with pytest.raises(td.errors.Refused, match="below zero"):
        sequential([-1])


def test_disjoint_people_need_not_add_up() -> None:
    assert parallel(policy(), ["0.1", "0.5"], disjoint=True, sizes_are_public=True) == Fraction(1, 2)
    block = policy(known=[{"count": "v <= 1"}])
    assert parallel(block, ["0.1", "0.5"], disjoint=True, sizes_are_public=True) == Fraction(1, 2)


def test_each_condition_is_checked() -> None:
    with pytest.raises(td.errors.Refused, match="not disjoint"):
        parallel(policy(), [1, 1], disjoint=False, sizes_are_public=True)
    with pytest.raises(td.errors.Refused, match="not public"):
        parallel(policy(), [1, 1], disjoint=True, sizes_are_public=False)
    with pytest.raises(td.errors.Refused, match="a secret changes a known count"):
        parallel(policy(known=[{"count": "v = 0"}]), [1, 1], disjoint=True, sizes_are_public=True)


def test_the_condition_is_exactly_that_neighbours_differ_in_one_person() -> None:
    """Over every single known count of four values: parallel composition is allowed if and only if it is safe."""
    for size in (1, 2, 3):
        for values in itertools.combinations(range(4), size):
            here = policy(known=[{"count": f"v in ({', '.join(map(str, values))})"}])
            pairs = oracle.neighbours(here, 3)
            alone = all(sum(x != y for x, y in zip(a, b, strict=True)) == 1 for a, b in pairs)
            try:
                parallel(here, [1], disjoint=True, sizes_are_public=True)
                allowed = True
            except td.errors.Refused:
                allowed = False
            assert allowed == alone
