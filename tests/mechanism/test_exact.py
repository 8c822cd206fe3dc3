"""What needs no noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import tetraodon as td
from tetraodon.mechanism.direct import EXACT
from tetraodon.mechanism.identity import IDENTITY
from tetraodon.mechanism.ordered import ORDERED
from tetraodon.mechanism.strategy import Scaled

HERE = td.load_policy(
    {
        "dataset": "d",
        "presence": "public",
        "attributes": {"x": {"integer": [0, 3]}},
        "secrets": {"x": "public"},
        "budget": {"epsilon": 1},
    }
)
SURE = Fraction(95, 100)


def test_a_table_is_told_as_it_is() -> None:
    (strategy,) = IDENTITY.propose(td.queries.histogram("x"), HERE)
    at = Scaled(EXACT.of(strategy), Fraction(0), HERE.domain)
    assert not at.strategy.noisy
    assert EXACT.fit(at, (np.arange(4)[:, None],)).tolist() == [0, 1, 2, 3]
    assert EXACT.is_certain(at, np.ones(4, np.bool_))
    codes = (np.arange(4),)
    assert EXACT.box_reach(at, codes, codes, SURE).tolist() == [0, 0, 0, 0]
    assert at.expected_error(td.queries.histogram("x")) == EXACT.largest_error(td.queries.histogram("x"), at, SURE) == 0


def test_what_is_no_table_of_cells_is_not_taken_for_one() -> None:
    (strategy,) = ORDERED.propose(td.queries.histogram("x"), HERE)
    with pytest.raises(td.errors.QueryError, match="no table"):
        EXACT.fit(Scaled(EXACT.of(strategy), Fraction(0), HERE.domain), (np.arange(3),))


def test_nobody_proposes_it() -> None:
    assert not list(EXACT.propose(td.queries.histogram("x"), HERE))
