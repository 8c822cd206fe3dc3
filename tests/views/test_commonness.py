"""What is learnt about how common tuples are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.views.channel import CopyChannel
from tetraodon.views.exposure import Learner

CHANNEL = CopyChannel(Fraction(1, 2), Fraction(1, 10**6))
"""Hardly any noise: what is seen is what is there."""


def domain(*sizes: int) -> Domain:
    return Domain(tuple(Attribute(f"a{n}", Integers(1, size)) for n, size in enumerate(sizes)))


def test_margins_are_multiplied() -> None:
    copies = np.array([30, 10, 15, 5])  # (0, 0), (0, 1), (1, 0), (1, 1): independent
    learner = Learner(domain(2, 2), np.arange(4, dtype=np.uint64))
    assert learner.from_margins(copies, CHANNEL, 120.0) == pytest.approx(2.0 * copies, rel=1e-3)


def test_noise_is_not_taken_for_people() -> None:
    noisy = CopyChannel(Fraction(1, 2), Fraction(1, 2))
    learner = Learner(domain(4), np.arange(4, dtype=np.uint64))
    assert learner.from_margins(np.array([2, 1, 1, 0]), noisy, 8.0) == pytest.approx([2.0] * 4)
    clear = learner.from_margins(np.array([21, 1, 2, 1]), noisy, 43.0)
    assert clear == pytest.approx([40, 1, 1, 1])


def test_ties_are_learnt() -> None:
    """Of two attributes that are always equal, with three hundred times as much seen as is assumed."""
    cells = np.repeat(np.array([0, 3], np.uint64), 50_000)
    learner = Learner(domain(2, 2), cells)
    assert learner.from_ties(np.ones(100_000), 10_000.0) == pytest.approx(np.full(100_000, 5000), rel=0.01)
    apart = learner.from_margins(np.ones(100_000, np.int64), CHANNEL, 10_000.0)
    assert apart == pytest.approx(np.full(100_000, 2500), rel=0.01)


def test_a_tuple_is_no_evidence_for_itself() -> None:
    cells = np.array([0] * 1000 + [1], np.uint64)
    expected = Learner(domain(2), cells).from_ties(np.ones(1001), 1001.0)
    assert expected[0] > 999
    assert expected[-1] < 1


def test_wide_attributes_are_taken_in_parts() -> None:
    wide = domain(10**6)
    cells = np.array([0, 1, 999_999], np.uint64)
    expected = Learner(wide, cells).from_margins(np.array([500, 500, 1]), CHANNEL, 1000.0)
    assert expected[0] == expected[1] > 100 * expected[2]
