"""Averages as a question: intervals from those of the sum and of the number of records."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.query.kinds import mean
from tetraodon.query.query import MeasuredSum

DOMAIN = Domain((Attribute("pay", Integers(-10, 10), unit="EUR"),))


def answered(total: int, records: int, reach: float, unsure: float) -> SimpleNamespace:
    sums = [
        MeasuredSum(np.array([number]), Fraction(1), not far, lambda failures, far=far: far * failures)
        for number, far in ((total, reach), (records, unsure))
    ]
    return SimpleNamespace(domain=DOMAIN, sums=tuple(sums))


@pytest.mark.parametrize("total", [-30, 0, 30])
def test_the_interval_holds_every_mean_that_sum_and_records_allow(total: int) -> None:
    columns = mean("pay").columns(answered(total, 10, 2.0, 1.0))
    reached = [(total + s) / (10 + n) for s in np.linspace(-4, 4, 9) for n in np.linspace(-2, 2, 9)]
    assert columns["lower"][0] == pytest.approx(min(reached))
    assert columns["upper"][0] == pytest.approx(max(reached))


def test_with_hardly_any_records_it_may_be_anything_declared() -> None:
    columns = mean("pay").columns(answered(3, 1, 0.0, 5.0))
    assert (columns["lower"][0], columns["upper"][0]) == (-10.0, 10.0)


def test_in_words() -> None:
    assert mean("pay").sentence(DOMAIN) == "The average of pay in EUR."
    assert mean("pay").off_by("3", "", DOMAIN) == "The sum behind the average is typically off by 3 EUR."
