"""Secrets to within a share of the value itself: two wages at most 10% apart are not to be told apart.

[KM12] section 7.1.2 compares neighbouring intervals, whose values are farther apart: docs/relative.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tetraodon.arrays import Bools, Ints
from tetraodon.errors import PolicyError
from tetraodon.policy.attribute_graph import Within


@dataclass(frozen=True, slots=True)
class WithinShare(Within):
    """Two numbers above zero are a secret when the larger is at most `share` more than the smaller: "within 10%".

    Code c stands for the number `first` + c * `stride`, in units that make both whole. `reach` is the most positions
    that any two such numbers are apart: the graph `Within` with that reach has all of these edges and more, and stands
    for it wherever no one looks closer. What is certified there is a bound, and the kernel says if it is attained.

    >>> wages = WithinShare.of(91, Fraction(1, 10), first=10, stride=1)
    >>> wages.reach, wages.is_edge(0, 1), wages.is_edge(0, 2), wages.is_edge(80, 89), wages.distance(0, 90)
    (9, True, False, True, 29)
    """

    share: Fraction
    first: int
    stride: int

    @classmethod
    def of(cls, size: int, share: Fraction, *, first: int, stride: int) -> WithinShare:
        """Pre: `first` and `stride` are above zero, and so is the share, which leads from the first number to another.

        Why   what a number may grow by grows with it, so that no two secrets are further apart than the last number and
              the least that is a secret from it.
        """
        if first < 1 or share * first < stride:
            raise PolicyError("`within` reaches no other value", fix="declare larger values, or a finer step")
        last = first + stride * (size - 1)
        least = -(-(math.ceil(last / (1 + share)) - first) // stride)
        return cls(size, max(1, size - 1 - max(0, least)), share, first, stride)

    def number(self, code: int) -> int:
        """The number that a code stands for, in units."""
        return self.first + self.stride * code

    def is_edge(self, x: int, y: int) -> bool:
        low, high = sorted((self.number(x), self.number(y)))
        return low < high <= (1 + self.share) * low

    def adjacent(self, x: Ints, y: Ints) -> Bools:
        a, b = (self.first + self.stride * np.asarray(codes).astype(object) for codes in (x, y))
        low, high = np.minimum(a, b), np.maximum(a, b)
        more = high * self.share.denominator <= low * (self.share.denominator + self.share.numerator)
        return np.asarray((low < high) & more).astype(np.bool_)

    def distance(self, x: int, y: int) -> float:
        return int(self.steps(x, np.array([y]))[0])

    def steps(self, chosen: int, codes: Ints) -> Ints:
        """How many steps each of some values is away from a chosen one: steps as long as can be are the fewest."""
        up, down = [chosen], [chosen]
        while up[-1] < self.size - 1 and up[-1] < int(np.max(codes)):
            most = math.floor((1 + self.share) * self.number(up[-1]))
            up.append(min(self.size - 1, (most - self.first) // self.stride))
        while down[-1] > 0 and down[-1] > int(np.min(codes)):
            least = math.ceil(self.number(down[-1]) / (1 + self.share))
            down.append(max(0, -(-(least - self.first) // self.stride)))
        above, below = np.searchsorted(up, codes), np.searchsorted(-np.array(down), -np.asarray(codes))
        return np.where(np.asarray(codes) >= chosen, above, below)

    def telling_pairs(self) -> Iterator[tuple[int, int]]:
        """Pairs that show what is promised: of a round number in the middle, with what is as far as a secret goes, just
        beyond it, and twice as large.
        """
        middle = math.isqrt(self.first * self.number(self.size - 1))
        round_number = middle // 10 ** (len(str(middle)) - 1) * 10 ** (len(str(middle)) - 1)
        chosen = min(max(0, (round_number - self.first) // self.stride), self.size - 2)
        far = (math.floor((1 + self.share) * self.number(chosen)) - self.first) // self.stride
        twice = (2 * self.number(chosen) - self.first) // self.stride
        yield from ((chosen, other) for other in dict.fromkeys((far, far + 1, twice)) if chosen < other < self.size)

    def ladder(self, most: int) -> Ints:
        """At most so many values to show: about evenly spread by their logarithms, from the first to the last."""
        numbers = np.geomspace(float(self.first), float(self.number(self.size - 1)), most)
        return np.unique(np.clip(np.rint((numbers - self.first) / self.stride), 0, self.size - 1).astype(np.int64))

    def edges(self) -> Iterator[tuple[Ints, Ints]]:
        for gap in range(1, min(self.reach, self.size - 1) + 1):
            start = np.arange(self.size - gap)
            start = start[self.adjacent(start, start + gap)]
            yield start, start + gap
