"""Weighted single values and sums of one attribute, optimised for a workload under its secret graph.

Single values are measured, each with a weight of its own, and besides them a few weighted sums of values, found by
descent: the p-identity strategies of matrix mechanisms, but for a policy. The search only proposes: weights are rounded
to rationals, the kernel certifies them, and the planner takes them where they are better than all else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from tetraodon.certificate.kernel import sensitivity_of
from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.exact.one_thread import searching
from tetraodon.mechanism.hierarchical import Hierarchical, best_shape, fit_of
from tetraodon.mechanism.hierarchical.fit import BandedFit, RunningFit, WeightedFit
from tetraodon.mechanism.strategy import AskedPairs, Measured, Scaled, Strategy
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, NoiseLaw
from tetraodon.policy.attribute_graph import AttributeGraph, Everything, Public, Within
from tetraodon.policy.policy import Policy
from tetraodon.query.contribution import One, WeightedSums
from tetraodon.query.linear import LinearQuery
from tetraodon.query.query import EveryRange, ListedRanges, Query, RunningCounts
from tetraodon.query.smooth import Hats, Ramps, SmoothRunning, SmoothSums

Sought: TypeAlias = RunningCounts | EveryRange | ListedRanges

# -- column search ----------------------------------------------------------------------------------
# Weights of single values, and rows of weighted sums, that make a workload's error small under a secret graph.
#
# With value i measured with weight d_i, and rows B besides, all with noise 1, a step between values i and j loses d_i
# + d_j + |B_i - B_j|_1, and somebody who comes or goes d_i + |B_i|_1. At a given budget the error is proportional to
#
#     (the largest loss)^2  *  tr(W'W (D^2 + B'B)^-1),
#
# less what a total takes away that is known, or measured. Where every column adds up to 1, d_i + |B_i|_1 = 1, the
# loss is at most 2 between any two values, and 1 for presence. So non-negative rows T are descended freely, with B =
# T D and 1 / d_i = 1 + |T_i|_1: these are the p-identity strategies of [MMHM18] section 5. If both are a secret, a
# total of weight 1 is free: no step between values moves it, and presence loses 2 with it. Along other graphs all d_i
# are 1, and the largest loss is smoothed and descended together with the error.
#
# On longer attributes rows are first searched that are alike within blocks of neighbours, and then within blocks of
# half the length. Blocks of w values take the place of one: B'B has w times the products, and G is added up over pairs
# of blocks, so that a round takes as long as if there were as many values as there are blocks.

ROUNDS = 60
TRIED = 100
"""Rounds from each first rows."""
BLOCK_ROUNDS = {128: 300, 256: 150, 512: 100}
"""Rounds from the best of what these lead to, for up to so many blocks; longer attributes have longer blocks."""
SOFT = 1e-3
NOWHERE = 100.0


def best_rows(
    asked: AskedPairs, graph: AttributeGraph, firsts: Sequence[Floats], total: float | None
) -> tuple[Floats, Floats] | None:
    """Weights of single values, and the best rows found by descent from first ones; None where nothing is a secret.

    `total` is the variance of a total that is known or measured besides, and None where there is none.
    """
    if not graph.edge_count:
        return None
    if isinstance(graph, Everything):
        rows = _descend_by_blocks(asked, firsts, total)
        single = 1 / (1 + rows.sum(axis=0))
        return single, rows * single
    error = _Error(asked, total)
    x, y = (np.concatenate(ends) for ends in zip(*graph.edges(), strict=True))
    return np.ones(graph.size), _descend_by_edges(error, firsts[0], x, y, absent=total is None)


class _Error:
    """log tr(G C (I + T'T)^-1 C), less what a total takes away, with its gradients in T and in C = diag(c).

    T and c are given for each of so many `blocks` of neighbouring values, which are alike; by default each is a value.

    Why   with S = C (I + T'T)^-1 C, u = S 1 and w = 1'u + v, a total of variance v takes u'G u / w. Both together
          change by tr(K dS), where K = G - (G u 1' + 1 u'G) / w + (u'G u / w^2) 1 1'.
    """

    def __init__(self, asked: AskedPairs, total: float | None, blocks: int = 0) -> None:
        self.total, many = total, blocks or asked.size
        self.sizes = np.bincount(_block_of(asked.size, many)).astype(np.float64)
        self.pairs = asked if many == asked.size else None
        self.diagonal = _by_blocks(asked.diagonal, many)
        self.whole = float(self.diagonal.sum())
        if self.pairs is None:
            members = _block_of(asked.size, many) == np.arange(many)[:, None]
            self.between = _by_blocks(asked.times(members.astype(np.float64)), many)

    def _asked(self, rows: Floats) -> Floats:
        """Every row times G, added up over blocks."""
        return (rows @ self.between if self.pairs is None else self.pairs.times(rows)) / self.whole

    def __call__(self, rows: Floats, c: Floats) -> tuple[float, Floats, Floats]:
        diagonal, sizes = self.diagonal / self.whole, self.sizes
        inner = np.linalg.inv(np.eye(len(rows)) + (rows * sizes) @ rows.T)
        pulled, wide = inner @ rows, rows * c
        seen = self._asked(wide)
        value = float(c**2 @ diagonal) - float(np.einsum("ij,ij->", pulled, seen * c))
        if self.total is not None:
            along = c * (c - pulled.T @ (rows @ (c * sizes)))
            total, right = float(along @ sizes) + self.total, self._asked(along[None, :])[0]
            taken, sums = float(along @ right), wide @ sizes
            value -= taken / total
            seen = seen - np.outer(sums, right) / total + np.outer(taken / total * sums - wide @ right, sizes) / total
            diagonal = diagonal - 2 * right / total + taken / total**2 * sizes
        if value <= 0:  # beyond what floats can tell: no place for a search to go
            return NOWHERE, np.zeros_like(rows), np.zeros_like(c)
        back = inner @ (seen * c)
        in_rows = -2 * (back - (back @ rows.T) @ pulled * sizes)
        in_c = 2 * (c * diagonal - np.einsum("ij,ij->j", pulled, seen))
        return float(np.log(value)), in_rows / value, in_c / value


def _block_of(size: int, blocks: int) -> Ints:
    """For every value the block it is in: neighbours, about as many in each; twice as many blocks halve each."""
    return np.arange(size) * blocks // size


def _by_blocks(rows: Floats, blocks: int) -> Floats:
    """Sums over the blocks of neighbours."""
    place = _block_of(rows.shape[-1], blocks)
    return np.asarray(np.add.reduceat(rows, np.searchsorted(place, np.arange(blocks)), axis=-1))


def _descend_by_blocks(asked: AskedPairs, firsts: Sequence[Floats], total: float | None) -> Floats:
    """The best non-negative rows found, as `_descend_by_columns` has them: alike in few blocks first, then in more."""
    size, stages = asked.size, [asked.size]
    while stages[0] > min(BLOCK_ROUNDS):
        stages.insert(0, stages[0] // 2)
    stages = [stages[0] * 2**place for place in range(len(stages)) if stages[0] * 2**place <= max(BLOCK_ROUNDS)]
    error, counts = _Error(asked, total, stages[0]), np.bincount(_block_of(size, stages[0]))
    starts = [np.maximum(_by_blocks(first, stages[0]) / counts, 0.0) for first in firsts]
    tried = [_descend_by_columns(error, start, TRIED) for start in starts]
    rows = min(tried, key=lambda one: one[0])[1]
    for blocks in stages:
        rounds = next(rounds for most, rounds in BLOCK_ROUNDS.items() if blocks <= most)
        error = _Error(asked, total, blocks) if blocks > stages[0] else error
        rows = _descend_by_columns(error, np.repeat(rows, blocks // rows.shape[1], axis=1), rounds)[1]
    return rows[:, _block_of(size, stages[-1])]


@searching
def _descend_by_columns(error: _Error, first: Floats, rounds: int) -> tuple[float, Floats]:
    """What non-negative rows err, and these, in multiples of the weight of the value itself; with it every column adds
    up to one.
    """
    from scipy.optimize import minimize

    def objective(parameters: Floats) -> tuple[float, Floats]:
        rows = parameters.reshape(first.shape)
        value, in_rows, in_c = error(rows, 1 + rows.sum(axis=0))
        return value, (in_rows + in_c).ravel()

    options = {"maxiter": rounds}
    found = minimize(
        objective, first.ravel(), jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * first.size, options=options
    )
    return float(found.fun), found.x.reshape(first.shape)


@searching
def _descend_by_edges(error: _Error, first: Floats, x: Ints, y: Ints, *, absent: bool) -> Floats:
    """Any rows beside single values of weight one; the largest loss over edges is softened, more and more sharply.

    With `absent`, every value is joined to a last one, which is that of nobody: its column is 0.
    """
    from scipy.optimize import minimize

    shape, rows, ones = first.shape, first, np.ones(first.shape[1])
    base = np.full(len(x), 2.0)
    if absent:
        nobody, every = np.full(shape[1], shape[1]), np.arange(shape[1])
        x, y, base = np.append(x, every), np.append(y, nobody), np.append(base, np.ones(shape[1]))
    for power in (100.0, 1000.0):

        def objective(parameters: Floats, power: float = power) -> tuple[float, Floats]:
            now = parameters.reshape(shape)
            with_nobody = np.pad(now, ((0, 0), (0, 1)))
            apart = with_nobody[:, x] - with_nobody[:, y]
            length = np.sqrt(apart**2 + SOFT**2)
            moved = base + length.sum(axis=0)
            top = float(moved.max())
            weight = (moved / top) ** power
            loss = np.log(top) + np.log(float(weight.mean())) / power
            value, slope, _ = error(now, ones)
            pull = (apart / length) * (2 * weight / (weight.sum() * moved))
            for ends, sign in ((x, 1.0), (y, -1.0)):
                for row in range(shape[0]):
                    slope[row] += sign * np.bincount(ends, weights=pull[row], minlength=shape[1] + 1)[:-1]
            return value + 2 * float(loss), slope.ravel()

        options = {"maxiter": ROUNDS // 2}
        found = minimize(objective, rows.ravel(), jac=True, method="L-BFGS-B", options=options)
        rows = np.asarray(found.x.reshape(shape))
    return rows


def bumps(cells: int, widths: Sequence[float], height: float, *, sharp: bool = False) -> Floats:
    """Broad rows to begin with, each about a stretch of cells, a little about all others, and a little uneven; they
    overlap, unless they are `sharp`.

    Why   where a weight is 0 the descent may stay, and where rows are alike it cannot tell them apart.
    """
    rows = []
    for width in widths:
        count = max(2, round(cells / width))
        place = np.arange(cells) * (count - 1) / max(cells - 1, 1)
        rows.append(np.maximum(0.0, 1 - np.abs(place - np.arange(count)[:, None])))
    near = np.concatenate(rows)
    near = (near >= 0.5).astype(np.float64) if sharp else near
    uneven = 1 + 0.1 * np.cos(np.outer(np.arange(1, len(near) + 1), np.arange(cells)))
    return np.asarray((height * near + 0.02) * uneven)


# -- running search ---------------------------------------------------------------------------------
# What to measure with Gaussian noise where steps are short: running counts, each with some of those around it.
#
# Far from the ends of a long attribute all places are alike. So what is measured of the running counts is a kernel, the
# same everywhere, and the convex problem of `dual_search` falls apart into waves. A step over k values moves a wave of
# frequency v by F_k = (sin(k v / 2) / sin(v / 2))^2, a strategy with spectrum X loses the mean of F_k X and errs by the
# mean of 1 / X in every running count. For weights of the steps that add up to 1, and m the sum of weight times F_k, no
# spectrum that loses 1 errs less than (mean of m^1/2)^2, and X = m^-1/2 is best for them. Weights rise where it loses
# more than average.
#
# Near the ends a step has fewer running counts to move, so that what is lost there is no more, nor is the error.

RUNNING_ROUNDS, RUNNING_NEAR = 400, 1.0003
"""Rounds of the search, and how near to the bound it may stop."""
WAVES = 32
"""Frequencies that are looked at, for each value that a step may pass and 64 times more."""
REACH, MORE = 4, 32
"""How many steps, and values more, a kernel reaches to each side: what is beyond is below 1 / PARTS."""
RUNNING_PARTS = 5000
"""Weights are rounded to multiples of 1 / PARTS of the largest."""


def running_sums(name: str, size: int, reach: int) -> SmoothRunning:
    """Running counts that were added up by the kernel for steps over at most `reach` values."""
    kernel = np.rint(RUNNING_PARTS * _running_kernel(reach)).astype(np.int64)
    inside = np.flatnonzero(kernel)
    return SmoothRunning(name, size, kernel[inside[0] : inside[-1] + 1], Fraction(1, RUNNING_PARTS))


@lru_cache(maxsize=64)
def _running_kernel(reach: int) -> Floats:
    """A kernel, largest in the middle, whose products with itself have the best spectrum."""
    _, _, spectrum = best_spectrum(reach)
    whole = np.fft.irfft(np.sqrt(spectrum))
    middle = REACH * reach + MORE
    kernel = np.roll(whole, middle)[: 2 * middle + 1]
    return np.asarray(kernel / kernel.max())


def best_spectrum(reach: int) -> tuple[float, float, Floats]:
    """A bound on the error of each running count, at a loss of 1, that of a spectrum, and the spectrum."""
    many = WAVES * (reach + 64)
    half, lengths = np.pi * np.arange(many // 2 + 1) / many, np.arange(1, reach + 1)[:, None]
    moved = np.square(np.where(half == 0, lengths, np.sin(lengths * half) / np.sin(np.where(half == 0, 1, half))))
    share = np.where((half == 0) | (half == np.pi / 2), 1.0, 2.0) / many  # waves in both directions
    weights, best, least, found = np.full(reach, 1 / reach), 0.0, np.inf, np.ones(len(half))
    for _ in range(RUNNING_ROUNDS):
        spread = weights @ moved
        error = float(share @ np.sqrt(spread))
        lost = moved @ (share / np.sqrt(spread))
        best, now = max(best, error**2), error * float(lost.max())
        if now < least:
            least, found = now, 1 / np.sqrt(spread) / float(lost.max())
        if least <= RUNNING_NEAR * best:
            break
        weights = weights * (lost / error) ** 1.3
        weights /= weights.sum()
    return best, least, found


# -- dual search ------------------------------------------------------------------------------------
# What to measure with Gaussian noise: the least error that any strategy can have, and one that nearly has it.
#
# A strategy A loses max |A (e_x - e_y)|^2 over steps, and |A e_x|^2 where somebody may come or go. Its error is tr(G
# X^-1) with X = A'A and G = W'W of what is asked: a convex problem in X. For weights w of steps and s of values that
# add up to 1, and M = sum of w_xy (e_x - e_y)(e_x - e_y)' + diag(s), no strategy that loses 1 errs less than
#
#     (tr (M^1/2 G M^1/2)^1/2)^2                                         (Lagrange duality; X = M^-1/2 (...)^1/2
#     M^-1/2),
#
# and the largest such bound is attained. So weights rise where their X loses more than average, until the error of X at
# what it loses is that bound. [MMHM18] section 5 descends among strategies; here the distance to the best is known.
#
# On longer attributes that is done on `KNOTS` of the values. Between them X is smooth but for a ridge along its
# diagonal, which has the same form everywhere: G and X have no scale of their own there, and X falls like the
# logarithm of the distance. So a bump of that form is taken out of the coarse X and put back, finer, in the fine one
# (`_kernel`), what is left is joined by straight lines, and weights of the values even out what steps lose.

KNOTS = 256
"""Values up to which the problem is solved as it is."""
DUAL_ROUNDS, DUAL_NEAR = 60, 1.003
"""Rounds of the search, and how near to the bound it may stop."""
LITTLE = 1e-7
EVENED, TOGETHER = 6, 512
BUMP = 5
"""How many times the distance between knots a bump reaches to each side."""
CURVE = np.array([1.0, -2.0, 1.0])
"""How sharp the ridge is: what is left without it is straight there."""
DUAL_PARTS, WEIGHTS = 1000, 500
"""Sums are rounded to multiples of 1 / PARTS, weights of values to multiples of about 1 / WEIGHTS."""
FEWEST_STEPS = 4
"""Steps between knots that a secret distance must span: below that, knots do not see it."""


@searching
def least_error(asked: Floats, steps: Bools, *, absent: bool) -> tuple[float, Floats, Floats]:
    """A bound on tr(G X^-1) for all X that lose at most 1, an X with nearly that, and how dear each value is there.

    `steps` says for each pair whether it is a secret, `absent` whether presence is. Where it is not, the total is
    known, and X tells nothing about it.
    """
    size, best = len(asked), 0.0
    pairs, single = steps.astype(np.float64), np.full(size, float(size * absent))
    found: tuple[float, Floats, Floats] | None = None
    for _ in range(DUAL_ROUNDS):
        whole = pairs.sum() / 2 + single.sum()
        pairs, single = pairs / whole, single / whole
        dear = pairs.sum(axis=1) + single
        values, vectors = np.linalg.eigh(np.diag(dear) - pairs)
        known = 0 if absent else 1
        values, vectors = np.maximum(values[known:], 1e-12 * values[-1]), vectors[:, known:]
        root = vectors * np.sqrt(values)
        squares, inner = np.linalg.eigh(root.T @ asked @ root)
        roots = np.sqrt(np.maximum(squares, 0.0))
        error = float(roots.sum())
        best = max(best, error**2)
        half = (vectors / np.sqrt(values)) @ (inner * np.sqrt(roots))
        x = half @ half.T
        alone = np.diag(x)
        apart = np.maximum(alone[:, None] + alone - 2 * x, 0.0)
        loss = max(float((apart * steps).max()), float(alone.max()) if absent else 0.0)
        if found is None or error * loss < found[0]:
            found = error * loss, x / loss, dear
        if found[0] < DUAL_NEAR * best:
            break
        pairs, single = pairs * (apart / error) ** 1.3, single * (alone / error) ** 1.3
    assert found is not None
    return best, found[1], found[2]


@lru_cache(maxsize=64)
def best_sums(name: str, graph: AttributeGraph, reading: Sought, *, absent: bool) -> SmoothSums | None:
    """Sums and bumps with nearly the least error; None where nothing is secret, or steps are too short for knots."""
    size, width = graph.size, _width(graph)
    coarse = _at_knots(graph, width)
    if coarse is None or not (coarse.edge_count or absent):
        return None
    if width > 1 and isinstance(reading, ListedRanges):
        reading = EveryRange()  # few ranges have no such form between knots
    code = np.arange(coarse.size)
    asked = AskedPairs(reading, coarse.size).times(np.eye(coarse.size))
    asked += LITTLE * float(np.trace(asked)) / len(asked) * np.eye(len(asked))  # of values that no answer holds, too
    _, x, dear = least_error(asked, coarse.adjacent(code[:, None], code), absent=absent)
    if width == 1:
        sums, kernel, single = _as_it_is(x, absent=absent)
    else:
        sums, kernel, single = _between_knots(x, dear, Hats(name, size, width), graph, absent=absent)
    parts, weights = DUAL_PARTS / np.sqrt(np.diag(x).max()), WEIGHTS if width > 1 else 1
    rows, bump, each = (np.rint(n).astype(np.int64) for n in (parts * sums, parts * kernel, weights * single))
    return SmoothSums(name, size, width, rows[rows.any(axis=1)], bump, each, Fraction(1, DUAL_PARTS * width * weights))


def _width(graph: AttributeGraph) -> int:
    """How many values it is from one knot to the next: fewer for short steps, if twice as many knots see them.

    Why   for steps of one running counts are the best there is.
    """
    width = max(1, -(-(graph.size - 1) // KNOTS))
    if isinstance(graph, Within) and 1 < graph.reach < FEWEST_STEPS * width:
        finer = max(1, graph.reach // FEWEST_STEPS)
        return finer if graph.size - 1 <= 2 * KNOTS * finer else width
    return width


def _at_knots(graph: AttributeGraph, width: int) -> AttributeGraph | None:
    """The secrets of every `width`-th value; None where these tell too little of all."""
    knots = -(-(graph.size - 1) // width) + 1
    match graph:
        case _ if width == 1:
            return graph
        case Everything():
            return Everything(knots)
        case Public():
            return Public(knots)
        case Within(reach=reach) if reach >= FEWEST_STEPS * width:
            return Within(knots, round(reach / width))
        case _:
            return None


def _as_it_is(x: Floats, *, absent: bool) -> tuple[Floats, Floats, Floats]:
    """X as single values and the sums that are left.

    Why   where the total is known, X tells nothing of it, and a constant may be added: no step sees it.
    """
    least = float(np.linalg.eigvalsh(x)[0 if absent else 1]) / 2
    rest = x - least * np.eye(len(x)) + (0.0 if absent else least)
    return _roots(rest), np.array([np.sqrt(least)]), np.ones(len(x))


def _between_knots(
    x: Floats, dear: Floats, bins: Hats, graph: AttributeGraph, *, absent: bool
) -> tuple[Floats, Floats, Floats]:
    """Sums at the knots, the kernel, and the weights of all values."""
    single = dear**-0.25  # locally X is (G / M)^1/2, so that its ridge is as high as this squared
    single = single / single.mean()
    centre = dear / dear.sum()
    if not absent:
        x = x - np.outer(np.ones(len(x)), centre @ x)
        x = x - np.outer(x @ centre, np.ones(len(x)))
    near, level = _ridge(_dual_kernel(1), len(x)), 0.0 if absent else 2 * float(np.diag(x).max())
    even = (x + level) / np.outer(single, single)
    middle = slice(len(x) // 8, len(x) - len(x) // 8)
    lags = np.array([np.diag(even, lag)[middle].mean() for lag in range(3)])
    height = float((lags @ CURVE) / (near[:3] @ CURVE))
    at = np.abs(np.subtract.outer(np.arange(len(x)), np.arange(len(x))))
    sums = _roots(even - height * near[at])
    if not absent:
        sums = sums - np.outer((sums * single) @ centre, 1 / single)
    kernel = np.sqrt(height) * _dual_kernel(bins.width)
    place, part = np.divmod(np.arange(bins.size), bins.width)
    part, after = part / bins.width, np.minimum(place + 1, len(x) - 1)
    inside = (1 - part) * sums[:, place] + part * sums[:, after]
    single = 1 / ((1 - part) / single[place] + part / single[after])
    return sums, kernel, _evened(inside, kernel, single, graph, absent=absent)


def _evened(rows: Floats, kernel: Floats, single: Floats, graph: AttributeGraph, *, absent: bool) -> Floats:
    """Weights of values with which none of them is in a step that loses much more than those of others."""
    size, codes = len(single), np.arange(len(single))
    ridge = _ridge(kernel, size)
    if not graph.edge_count:
        return np.asarray((ridge[0] + (rows**2).sum(axis=0)) ** -0.5)
    x, moved = rows.T @ rows + ridge[np.abs(codes[:, None] - codes)], np.ones(size)
    for _ in range(EVENED):
        alone = single**2 * np.diag(x)
        for start in range(0, size, TOGETHER):
            part = codes[start : start + TOGETHER]
            apart = alone[part, None] + alone - 2 * single[part, None] * single * x[part]
            moved[part] = (apart * graph.adjacent(part[:, None], codes)).max(axis=1)
        moved = np.maximum(moved, alone) if absent else moved
        single = single * (moved.mean() / moved) ** 0.25
    return np.asarray(single / np.sqrt(moved.mean()))


def _dual_kernel(width: int) -> Floats:
    """A bump whose products with itself have about the spectrum (4 sin^2(w/2) + 1 / width^2)^-1/2: that of the least
    error, 1 / (2 sin(w/2)), but for waves longer than `width`, which sums tell.
    """
    many = 2**12 * width
    waves = 2 * np.pi * np.arange(many) / many
    whole = np.fft.ifft((4 * np.sin(waves / 2) ** 2 + 1 / width**2) ** -0.25).real
    return np.asarray(np.roll(whole, BUMP * width)[: 2 * BUMP * width + 1])


def _ridge(kernel: Floats, size: int) -> Floats:
    """The products of a bump with itself, at every distance."""
    found = np.correlate(kernel, kernel, "full")[len(kernel) - 1 :]
    return np.pad(found, (0, max(0, size - len(found))))[:size]


def _roots(x: Floats) -> Floats:
    """Rows whose products are those of a matrix, as far as it has any."""
    values, vectors = np.linalg.eigh(x)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))).T)


# -- weighted ---------------------------------------------------------------------------------------

LONGEST = 16384
"""Values of an attribute for which sums are searched: a second or two."""
MANY = 1024
"""Values above which smoothed counts are too many to begin with."""
LONGEST_SQUARES = 4096
"""The same for Gaussian noise."""
SHORT = 256
"""The same where steps are listed."""
FEWEST = 8
MANY_STEPS = 12
"""An attribute this many times longer than a step, with known totals, is cut by running sums into pieces that are
alike; what a search gained there was below one percent."""
LONGEST_RUNNING, LONGEST_STEP = 2**16, 256
"""Values, and steps, for which running sums are searched with Gaussian noise."""
ENOUGH_STEPS, ALL_ALIKE = 8, 24
"""How many times longer than a step an attribute is where running sums may be best, and where they are."""
GRAIN = 5000
"""Found weights are rounded to multiples of 1 / GRAIN."""


@dataclass(frozen=True)
class Weighted(Hierarchical):
    """Noise on weighted single values and on weighted sums of them, one query; least squares is written out."""

    name = "weighted"
    words = "noise on counts and weighted sums"
    usual = False

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        """Sums along the last attribute of a table, for steps along it alone, or for steps to anywhere.

        Why   where counts are known, what is searched for is not what the kernel counts.
        """
        reading, graph = query.reading(policy.domain), policy.graph
        if graph.known or graph.groups:
            return
        assert isinstance(reading, Sought)
        *by, last = table = query.table(policy.domain)
        attribute, along = policy.domain[last.name], graph.factor_of(last.name)
        if (
            not attribute.ordered
            or last.bins is not None
            or not FEWEST <= attribute.size <= (LONGEST_RUNNING if policy.delta else LONGEST)
        ):
            return
        if not isinstance(along.graph, AttributeGraph):
            return
        totals = LinearQuery(One(), tuple(by))
        known = policy.size_is_public and sensitivity_of(graph, totals).value == 0
        if known and not isinstance(along.graph, Everything | Within):
            return  # totals of its parts are exact, and single values use them
        exact = (totals,) if known else ()
        for sums, noise in self._sought(last.name, along.graph, reading, policy, known=known, grouped=bool(by)):
            yield Strategy(self, (LinearQuery(sums, tuple(by)),), exact, table, made_for=noise)

    @staticmethod
    def _sought(
        name: str, graph: AttributeGraph, reading: Sought, policy: Policy, *, known: bool, grouped: bool
    ) -> Iterator[tuple[WeightedSums | SmoothSums | SmoothRunning, NoiseLaw]]:
        """The sums that are found, each with the noise that it is for."""
        far = known and isinstance(graph, Within) and graph.size > MANY_STEPS * graph.reach
        short = known and not isinstance(graph, Everything)
        if policy.rho is None and not far and graph.size <= (SHORT if short else LONGEST):
            for steps, total in _searches(graph, known, grouped):
                if (found := searched_sums(name, steps, reading, total)) is not None:
                    yield found, LAPLACE
        times = graph.size // graph.reach if known and isinstance(graph, Within) else 0
        if policy.delta and isinstance(graph, Within) and times >= ENOUGH_STEPS and 1 < graph.reach <= LONGEST_STEP:
            yield running_sums(name, graph.size, graph.reach), GAUSSIAN  # for steps of one these are running counts
        if policy.delta and times < ALL_ALIKE and graph.size <= LONGEST_SQUARES:
            for steps in (graph,) if known else dict.fromkeys((graph, Public(graph.size))):
                if (best := best_sums(name, steps, reading, absent=not known)) is not None:
                    yield best, GAUSSIAN

    @staticmethod
    def sums(at: Scaled) -> int | None:
        """How many sums are measured beside single values; None where these are running counts."""
        found = at.strategy.noisy[0].contribution
        return len(found.sums) if isinstance(found, WeightedSums | SmoothSums) else None

    def fit(self, at: Scaled, measured: Measured) -> Floats:
        """The table that fits single values and weighted sums together best."""
        fit = fit_of(at)
        sums, *exact = (array.astype(np.float64).reshape(-1, array.shape[-1]) for array in measured)
        if isinstance(fit, RunningFit):
            return fit.counts(sums, exact[0][:, 0]).reshape(at.shape)
        assert isinstance(fit, WeightedFit | BandedFit)
        return fit.counts(sums, exact[0][:, 0] if exact else None).reshape(at.shape)

    def cell_variance(self, at: Scaled) -> float:
        return float(np.mean(fit_of(at).leaves))


WEIGHTED = Weighted()


def _searches(graph: AttributeGraph, known: bool, grouped: bool) -> Iterator[tuple[AttributeGraph, float | None]]:
    """The steps to search for, each with the variance of the total in units of a column, None where it is not measured.

    Why   whoever may be absent may have any value, so that presence alone costs like steps to anywhere. A total besides
          is free unless presence is all that is secret, or steps may lead from one group to another.
    """
    short, anywhere = graph.size <= SHORT, Everything(graph.size)
    if known:
        if short or graph == anywhere:
            yield graph, 0.0
        return
    if short and graph.edge_count and graph != anywhere:
        yield graph, None
    if graph.edge_count and (short or not grouped):
        yield anywhere, 1.0
    if not graph.edge_count or grouped:
        yield anywhere, None


@lru_cache(maxsize=64)
def searched_sums(name: str, graph: AttributeGraph, reading: Sought, total: float | None) -> WeightedSums | None:
    """Single values of one attribute, and sums of them, for Laplace noise; None where no sums are worth it.

    Post  the same object for the same question, so that plans agree. A total with noise is the last sum.
    """
    found = best_rows(AskedPairs(reading, graph.size), graph, _firsts(graph, total), total)
    if found is None:
        return None
    single, rows = (np.round(weights * GRAIN).astype(np.int64) for weights in found)
    rows = rows[rows.any(axis=1)]
    if isinstance(graph, Everything):  # what all columns cost alike, however they were rounded
        single = GRAIN - rows.sum(axis=0)
    if total:
        rows = np.append(rows, np.full((1, graph.size), round(GRAIN / total**0.5)), axis=0)
    return WeightedSums(name, np.maximum(single, 1), rows, Fraction(1, GRAIN)) if len(rows) else None


def _firsts(graph: AttributeGraph, total: float | None) -> list[Floats]:
    """Where the search starts: smoothed counts in multiples of the noise on single values, or broad bumps.

    Why   of bumps that overlap and bumps that do not, now the ones and now the others lead to less error.
    """
    size = graph.size
    reach = min(graph.reach, size - 1) if isinstance(graph, Within) else size - 1
    if isinstance(graph, Everything) and (total is None or size > MANY):
        root = max(size**0.5, size / 64)
        sharp = bumps(size, (0.6 * root, 3 * root, 8 * root), 0.4, sharp=True)
        return [bumps(size, (0.75 * root, 4 * root), 0.4), sharp]
    shape = best_shape(size, reach)
    if shape is None or (shape.running and total is None):
        return [np.append(bumps(size, (12.0,), 1.0), np.ones((1, size)), axis=0)]
    leaves, bins, running = shape.scales(reach)
    rows = [
        kind("", size, width).columns() * (leaves / (scale * width))
        for kind, scales in ((Hats, bins), (Ramps, running))
        for width, scale in scales.items()
    ]
    return [np.concatenate(rows)]
