"""How fine the public grid of a synopsis should be: decided by the policy, the budget and a number of rows alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tetraodon.domain import Attribute
from tetraodon.errors import Refused
from tetraodon.mechanism.kmeans_axis import Axis, parts_of_graph, ramps
from tetraodon.mechanism.kmeans_synopsis import Synopsis
from tetraodon.policy.attribute_graph import Blocks, Everything, Pairs, Public, Within
from tetraodon.policy.joint_metric import JointMetric
from tetraodon.policy.policy import Policy
from tetraodon.workload.contribution import Ints
from tetraodon.workload.soft import UNIT_LIMIT

NOISE_WEIGHT = 0.8
"""What noise costs against coarseness. Chosen on mixtures of 2 to 5 columns and 3 to 6 clusters with Laplace, uniform
and Student-t noise of many widths; from 0.5 to 1.8 the objective on them changes by less than one per cent."""
CELL_LIMIT = 2**15
COLUMN_LIMIT = 1_000_000
FINEST_RAMP = 256


@dataclass(frozen=True)
class Column:
    """A column as the planner sees it: how long it is, how far a secret reaches, and its connected parts."""

    attribute: Attribute
    length: float
    reach: float
    labels: Ints | None
    most: int


def columns_of(policy: Policy, names: Sequence[str]) -> list[Column]:
    """The columns to be clustered, in order."""
    return [_column(policy, policy.domain[name]) for name in names]


def _column(policy: Policy, attribute: Attribute) -> Column:
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
        case Blocks() | Pairs() | Public():
            labels = np.unique(graph.components(), return_inverse=True)[1].astype(np.int64)
            labels = labels if labels.max(initial=0) > 0 else None
        case Everything() | JointMetric():
            pass
    most = size if labels is None else int(labels.max()) + 1
    step = float(attribute.step)
    return Column(attribute, (size - 1) * step, reach * step, labels, most)


def finest(columns: Sequence[Column]) -> Synopsis:
    """Every connected part of every column apart: the table that a partition policy may let us have exactly."""
    return Synopsis(
        tuple(
            ramps(c.attribute.name, c.attribute.size, 1, wide=False, most_units=1)
            if c.labels is None
            else parts_of_graph(c.attribute.name, c.labels, c.most)
            for c in columns
        )
    )


def choose_grid(columns: Sequence[Column], at_once: int, epsilon: Fraction, rows: int) -> tuple[Synopsis, float]:
    """The grid with the least expected excess, found by adding one bin at a time where it helps most.

    Post  the grid, and its score: how coarse it is, plus what noise adds. Both in parts of the squared length.
    Why   noise of scale b on m cells moves the objective, per record, like sqrt(m) b / rows; a bin more on a column
          of length l lowers what coarseness costs like l^2 / bins^3.
    """
    bins = [1] * len(columns)
    best = _score(columns, bins, at_once, epsilon, rows)
    while True:
        tries = []
        for width in (1, 2):  # two at a time get over a bin count that does not pay by itself
            for column, c in enumerate(columns):
                more = [*bins[:column], bins[column] + width, *bins[column + 1 :]]
                if more[column] <= c.most and math.prod(more) <= CELL_LIMIT:
                    tries.append((_score(columns, more, at_once, epsilon, rows), more))
        if not tries or min(tries)[0] >= best:
            break
        best, bins = min(tries)
    soft = sum(1 for c, b in zip(columns, bins, strict=True) if c.labels is None and b > 1)
    most_units = min(FINEST_RAMP, int(UNIT_LIMIT ** (1 / max(1, soft))))
    axes = tuple(_axis(c, b, most_units) for c, b in zip(columns, bins, strict=True))
    return Synopsis(axes), best


def _axis(column: Column, bins: int, most_units: int) -> Axis:
    name, size = column.attribute.name, column.attribute.size
    if column.labels is not None:
        return parts_of_graph(name, column.labels, bins)
    return ramps(name, size, bins, wide=_wide(column, bins), most_units=most_units)


def _wide(column: Column, bins: int) -> bool:
    """Longer ramps pay where secrets are shorter than they are."""
    return bins > 1 and column.reach < column.length / (bins - 1)


def _score(columns: Sequence[Column], bins: Sequence[int], at_once: int, epsilon: Fraction, rows: int) -> float:
    squared = [c.length**2 for c in columns]
    coarse = sum(s / b**3 for s, b in zip(squared, bins, strict=True))
    shares = [_share(c, b) for c, b in zip(columns, bins, strict=True)]
    moved = 2 * min(1.0, sum(sorted(shares)[-at_once:]))
    noise = moved / float(epsilon) / rows * math.sqrt(math.prod(bins)) * sum(squared)
    return (coarse + NOISE_WEIGHT * noise) / max(sum(squared), 1e-300)


def _share(column: Column, bins: int) -> float:
    """How much of a record a secret can take from one bin to another."""
    if bins == 1 or column.labels is not None:
        return 0.0
    ramp = column.length / (bins - 1 if _wide(column, bins) else bins)
    return min(1.0, column.reach / ramp)
