"""A small table that stands for the data: every record spread over the cells of a public grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.mechanism.kmeans_axis import Axis
from tetraodon.workload.contribution import Contribution, One
from tetraodon.workload.linear import LinearQuery, Split
from tetraodon.workload.soft import UNIT_LIMIT, Product, Soft


@dataclass(frozen=True)
class Synopsis:
    """The product of soft bins: a record's share of a cell is the product of its shares on the axes."""

    axes: tuple[Axis, ...]

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
    def _sharp(self) -> list[Axis]:
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
