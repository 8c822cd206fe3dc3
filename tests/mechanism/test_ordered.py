"""Running counts: how many of them a sum needs."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

import tetraodon as td
from tetraodon.mechanism.ordered import ORDERED
from tetraodon.mechanism.strategy import Scaled


@pytest.mark.parametrize("presence", ["public", "secret"])
def test_boxes_need_as_many_running_counts_as_their_masks(presence: str) -> None:
    """Each sum is a combination of the noisy numbers; the terms are its coefficients, added up."""
    here = td.load_policy(
        {
            "dataset": "d",
            "presence": presence,
            "attributes": {"x": {"integer": [0, 4]}, "p": ["a", "b", "c"]},
            "secrets": {"x": {"within": 1}, "p": "public"},
            "budget": {"epsilon": 1},
        }
    )
    (strategy,) = (one for one in ORDERED.propose(td.queries.histogram("p", "x"), here) if one.table[-1].name == "x")
    at = Scaled(strategy, Fraction(1), here.domain)
    shapes = [m.query.shape(here.domain) for m in strategy.measurements(Fraction(1))]
    noisy = [(k, place) for k in range(len(strategy.noisy)) for place in np.ndindex(shapes[k])]
    for (a, b), (c, d) in product(
        combinations_with_replacement(range(3), 2), combinations_with_replacement(range(5), 2)
    ):
        mask = np.zeros((3, 5), np.bool_)
        mask[a : b + 1, c : d + 1] = True
        used = 0
        for k, place in noisy:
            moved = [np.zeros(shape, np.int64) for shape in shapes]
            moved[k][place] = 1
            used += abs(int(ORDERED.fit(at, tuple(moved))[mask].sum()))
        ends = [np.array([end]) for end in (a, c, b, d)]
        assert ORDERED.terms(at, mask) == used
        assert ORDERED.box_terms(at, tuple(ends[:2]), tuple(ends[2:])).tolist() == [used]
