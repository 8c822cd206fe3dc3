"""k-means from a noisy table of soft bins: bins, grid, and centres."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import QueryError, Refused
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.policy.attribute_graph import Blocks, Everything, Pairs, Public, Within
from tetraodon.policy.joint_graph import JointMetric, Regions
from tetraodon.policy.policy import Policy
from tetraodon.query.contribution import UNIT_LIMIT, Contribution, One
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.soft_bins import Product, Soft

# -- soft bins --------------------------------------------------------------------------------------
# Public bins of one column, with soft borders: a record near a border belongs in part to both bins.
#
# A hard border moves a whole record when its value moves by one step. Between bins with a ramp of w, a value that
# moves by t takes at most t / w of its record with it. That is what makes a distance policy worth something.
# A synopsis is the product of such columns: a small table that stands for the data.


@dataclass(frozen=True, eq=False)
class SoftAxis:
    """For every code of a column its bin, and how many of `units` parts belong to the next bin instead.

    `soft` are the same bins as they are measured; without it every code belongs to one bin wholly.
    """

    name: str
    bins: int
    units: int
    first: Ints
    part: Ints
    soft: Soft | None = None

    def __post_init__(self) -> None:
        last = int((self.first + (self.part > 0)).max(initial=0))
        if self.first.min(initial=0) < 0 or last >= self.bins:
            raise QueryError(f"a bin of {self.name} does not exist", fix="number the bins from 0")
        if self.part.min(initial=0) < 0 or self.part.max(initial=0) >= self.units:
            raise QueryError(f"a record would be split unevenly on {self.name}", fix="use 0..units-1 parts")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftAxis) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> tuple[object, ...]:
        return self.name, self.bins, self.units, self.first.tobytes(), self.part.tobytes()

    @property
    def tread(self) -> int:
        """The number of codes between two changes on a ramp: 1 unless the grid is finer than `units` parts."""
        return 1 if self.soft is None else self.soft.tread

    @property
    def size(self) -> int:
        return len(self.first)

    @cached_property
    def table(self) -> Ints:
        """Parts of a record in each bin (row), for each code (column); every column adds up to `units`."""
        table = np.zeros((self.bins, self.size), np.int64)
        codes = np.arange(self.size)
        table[self.first, codes] = self.units - self.part
        table[np.minimum(self.first + 1, self.bins - 1), codes] += self.part
        return table


def ramps(name: str, size: int, bins: int, *, wide: bool, most_units: int) -> SoftAxis:
    """Equal bins whose borders are ramps as long as there is room for.

    Post  with `wide`, the first and last bin shrink to their ramp, so that ramps are 1 / (bins - 1) of the column
          long; otherwise 1 / bins. Ramps do not overlap.
    """
    if bins < 2:
        return SoftAxis(name, 1, 1, np.zeros(size, np.int64), np.zeros(size, np.int64))
    room = size - 1
    length = max(1, room // (bins - 1) if wide else room // bins)
    tread = -(-length // most_units)
    units = max(1, length // tread)
    length = units * tread
    gap = room / (bins - 1 if wide else bins)
    middles = room / 2 + gap * (np.arange(bins - 1) - (bins - 2) / 2)
    starts = np.ceil(middles - length / 2 - 1e-9).astype(np.int64)
    starts = np.maximum(starts, starts[0] + length * np.arange(bins - 1))
    soft = Soft(name, size, units, tuple(starts.tolist()), tread)
    return SoftAxis(name, bins, units, *soft.places(np.arange(size)), soft)


def parts_of_graph(name: str, labels: Ints, bins: int) -> SoftAxis:
    """At most `bins` bins, each of them whole connected parts of the column's graph: no secret crosses a border.

    With more bins than parts, every part is cut into equal pieces, and no bin holds values of two parts.
    """
    _, label = np.unique(labels, return_inverse=True)
    sizes = np.bincount(label)
    parts = len(sizes)
    middle = np.bincount(label, np.arange(len(label))) / sizes
    rank = np.argsort(np.argsort(middle, kind="stable"), kind="stable")
    first = (rank * min(bins, parts) // parts)[label]
    if bins > parts:
        order = np.argsort(label, kind="stable")
        place = np.empty_like(order)  # of every value among those of its part
        place[order] = np.arange(len(label)) - (np.cumsum(sizes) - sizes)[label[order]]
        pieces = np.minimum(bins // parts, sizes)[label]
        first = np.unique(first * bins + place * pieces // sizes[label], return_inverse=True)[1]
    return SoftAxis(name, int(first.max()) + 1, 1, first.astype(np.int64), np.zeros(len(label), np.int64))


def middles(axis: SoftAxis, attribute: Attribute) -> Floats:
    """The mean value of the codes that belong to each bin of an axis without ramps."""
    low, step = float(attribute.number(0)), float(attribute.step)
    members = np.bincount(axis.first, minlength=axis.bins)
    return np.asarray(low + step * np.bincount(axis.first, np.arange(axis.size), axis.bins) / np.maximum(members, 1))


@dataclass(frozen=True)
class Synopsis:
    """The product of soft bins: a record's share of a cell is the product of its shares on the axes."""

    axes: tuple[SoftAxis, ...]

    def __post_init__(self) -> None:
        if self.units > UNIT_LIMIT:
            raise Refused("records are divided into too many parts for exact arithmetic", fix="use shorter ramps")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.bins for axis in self.axes)

    @property
    def cells(self) -> int:
        return math.prod(self.shape)

    @cached_property
    def units(self) -> int:
        """How many parts make a whole record."""
        return math.prod(axis.units for axis in self.axes)

    @cached_property
    def query(self) -> LinearQuery:
        """The table as a linear query: split by bins that have sharp borders, soft along the other axes."""
        soft = tuple(axis.soft for axis in self.axes if axis.bins > 1 and axis.soft is not None)
        return LinearQuery(_of(soft), tuple(Split(a.name, tuple(a.first.tolist())) for a in self._sharp))

    @property
    def _sharp(self) -> list[SoftAxis]:
        return [axis for axis in self.axes if axis.bins > 1 and axis.soft is None]

    def table(self, answers: Ints) -> Ints:
        """Answers to `query` as a table with one axis for each column."""
        measured = [*self._sharp, *(axis for axis in self.axes if axis.bins > 1 and axis.soft is not None)]
        shaped = answers.reshape([axis.bins for axis in measured])
        order = [measured.index(axis) for axis in self.axes if axis.bins > 1]
        return shaped.transpose(order).reshape(self.shape)

    def spread(self, codes: Ints, counts: Ints | None = None) -> Ints:
        """The table of the data, exact, in parts of a record.

        Pre   one row of `codes` for each record, or for each cell with `counts` records; one column for each axis.
        Post  the cells add up to `units` times the number of records.
        """
        weight = np.ones(len(codes), np.int64) if counts is None else counts
        columns = [codes[:, self.names.index(name)] for name in self.query.names]
        domain = Domain(tuple(Attribute(axis.name, Integers(0, axis.size - 1)) for axis in self.axes))
        seen = np.stack(columns, axis=1) if columns else np.zeros((len(codes), 0), np.int64)
        return self.table(self.query.evaluate(domain, seen, weight))


def _of(parts: tuple[Soft, ...]) -> Contribution:
    if len(parts) > 1:
        return Product(parts)
    return parts[0] if parts else One()


# -- grid choice ------------------------------------------------------------------------------------
# How fine the public grid of a synopsis should be: decided by the policy, the budget and a number of rows alone.

NOISE_WEIGHT = 0.8
"""What noise costs against coarseness. Chosen on mixtures of 2 to 5 columns and 3 to 6 clusters with Laplace, uniform
and Student-t noise of many widths; from 0.5 to 1.8 the objective on them changes by less than one per cent."""
CELL_LIMIT = 2**15
EXACT_LIMIT = 2**20
"""The most cells of a table with noise, and of one without: its empty cells cost nothing but memory."""
COLUMN_LIMIT = 1_000_000
FINEST_RAMP = 256


@dataclass(frozen=True)
class KMeansColumn:
    """A column as the planner sees it: how long it is, how far a secret reaches, and its connected parts."""

    attribute: Attribute
    length: float
    reach: float
    labels: Ints | None
    parts: int
    absent: bool = False
    """Whether somebody may come or go, so that no part of it can be counted exactly."""


def columns_of(policy: Policy, names: Sequence[str]) -> list[KMeansColumn]:
    """The columns to be clustered, in order."""
    return [_column(policy, policy.domain[name]) for name in names]


def _column(policy: Policy, attribute: Attribute) -> KMeansColumn:
    if attribute.size > COLUMN_LIMIT:
        raise Refused(f"{attribute.name} has more than {COLUMN_LIMIT:,} values", fix="declare a coarser grid for it")
    factor = policy.graph.factor_of(attribute.name)
    graph, size = factor.graph, attribute.size
    reach, labels = size - 1, None
    match graph:
        case Within():
            reach = min(graph.reach, size - 1)
        case JointMetric() if graph.metric != "great circle km":
            reach = min(int(graph.within / attribute.step), size - 1)
        case Public() if policy.graph.absent:
            reach = 0  # no step goes along it, and bins with soft borders tell more of it than sharp ones
        case Blocks() | Pairs() | Public():
            labels = np.unique(graph.components(), return_inverse=True)[1].astype(np.int64)
            labels = labels if labels.max(initial=0) > 0 else None
        case Everything() | JointMetric() | Regions():
            pass
    parts = 1 if labels is None else int(labels.max()) + 1
    step = float(attribute.step)
    return KMeansColumn(attribute, (size - 1) * step, reach * step, labels, parts, policy.graph.absent)


def finest(columns: Sequence[KMeansColumn]) -> Synopsis:
    """Every connected part of every column apart: the table that a partition policy may let us have exactly.

    Where that would be too many cells, neighbouring parts share a bin on the columns with the most of them.
    """
    bins = [c.parts for c in columns]
    while math.prod(bins) > EXACT_LIMIT:
        widest = bins.index(max(bins))
        bins[widest] = -(-bins[widest] // 2)
    return _of_parts(columns, bins)


def _of_parts(columns: Sequence[KMeansColumn], bins: Sequence[int]) -> Synopsis:
    return Synopsis(
        tuple(
            ramps(c.attribute.name, c.attribute.size, 1, wide=False, most_units=1)
            if c.labels is None
            else parts_of_graph(c.attribute.name, c.labels, most)
            for c, most in zip(columns, bins, strict=True)
        )
    )


def totals_of(columns: Sequence[KMeansColumn], synopsis: Synopsis) -> Synopsis:
    """The coarser table of whole connected parts, which no secret moves: with none, the number of records.

    Post  every cell of the synopsis lies in one cell of it.
    """
    return _of_parts(columns, [min(axis.bins, c.parts) for c, axis in zip(columns, synopsis.axes, strict=True)])


def choose_grid(
    columns: Sequence[KMeansColumn], at_once: int, epsilon: Fraction, rows: int, *, free: bool
) -> tuple[Synopsis, float]:
    """The grid with the least expected excess, found by adding one bin at a time where it helps most.

    Pre   `free` says that connected parts of the columns may be counted exactly besides.

    Post  the grid, and its score: how coarse it is, plus what noise adds. Both in parts of the squared length.
    Why   noise of scale b on m cells moves the objective, per record, like sqrt(m) b / rows; a bin more on a column
          of length l lowers what coarseness costs like l^2 / bins^3. Noise moves no record out of a part that is
          counted exactly, so that parts are as long as it can take one.
    """
    bins = [1] * len(columns)
    best = _score(columns, bins, at_once, epsilon, rows, free)
    while True:
        finer = [
            [*bins[:column], _finer(c, bins[column], width), *bins[column + 1 :]]
            for width in (1, 2)  # two at a time get over a bin count that does not pay by itself
            for column, c in enumerate(columns)
        ]
        # the first cut through parts brings noise; it may pay for all columns but not for one
        cut = [_finer(c, b, 1) if 1 < c.parts <= b else b for c, b in zip(columns, bins, strict=True)]
        finer.append(cut)
        able = [more for more in finer if more != bins and math.prod(more) <= CELL_LIMIT]
        tries = [(_score(columns, more, at_once, epsilon, rows, free), more) for more in able]
        if not tries or min(tries)[0] >= best:
            break
        best, bins = min(tries)
    soft = sum(1 for c, b in zip(columns, bins, strict=True) if c.labels is None and b > 1)
    most_units = min(FINEST_RAMP, int(UNIT_LIMIT ** (1 / max(1, soft))))
    axes = tuple(_axis(c, b, most_units) for c, b in zip(columns, bins, strict=True))
    return Synopsis(axes), best


def _finer(column: KMeansColumn, bins: int, width: int) -> int:
    """So many bins more, or pieces of every part more; as many as before where that cannot be."""
    more = bins + width * (column.parts if bins >= column.parts else 1)
    most = column.parts if bins < column.parts else column.attribute.size
    return more if more <= most else bins


def _axis(column: KMeansColumn, bins: int, most_units: int) -> SoftAxis:
    name, size = column.attribute.name, column.attribute.size
    if column.labels is not None:
        return parts_of_graph(name, column.labels, bins)
    return ramps(name, size, bins, wide=_wide(column, bins), most_units=most_units)


def _wide(column: KMeansColumn, bins: int) -> bool:
    """Longer ramps pay where secrets are shorter than they are."""
    return bins > 1 and 0 < column.reach < column.length / (bins - 1)


def coarseness(columns: Sequence[KMeansColumn], bins: Sequence[int]) -> float:
    """The score of a grid without noise: nothing where every value has a bin of its own."""
    lost = sum(c.length**2 * (1 / b**3 - 1 / c.attribute.size**3) for c, b in zip(columns, bins, strict=True))
    return lost / max(sum(c.length**2 for c in columns), 1e-300)


def _score(
    columns: Sequence[KMeansColumn], bins: Sequence[int], at_once: int, epsilon: Fraction, rows: int, free: bool
) -> float:
    shares = [_share(c, b) for c, b in zip(columns, bins, strict=True)]
    moved = max(2 * min(1.0, sum(sorted(shares)[-at_once:])), float(any(c.absent for c in columns)))
    inside = sum((c.length / (min(b, c.parts) if free else 1)) ** 2 for c, b in zip(columns, bins, strict=True))
    far = inside / max(sum(c.length**2 for c in columns), 1e-300)
    return coarseness(columns, bins) + NOISE_WEIGHT * moved / float(epsilon) / rows * math.sqrt(math.prod(bins)) * far


def _share(column: KMeansColumn, bins: int) -> float:
    """How much of a record a secret can take from one bin to another."""
    if column.labels is not None:
        return 1.0 if bins > column.parts else 0.0
    if bins == 1:
        return 0.0
    ramp = column.length / (bins - 1 if _wide(column, bins) else bins)
    return min(1.0, column.reach / ramp)


# -- centres ----------------------------------------------------------------------------------------

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
