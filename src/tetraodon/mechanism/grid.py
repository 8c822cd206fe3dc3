"""Rectangles of a map from cells and smoothed counts of strips and blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np

from tetraodon.certificate.kernel import certify_measurements
from tetraodon.errors import QueryError, Refused
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.exact.one_thread import searching
from tetraodon.mechanism.hierarchical import KINDS
from tetraodon.mechanism.hierarchical.fit import LinearFit, hats_matrix
from tetraodon.mechanism.one_scale import exact_totals
from tetraodon.mechanism.strategy import AskedPairs, Ends, Measured, Mechanism, Scaled, Strategy
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, NoiseLaw
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.query.contribution import One
from tetraodon.query.linear import ANSWER_LIMIT, LinearQuery, Measurement, Split
from tetraodon.query.query import EveryRange, EveryRectangle, Query
from tetraodon.query.smooth import Hats
from tetraodon.query.soft_bins import Product, hats

# -- least squares ----------------------------------------------------------------------------------
# Least squares over the cells of a map and smoothed counts of larger cells, without a matrix as large as the map.
#
# Measured are the cells themselves, strips that are smoothed along one side, and blocks that are smoothed along both.
# With H the smoothing along a side, what the measurements say about the map is a sum of four products of I and H'H, and
# these have common eigenvectors. So every inverse is known once the eigenvalues of H H' are, for each side by itself.

EVERY_RANGE = 512
"""Sides up to this long are looked at range by range."""


@dataclass(frozen=True)
class Side:
    """One side of the map: how many values it has, and the width of smoothed bins along it; 0 for none."""

    size: int
    width: int = 0

    @cached_property
    def hats(self) -> Floats:
        """The smoothed bins as rows, in records."""
        return np.asarray(hats_matrix(self.size, self.width).toarray()) if self.width else np.zeros((0, self.size))

    @cached_property
    def _parts(self) -> tuple[Floats, Floats]:
        values, vectors = np.linalg.eigh(self.hats @ self.hats.T)
        return values, (self.hats.T @ vectors) / np.sqrt(values)

    @property
    def values(self) -> Floats:
        """The eigenvalues of H'H that are not zero."""
        return self._parts[0]

    @property
    def vectors(self) -> Floats:
        """Their eigenvectors, one column each."""
        return self._parts[1]

    @cached_property
    def asked(self) -> Floats:
        """What all ranges of the side ask of the rest, and of each eigenvector: the sums of squares."""
        pairs = AskedPairs(EveryRange(), self.size)
        each = np.einsum("ij,ji->j", self.vectors, pairs.times(self.vectors.T))
        return np.append(max(float(pairs.diagonal.sum()) - float(each.sum()), 0.0), each)

    @cached_property
    def _before(self) -> Floats:
        return np.concatenate([np.zeros((1, self.vectors.shape[1])), np.cumsum(self.vectors, axis=0)])

    def squares_of(self, low: Ints, high: Ints) -> Floats:
        """What ranges ask of the rest, and of each eigenvector; one row each."""
        each = (self._before[high + 1] - self._before[low]) ** 2
        return np.column_stack([np.maximum(high - low + 1 - each.sum(axis=1), 0.0), each])

    @property
    def squares(self) -> Floats:
        """The same for all ranges; for a long side, for those from the first value on."""
        if self.stretch == 1:
            return self.squares_of(*np.triu_indices(self.size))
        return self.squares_of(np.zeros(self.size, np.int64), np.arange(self.size))

    @property
    def stretch(self) -> int:
        """How much more any range can ask than those in `squares`: it is a difference of two, so four times."""
        return 1 if self.size <= EVERY_RANGE else 4


@dataclass(frozen=True, eq=False)
class GridFit(LinearFit):
    """The linear estimate with the least variance. Precisions are one over variances, in records; 0 is not measured.

    `across` is of strips smoothed along the second side, `along` of those smoothed along the first. Maps are rows.
    """

    first: Side
    second: Side
    cells: float
    across: float = 0.0
    along: float = 0.0
    blocks: float = 0.0
    total: float | None = None

    def __post_init__(self) -> None:
        if not self.cells > 0 or min(self.across, self.along, self.blocks) < 0:
            raise QueryError("a map is measured without its cells", fix="give cells a positive precision")

    @cached_property
    def inverse(self) -> Floats:
        """Variances of the common eigenvectors; row and column 0 stand for what no smoothed count sees."""
        a, b = (np.append(0.0, side.values) for side in (self.first, self.second))
        return 1 / (self.cells + self.across * b + self.along * a[:, None] + self.blocks * np.outer(a, b))

    def counts(self, cells: Floats, across: Floats, along: Floats, blocks: Floats, total: float) -> Floats:
        """The map that fits all measurements best, in records."""
        one, two = self.first.hats, self.second.hats
        pull = self.cells * cells
        if self.across:
            pull = pull + self.across * (across @ two)
        if self.along:
            pull = pull + self.along * (one.T @ along)
        if self.blocks:
            pull = pull + self.blocks * (one.T @ blocks @ two)
        known = None if self.total is None else np.array([total])
        return self.estimates(pull.reshape(1, -1), known).reshape(self.shape)

    def mean_rectangle_variance(self) -> float:
        """Mean variance of the count in a rectangle drawn at random.

        Why   the sum over rectangles is tr(Cov(x) W'W), with W'W a product of that of each side; in the common
              eigenvectors, a sum over pairs of them.
        """
        whole = float(self.first.asked @ self.inverse @ self.second.asked)
        if self.total is not None:
            ones = self.ones.reshape(self.shape)
            along, across = (AskedPairs(EveryRange(), size) for size in self.shape)
            whole -= float((ones * along.times(across.times(ones).T).T).sum()) / float(ones.sum())
        ranges = [side.size * (side.size + 1) / 2 for side in (self.first, self.second)]
        return max(whole, 0.0) / (ranges[0] * ranges[1])

    def rectangle_variances(self, low: Ints, high: Ints) -> Floats:
        """Variances of counts in rectangles: rows of two codes each, both ends included; a known total is not used."""
        one, two = (
            side.squares_of(low[:, place], high[:, place]) for place, side in enumerate((self.first, self.second))
        )
        return np.asarray(np.einsum("ij,ij->i", one @ self.inverse, two))

    def largest_rectangle_variance(self) -> float:
        """A number that the variance of no rectangle exceeds.

        Why   for each eigenvector of the second side, take the worst range of the first; then the worst range of the
              second for what came out. Each step only adds.
        """
        worst = (self.first.squares @ self.inverse).max(axis=0) * self.first.stretch
        return float((self.second.squares @ worst).max()) * self.second.stretch

    @property
    def shape(self) -> tuple[int, int]:
        return self.first.size, self.second.size

    @cached_property
    def ones(self) -> Floats:
        return np.asarray(self.free_times(np.ones((1, self.first.size * self.second.size)))[0])

    def free_times(self, rows: Floats) -> Floats:
        return np.stack([self._spread(row.reshape(self.shape)).ravel() for row in rows])

    def _spread(self, table: Floats) -> Floats:
        """The inverse of what is measured, times a map."""
        one, two, f = self.first.vectors, self.second.vectors, self.inverse
        seen, across = one.T @ table, table @ two
        both = seen @ two
        found = f[0, 0] * table + one @ ((f[1:, :1] - f[0, 0]) * seen) + (across * (f[0, 1:] - f[0, 0])) @ two.T
        return np.asarray(found + one @ ((f[1:, 1:] - f[1:, :1] - f[:1, 1:] + f[0, 0]) * both) @ two.T)


# -- search -----------------------------------------------------------------------------------------
# Which strips and blocks of cells to smooth, and how to share the budget between them.
#
# What smoothed counts are for ranges ([HMD14] section 7.2, with soft borders), in two dimensions: a step of theta
# moves blocks of width w by little where theta is less than w, and long rectangles then need few noisy numbers.
# Widths and shares of the budget are searched for before any data is seen, by the exact error of least squares; the
# kernel sets the scale.

SHORT = 6
"""Sides with fewer values are not smoothed."""
MOST_BINS = 256
LONGEST_SIDE = 2**16
"""Sides with more values are not smoothed: the fit writes out `MOST_BINS` numbers for each value."""
WORTH = 0.98
"""A grid that leaves more than this share of the error of single cells is not proposed."""
LEAST_SHARE = 0.01
Grid: TypeAlias = tuple[tuple[LinearQuery, ...], tuple[Fraction, ...]]


@lru_cache(maxsize=64)
def best_grid(table: tuple[Split, Split], graph: SecretGraph, noise: NoiseLaw = LAPLACE) -> Grid | None:
    """What to measure besides single cells, and the noise of each in multiples of theirs."""
    names = (table[0].name, table[1].name)
    sizes = [graph.domain[name].size for name in names]
    if math.prod(sizes) > ANSWER_LIMIT or max(sizes) > LONGEST_SIDE:
        return None
    cell = _cost(graph, LinearQuery(One(), table), noise)
    if not cell:
        return None  # single cells may be told exactly
    tried: list[tuple[float, Grid]] = []
    for widths in dict.fromkeys(_widths(sizes)):
        queries = _queries(names, sizes, widths)
        try:
            costs = np.array([_cost(graph, one, noise) for one in queries])
        except Refused:
            continue
        if len(queries) > 1 and (costs > 0).all():
            for error, shares in _best_shares(sizes, widths, costs, noise):
                precise = shares ** (1 / KINDS[noise].power) / costs
                grid = _rounded(queries, precise)
                tried.append((error * (_lost(graph, grid, noise) * float(precise[0])) ** 2, grid))
    [(alone, _)] = _best_shares(sizes, (0, 0), np.array([cell]), noise)
    error, best = min(tried, key=lambda one: one[0], default=(alone, ((), ())))
    return best if len(best[0]) > 1 and error < WORTH * alone else None


def _rounded(queries: Sequence[LinearQuery], precise: Floats) -> Grid:
    """Queries with rational noise, in multiples of that of the first; those with hardly any budget are left out."""
    least = LEAST_SHARE * max(precise)
    kept = [(one, p) for one, p in zip(queries, precise, strict=True) if p > least or one is queries[0]]
    weights = tuple(Fraction(f"{precise[0] / p:.4g}") / one.contribution.unit for one, p in kept)
    return tuple(one for one, _ in kept), weights


def _cost(graph: SecretGraph, query: LinearQuery, noise: NoiseLaw) -> float:
    """What a query loses with noise of one record on each answer; of squares, the root of twice that."""
    return _lost(graph, ((query,), (1 / query.contribution.unit,)), noise)


def _lost(graph: SecretGraph, grid: Grid, noise: NoiseLaw) -> float:
    """The same for a grid with noise of one on each cell. It is less than its parts where no step moves all of them."""
    measured = [Measurement(one, weight, noise) for one, weight in zip(*grid, strict=True)]
    found = certify_measurements(graph, measured)
    return float(found.epsilon) if found.rho is None else math.sqrt(2 * found.rho)


def _widths(sizes: list[int]) -> Iterator[tuple[int, int]]:
    """Widths worth trying: about the square root of each side, and a few times less and more; 0 is no smoothing."""
    for factor in (0.35, 0.5, 0.7, 1.0, 1.4, 2.0):
        wide = [round(factor * math.sqrt(size)) for size in sizes]
        wide = [max(w, -(-size // MOST_BINS)) for w, size in zip(wide, sizes, strict=True)]
        yield tuple(w if size >= SHORT and 2 <= w < size else 0 for w, size in zip(wide, sizes, strict=True))  # type: ignore[misc]


def _queries(names: tuple[str, str], sizes: list[int], widths: tuple[int, int]) -> list[LinearQuery]:
    """Cells, strips and blocks: in the order in which `GridFit` has them, without those that a width of 0 rules out."""
    splits = [Split(name) for name in names]
    found = [LinearQuery(One(), tuple(splits))]
    if widths[1]:
        found.append(LinearQuery(Hats(names[1], sizes[1], widths[1]), (splits[0],)))
    if widths[0]:
        found.append(LinearQuery(Hats(names[0], sizes[0], widths[0]), (splits[1],)))
    if all(widths):
        parts = [hats(name, size, width) for name, size, width in zip(names, sizes, widths, strict=True)]
        found.append(LinearQuery(Product(tuple(parts))))
    return found


@searching
def _best_shares(
    sizes: list[int], widths: tuple[int, int], costs: Floats, noise: NoiseLaw
) -> list[tuple[float, Floats]]:
    """Least errors at a budget of one, and the shares of the budget that reach them: with strips, and hardly any.

    Why   with precisions p_k = (share_k / cost_k)^2 / 2, or share_k / cost_k^2 under Gaussian noise, the error is a sum
          over pairs of eigenvectors of asked / (sum of p_k times products of eigenvalues), smooth in the shares.
    """
    from scipy.optimize import minimize

    one, two = (Side(size, width) for size, width in zip(sizes, widths, strict=True))
    a, b = (np.append(0.0, side.values) for side in (one, two))
    seen = [np.ones((len(a), len(b)))]
    if widths[1]:
        seen.append(np.broadcast_to(b, seen[0].shape))
    if widths[0]:
        seen.append(np.broadcast_to(a[:, None], seen[0].shape))
    if all(widths):
        seen.append(np.outer(a, b))
    asked = np.outer(one.asked, two.asked)
    asked = asked / (math.prod(size * (size + 1) / 2 for size in sizes))
    stacked, kind = np.stack(seen), KINDS[noise]

    def error(logs: Floats) -> tuple[float, Floats]:
        raw = np.exp(np.append(0.0, logs))
        shares = raw / raw.sum()
        precise = shares ** (2 / kind.power) / costs**2 / kind.variance
        whole = np.tensordot(precise, stacked, axes=1)
        value = float((asked / whole).sum())
        in_precise = -np.tensordot(stacked, asked / whole**2, axes=2)
        in_logs = in_precise * (2 / kind.power) * precise
        slope = in_logs - shares * in_logs.sum()
        return math.log(value), slope[1:] / value

    if len(costs) == 1:
        return [(math.exp(error(np.zeros(0))[0]), np.ones(1))]
    rest = len(costs) - 1
    starts = [np.zeros(rest), *([np.array([-5.0] * (rest - 1) + [-1.0])] if rest > 1 else [])]
    found = [minimize(error, x, jac=True, method="L-BFGS-B", bounds=[(-8.0, 6.0)] * rest) for x in starts]
    raws = [np.exp(np.append(0.0, one.x)) for one in found]
    return [(math.exp(float(one.fun)), raw / raw.sum()) for one, raw in zip(found, raws, strict=True)]


# -- grid -------------------------------------------------------------------------------------------

TOGETHER = 1 << 16
PARTS = ("cells", "across", "along", "blocks")


@dataclass(frozen=True)
class SmoothedGrid(Mechanism):
    """Noise on the cells of a map and on smoothed counts of larger cells."""

    name = "grid"
    answers = (EveryRectangle,)
    words = "noise on cells and smoothed blocks"

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        """The best grid of those tried for each law of noise, if it beats single cells."""
        x, y = table = query.table(policy.domain)
        _, exact, _ = exact_totals((), table, policy)  # the fit uses the number of records alone
        for noise in (LAPLACE, GAUSSIAN) if policy.delta else (LAPLACE,):
            found = best_grid((x, y), policy.graph, noise)
            if found is not None:
                yield Strategy(self, found[0], exact, table, found[1], made_for=noise)

    def expected_error(self, query: Query, at: Scaled) -> float:
        return math.sqrt(grid_fit(at).mean_rectangle_variance())

    def largest_error(self, query: Query, at: Scaled, confidence: Fraction) -> float:
        """A distance that every rectangle keeps from the truth."""
        return float(_far(at, np.array([grid_fit(at).largest_rectangle_variance()]), confidence)[0])

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        """The map that fits cells, strips and blocks together best."""
        fit, strategy = grid_fit(at), at.strategy
        parts: dict[str, Floats] = dict.fromkeys(PARTS, np.zeros((0, 0)))
        for query, array in zip(strategy.noisy, measured, strict=False):
            role = role_of(query, strategy)
            found = array.astype(np.float64) * float(query.contribution.unit)
            if role == "blocks":
                parts[role] = found.reshape(len(fit.first.hats), len(fit.second.hats))
            elif role == "cells":
                parts[role] = found[..., 0]
            else:  # strips are measured by the side that is not smoothed
                parts[role] = found if role == "across" else found.T
        total = 0.0
        for query, array in zip(strategy.exact, measured[len(strategy.noisy) :], strict=True):
            total = float(array.sum()) if not query.by else total
        return fit.counts(**parts, total=total)

    def covariance_times(self, at: Scaled, weights: Floats) -> Floats:
        return grid_fit(at).covariance_times(weights.reshape(-1, math.prod(at.shape))).reshape(weights.shape)

    def parts(self, at: Scaled, weights: Floats) -> tuple[Floats, ...]:
        """Why  the best estimate of f x gives measurement a, of variance v, the weight a Cov(x) f / v."""
        fit, strategy = grid_fit(at), at.strategy
        moved = self.covariance_times(at, weights).reshape(-1, *at.shape)
        one, two = fit.first.hats, fit.second.hats
        seen = {"cells": lambda: moved, "across": lambda: moved @ two.T, "along": lambda: one @ moved}
        seen["blocks"] = lambda: one @ moved @ two.T
        found = []
        for query, scale in zip(strategy.noisy, strategy.scales(at.scale), strict=True):
            share = 1 / (strategy.noise.variance(scale) * float(query.contribution.unit))
            found.append(seen[role_of(query, strategy)]().reshape(len(weights), -1) * share)
        return tuple(found)

    def box_reach(self, at: Scaled, low: Ends, high: Ends, confidence: Fraction) -> Floats:
        """Quick, and not the shortest; every block of ranges of one side and of the other is quicker still."""
        fit = grid_fit(at)
        ends = [np.broadcast_arrays(a, b) for a, b in zip(low, high, strict=True)]
        if ends[0][0].ndim == 2 and ends[0][0].shape[1] == ends[1][0].shape[0] == 1:
            one, two = (
                s.squares_of(a.ravel(), b.ravel()) for s, (a, b) in zip((fit.first, fit.second), ends, strict=True)
            )
            return _far(at, one @ fit.inverse @ two.T, confidence)
        lows, highs = (np.stack(np.broadcast_arrays(*side), axis=-1) for side in zip(*ends, strict=True))
        shape, lows, highs = lows.shape[:-1], lows.reshape(-1, 2), highs.reshape(-1, 2)
        variance = np.empty(len(lows))
        for start in range(0, len(lows), TOGETHER):
            part = slice(start, start + TOGETHER)
            variance[part] = fit.rectangle_variances(lows[part], highs[part])
        return _far(at, variance, confidence).reshape(shape)


GRID = SmoothedGrid()


def _far(at: Scaled, variance: Floats, confidence: Fraction) -> Floats:
    """The reach of a sum with given variance, whatever its parts: the bound grows with the square root alone."""
    unit = at.strategy.noise.reach(np.array([1.0]), np.array([np.sqrt(0.5)]), confidence)[0]
    return np.asarray(np.sqrt(variance * at.above_discrete) * unit)


@lru_cache(maxsize=8)
def grid_fit(at: Scaled) -> GridFit:
    """Least squares for a strategy's measurements."""
    strategy, names = at.strategy, [split.name for split in at.strategy.table]
    width, precise = dict.fromkeys(names, 0), dict.fromkeys(PARTS, 0.0)
    for query, scale in zip(strategy.noisy, strategy.scales(at.scale), strict=True):
        unit = float(query.contribution.unit)
        precise[role_of(query, strategy)] = 1 / (strategy.noise.variance(scale) * unit**2)
        if isinstance(query.contribution, Hats):
            width[query.contribution.name] = query.contribution.width
        elif isinstance(query.contribution, Product):
            width |= {part.name: part.units for part in query.contribution.parts}
    first, second = (Side(at.domain[name].size, width[name]) for name in names)
    return GridFit(first, second, **precise, total=0.0 if LinearQuery(One()) in strategy.exact else None)


def role_of(query: LinearQuery, strategy: Strategy) -> str:
    """Which of the four things a `GridFit` puts together a query measures."""
    match query.contribution:
        case One():
            return "cells"
        case Hats() as kind:
            return "along" if kind.name == strategy.table[0].name else "across"
        case Product():
            return "blocks"
        case _:
            raise Refused("a map is not measured like this", fix="ask for a new copy")
