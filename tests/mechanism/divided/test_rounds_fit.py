"""Tables from divided parts, against least squares written out for the parts that were divided."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import tetraodon as td
from tetraodon.mechanism.adaptive_partition import fitted, known_totals
from tetraodon.mechanism.registry import proposals
from tetraodon.mechanism.strategy import Scaled
from tetraodon.noise.laws import LAPLACE
from tetraodon.query.adaptive_partition import Divided
from tetraodon.query.kinds import cdf

SCALE = Fraction(1)


@pytest.mark.parametrize("presence", ["public", "secret"])
def test_all_rounds_are_put_together_as_well_as_can_be(presence: str) -> None:
    policy = td.load_policy(
        {
            "dataset": "d",
            "presence": presence,
            "attributes": {"x": {"integer": [0, 99]}, "s": ["f", "m"]},
            "secrets": {"s": "public"},
            "budget": {"epsilon": 1},
        }
    )
    query = cdf("x", by=("s",), shape="sparse")
    (strategy,) = (one for one in proposals(query, policy) if one.mechanism.name == "divided")
    at, parts = Scaled(strategy, SCALE, policy.domain), strategy.noisy[0].contribution
    assert isinstance(parts, Divided)
    cells = np.zeros((2, 100), np.int64)
    cells[:, 10], cells[:, 66], cells[1, 90:] = 500, 200, 30
    measured = parts.measure(cells, SCALE, lambda law, scale, shape: law.draw(scale, shape))
    exact = [np.array([[700], [1000]])] if presence == "public" else []
    table = fitted(at, (measured, *exact, *(np.zeros(0, np.int64) for _ in strategy.exact[1:])))
    totals = known_totals(at, (measured, *exact))
    assert (totals is None) == (presence == "secret")
    for line in range(2):
        rows, told, precise = [], [], []
        for place, one in enumerate(parts.told(measured[line], SCALE)):
            again = None if place == parts.rounds - 1 else parts.scale_again(SCALE, place)
            for part in np.flatnonzero(one.active[0]):
                row = (np.arange(100) // one.width == part).astype(float)
                rows.append(row)
                told.append(one.counts[0, part])
                precise.append(1 / LAPLACE.variance(SCALE * parts.rounds))
                if again is not None and one.settled[0, part]:
                    rows.append(row)
                    told.append(one.again[0, part])
                    precise.append(1 / LAPLACE.variance(again))
        if totals is not None:
            rows, told, precise = [*rows, np.ones(100)], [*told, totals[line]], [*precise, 1e6]
        root = np.sqrt(np.array(precise))[:, None]
        best = np.linalg.lstsq(np.array(rows) * root, np.array(told) * root[:, 0], rcond=None)[0]
        assert table[line] == pytest.approx(best, abs=1e-3)  # of all that fit, the evenest is the shortest
