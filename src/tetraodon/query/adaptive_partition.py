"""Counts of parts of a line or a map that are divided, round by round, where they are found to be large.

This is no linear query. Parts are measured in D rounds, from the widest to single values. Round l tells the counts of
those parts whose whole was divided, with noise of scale 1 / r(l), at the rate r(l). A part that it does not divide is
told once more, at the rate r(l + 1) + ... + r(D - 1), and then no more. Which parts a round looks at follows from what
earlier rounds told, so that they are the same for two data sets once that is given: the logarithms of the likelihood
ratios of all rounds add up, each as if its parts had been fixed before. Of two data sets let d(P) be by how much the
counts of a part P differ.

Bound     Round l loses at most r(l) times the sum of |d(P)| over the parts that it looks at. A part Q that is told once
          more loses its rate times |d(Q)|. As |d(Q)| is at most the sum of |d(P)| over the parts P of Q of any one
          later round, that is no more than the later rounds would lose inside Q. So all that is told loses at most

              sum over rounds l and all parts P of round l of r(l) |d(P)|,

          which is what Laplace noise on the counts of all parts of every round loses, at those rates. It holds for any
          two data sets, so that several rows of a person, groups and attackers are priced as those counts are.

Attained  Let the data sets differ in one record, which is u in the one and v in the other, and let round s be the first
          that has u and v in different parts. Parts that hold both are told alike. Let each of them be told as so large
          that it is divided, the parts of u as larger than any count and those of v as smaller than any. Such outputs
          have a chance, and for them the two likelihoods differ by r(l) for every round l from s on, twice: for the
          part of v is divided no further, and is told again at the rate of all rounds that are left. That is the bound.
          It is the same with a record that comes or goes, where one of the two is missing, and with several rows of a
          person that go the same way. Where known counts make several records differ at once, it is a bound only.

[QYL13] divide once by noisy counts, and [ZXX16] as often as they are large; here small parts get all that is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.errors import QueryError, Refused
from tetraodon.exact.arrays import Bools, Ints, with_noise
from tetraodon.noise.coins import Coins
from tetraodon.noise.laws import LAPLACE
from tetraodon.query.contribution import Among, Draw, NotLinear, One, Steps
from tetraodon.query.linear import LinearQuery, Measurement, Split

# ruff: noqa: ARG002 - every contribution is asked in the same way

Kind = TypeVar("Kind", bound=np.generic)
FAN = {1: 8, 2: 4}
"""Into how many pieces a part is divided along each side, by how many sides there are."""
FEWEST = 2
"""A round of so few parts along each side, or fewer, is not worth its part of the budget."""
LARGE = {1: 20, 2: 10}
"""A part is divided if its noisy count is above so many times the scale of what is left for it, by how many sides."""


@dataclass(frozen=True, eq=False)
class Round:
    """What one round told: `counts` of parts that are `active`, and of those not `divided` further, `again`."""

    width: int
    counts: Ints
    active: Bools
    divided: Bools
    again: Ints

    @property
    def settled(self) -> Bools:
        """The parts that are measured for the last time."""
        return self.active & ~self.divided


@dataclass(frozen=True)
class Divided(NotLinear):
    """Noisy counts of parts of one or two ordered attributes, from `FAN` parts a side down to single values.

    Noise of scale b in all is shared among the rounds by their `weights`: one of weight w out of W has noise of scale
    b W / w. A part that is divided no further is counted once more, with all that later rounds would have spent on it.

    >>> Divided(("x",), (4096,)).widths, Divided(("x", "y"), (256, 200)).widths
    ((512, 64, 8, 1), (64, 16, 4, 1))
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    unit: Fraction = Fraction(1)

    pure_only = True
    refusal: ClassVar = (QueryError, "counts of divided parts are no sums over records", "certify what dominates them")

    def __post_init__(self) -> None:
        if len(self.names) != len(self.sizes) or len(self.names) not in FAN or min(self.sizes) < 1:
            raise QueryError("parts are of one or two attributes", fix="name one or two, with their sizes")

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many values a part has along each side, round by round."""
        fan, widths = FAN[len(self.names)], [1]
        while FEWEST * widths[0] * fan < max(self.sizes):
            widths.insert(0, widths[0] * fan)
        return tuple(widths)

    @property
    def rounds(self) -> int:
        return len(self.widths)

    def grid(self, width: int) -> tuple[int, ...]:
        """How many parts of a width there are along each side."""
        return tuple(-(-size // width) for size in self.sizes)

    @cached_property
    def rows(self) -> int:
        """All numbers that could be told: two for each part, and one for each cell. Zero stands where nothing is."""
        every = [math.prod(self.grid(width)) for width in self.widths]
        return 2 * sum(every) - every[-1]

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """What each round spends, relative to each other: the first of a map has few parts, and half as much."""
        return (1, *(len(self.sizes) for _ in self.widths[1:]))

    def scale_of(self, scale: Fraction, place: int) -> Fraction:
        """The scale of the noise of the round at a place."""
        return scale * sum(self.weights) / self.weights[place]

    def scale_again(self, scale: Fraction, place: int) -> Fraction:
        """The scale of the last noise on a part that the round at a place does not divide."""
        return scale * sum(self.weights) / sum(self.weights[place + 1 :])

    def parts(self, width: int) -> list[Split]:
        """Splits by the parts of a width."""
        if width == 1:
            return [Split(name) for name in self.names]
        sides = zip(self.names, self.sizes, strict=True)
        return [Split(name, tuple(code // width for code in range(size))) for name, size in sides]

    def dominating(self, measurement: Measurement, steps: Steps) -> list[Measurement]:
        """The counts of all parts of every round."""
        query = measurement.query
        if isinstance(query.contribution, Among):
            raise Refused("divided parts are priced for all records only", fix="ask without `where`")
        return [
            Measurement(LinearQuery(One(), (*query.by, *self.parts(width))), self.scale_of(measurement.scale, place))
            for place, width in enumerate(self.widths)
        ]

    def attained(self, measurement: Measurement, steps: Steps) -> bool:
        return not steps.known

    def counted(self, query: LinearQuery, domain: Domain, codes: Ints, counts: Ints) -> NDArray[Any]:
        """The exact counts of all cells."""
        return LinearQuery(One(), (*query.by, *self.parts(1))).evaluate(domain, codes, counts)

    def measured(self, exact: NDArray[Any], measurement: Measurement, noise: Draw, coins: Callable[[], Coins]) -> Ints:
        found = self.measure(exact, measurement.scale, noise)
        return found.reshape(*exact.shape[: len(measurement.query.by)], -1)

    def noiseless(self, exact: NDArray[Any], measurement: Measurement) -> Ints:
        """Why  parts that are small are divided no further without noise, too."""
        found = self.measure(exact, measurement.scale, lambda _, __, shape: np.zeros(shape, np.int64))
        return found.reshape(*exact.shape[: len(measurement.query.by)], -1)

    def document(self) -> dict[str, Any]:
        return {"kind": "divided", "attributes": list(self.names)}

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> Divided:
        attributes = [domain[name] for name in document["attributes"]]
        return cls(tuple(a.name for a in attributes), tuple(a.size for a in attributes))

    def measure(self, cells: Ints, scale: Fraction, draw: Draw) -> Ints:
        """All rounds, one after the other; `draw` gives noise.

        Pre   `cells` are exact counts, the attributes last.
        Post  what a round looks at, and how much noise it draws, depends on what the rounds before it told alone.
        """
        cells = cells.reshape(-1, *self.sizes)
        told: list[Ints] = []
        active = np.ones((len(cells), *self.grid(self.widths[0])), np.bool_)
        for place, width in enumerate(self.widths):
            exact, last = pooled(cells, width, len(self.sizes)), place == self.rounds - 1
            counts = _drawn(exact, active, self.scale_of(scale, place), draw)
            told.append(counts)
            if not last:
                divided = self._large(counts, active, scale, place)
                told.append(_drawn(exact, active & ~divided, self.scale_again(scale, place), draw))
                active = spread(divided, FAN[len(self.sizes)], self.grid(self.widths[place + 1]))
        return np.concatenate([part.reshape(len(cells), -1) for part in told], axis=1)

    def told(self, measured: Ints, scale: Fraction) -> Iterator[Round]:
        """What every round told. Raises QueryError where the numbers do not fit together.

        Pre   `measured` has the numbers of each cell of whatever it is split by in its last axis.
        """
        rest = measured.reshape(-1, self.rows)
        active = np.ones((len(rest), *self.grid(self.widths[0])), np.bool_)
        for place, width in enumerate(self.widths):
            shape, many = active.shape, math.prod(active.shape[1:])
            counts, rest = rest[:, :many].reshape(shape), rest[:, many:]
            divided, again = np.zeros_like(active), np.zeros_like(counts)
            if place < self.rounds - 1:
                divided = self._large(counts, active, scale, place)
                again, rest = rest[:, :many].reshape(shape), rest[:, many:]
            one = Round(width, counts, active, divided, again)
            if counts[~active].any() or again[~one.settled].any():
                raise QueryError("a part is counted that was not there to be counted", fix="ask for a new copy")
            yield one
            if place < self.rounds - 1:
                active = spread(divided, FAN[len(self.sizes)], self.grid(self.widths[place + 1]))

    def could_tell(self, numbers: Ints, scale: Fraction) -> bool:
        """Why  nothing is counted that was not there to be counted."""
        try:
            return bool(list(self.told(numbers, scale)))
        except QueryError:
            return False

    def _large(self, counts: Ints, active: Bools, scale: Fraction, place: int) -> Bools:
        """Which parts are divided: whole numbers are compared, so that nothing depends on the machine."""
        return np.asarray(active & (counts > math.floor(LARGE[len(self.sizes)] * self.scale_again(scale, place))))


def pooled(cells: NDArray[Kind], width: int, sides: int) -> NDArray[Kind]:
    """Sums over parts of a width along each of the last sides."""
    for axis in range(cells.ndim - sides, cells.ndim):
        cells = np.add.reduceat(cells, np.arange(0, cells.shape[axis], width), axis=axis)
    return cells


def spread(parts: NDArray[Kind], times: int, shape: tuple[int, ...]) -> NDArray[Kind]:
    """What stands at each part, at every piece of it, for as many pieces along the last sides as a shape has."""
    for axis, size in enumerate(shape, start=parts.ndim - len(shape)):
        parts = np.take(parts, np.arange(size) // times, axis=axis)
    return parts


def _drawn(exact: Ints, there: Bools, scale: Fraction, draw: Draw) -> Ints:
    """Noisy counts of some parts, and zero for the others."""
    found = np.zeros(exact.shape, np.int64)
    found[there] = with_noise(exact[there], draw(LAPLACE, scale, (int(there.sum()),)))
    return found
