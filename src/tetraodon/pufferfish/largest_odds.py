"""The largest odds ratio over pairs and outputs, exactly, for one attacker or for sets of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.exact.exponent import display
from tetraodon.pufferfish.pairs import Masks
from tetraodon.pufferfish.scenarios import Prior
from tetraodon.pufferfish.world import World, classes_of

# -- likelihood -------------------------------------------------------------------------------------
# Exact likelihoods of outputs, dataset by dataset and secret by secret, fast where numbers are small.
#
# Floats only choose what is looked at; whatever they cannot rule out is compared in whole numbers.

SMALL_BITS = 2048
SLACK = 1e-9
"""Far above the relative error of any float below, (n + 8) * 2**-52 for n datasets; a million of them at most."""
TINY = 1e-140
"""Products of two numbers above this are floats with all their digits."""


@dataclass(frozen=True)
class Likelihoods:
    """Likelihoods of some outputs on every dataset; columns need not sum to anything.

    `places` says which of the `values` each dataset and output has; added noise has few values on many datasets.
    `error` bounds the relative error of the values: 0 for a rational channel.
    """

    world: World
    outputs: tuple[Any, ...]
    values: Sequence[Fraction]
    places: Ints
    error: Fraction = Fraction(0)

    @classmethod
    def of(cls, world: World, outputs: tuple[Any, ...], rows: Sequence[Sequence[Fraction]]) -> Likelihoods:
        """A table written out, with a row for each dataset."""
        values = [number for row in rows for number in row]
        return cls(world, outputs, values, np.arange(len(values)).reshape(world.size, len(outputs)))

    def row(self, dataset: int) -> list[Fraction]:
        """The likelihoods of all outputs on one dataset."""
        return [self.values[place] for place in self.places[dataset].tolist()]

    def entry(self, dataset: int, output: int) -> Fraction:
        place: int = self.places[dataset, output]
        return self.values[place]

    @cached_property
    def distinct(self) -> tuple[list[Fraction], Ints]:
        """The different entries from smallest to largest, and the rank of each entry among them."""
        near = sorted(set(self.values), key=float)  # floats first: much faster
        found = [number for _, tied in itertools.groupby(near, key=float) for number in sorted(tied)]
        rank = {number: n for n, number in enumerate(found)}
        return found, np.array([rank[number] for number in self.values], np.int64)[self.places]

    @cached_property
    def has_tiny(self) -> bool:
        """Whether some entry is too small for floats to say anything about it."""
        return any(0 < number < TINY for number in self.distinct[0])

    @cached_property
    def distinct_floats(self) -> Floats:
        return np.array([float(number) for number in self.distinct[0]])

    @cached_property
    def floats(self) -> Floats:
        found: Floats = np.array([float(number) for number in self.values])[self.places]
        return found

    @cached_property
    def denominator(self) -> int:
        return math.lcm(*{number.denominator for number in self.values})

    @cached_property
    def numerators(self) -> NDArray[Any]:
        common = self.denominator
        whole: NDArray[Any] = np.array([n.numerator * (common // n.denominator) for n in self.values], dtype=object)
        return whole[self.places]

    def restricted(self, world: World) -> Likelihoods:
        """The same likelihoods on part of the world."""
        if world == self.world:
            return self
        keep = [self.world.index[dataset] for dataset in world.datasets]
        return replace(self, world=world, places=self.places[keep])


class SecretSums:
    """P(output and secret) for every secret and output under one prior: floats to look at, whole numbers to judge.

    Post  `exact(secret, output)` is the probability; `floats` is within SLACK / 4 of it, relatively.
    """

    def __init__(self, table: Likelihoods, masks: Bools, weights: Sequence[Fraction]) -> None:
        self._table, self._masks, self._weights = table, masks, weights
        self._known: dict[tuple[int, int], Fraction] = {}
        factors, common = whole_weights(weights)
        self._masses = whole_sums(masks, factors[:, None])[:, 0].tolist()
        self.mass = [Fraction(number, common) for number in self._masses]
        self._whole: NDArray[Any] | None = None
        if _small(table) and common.bit_length() <= SMALL_BITS:
            self._unit = common * table.denominator
            self._whole = whole_sums(masks, factors[:, None] * table.numerators)
            self.floats = (self._whole / self._unit).astype(np.float64)
        else:
            spread = np.array([float(weight) for weight in weights])
            self.floats = masks.astype(np.float64) @ (spread[:, None] * table.floats)

    @cached_property
    def trustworthy(self) -> bool:
        """Whether no float is so small that its relative error is lost."""
        if self._whole is not None:
            return not bool(((self._whole > 0) & (self.floats <= TINY)).any())
        if any(weight and float(weight) <= TINY for weight in self._weights):
            return False
        return not any(self._table.entry(n, w) for n, w in np.argwhere(self._table.floats <= TINY).tolist())

    def compared(self, one: int, other: int, output: int) -> tuple[Fraction | int, Fraction | int]:
        """Two numbers in the exact proportion of P(output | one) to P(output | other)."""
        if self._whole is not None:
            high, low = self._whole[one, output] * self._masses[other], self._whole[other, output] * self._masses[one]
            return high, low
        return self.exact(one, output) * self.mass[other], self.exact(other, output) * self.mass[one]

    def exact(self, secret: int, output: int) -> Fraction:
        if self._whole is not None:
            return Fraction(self._whole[secret, output], self._unit)
        key = (secret, output)
        if key not in self._known:
            datasets = np.flatnonzero(self._masks[secret]).tolist()
            self._known[key] = total([self._weights[n] * self._table.entry(n, output) for n in datasets])
        return self._known[key]


def _small(table: Likelihoods) -> bool:
    """Whether a common denominator of all entries stays handy."""
    common = 1
    for denominator in {number.denominator for number in table.values}:
        common = math.lcm(common, denominator)
        if common.bit_length() > SMALL_BITS:
            return False
    return True


def whole_weights(weights: Sequence[Fraction]) -> tuple[NDArray[Any], int]:
    """Fractions as whole numbers over a common denominator: they add up many times faster."""
    common = math.lcm(*{weight.denominator for weight in weights})
    return np.array([weight.numerator * (common // weight.denominator) for weight in weights], object), common


def whole_sums(masks: Bools, numbers: NDArray[Any]) -> NDArray[Any]:
    """masks @ numbers for whole numbers of any size, through exact float products of their limbs.

    Why   a sum of n limbs of 52 - log2(n) bits stays below 2**52, where floats count exactly.
    """
    datasets, outputs = numbers.shape
    result: NDArray[Any] = np.zeros((masks.shape[0], outputs), dtype=object)
    bits = max((int(number).bit_length() for number in numbers.ravel()), default=0)
    width = 52 - max(1, datasets.bit_length())
    chosen = masks.astype(np.float64)
    for shift in range(0, bits, width):
        limb = ((numbers >> shift) & ((1 << width) - 1)).astype(np.float64)
        result += (chosen @ limb).astype(np.int64).astype(object) << shift
    return result


def total(terms: Sequence[Fraction]) -> Fraction:
    """A sum of many fractions by halves, so that only the last steps are long."""
    if len(terms) <= 2:
        return sum(terms, Fraction(0))
    middle = len(terms) // 2
    return total(terms[:middle]) + total(terms[middle:])


# -- largest odds -----------------------------------------------------------------------------------

CHUNK = 4_000_000


@dataclass(frozen=True)
class OddsPeak:
    """An odds ratio of a pair's first secret to its second, where it is found, and who finds it there.

    `first` and `second` are the likelihoods of the output given each secret.
    """

    odds: Fraction | float
    pair: int
    output: int
    prior: Prior
    first: Fraction
    second: Fraction


@dataclass(frozen=True)
class Peaks:
    """The largest odds ratios first to second (`forward`) and second to first (`backward`)."""

    forward: OddsPeak | None
    backward: OddsPeak | None
    skipped: tuple[int, ...] = ()

    def joined(self, other: Peaks) -> Peaks:
        """The larger of both; a pair is skipped only if both skip it."""
        skipped = tuple(sorted(set(self.skipped) & set(other.skipped)))
        return Peaks(_larger(self.forward, other.forward), _larger(self.backward, other.backward), skipped)


def _larger(one: OddsPeak | None, other: OddsPeak | None) -> OddsPeak | None:
    if one is None or other is None:
        return one or other
    return other if other.odds > one.odds else one


def ratio(first: Fraction, second: Fraction) -> Fraction | float:
    """first / second, infinite over zero."""
    return first / second if second else math.inf


def for_prior(table: Likelihoods, masks: Masks, prior: Prior) -> Peaks:
    """The exact extremes of [KM12] Eq. 1-2 for one attacker; pairs with an impossible secret are skipped."""
    sums = SecretSums(table, masks.masks, prior.on(table.world))
    possible = np.array([mass > 0 for mass in sums.mass], np.bool_)
    alive = possible[masks.first] & possible[masks.second]
    skipped = tuple(np.flatnonzero(~alive).tolist())
    kept = np.flatnonzero(alive)
    if not kept.size:
        return Peaks(None, None, skipped)
    mass = np.array([float(m) if m else 1.0 for m in sums.mass])
    given = sums.floats / mass[:, None]

    def peak(one: Ints, other: Ints, forward: bool) -> OddsPeak:
        best: tuple[Fraction | int, Fraction | int, int, int] = (0, 1, -1, -1)
        left, right = one.tolist(), other.tolist()
        for pair, output in _candidates(given, one, other, kept, sums.trustworthy):
            top, bottom = sums.compared(left[pair], right[pair], output)
            if top * best[1] > best[0] * bottom:
                best = (top, bottom, pair, output)
                if not bottom:
                    break  # nothing exceeds infinity
        _, _, pair, output = best
        assert pair >= 0, "some output has a positive probability"
        a, b = left[pair], right[pair]
        high, low = sums.exact(a, output) / sums.mass[a], sums.exact(b, output) / sums.mass[b]
        first, second = (high, low) if forward else (low, high)
        return OddsPeak(ratio(high, low), pair, output, prior, first, second)

    return Peaks(peak(masks.first, masks.second, True), peak(masks.second, masks.first, False), skipped)


def for_priors(table: Likelihoods, masks: Masks, priors: Sequence[Prior]) -> Peaks:
    """The exact extremes over a list of attackers."""
    peaks = for_prior(table, masks, priors[0])
    for prior in priors[1:]:
        peaks = peaks.joined(for_prior(table, masks, prior))
    return peaks


def near(sums: SecretSums, masks: Masks, forward: bool, bound: Fraction) -> Iterator[tuple[int, int, Fraction | float]]:
    """Every pair and output whose odds ratio in one direction reaches `bound` under a prior, with that ratio."""
    one, other = (masks.first, masks.second) if forward else (masks.second, masks.first)
    mass = np.array([float(m) if m else 1.0 for m in sums.mass])
    given = sums.floats / mass[:, None]
    for pair in range(len(masks.pairs)):
        a, b = int(one[pair]), int(other[pair])
        if not sums.mass[a] or not sums.mass[b]:
            continue
        close = _ratios(given[a], given[b]) >= float(bound) * (1 - SLACK)
        for output in np.flatnonzero(close | (not sums.trustworthy)).tolist():
            high, low = sums.exact(a, output) / sums.mass[a], sums.exact(b, output) / sums.mass[b]
            if high and ratio(high, low) >= bound:
                yield pair, output, ratio(high, low)


def _candidates(
    given: Floats,
    one: Ints,
    other: Ints,
    kept: Ints,
    trustworthy: bool,
) -> Iterator[tuple[int, int]]:
    """Pairs and outputs that may attain the maximum: everything when the floats cannot be trusted."""
    outputs = given.shape[1]
    step = max(1, CHUNK // max(1, outputs))
    pieces = [kept[start : start + step] for start in range(0, len(kept), step)]
    if not trustworthy:
        yield from ((int(pair), output) for pair in kept for output in range(outputs))
        return
    best = 0.0
    for piece in pieces:
        best = max(best, float(_ratios(given[one[piece]], given[other[piece]]).max()))
    for piece in pieces:
        found = _ratios(given[one[piece]], given[other[piece]])
        rows, columns = np.nonzero(found >= best * (1 - SLACK) if math.isfinite(best) else np.isinf(found))
        yield from zip(piece[rows].tolist(), columns.tolist(), strict=True)


def _ratios(high: Floats, low: Floats) -> Floats:
    result = np.zeros_like(high)
    with np.errstate(over="ignore"):  # odds beyond every float are looked at exactly
        np.divide(high, low, out=result, where=low > 0)
    result[(low == 0) & (high > 0)] = math.inf
    return result


@dataclass(frozen=True)
class _Spot:
    """The best two entries so far: their ranks, the pair, and the class of datasets and output they are in."""

    odds: Fraction | float
    high: int
    low: int
    pair: int
    cell: int
    output: int


def for_blocks(table: Likelihoods, masks: Masks, groups: Sequence[frozenset[int] | None]) -> Peaks:
    """The exact extremes when groups are independent, anything goes inside one, and each pair concerns one group.

    Pre   `groups[p]` is the group of pair p; None means everybody, and then the world need not be a product.
    Post  equals the supremum of the odds ratio over all such priors, and a prior attains it.
    Why   fix a pair and let r be the records outside its group, independent of those inside. Then
          P(w | s1) = sum over r of P(r) E[K(w | x, r) | s1], and likewise for s2 with the same P(r). A ratio of two
          sums with the same weights is at most the largest ratio of their terms, and a ratio of two averages, over x in
          s1 and over y in s2, is at most max K(w | x, r) / min K(w | y, r). The prior that knows r and takes x or y
          with probability one half each is in the set and attains it ([KM12] Thms 3.1 and 6.1).
    """
    ranks = table.distinct[1]
    labels: dict[frozenset[int] | None, Ints] = {}
    spots: list[_Spot | None] = [None, None]
    skipped = []
    for number, group in enumerate(groups):
        if group not in labels:
            labels[group] = classes_of(table.world, group)
        sides = (masks.masks[masks.first[number]], masks.masks[masks.second[number]])
        cells = np.intersect1d(labels[group][sides[0]], labels[group][sides[1]])
        if not cells.size:
            skipped.append(number)
            continue
        for turn in (0, 1):
            high = _by_class(ranks, labels[group], sides[turn], cells, np.maximum)
            low = _by_class(ranks, labels[group], sides[1 - turn], cells, np.minimum)
            spots[turn] = _best(table, high, low, cells, number, spots[turn])
    peaks = [_peak(table, masks, labels, groups, spot, turn) for turn, spot in enumerate(spots)]
    return Peaks(peaks[0], peaks[1], tuple(skipped))


def _by_class(
    ranks: Ints,
    labels: Ints,
    side: Bools,
    cells: Ints,
    pick: np.ufunc,
) -> Ints:
    """For each class and output, the largest or smallest entry among the datasets of one side."""
    rows = np.flatnonzero(side & np.isin(labels, cells))
    rows = rows[np.argsort(labels[rows], kind="stable")]
    starts = np.flatnonzero(np.diff(labels[rows], prepend=-1))
    found: Ints = pick.reduceat(ranks[rows], starts, axis=0)
    return found


def _best(
    table: Likelihoods,
    high: Ints,
    low: Ints,
    cells: Ints,
    pair: int,
    best: _Spot | None,
) -> _Spot | None:
    """The larger of the best so far and the best of this pair, compared exactly where floats cannot decide."""
    values = table.distinct[0]
    floats = table.distinct_floats
    ratios = _ratios(floats[high], floats[low])
    peak = float(ratios.max())
    if best is not None and not table.has_tiny and peak < display(best.odds) * (1 - SLACK):
        return best
    if table.has_tiny:
        rows, columns = np.indices(ratios.shape).reshape(2, -1)
    else:
        rows, columns = np.nonzero(ratios >= (peak * (1 - SLACK) if math.isfinite(peak) else math.inf))
    keys = high[rows, columns] * len(values) + low[rows, columns]
    _, first = np.unique(keys, return_index=True)
    for n in first.tolist():
        row, column = int(rows[n]), int(columns[n])
        a, b = int(high[row, column]), int(low[row, column])
        if values[a] and (best is None or ratio(values[a], values[b]) > best.odds):
            best = _Spot(ratio(values[a], values[b]), a, b, pair, int(cells[row]), column)
    return best


def _peak(
    table: Likelihoods,
    masks: Masks,
    labels: dict[frozenset[int] | None, Ints],
    groups: Sequence[frozenset[int] | None],
    spot: _Spot | None,
    turn: int,
) -> OddsPeak | None:
    if spot is None:
        return None
    values, ranks = table.distinct
    inside = labels[groups[spot.pair]] == spot.cell
    sides = [masks.masks[masks.first[spot.pair]], masks.masks[masks.second[spot.pair]]]
    column = ranks[:, spot.output]
    x = int(np.flatnonzero(inside & sides[turn] & (column == spot.high))[0])
    y = int(np.flatnonzero(inside & sides[1 - turn] & (column == spot.low))[0])
    prior = Prior.either(table.world.datasets[x], table.world.datasets[y])
    high, low = values[spot.high], values[spot.low]
    first, second = (high, low) if turn == 0 else (low, high)
    return OddsPeak(spot.odds, spot.pair, spot.output, prior, first, second)
