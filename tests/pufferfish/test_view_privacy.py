"""The definitions of privacy against enumeration of priors, and the implications between them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from tetraodon.errors import PolicyError, Refused
from tetraodon.pufferfish.view_attackers import all_tables, independent, likelihood
from tetraodon.pufferfish.view_privacy import (
    Bounds,
    after,
    indistinguishable_of_relative,
    private_of_relative,
    relative_of_private,
)
from tetraodon.pufferfish.view_usefulness import counts_law, failure, k_meaningless, meaningless, statistical_difference
from tetraodon.views.channel import CopyChannel, SetChannel

F = Fraction
CHANNELS = [SetChannel(F(a, 20), F(b, 20)) for a in range(1, 19, 3) for b in range(1, 19 - a, 2)]
PRIORS = [F(1, 10**6), F(1, 100), F(1, 20), F(1, 10)]


@pytest.mark.parametrize("channel", CHANNELS)
def test_private_is_what_the_definition_says(channel: SetChannel) -> None:
    """Against a fine list of independent attackers on one tuple; the other tuples do not matter to them."""
    d, gamma = F(1, 10), F(1, 3)
    leaks = [independent({"t": p}).leakage(channel) for p in PRIORS]
    holds = not any(leak.positive(gamma) or leak.negative(d, gamma) for leak in leaks)
    assert Bounds.of(channel).is_private(d, gamma) <= holds
    if not Bounds.of(channel).is_private(d, gamma):  # the bound for the left side is reached in the limit only
        assert not holds or Bounds.of(channel).low == pytest.approx(float(d / gamma), rel=1e-5)


@pytest.mark.parametrize("channel", CHANNELS)
def test_implications(channel: SetChannel) -> None:
    bounds, d = Bounds.of(channel), F(1, 20)
    gamma = private_of_relative(d, bounds.relative)
    if gamma < 1 and gamma > d:
        assert bounds.is_private(d, gamma)  # Prop. A.3, first part
    least = max(after(d, bounds.high), d / bounds.low)
    if d < least < 1:
        assert bounds.is_private(d, least)
        assert bounds.relative <= relative_of_private(d, least)  # Prop. A.3, second part
    assert bounds.indistinguishable <= indistinguishable_of_relative(bounds.relative)  # Prop. A.5 without 2 ln 2
    assert bounds.indistinguishable == channel.replace_ratio


def test_two_delta_is_needed() -> None:
    """A channel whose ratios are r and 1/r meets e^(2 delta) with equality."""
    channel = SetChannel(F(1, 2), F(1, 4))
    bounds = Bounds.of(channel)
    assert bounds.high == 1 / bounds.low == 3
    assert bounds.indistinguishable == indistinguishable_of_relative(bounds.relative) == 9


def test_copies_have_bounds_too() -> None:
    assert Bounds.of(CopyChannel(F(1, 2), F(1, 10))) == Bounds(F(1, 2), F(11, 2))


def test_the_posterior_bound_is_above_the_prior() -> None:
    with pytest.raises(PolicyError):
        relative_of_private(F(1, 2), F(1, 3))


# -- view usefulness ---------------------------------------------------------------------------------
# Usefulness and meaningfulness against enumeration of every table and view.


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
