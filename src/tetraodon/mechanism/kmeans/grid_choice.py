"""How fine the public grid of a synopsis should be: decided by the policy, the budget and a number of rows alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.domain import Attribute
from tetraodon.errors import Refused
from tetraodon.mechanism.kmeans.soft_bins import SoftAxis, Synopsis, parts_of_graph, ramps
from tetraodon.policy.attribute_graph import Blocks, Everything, Pairs, Public, Within
from tetraodon.policy.joint_graph import JointGraph
from tetraodon.policy.joint_metric import JointMetric
from tetraodon.policy.policy import Policy
from tetraodon.workload.soft import UNIT_LIMIT

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
        case Everything() | JointGraph():
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
