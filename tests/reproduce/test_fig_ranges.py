"""The corrected ordered hierarchical mechanism: its scales keep epsilon, and its errors are those of its nodes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reproduce import fig_ranges
from reproduce.fig_ranges import best_scales, hierarchical_noise, nodes_used, random_ranges
from tetraodon.noise import laplace_variance


def nodes(value: int, theta: int, scales: fig_ranges.Scales) -> dict[object, Fraction]:
    """Every released count that holds a value, with what it pays for it: the S nodes above it, and its tree."""
    block = value // theta
    found: dict[object, Fraction] = {}
    for k in range(block + 1, scales.blocks):  # the last S node is public
        found["S", k] = 1 / scales.sums
    for level in range(scales.height):
        found[block, level, value % theta // fig_ranges.FANOUT**level] = 1 / scales.trees
    return found


@pytest.mark.parametrize(("size", "theta"), [(16, 4), (16, 1), (17, 5), (16, 16), (40, 9), (33, 2)])
def test_the_worst_step_costs_exactly_epsilon(size, theta, monkeypatch):
    monkeypatch.setattr(fig_ranges, "FANOUT", 2)
    epsilon = Fraction(1)
    scales = best_scales(size, theta, epsilon)
    losses = set()
    for x in range(size):
        for y in range(x + 1, min(size, x + theta + 1)):
            mine, other = nodes(x, theta, scales), nodes(y, theta, scales)
            moved = mine.keys() ^ other.keys()
            losses.add(sum((mine | other)[node] for node in moved))
    assert max(losses) == epsilon


@pytest.mark.parametrize(("size", "theta"), [(40, 9), (33, 2), (16, 16)])
def test_the_split_of_epsilon_is_the_best(size, theta, monkeypatch):
    """What a range uses, counted node by node, and the error at splits beside the chosen one."""
    monkeypatch.setattr(fig_ranges, "FANOUT", 2)
    scales = best_scales(size, theta, Fraction(1))
    kinds = {True: 0.0, False: 0.0}

    def used(place: int) -> set[object]:
        if place in (0, size):
            return set()
        block, rest = divmod(place, theta)
        found: set[object] = {("S", block)} if 0 < block < scales.blocks else set()
        for level in range(scales.height):
            parent = rest // 2 ** (level + 1) * 2
            found |= {(block, level, node) for node in range(parent, rest // 2**level)}
        return found

    ranges = random_ranges(size)
    for low, high in ranges:
        for node in used(low) ^ used(high + 1):
            kinds[node[0] == "S"] += 1 / len(ranges)
    sums, trees = nodes_used(size, theta, scales.height)
    assert (sums, trees) == pytest.approx((kinds[True], kinds[False]))
    share = 1 / scales.sums if scales.sums else Fraction(0)

    def error(part: float) -> float:
        return (sums / part**2 if sums else 0.0) + trees * (2 * scales.height) ** 2 / (1 - part) ** 2

    assert all(error(float(share)) <= error(float(share) + off) for off in (-0.01, 0.01) if 0 <= share + off < 1)


def test_the_ordered_mechanism_errs_by_one_noise_a_running_count():
    """Variance of 40,000 draws within 12 standard errors (Laplace, kurtosis 6): a false alarm below 1e-9."""
    scales = best_scales(401, 1, Fraction(1))
    errors = np.concatenate([hierarchical_noise(401, 1, scales)[:-1] for _ in range(100)])
    expected = laplace_variance(Fraction(1))
    assert abs(np.var(errors) / expected - 1) < 12 * np.sqrt(6 / len(errors))
