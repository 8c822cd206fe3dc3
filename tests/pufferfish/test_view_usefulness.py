"""Usefulness and meaningfulness against enumeration of every table and view."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from tetraodon.errors import PolicyError, Refused
from tetraodon.pufferfish.view_attackers import all_tables, likelihood
from tetraodon.pufferfish.view_usefulness import counts_law, failure, k_meaningless, meaningless, statistical_difference
from tetraodon.views.channel import SetChannel

F = Fraction
NOISY, CLEAR = SetChannel(F(1, 10), F(2, 5)), SetChannel(F(9, 10), F(1, 50))


@pytest.mark.parametrize("channel", [NOISY, CLEAR])
@pytest.mark.parametrize("error", [F(1, 2), F(1), F(3)])
def test_failure_by_listing_every_table_query_and_view(channel: SetChannel, error: Fraction) -> None:
    tuples, worst = range(4), F(0)
    for table in map(frozenset, itertools.combinations(tuples, 2)):
        for query in all_tables(tuples):
            off = F(0)
            for view in all_tables(tuples):
                estimate = channel.estimate(len(view & query), len(query))
                if abs(estimate - len(table & query)) >= error:
                    off += likelihood(channel, tuples, table, view)
            worst = max(worst, off)
    assert failure(channel, 4, 2, error) == worst


@pytest.mark.parametrize("channel", [NOISY, CLEAR])
@pytest.mark.parametrize("query", [2, 3])
def test_statistical_difference_by_listing(channel: SetChannel, query: int) -> None:
    tuples, inside = range(5), range(query)
    outside = range(query, 5)
    total = F(0)
    for view in all_tables(tuples):
        sides = [
            sum(
                (likelihood(channel, tuples, frozenset(table), view) for table in itertools.combinations(part, 2)), F(0)
            )
            / math.comb(len(part), 2)
            for part in (inside, outside)
        ]
        total += abs(sides[0] - sides[1])
    assert statistical_difference(channel, 5, 2, query) == total


def test_useful_views_are_meaningful() -> None:
    """[RS07] Prop. 3.4: if half of n is exceeded with probability epsilon only, SD is at least 2 (1 - 2 epsilon)."""
    for channel in (NOISY, CLEAR, SetChannel(F(1, 2), F(1, 10))):
        epsilon = failure(channel, 12, 4, F(2))
        for query in range(4, 9):
            assert statistical_difference(channel, 12, 4, query) >= 2 * (1 - 2 * epsilon)


def test_meaningless_and_meaningful() -> None:
    assert meaningless(NOISY, 12, 3, F(1, 3))
    assert not meaningless(CLEAR, 12, 3, F(1, 3))


def test_larger_worlds_are_exact_too() -> None:
    found = statistical_difference(SetChannel(F(1, 2), F(1, 100)), 60, 6, 30)
    assert 1 < found < 2


def test_k_meaningless() -> None:
    """A view of pure noise says nothing; one that shows the table and little else does."""
    assert k_meaningless(NOISY, 7, 2, [0], [0, 3, 5], 2, F(1, 3))
    assert not k_meaningless(CLEAR, 7, 2, [0], [0, 1], 2, F(1, 3))
    with pytest.raises(PolicyError):
        k_meaningless(CLEAR, 7, 3, [0], [0, 1], 2, F(1, 3))


def test_the_law_of_counts() -> None:
    assert counts_law(CLEAR, 1, 2) == [F(2, 25) * F(49, 50), F(23, 25) * F(49, 50) + F(2, 25) / 50, F(23, 25) / 50]


@pytest.mark.parametrize(("tuples", "records"), [(3, 0), (3, 4)])
def test_impossible_worlds(tuples: int, records: int) -> None:
    with pytest.raises(PolicyError):
        failure(CLEAR, tuples, records, F(1))


def test_what_is_out_of_reach() -> None:
    with pytest.raises(Refused):
        statistical_difference(CLEAR, 10**6, 10, 5 * 10**5)
    with pytest.raises(PolicyError):
        statistical_difference(CLEAR, 10, 6, 5)
