"""Whole counts of 0 to 10 records: intervals hold the truth, nothing that is impossible, and never a wrong point.

400 releases a policy. An interval that holds the truth with probability 95% does so at least FEWEST times but with
probability 1e-9; with 22 numbers over two policies the whole file fails by chance with probability below 3e-8.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import tetraodon as td
from tetraodon.releases.counting import count
from tetraodon.releases.release import Release, infer

RELEASES = 400
FEWEST = int(binom.ppf(1e-9, RELEASES, 0.95))
TABLE = pl.DataFrame({"x": [x for x in range(11) for _ in range(x)], "y": [n % 2 for n in range(55)]})


def policy(epsilon: str, presence: str) -> td.Policy:
    items: list[dict[str, Any]] = [{"name": "x", "histogram": "x"}, {"name": "both", "histogram": ["x", "y"]}]
    attributes = {"x": {"integer": [0, 10]}, "y": {"integer": [0, 1]}}
    document = {"dataset": "d", "presence": presence, "attributes": attributes, "budget": {"epsilon": epsilon}}
    return td.load_policy({**document, "together": "all at once", "release": items})


@pytest.mark.parametrize(("epsilon", "presence"), [("0.5", "public"), ("2", "secret")])
def test_small_counts_are_covered_by_what_is_possible(epsilon: str, presence: str) -> None:
    rng, held = np.random.default_rng(17), np.zeros(11)
    plan = td.plan(policy(epsilon, presence))
    exact = count(plan, TABLE)

    def released() -> Release:
        """Discrete Laplace noise is the difference of two geometric numbers."""
        measured = {}
        for item in plan:
            parts = []
            for measurement, array in zip(item.measurements, exact[item.name], strict=True):
                stop = 1 - np.exp(-1 / float(measurement.scale)) if measurement.scale else 1.0
                parts.append(array + rng.geometric(stop, array.shape) - rng.geometric(stop, array.shape))
            measured[item.name] = tuple(parts)
        return infer(plan, measured, "2026-01-01", "1")

    for _ in range(RELEASES):
        columns = released()["x"].columns
        lower, upper = columns["lower"], columns["upper"]
        assert lower.min() >= 0
        assert presence == "secret" or upper.max() <= 55
        assert ((lower <= columns["count"]) & (columns["count"] <= upper)).all()
        assert (upper > lower).all()
        held += (lower <= np.arange(11)) & (np.arange(11) <= upper)
    assert held.min() >= FEWEST
