"""Noise on the answers themselves."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tetraodon as td
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.mechanism.direct import DIRECT
from tetraodon.mechanism.registry import proposals
from tetraodon.mechanism.strategy import Scaled


def policy(**changes: Any) -> td.Policy:
    document = {
        "tetraodon": 1,
        "dataset": "d",
        "presence": "public",
        "attributes": {"x": {"integer": [0, 9]}, "c": ["a", "b", "z"], "p": ["u", "v"]},
        "secrets": {"x": {"within": 2}, "c": {"blocks": [["a", "b"], ["z"]]}, "p": "public"},
        "budget": {"epsilon": 1},
    }
    return td.load_policy({**document, **changes})


def test_a_mean_of_unknown_size_counts_as_dearly_as_it_sums() -> None:
    here = policy(presence="secret")
    (strategy,) = proposals(td.mean("x"), here)
    summed, counted = strategy.measurements(Fraction(1))
    losses = [certify_measurements(here.graph, [m]).epsilon for m in (summed, counted)]
    assert losses[0] == losses[1]


def test_there_is_no_table_to_read() -> None:
    here = policy()
    (strategy,) = DIRECT.propose(td.count(), here)
    at = Scaled(strategy, Fraction(1), here.domain)
    for ask in (
        lambda: DIRECT.fit(at, (np.zeros((1,), np.int64),)),
        lambda: DIRECT.reach(at, np.ones(1, np.bool_), Fraction(1, 2)),
    ):
        with pytest.raises(td.QueryError, match="no table"):
            ask()
