"""Which terms have their maxima at the ends: judged by looking at every code."""

from __future__ import annotations

import numpy as np
import pytest

from tetraodon.certificate.axis import Term
from tetraodon.certificate.linear_term import linear_in_code, linear_in_each_code
from tetraodon.domain import Attribute, Integers
from tetraodon.workload.contribution import AllRanges, Contribution, Number, One, Prefix, Table
from tetraodon.workload.smooth import Hats, Ramps

X = Attribute("x", Integers(-2, 4))
LINEAR: list[Contribution] = [Prefix("x", 7, 7), Prefix("x", 7, 6), Number(X), Ramps("x", 7, 3)]
OTHERS: list[Contribution] = [
    Prefix("x", 7, 3),
    AllRanges("x", 7),
    Hats("x", 7, 3),
    Table(("x",), np.eye(7, dtype=np.int64)),
]


@pytest.mark.parametrize("contribution", LINEAR, ids=repr)
def test_linear_ones_are(contribution: Contribution) -> None:
    assert linear_in_code(Term(0, contribution, 1))
    code = np.arange(7)
    alone = contribution.alone(code)
    assert (np.diff(alone, 2) >= 0).all()  # convex
    for gap in range(1, 7):
        assert len(set(contribution.apart(code[:-gap], code[gap:]).tolist())) == 1  # depends on the distance alone


@pytest.mark.parametrize("contribution", OTHERS, ids=lambda c: type(c).__name__)
def test_others_are_not_taken_for_it(contribution: Contribution) -> None:
    assert not linear_in_code(Term(0, contribution, 1))


def test_a_weighted_sum_is_linear_in_each_code_alone() -> None:
    term = Term(0, Number(X, Attribute("w", Integers(0, 2))), 1)
    assert not linear_in_code(term)
    assert linear_in_each_code(term)
    assert linear_in_code(Term(0, One(), 1))
