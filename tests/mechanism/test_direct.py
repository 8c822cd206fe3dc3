"""Noise on the answers themselves."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.mechanism.test_strategy import policy

import tetraodon as td
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.mechanism.direct import DIRECT
from tetraodon.mechanism.registry import proposals
from tetraodon.mechanism.strategy import Scaled


def test_a_mean_of_unknown_size_counts_as_dearly_as_it_sums() -> None:
    here = policy(presence="secret")
    (strategy,) = proposals(td.queries.mean("x"), here)
    summed, counted = strategy.measurements(Fraction(1))
    losses = [certify_measurements(here.graph, [m]).epsilon for m in (summed, counted)]
    assert losses[0] == losses[1]


def test_there_is_no_table_to_read() -> None:
    here = policy()
    (strategy,) = DIRECT.propose(td.queries.count(), here)
    at = Scaled(strategy, Fraction(1), here.domain)
    for ask in (
        lambda: DIRECT.fit(at, (np.zeros((1,), np.int64),)),
        lambda: DIRECT.reach(at, np.ones(1, np.bool_), Fraction(1, 2)),
    ):
        with pytest.raises(td.errors.QueryError, match="no table"):
            ask()
