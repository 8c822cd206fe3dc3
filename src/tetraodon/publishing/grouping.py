"""Groups of a question to a view: by attributes, and by columns of public tables that are joined on attributes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.domain import Attribute, Categories, Domain
from tetraodon.errors import QueryError
from tetraodon.publishing.sandbox import Labels
from tetraodon.workload.condition.joining import PublicColumn
from tetraodon.workload.condition.question import Question

CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class Grouping:
    """What a question groups by: `domain` has an attribute more for each public column, whose value `which` says, for
    each cell of the attributes that its table is joined on; -1 where a record meets no row.
    """

    by: tuple[int, ...]
    domain: Domain
    own: int
    keys: tuple[tuple[int, ...], ...]
    which: tuple[Ints, ...]

    @classmethod
    def of(cls, question: Question, domain: Domain, read: Callable[[PublicColumn], Labels]) -> Grouping:
        named = question.columns
        told = [read(column) for column in named]
        if any(not labels for labels, _ in told):
            raise QueryError("no value of an attribute is in a joined table", fix="join on columns with equal values")
        more = [
            Attribute(column.name, Categories(labels), other=0) for column, (labels, _) in zip(named, told, strict=True)
        ]
        grouped = Domain((*domain.attributes, *more)) if more else domain
        keys = tuple(column.join.places for column in named)
        return cls(question.by, grouped, len(domain.names), keys, tuple(which for _, which in told))

    @property
    def groups(self) -> int:
        return math.prod(self.domain.shape[place] for place in self.by)

    def axes(self, places: Sequence[int]) -> tuple[int, ...]:
        """The attributes that say which group a record is in, and those at some places."""
        looked = [self.keys[place - self.own] if place >= self.own else (place,) for place in self.by]
        return tuple(dict.fromkeys([*(place for some in looked for place in some), *places]))

    def rows(self, axes: Sequence[int]) -> Ints:
        """For each group its cells of some attributes, by their places; filled up with -1.

        Pre   `axes` are those that `self.axes` gives: attributes that are grouped by first.
        """
        shape = [self.domain.shape[place] for place in axes]
        cells = math.prod(shape)
        if not self.which:
            return np.arange(cells).reshape(self.groups, -1)
        group, met = np.zeros(shape, np.int64), np.ones(shape, np.bool_)
        for place in self.by:
            code = self._code(place, axes)
            group, met = group * self.domain.shape[place] + code, met & (code >= 0)
        inside = np.flatnonzero(met.ravel())
        of = group.ravel()[inside]
        order = np.argsort(of, kind="stable")
        many = np.bincount(of, minlength=self.groups)
        if self.groups * int(many.max(initial=0)) > CELLS:
            raise QueryError("there are too many values to add up", fix="ask about fewer or coarser attributes")
        found = np.full((self.groups, int(many.max(initial=0))), -1)
        found[of[order], np.arange(len(of)) - np.repeat(np.cumsum(many) - many, many)] = inside[order]
        return found

    def _code(self, place: int, axes: Sequence[int]) -> Ints:
        """The code of an attribute, or of a public column, at each cell."""
        if place < self.own:
            return np.arange(self.domain.shape[place]).reshape([-1 if one == place else 1 for one in axes])
        keys, which = self.keys[place - self.own], self.which[place - self.own]
        ordered = which.transpose(np.argsort([axes.index(key) for key in keys]))
        return ordered.reshape([self.domain.shape[one] if one in keys else 1 for one in axes])
