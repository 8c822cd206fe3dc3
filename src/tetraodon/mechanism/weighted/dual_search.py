"""What to measure with Gaussian noise: the least error that any strategy can have, and one that nearly has it.

A strategy A loses max |A (e_x - e_y)|^2 over steps, and |A e_x|^2 where somebody may come or go. Its error is
tr(G X^-1) with X = A'A and G = W'W of what is asked: a convex problem in X. For weights w of steps and s of values that
add up to 1, and M = sum of w_xy (e_x - e_y)(e_x - e_y)' + diag(s), no strategy that loses 1 errs less than

    (tr (M^1/2 G M^1/2)^1/2)^2                                         (Lagrange duality; X = M^-1/2 (...)^1/2 M^-1/2),

and the largest such bound is attained. So weights rise where their X loses more than average, until the error of X at
what it loses is that bound. [MMHM18] section 5 descends among strategies; here the distance to the best is known.

On longer attributes that is done on `KNOTS` of the values. Between them X is smooth but for a ridge along its diagonal,
which has the same form everywhere: G and X have no scale of their own there, and X falls like the logarithm of the
distance. So a bump of that form is taken out of the coarse X and put back, finer, in the fine one (`_kernel`), what is
left is joined by straight lines, and weights of the values even out what steps lose.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from tetraodon.arrays import Bools, Floats
from tetraodon.mechanism.weighted.asked_pairs import AskedPairs, Sought
from tetraodon.one_thread import searching
from tetraodon.policy.attribute_graph import AttributeGraph, Everything, Public, Within
from tetraodon.questions.query import EveryRange, ListedRanges
from tetraodon.workload.smooth import Hats
from tetraodon.workload.smooth_sums import SmoothSums

KNOTS = 256
"""Values up to which the problem is solved as it is."""
ROUNDS, NEAR = 60, 1.003
"""Rounds of the search, and how near to the bound it may stop."""
LITTLE = 1e-7
EVENED, TOGETHER = 6, 512
BUMP = 5
"""How many times the distance between knots a bump reaches to each side."""
CURVE = np.array([1.0, -2.0, 1.0])
"""How sharp the ridge is: what is left without it is straight there."""
PARTS, WEIGHTS = 1000, 500
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
    for _ in range(ROUNDS):
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
        if found[0] < NEAR * best:
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
    parts, weights = PARTS / np.sqrt(np.diag(x).max()), WEIGHTS if width > 1 else 1
    rows, bump, each = (np.rint(n).astype(np.int64) for n in (parts * sums, parts * kernel, weights * single))
    return SmoothSums(name, size, width, rows[rows.any(axis=1)], bump, each, Fraction(1, PARTS * width * weights))


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
    near, level = _ridge(_kernel(1), len(x)), 0.0 if absent else 2 * float(np.diag(x).max())
    even = (x + level) / np.outer(single, single)
    middle = slice(len(x) // 8, len(x) - len(x) // 8)
    lags = np.array([np.diag(even, lag)[middle].mean() for lag in range(3)])
    height = float((lags @ CURVE) / (near[:3] @ CURVE))
    at = np.abs(np.subtract.outer(np.arange(len(x)), np.arange(len(x))))
    sums = _roots(even - height * near[at])
    if not absent:
        sums = sums - np.outer((sums * single) @ centre, 1 / single)
    kernel = np.sqrt(height) * _kernel(bins.width)
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


def _kernel(width: int) -> Floats:
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
