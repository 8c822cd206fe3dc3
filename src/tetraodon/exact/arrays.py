"""Array types, sums of integers that cannot overflow, connected components, and single-threaded linear algebra."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

# -- arrays -----------------------------------------------------------------------------------------

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
SmallInts: TypeAlias = NDArray[np.int16]


# -- whole sums -------------------------------------------------------------------------------------
# Adding up whole numbers so that nothing ever overflows, and no table is refused for what its records add up to.
#
# How long a sum may become is decided from the question and from the most rows that a table may have. Where 64 bits
# might not do, Python's integers add up, and what lies beyond `LARGEST` is reported as `LARGEST`. That changes no
# certificate:
# two sums are never farther apart after both were cut off at the same place.

MOST_ROWS = 2**36
"""Rows that a table may have: some 69 thousand million."""
LARGEST = 2**61
"""The largest sum that is reported, in units of the question; noise still fits beside it."""


def fits(longest: int) -> bool:
    """Whether any number of rows that add at most `longest` each can be added up in 64 bits."""
    return longest * MOST_ROWS <= LARGEST


def sum_by(size: int, place: Ints, amount: Ints) -> Ints:
    """Sums of amounts by place. Pre: they fit."""
    total = np.zeros(size, np.int64)
    np.add.at(total, place, amount)
    return total


def add_up(size: int, place: Ints, amount: Ints, times: Ints, *, longest: int) -> Ints:
    """Sums of amount * times by place, none beyond `LARGEST`.

    Pre   no amount is above `longest`, and all times together are at most `MOST_ROWS`.

    >>> place, amount, times = np.array([0, 0, 1]), np.array([2**60, 2**60, -3]), np.array([2, 1, 5])
    >>> add_up(2, place, amount, times, longest=2**60).tolist() == [LARGEST, -15]
    True
    """
    if fits(longest):
        return sum_by(size, place, amount * times)
    whole = np.zeros(size, object)
    np.add.at(whole, place, amount.astype(object) * times.astype(object))
    return cut_off(whole)


def cut_off(whole: NDArray[np.object_]) -> Ints:
    """Python integers as 64 bits, none beyond `LARGEST`."""
    return np.asarray(np.clip(whole, -LARGEST, LARGEST), np.int64)


def with_noise(exact: Ints, noise: Ints) -> Ints:
    """Exact numbers and noise together, none beyond `LARGEST`.

    Why   clamping the result comes after the noise and costs nothing. Noise beyond 2^62 takes any number that we
          tell beyond `LARGEST`, so that it may be cut off first and nothing overflows.
    """
    return np.clip(exact + np.clip(noise, -(2**62), 2**62), -LARGEST, LARGEST)


# -- components -------------------------------------------------------------------------------------
# Connected parts: which things hang together, by union and find.


def components(size: int, links: Iterable[tuple[int, int]]) -> list[int]:
    """For each of the things 0 to size - 1, one of those that links join it to: the same for all of a part.

    >>> components(5, [(0, 1), (3, 1)])
    [1, 1, 2, 1, 4]
    """
    label = list(range(size))

    def root(x: int) -> int:
        while label[x] != x:
            label[x] = label[label[x]]
            x = label[x]
        return x

    for x, y in links:
        label[root(x)] = root(y)
    return [root(x) for x in range(size)]
