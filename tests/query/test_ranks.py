"""What is chosen by rank, as data."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tetraodon.errors import QueryError
from tetraodon.query.linear import LinearQuery, Measurement
from tetraodon.query.ranks import MOST_SHARES, Ranks

HALF = Fraction(1, 2)


def test_gaps_add_up_to_one() -> None:
    ranks = Ranks("x", 9, (Fraction(1, 10), HALF, Fraction(1)))
    assert ranks.gaps == (Fraction(1, 10), Fraction(2, 5), HALF, 0)
    assert (ranks.rows, ranks.names) == (3, ("x",))


@pytest.mark.parametrize("shares", [(), (HALF, HALF), (HALF, Fraction(1, 4)), (Fraction(3, 2),), (Fraction(-1, 2),)])
def test_shares_rise_from_0_to_1(shares: tuple[Fraction, ...]) -> None:
    with pytest.raises(QueryError, match="rising"):
        Ranks("x", 9, shares)


def test_there_are_not_too_many() -> None:
    with pytest.raises(QueryError, match="rising"):
        Ranks("x", 9, tuple(Fraction(n, 100) for n in range(MOST_SHARES + 1)))


@pytest.mark.parametrize(
    ("codes", "good"), [([[0, 8], [3, 3]], True), ([[3, 2]], False), ([[0, 9]], False), ([[-1, 2]], False)]
)
def test_only_rising_codes_can_have_been_chosen(codes: list[list[int]], good: bool) -> None:
    assert Ranks("x", 9, (Fraction(1, 4), HALF)).could_tell(np.array(codes), Fraction(1)) is good


def test_it_is_no_sum_over_records() -> None:
    ranks, codes = Ranks("x", 9, (HALF,)), np.arange(2)
    for asked in (lambda: ranks.alone(codes), lambda: ranks.apart(codes, codes), lambda: ranks.potential(codes)):
        with pytest.raises(QueryError, match="no sums"):
            asked()
    with pytest.raises(QueryError, match="no sums"):
        ranks.columns()


def test_the_truth_is_the_least_code_that_so_many_do_not_exceed() -> None:
    lines = np.empty(3, object)
    lines[:] = [np.array([[2, 1], [5, 1], [7, 2]]), np.array([[8, 9]]), np.zeros((0, 2), np.int64)]
    found = Ranks("x", 9, (Fraction(0), Fraction(1, 4), HALF, Fraction(51, 100), Fraction(1)))
    found = found.noiseless(lines, Measurement(LinearQuery(found), HALF))
    assert found.tolist() == [[2, 2, 5, 7, 7], [8] * 5, [0] * 5]
