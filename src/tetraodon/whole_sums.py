"""Adding up whole numbers so that nothing ever overflows, and no table is refused for what its records add up to.

How long a sum may become is decided from the question and from the most rows that a table may have. Where 64 bits
might not do, Python's integers add up, and what lies beyond `LARGEST` is told as `LARGEST`. That changes no
certificate:
two sums are never farther apart after both were cut off at the same place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Ints

MOST_ROWS = 2**36
"""Rows that a table may have: some 69 thousand million."""
LARGEST = 2**61
"""The largest sum that is told, in units of the question; noise still fits beside it."""


def fits(longest: int) -> bool:
    """Whether any number of rows that add at most `longest` each can be added up in 64 bits."""
    return longest * MOST_ROWS <= LARGEST


def add_up(size: int, place: Ints, amount: Ints, times: Ints, *, longest: int) -> Ints:
    """Sums of amount * times by place, none beyond `LARGEST`.

    Pre   no amount is above `longest`, and all times together are at most `MOST_ROWS`.

    >>> place, amount, times = np.array([0, 0, 1]), np.array([2**60, 2**60, -3]), np.array([2, 1, 5])
    >>> add_up(2, place, amount, times, longest=2**60).tolist() == [LARGEST, -15]
    True
    """
    if fits(longest):
        total = np.zeros(size, np.int64)
        np.add.at(total, place, amount * times)
        return total
    whole = np.zeros(size, object)
    np.add.at(whole, place, amount.astype(object) * times.astype(object))
    return cut_off(whole)


def cut_off(whole: NDArray[np.object_]) -> Ints:
    """Python integers as 64 bits, none beyond `LARGEST`."""
    return np.asarray(np.clip(whole, -LARGEST, LARGEST), np.int64)


def with_noise(exact: Ints, noise: Ints) -> Ints:
    """Exact numbers and noise together, none beyond `LARGEST`.

    Why   cutting off what is told comes after the noise and costs nothing. Noise beyond 2^62 takes any number that we
          tell beyond `LARGEST`, so that it may be cut off first and nothing overflows.
    """
    return np.clip(exact + np.clip(noise, -(2**62), 2**62), -LARGEST, LARGEST)
