"""Views are drawn exactly: on tiny domains every view has the probability of its definition."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from tests.noise.walk import Script
from tests.views.test_channel import copies_law, set_law
from tetraodon.noise.coins import system_coins
from tetraodon.views.channel import CopyChannel, SetChannel, ViewChannel
from tetraodon.views.sampling import merged, noise_cells, view_cells

F = Fraction


def coin_strings(channel: ViewChannel, kept: int, draws: int, longest: int) -> Iterator[tuple[Fraction, list[int]]]:
    """Every outcome of the coins and waiting times, with its probability and words that stand for it."""
    chance = channel.keep / (1 - channel.noise) if isinstance(channel, SetChannel) else channel.keep
    heads = [(chance, 0), (1 - chance, 2**64 - 1)]
    q = 1 - channel.noise
    waits = [(q**g * (1 - q), int((q**g + q ** (g + 1)) / 2 * 2**64)) for g in range(longest)]
    waits.append((q**longest, int(q**longest / 2 * 2**64)))
    for outcome in itertools.product(*[heads] * kept, *[waits] * draws):
        yield math.prod((p for p, _ in outcome), start=F(1)), [word for _, word in outcome]


HALF, RARE = SetChannel(F(1, 2), F(1, 3)), SetChannel(F(2, 3), F(1, 50))


@pytest.mark.parametrize(
    ("channel", "size", "table"), [(HALF, 4, ()), (HALF, 4, (0, 3)), (RARE, 4, (1,)), (HALF, 3, (0, 1, 2))]
)
def test_every_set_on_four_tuples_has_its_probability(channel: SetChannel, size: int, table: tuple[int, ...]) -> None:
    law: Counter[frozenset[int]] = Counter()
    for chance, words in coin_strings(channel, len(table), size, size):
        coins = Script(words)
        cells = np.array(table, np.uint64)
        parts = list(view_cells(channel, size, cells, np.ones(len(table), np.int64), coins=coins, chunk=size))
        law[frozenset(np.concatenate(parts).tolist())] += chance  # type: ignore[assignment]
    assert law == set_law(channel, frozenset(table), size)


@pytest.mark.parametrize("counts", [(0, 0), (2, 0), (1, 1)])
def test_every_table_of_copies_has_its_probability(counts: tuple[int, ...]) -> None:
    channel, size, most = CopyChannel(F(1, 3), F(1, 5)), 2, 2
    law: Counter[tuple[int, ...]] = Counter()
    draws = most + sum(counts) + 1
    held = np.flatnonzero(counts).astype(np.uint64)
    many = np.array([count for count in counts if count], np.int64)
    for chance, words in coin_strings(channel, sum(counts), draws, size):
        coins = Script([*words, *[0] * 64])
        view = np.concatenate(list(view_cells(channel, size, held, many, coins=coins, chunk=draws)))
        law[tuple(np.bincount(view.astype(np.int64), minlength=size))] += chance  # type: ignore[assignment]
    exact = [copies_law(channel, count, most) for count in counts]
    for shown in itertools.product(range(most + 1), repeat=size):
        if sum(shown) <= most:
            assert law[shown] == math.prod((exact[t][g] for t, g in enumerate(shown)), start=F(1))


@pytest.mark.parametrize("channel", [SetChannel(F(1, 2), F(1, 3)), CopyChannel(F(1, 2), F(1, 3))])
def test_parts_join_without_a_seam(channel: ViewChannel) -> None:
    """Inclusion of each cell and of neighbours across parts; false alarms below 1e-9 in all (Hoeffding)."""
    size, rounds, least = 30, 1500, 0 if isinstance(channel, CopyChannel) else 1
    drawn = [np.concatenate([c for c, _ in noise_cells(channel, size, system_coins(), chunk=7)]) for _ in range(rounds)]
    assert all((np.diff(cells.astype(np.int64)) >= least).all() for cells in drawn)
    present = np.array([np.bincount(cells.astype(np.int64), minlength=size) > 0 for cells in drawn])
    reach = math.sqrt(math.log(2 * 2 * size * 1e9) / (2 * rounds))
    assert (abs(present.mean(axis=0) - 1 / 3) < reach).all()
    assert (abs((present[:, 1:] & present[:, :-1]).mean(axis=0) - 1 / 9) < reach).all()


def test_a_domain_of_10_to_the_18_costs_what_the_view_costs() -> None:
    channel, size = CopyChannel(F(1, 2), F(1, 10**15)), 10**18
    cells = np.array([0, 5, size - 1], np.uint64)
    parts = list(view_cells(channel, size, cells, np.array([40, 40, 40]), coins=system_coins()))
    view = np.concatenate(parts)
    assert (np.diff(view.astype(np.int64)) >= 0).all()
    # 1000 noise tuples and 60 records are expected; beyond 12 standard deviations of the noise: below 1e-9
    assert abs(len(view) - 1060) < 12 * math.sqrt(1030)
    assert int((view == 0).sum()) > 2
    assert int((view == size - 1).sum()) > 2


def test_merging() -> None:
    left, right = np.array([1, 3, 3], np.uint64), np.array([0, 3], np.uint64)
    assert merged(left, right, once=False).tolist() == [0, 1, 3, 3, 3]
    assert merged(left, right, once=True).tolist() == [0, 1, 3]
    assert merged(left[:0], right[:0], once=True).tolist() == []


@pytest.mark.parametrize("channel", [SetChannel(F(1, 2), F(1, 20)), CopyChannel(F(1, 2), F(1, 20))])
def test_the_estimate_is_unbiased_in_practice(channel: ViewChannel) -> None:
    size, rounds, cells = 200, 1500, np.arange(0, 200, 2, dtype=np.uint64)
    counts = np.ones(100, np.int64)
    totals = [
        float(channel.estimate(sum(int((part < 50).sum()) for part in drawn), 50))
        for drawn in (view_cells(channel, size, cells, counts, coins=system_coins()) for _ in range(rounds))
    ]
    spread = math.sqrt(channel.variance(25, 50) / rounds)
    assert abs(np.mean(totals) - 25) < 7 * spread  # a normal beyond 7: below 1e-11
    assert abs(np.var(totals) / float(channel.variance(25, 50)) - 1) < 0.25
