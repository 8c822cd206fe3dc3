"""From a noisy table to centres. Everything here follows the noise, so it may be as clever as it likes, for free."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.domain import Attribute
from tetraodon.mechanism.kmeans.soft_bins import SoftAxis, Synopsis, middles

POINT_LIMIT = 5_000
ROUNDS = 120
"""Short steps, which cannot go too far; as many longer ones follow only where the table is not yet explained."""
SMOOTHING = 0.01
"""Weight of the pull towards an even spread. Chosen on the same mixtures as the grid."""


def weighted_points(
    synopsis: Synopsis,
    attributes: Sequence[Attribute],
    table: Ints,
    noise: float,
    known: tuple[Synopsis, Ints] | None = None,
) -> tuple[Floats, Floats]:
    """Weighted points that stand for the data: the blocks of an exact table, or what explains a noisy one.

    Pre   `table` is in parts of a record, `noise` the scale of its noise in records. `known` is a coarser table that
          is exact; the number of records, if it has one cell.
    """
    if noise == 0:
        cells = np.argwhere(table > 0)
        places = [middles(axis, a)[b] for axis, a, b in zip(synopsis.axes, attributes, cells.T, strict=True)]
        return np.stack(places, axis=1), table[table > 0].astype(np.float64)
    noisy = table / synopsis.units
    if known is None:
        return likely_points(synopsis, attributes, noisy, np.array(max(1.0, float(noisy.sum()))), noise)
    coarse, totals = known
    return likely_points(synopsis, attributes, noisy, totals.astype(np.float64), noise, coarse)


def likely_points(
    synopsis: Synopsis,
    attributes: Sequence[Attribute],
    noisy: Floats,
    totals: Floats,
    noise: float,
    coarse: Synopsis | None = None,
) -> tuple[Floats, Floats]:
    """Points of a finer grid, and non-negative weights that add up to `totals` and explain the noisy table.

    Pre   `totals` is one number, or the exact table of `coarse`, in whose cells those of the synopsis lie.
    Why   soft bins blur the data; undoing the blur is a least-squares problem with weights that cannot be negative.
          Gradient steps on the logarithms of the weights, from an even spread, keep them so and stop in time: when
          the table is off by no more than its noise. No bin reaches over the border of a coarse cell, so that each is a
          problem of its own.
    """
    fine = [_fine(axis, attribute, synopsis) for axis, attribute in zip(synopsis.axes, attributes, strict=True)]
    blur = [shares for _, shares in fine]
    shape = tuple(shares.shape[1] for shares in blur)
    cell = np.zeros(shape, np.int64) if coarse is None else _coarse_cells(synopsis, coarse, shape)
    members = np.bincount(cell.ravel(), minlength=totals.size)[cell]
    rows = np.ravel(totals)[cell]
    variance = max(2 * noise**2, float(totals.sum()) ** 2 * 1e-12, 1e-12)
    step = 1 / (rows / variance + SMOOTHING)
    here = ahead = np.zeros(shape)
    pace = 1.0
    for done in range(2 * ROUNDS):
        weight = _weights(ahead, rows, cell)
        off = _along(blur, weight) - noisy
        if done == ROUNDS:  # no cell holds more than this, so that longer steps are safe as well
            heaviest = 1.5 * max(0.0, float(noisy.max())) + 4 * noise
            step, pace = 1 / (np.minimum(rows, heaviest) / variance + SMOOTHING), 1.0
        if done >= ROUNDS and float(np.square(off).sum()) <= variance * noisy.size:
            break
        slope = _along(blur, off, back=True) / variance
        slope += SMOOTHING * np.log(np.maximum(weight, 1e-300) * members / np.maximum(rows, 1e-300))
        then = ahead - step * slope
        faster = (1 + np.sqrt(1 + 4 * pace * pace)) / 2
        ahead = then + (pace - 1) / faster * (then - here)
        here, pace = then, faster
    places = np.meshgrid(*(values for values, _ in fine), indexing="ij")
    points = np.stack([place.ravel() for place in places], axis=1)
    return points, _weights(here, rows, cell).ravel()


def _weights(logarithm: Floats, rows: Floats, cell: Ints) -> Floats:
    """Weights in proportion to exp(logarithm) that add up to `rows` in every coarse cell."""
    most = np.full(int(cell.max()) + 1, -np.inf)
    np.maximum.at(most, cell.ravel(), logarithm.ravel())
    weight = np.exp(logarithm - most[cell])
    return np.asarray(weight * (rows / np.bincount(cell.ravel(), weight.ravel())[cell]))


def _coarse_cells(synopsis: Synopsis, coarse: Synopsis, shape: tuple[int, ...]) -> Ints:
    """The number of the coarse cell that every fine point lies in."""
    found = np.zeros(shape, np.int64)
    for place, (axis, whole) in enumerate(zip(synopsis.axes, coarse.axes, strict=True)):
        bins = np.zeros(shape[place], np.int64)
        if whole.bins > 1:  # then every fine point is a bin
            bins[axis.first] = whole.first
        found = found * whole.bins + bins.reshape([-1 if other == place else 1 for other in range(len(shape))])
    return found


def _along(blur: Sequence[Floats], table: Floats, *, back: bool = False) -> Floats:
    """Blur a table of fine points into bins, one axis after the other; or the transpose."""
    for axis, shares in enumerate(blur):
        table = np.moveaxis(np.tensordot(shares.T if back else shares, table, axes=(1, axis)), 0, axis)
    return table


def _fine(axis: SoftAxis, attribute: Attribute, synopsis: Synopsis) -> tuple[Floats, Floats]:
    """Values of the finer grid on one axis, and the share of each bin in each of them."""
    if axis.units == 1 or axis.bins == 1:
        return middles(axis, attribute), np.eye(axis.bins)
    soft = [a for a in synopsis.axes if a.units > 1 and a.bins > 1]
    free = POINT_LIMIT / max(1, synopsis.cells // int(np.prod([a.bins for a in soft])))
    # bins of all axes are refined alike, until there are POINT_LIMIT points
    finer = (free / np.prod([a.bins for a in soft])) ** (1 / len(soft))
    count = int(min(axis.size, max(axis.bins, round(axis.bins * min(finer, 4)))))
    codes = np.unique(np.round((np.arange(count) + 0.5) / count * (axis.size - 1)).astype(np.int64))
    low, step = float(attribute.number(0)), float(attribute.step)
    return np.asarray(low + step * codes, np.float64), np.asarray(axis.table[:, codes] / axis.units, np.float64)


def cluster(points: Floats, weight: Floats, clusters: int, *, starts: int, rounds: int) -> tuple[Floats, int]:
    """Centres of weighted points, by Lloyd's steps from several k-means++ starts, and how many steps the best took.

    Why   the starts are drawn by a generator with a fixed seed. That is no risk: points and weights are public by
          now, and whoever repeats the computation learns nothing that the noisy table does not say.
    """
    coins = np.random.default_rng(0)
    kept = weight > weight.max(initial=0) * 1e-6
    points, weight = points[kept], weight[kept]
    best, taken, lowest = points[:1], 0, np.inf
    for _ in range(starts):
        centres = _spread_out(points, weight, clusters, coins)
        done = 0
        for done in range(1, rounds + 1):  # noqa: B007 - how many were needed is told
            moved = _step(points, weight, centres)
            if np.allclose(moved, centres, rtol=0, atol=1e-9 * (np.abs(points).max() + 1)):
                break
            centres = moved
        cost = float(weight @ _squared(points, centres).min(axis=0))
        if cost < lowest:
            best, taken, lowest = centres, done, cost
    return best, taken


def _spread_out(points: Floats, weight: Floats, clusters: int, coins: np.random.Generator) -> Floats:
    chance = weight
    chosen: list[Floats] = []
    for _ in range(clusters):
        total = chance.sum()
        chosen.append(points[coins.choice(len(points), p=(chance / total if total > 0 else weight / weight.sum()))])
        chance = weight * _squared(points, np.array(chosen)).min(axis=0)
    return np.array(chosen)


def nearest(points: Floats, centres: Floats) -> Ints:
    """The nearest centre of each point."""
    return np.asarray(_squared(points, centres).argmin(axis=0))


def _step(points: Floats, weight: Floats, centres: Floats) -> Floats:
    owner = nearest(points, centres)
    mass = np.bincount(owner, weight, len(centres))
    sums = [np.bincount(owner, weight * column, len(centres)) for column in points.T]
    return np.where(mass[:, None] > 0, np.stack(sums, axis=1) / np.maximum(mass, 1e-300)[:, None], centres)


def _squared(points: Floats, centres: Floats) -> Floats:
    """Squared distances of centres (rows) from points (columns)."""
    squared = np.einsum("ij,ij->i", centres, centres)[:, None] - 2 * (centres @ points.T)
    squared += np.einsum("ij,ij->i", points, points)
    return np.asarray(np.maximum(squared, 0.0, out=squared))  # rounding may leave a little less than nothing
