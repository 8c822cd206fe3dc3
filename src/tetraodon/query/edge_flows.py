"""Noise along the steps of a map: what one record's step moves is as much as a noise moves, which hides it.

The cells of a map get noise that flows from cell to cell. Across every border between two neighbouring rows, or
columns, there is a flow at each place along it: what it takes from the one side it gives to the other. So a record that
steps across a border changes the table as much as one more unit of the flow there would, and whoever sees the table
cannot tell the two apart: noise on flows hides steps ([HMD16]). Its sum over a rectangle is what flows across the
rectangle's borders, and those are ranges of places.

A flow is put together from independent whole noises: one for every place, and one for every smoothed bin of places
(`Hats`) along the border,

    flow = steps + pull (smooth - bins of steps) / PARTS.

Why   one more record's step adds one to its place and, in units of 1/width, its share to each bin that it lies in. Then
      what is in brackets stays as it is, whatever `pull` is, and the flow is one more at that place. So `pull` decides
      the error alone: it is that of least squares, in whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.errors import QueryError, Refused
from tetraodon.exact.arrays import Floats, Ints, sum_by, with_noise
from tetraodon.exact.rational import decimal_text, stated_number
from tetraodon.noise.coins import Coins
from tetraodon.noise.laws import Currency
from tetraodon.query.contribution import Among, Draw, NotLinear, One, Prefix, Steps, whole
from tetraodon.query.linear import LinearQuery, Measurement
from tetraodon.query.smooth import Hats

# ruff: noqa: ARG002 - every contribution is asked in the same way

PARTS = 1 << 16
"""Answers are told in this many parts of a record: sums of flows are on that grid, and nothing is rounded."""
LONGEST = 2048
"""Borders with more places are not smoothed: what is worked out for them grows with the square."""
_FITS = 2**62


@dataclass(frozen=True)
class FlowLine:
    """The noises of one border: `steps` is that of each place, `smooth` that of each bin, counted in 1/width of a
    record, both in multiples of a common scale. With a width of 0 there are no bins.
    """

    size: int
    steps: Fraction
    width: int = 0
    smooth: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        whole = self.width == 0 or 1 < self.width < self.size
        if not 1 <= self.size <= LONGEST or self.steps <= 0 or not whole or (self.smooth > 0) != (self.width > 0):
            raise QueryError("a border is too long, or its noise is not known", fix="give a width, and positive scales")

    @cached_property
    def bins(self) -> Ints:
        """What a step at each place adds to each bin: one row for every bin."""
        return Hats("place", self.size, self.width).columns() if self.width else np.zeros((0, self.size), np.int64)

    @cached_property
    def pull(self) -> Ints:
        """How much of what is in brackets goes to each place: one column for every bin."""
        if not self.width:
            return np.zeros((self.size, 0), np.int64)
        rows, ratio = self.bins.astype(np.float64), float(self.steps / self.smooth) ** 2
        inner = np.eye(len(rows)) + ratio * (rows @ rows.T)
        return np.asarray(np.rint(PARTS * ratio * np.linalg.solve(inner, rows).T), np.int64)

    @property
    def scales(self) -> tuple[Fraction, ...]:
        """Of the noises, in the order of `noises`, in multiples of the common one."""
        return (self.steps, self.smooth) if self.width else (self.steps,)

    def noises(self, borders: int) -> tuple[tuple[int, int], ...]:
        """How many there are, for so many borders."""
        return ((borders, self.size), (borders, len(self.bins)))[: len(self.scales)]

    def flow(self, noises: Sequence[Any]) -> Any:
        """The flows, in parts, from the noises of each border: exact for whole numbers."""
        if not self.width:
            return noises[0] * PARTS
        steps, smooth = noises
        return PARTS * steps + (smooth - steps @ self.bins.T.astype(steps.dtype)) @ self.pull.T.astype(steps.dtype)

    def shares(self, flows: Floats) -> tuple[Floats, ...]:
        """How much of each noise is in a weighted sum of flows, given the weights: `flow` transposed, in records."""
        if not self.width:
            return (flows,)
        smooth = flows @ (self.pull / PARTS)
        return flows - smooth @ self.bins, smooth

    def longest(self, noises: Sequence[Ints]) -> int:
        """No flow, nor anything on the way to it, is longer."""
        most = [int(np.abs(one).max(initial=0)) for one in noises]
        if not self.width:
            return PARTS * most[0]
        pulled = int(np.abs(self.pull).sum(axis=1).max()) * (most[1] + most[0] * self.width * 2 * self.width)
        return PARTS * most[0] + pulled


@dataclass(frozen=True)
class Flows(NotLinear):
    """The counts in the cells of a map, in parts of a record, which get noise along the steps of the map.

    `first` is what borders between values of the first attribute have, place by place along the second; `second` the
    other way round.

    Why   a table x of counts is told as x + L eta, with independent whole noises eta. If L z = e_v - e_u for whole
          numbers z, a record that is v in place of u changes what is told as much as eta + z in place of eta does:
          nobody who sees it can do better than somebody who sees eta or eta + z, and that costs sum |z_i| / b_i, or
          sum z_i^2 / (2 s_i^2). With L the steps of the graph it is what [HMD16] call transformational equivalence;
          docs/edge-noise.md has the proof. Such a z is at hand: for every border that a way from u to v crosses, one
          step more at its place, and its share more in every bin of places. That is what one running count for each
          border moves by. A step that changes the number of records has no z: the total is counted as told exactly.
    """

    names: tuple[str, str]
    first: FlowLine
    second: FlowLine

    refusal: ClassVar = (
        Refused,
        "noise along steps is priced for tables of all records only",
        "ask for it by other means",
    )

    @property
    def shape(self) -> tuple[int, int]:
        return self.second.size, self.first.size

    @property
    def rows(self) -> int:
        return self.first.size * self.second.size

    @property
    def unit(self) -> Fraction:
        return Fraction(1, PARTS)

    @property
    def noises(self) -> tuple[tuple[Fraction, tuple[int, int]], ...]:
        """The noises there are: their scale in multiples of the common one, and how many."""
        across, along = self.first.noises(self.shape[0] - 1), self.second.noises(self.shape[1] - 1)
        return (*zip(self.first.scales, across, strict=True), *zip(self.second.scales, along, strict=True))

    def dominating(self, measurement: Measurement, steps: Steps) -> list[Measurement]:
        """One running count for every border and kind of noise, by what a step adds to it, and the exact total.

        Why   a step is in bins that add up to `width` units, of which the squares add up to `width`^2 at most.
              Neighbours under known counts differ in several records, whose running counts may cancel where their
              flows do not.
        """
        if isinstance(measurement.query.contribution, Among):
            raise Refused("noise along steps is priced for all records only", fix="ask without `where`")
        if steps.known:
            raise Refused("noise along steps is not priced beside known counts", fix="plan under that policy")
        found = [Measurement(LinearQuery(One()), Fraction(0))]
        for name, line, size in zip(self.names, (self.first, self.second), self.shape, strict=True):
            running = LinearQuery(Prefix(name, size, size - 1))
            for scale, units in zip(line.scales, (1, line.width), strict=False):
                found.append(Measurement(running, measurement.scale * scale / units, measurement.noise))
        return found

    def attained(self, measurement: Measurement, steps: Steps) -> bool:
        """Why  without bins, the straight way is the cheapest under Laplace noise: a potential that falls by 1 / b
        across each border shows it. Gaussian noise would rather take all ways at once, and bins may be cheaper
        together.
        """
        return measurement.noise.currency is Currency.PURE and not self.first.width and not self.second.width

    def measured(self, exact: NDArray[Any], measurement: Measurement, noise: Draw, coins: Callable[[], Coins]) -> Ints:
        noises = [noise(measurement.noise, measurement.scale * scale, size) for scale, size in self.noises]
        return with_noise(exact, self.spread(noises).reshape(exact.shape))

    def document(self) -> dict[str, Any]:
        lines = [
            {"steps": decimal_text(line.steps), "width": line.width, "smooth": decimal_text(line.smooth)}
            for line in (self.first, self.second)
        ]
        return {"kind": "flows", "attributes": list(self.names), "borders": lines}

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> Flows:
        one, two = (domain[name] for name in document["attributes"])
        lines = [
            FlowLine(size, stated_number(line["steps"]), whole(line["width"], 0, size), stated_number(line["smooth"]))
            for line, size in zip(document["borders"], (two.size, one.size), strict=True)
        ]
        return cls((one.name, two.name), lines[0], lines[1])

    def spread(self, noises: Sequence[Ints]) -> Ints:
        """What the cells gain, in parts, from noises of these numbers: exact, and nothing beyond 2^62."""
        first, second = self._by_line(noises)
        short = 4 * max(self.first.longest(first), self.second.longest(second)) < _FITS
        kind = np.int64 if short else object
        moved = self.moved(*([one.astype(kind) for one in line] for line in (first, second)))
        return np.asarray(moved if short else np.clip(moved, -_FITS, _FITS), np.int64).ravel()

    def moved(self, first: Sequence[Any], second: Sequence[Any]) -> Any:
        """The same as a map, before it is cut off."""
        across, along = self.first.flow(first), self.second.flow(second).swapaxes(-1, -2)
        return np.diff(across, axis=-2, prepend=0, append=0) + np.diff(along, axis=-1, prepend=0, append=0)

    def shares(self, weights: Floats) -> tuple[Floats, ...]:
        """How much of each noise is in a weighted sum of cells, for maps of weights: `spread` transposed."""
        maps = weights.reshape(-1, *self.shape)
        across, along = -np.diff(maps, axis=-2), -np.diff(maps, axis=-1).swapaxes(-1, -2)
        return (*self.first.shares(across), *self.second.shares(along))

    def covariance_times(self, weights: Floats, variances: Sequence[float]) -> Floats:
        """Cov(x) f of the cells' noise, for maps f of weights, given the variance of each noise."""
        scaled = [share * variance for share, variance in zip(self.shares(weights), variances, strict=True)]
        return np.asarray(self.moved(*self._by_line(scaled)) / PARTS).reshape(weights.shape)

    def totals(self, codes: Sequence[Ints], sizes: Sequence[int], counts: Ints, place: Ints, groups: int) -> Ints:
        cell = np.ravel_multi_index(tuple(codes), sizes)
        return sum_by(groups * self.rows, place * self.rows + cell, PARTS * counts)

    def _by_line(self, noises: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        count = len(self.first.scales)
        return noises[:count], noises[count:]
