"""Series of views: the ratio over all transcripts by enumeration; the naive way and Algorithm 7 breach."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest

from tetraodon.errors import Refused
from tetraodon.policy.adversary import Adversary, largest_ratio
from tetraodon.views.channel import CopyChannel, SetChannel, best_channel
from tetraodon.views.series import Series, best_series
from tetraodon.views.series import _tight as tight

F = Fraction
SETS = [
    Series(SetChannel(F(2, 5), F(1, 10)), SetChannel(F(1, 10), F(2, 5)), 3),
    Series(SetChannel(F(1, 5), F(1, 100)), SetChannel(F(1, 50), F(19, 100)), 4),
]


def likelihood(series: Series, shown: tuple[int, ...], there: tuple[int, ...]) -> Fraction:
    """P(one tuple is shown in just these views), when it is in the table in just those."""
    chance, seen = F(1), False
    for now, record in zip(shown, there, strict=True):
        channel = series.seen if seen else series.fresh
        p = channel.shown if record else channel.noise
        chance *= p if now else 1 - p
        seen = seen or bool(now)
    return chance


@pytest.mark.parametrize("series", SETS)
def test_the_worst_ratio_is_that_of_every_transcript(series: Series) -> None:
    for views in range(1, series.views + 1):
        never = (0,) * views
        ratios = [
            likelihood(series, shown, there) / likelihood(series, shown, never)
            for shown in itertools.product((0, 1), repeat=views)
            for there in itertools.product((0, 1), repeat=views)
        ]
        assert max(ratios) == series.ratio_up(views)
        assert min(ratios) == series.ratio_down(views)


def test_copies_add_up_the_same_way() -> None:
    """One record among others that have the value too: the ratio of each view lies in its channel's bounds."""
    series = Series(CopyChannel(F(1, 2), F(1, 50)), CopyChannel(F(1, 2), F(9, 10)), 2)
    fresh, seen = series.fresh, series.seen
    assert series.ratio_up(2) == (1 - F(1, 2) + F(1, 2) * 50) * (1 - F(1, 2) + F(1, 2) / F(9, 10))
    assert series.ratio_up(2) == fresh.ratio_up * seen.ratio_up
    assert series.ratio_down(2) == F(1, 4)
    assert fresh.loss_presence >= seen.loss_presence
    assert fresh.loss_replace >= seen.loss_replace


@pytest.mark.parametrize("rows", ["distinct", "repeated"])
@pytest.mark.parametrize("kind", ["independent", "exclusive"])
def test_the_planned_series_withstands_and_the_naive_way_does_not(rows: Any, kind: Any) -> None:
    d = F(1, 2000)
    adversary = Adversary(d=d, gamma="0.2", views=6, rows=rows, kind=kind)
    series = best_series(adversary, d, F(10**5), 10**9)
    assert series.withstands(adversary, d)
    assert series.ratio_up(6) <= largest_ratio(d, F(1, 5))
    single = best_channel(adversary, d, d)
    assert single.ratio_up**2 > largest_ratio(d, F(1, 5))
    prior_to = d * single.ratio_up**2 / (d * single.ratio_up**2 + 1 - d)
    assert prior_to > F(9, 10)  # two views of their own: from 1/2000 to near certainty


def test_the_least_loss_is_taken_within_three_per_cent_of_the_least_error() -> None:
    """Against every pair of the grid, one by one."""
    d, n, m = F(1, 2000), F(10**5), 10**9
    adversary = Adversary(d=d, gamma="0.2", views=6, rows="distinct", kind="exclusive")
    grid = [tight(adversary, d, F(s, 100), 1 + F(k, 25)) for s in range(2, 100, 2) for k in range(1, 60)]
    good = [series for series in grid if series is not None and series.withstands(adversary, d)]
    errors = [math.sqrt(sum(float(series.variance(i, n, m)) for i in range(1, 7))) for series in good]
    near = [series for series, error in zip(good, errors, strict=True) if error <= 1.03 * min(errors)]
    found, best = best_series(adversary, d, n, m), good[errors.index(min(errors))]
    assert found.fresh.loss_replace == min(series.fresh.loss_replace for series in near) < best.fresh.loss_replace
    assert found in near


def test_algorithm_7_does_not_keep_its_promise() -> None:
    """[RS07] Algorithm 7 at alpha = .4, beta = .1 and six views, for a table that never changes: 5 becomes 11.5."""
    a, b, v = 0.4, 0.1, 6
    worst = 0.0
    for shown in itertools.product((0, 1), repeat=v):
        seen, ratio = False, 1.0
        for i, now in enumerate(shown):
            p = a + b
            q = (a + b) * math.exp(-1 / v) if seen else (1 - a - b) ** i * b
            ratio *= p / q if now else (1 - p) / (1 - q)
            seen = seen or bool(now)
        worst = max(worst, ratio)
    assert worst == pytest.approx(11.5, abs=0.05)
    entering = (a + b) / ((1 - a - b) ** (v - 1) * b)  # a record that enters before the last view
    assert entering == pytest.approx(160)


def test_too_many_views_are_refused() -> None:
    with pytest.raises(Refused, match="over 1000 views"):
        best_series(Adversary(d="0.1", gamma="0.2", views=1000), F(1, 10), F(10), 1000)
