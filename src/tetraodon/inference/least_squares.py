"""Generalised least squares over everything measured, implicit, at the size of the tables.

Each block is an array of unknown numbers about which something unbiased is known: a table of counts as one item's noise
left it, or sums that were measured. Blocks must agree: tables of the same counts on the margins that they share
(`Meeting`), and sums with the tables that they can be read from (`TableLink`). With C the covariance of what is known,
the best estimate is z = known - C g, where g comes from what must agree, so that z agrees; conjugate gradients find g.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tetraodon.exact.arrays import Floats, Ints
from tetraodon.inference.consistency import ROUNDING, STILL, EstimatedTable, Meeting, added_up, settle

ROUNDS = 200
"""Rounds of conjugate gradients. Tables with noise on every cell, split by value, need one."""
ENOUGH = 1e-11
SHORT = 1024
"""Numbers, and ways in which they must agree, up to which these are written out if conjugate gradients do not end."""
REDUNDANT = 1e-12
"""The part of a variance below which something agrees already, or says what others say together."""
REMEMBERED = 2**20
"""How many weights of sums are remembered."""


@dataclass(eq=False)
class Remembered:
    """What sums take of what is known, and how far they can be off.

    Why   no number that was measured is in it, so that it is the same for every release of a plan.
    """

    found: dict[Hashable, tuple[list[Floats], Floats | None]] = field(default_factory=dict)
    left: int = REMEMBERED

    def keep(self, key: Hashable, weights: list[Floats], reach: Floats | None) -> None:
        """Remember it while there is room."""
        self.left -= sum(part.size for part in weights)
        if self.left >= 0:
            self.found[key] = weights, reach


@dataclass(frozen=True, eq=False)
class Block:
    """What is known of a table or of sums, and Cov(x) f for every row f of weights. The table is not changed."""

    table: EstimatedTable
    covariance: Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class TableLink:
    """Sums that can be read from a table of counts: for each group the rows of `matrix` times its counts by kind.

    They are the rows of `taken`, which is orthonormal, times what was measured: each number by itself, where the table
    tells all of them. `counted` says for every cell of the counts which group and kind it belongs to, and `summed` for
    every measured number which group and row.
    """

    counts: EstimatedTable
    sums: EstimatedTable
    taken: Floats
    matrix: Floats
    groups: int
    counted: Ints
    summed: Ints

    def read(self, counts: Floats) -> Floats:
        """The sums that follow from rows of counts, a row each, groups first."""
        rows, kinds = self.matrix.shape
        by_kind = added_up(np.atleast_2d(counts.reshape(-1, len(self.counted))), self.counted, self.groups * kinds)
        return np.asarray(by_kind.reshape(-1, self.groups, kinds) @ self.matrix.T).reshape(-1, self.groups * rows)

    def gap(self, counts: Floats, sums: Floats) -> Floats:
        """How far what is read is from what was measured."""
        rows, numbers = self.taken.shape
        measured = added_up(np.atleast_2d(sums.reshape(-1, len(self.summed))), self.summed, self.groups * numbers)
        taken = np.asarray(measured.reshape(-1, self.groups, numbers) @ self.taken.T)
        return self.read(counts) - taken.reshape(-1, self.groups * rows)

    def back(self, pull: Floats) -> tuple[Floats, Floats]:
        """The transpose of `gap`, for counts and for sums."""
        rows, kinds = self.matrix.shape
        pulls = pull.reshape(-1, self.groups, rows)
        by_kind = (pulls @ self.matrix).reshape(-1, self.groups * kinds)
        by_number = (pulls @ self.taken).reshape(-1, self.groups * self.taken.shape[1])
        return by_kind[:, self.counted], -by_number[:, self.summed]

    def scaled(self, gap: Floats) -> Floats:
        """About what must be pulled to close a gap."""
        rows = len(self.matrix)
        return np.asarray(gap.reshape(-1, self.groups, rows) @ self._inverse).reshape(gap.shape)

    @cached_property
    def _inverse(self) -> Floats:
        rows, kinds = self.matrix.shape
        cells = len(self.counted) / (self.groups * kinds)
        numbers = len(self.summed) / (self.groups * self.taken.shape[1])
        seen = self.matrix @ self.matrix.T * (self.counts.variance * cells)
        return np.linalg.pinv(seen + np.eye(rows) * self.sums.variance * numbers, hermitian=True)


@dataclass(frozen=True, eq=False)
class Combination:
    """Blocks that are estimated together. Vectors have an array for each block, rows of as many numbers as it has."""

    blocks: Sequence[Block]
    meetings: Sequence[Meeting]
    links: Sequence[TableLink] = ()

    def estimates(self) -> list[Floats]:
        """The linear unbiased estimates with the least variance, in the shapes of the blocks.

        Post  tables agree wherever they meet, also where conjugate gradients did not end.
        """
        known = [np.asarray(block.table.values, np.float64).reshape(1, -1) for block in self.blocks]
        moved = self._covariance(self._pulls(known, exact=True))
        found = self._agreeing([a - b for a, b in zip(known, moved, strict=True)], exact=True)
        return [a.reshape(block.table.values.shape) for a, block in zip(found, self.blocks, strict=True)]

    def weights(self, asked: Sequence[Floats]) -> list[Floats]:
        """What the best estimates of weighted sums take of what is known: rows of weights in, rows of weights out.

        Post  the same sum for all numbers that agree, whether or not conjugate gradients ended: without bias.
        """
        pulls = self._pulls(self._covariance(asked), exact=False)
        return [a - b for a, b in zip(asked, pulls, strict=True)]

    def covariance(self, one: Sequence[Floats], other: Sequence[Floats]) -> Floats:
        """The covariance of weighted sums of what is known, row by row."""
        parts = [np.einsum("ij,ij->i", a, b) for a, b in zip(one, self._covariance(other), strict=True)]
        return np.asarray(np.sum(parts, axis=0))

    # -- conjugate gradients ---------------------------------------------------------------------

    def _pulls(self, known: Sequence[Floats], *, exact: bool) -> list[Floats]:
        """The g for which known - C g agrees.

        Why   let P take tables to the nearest that agree, in the metric of the variances D. What comes from margins are
              the g with g = (I - P)' g, and D^-1 (I - P) x is one of them. So with g from margins and l from links,
              (I - P) C (g + L'l) = (I - P) known and L C (g + L'l) = L known - (exact sums) is symmetric; D^-1 and the
              inverse of L D L' precondition it. Where C is D, which is noise on every cell, that is the solution.
        """
        left = self._gaps(known, exact=exact)
        pulls = [np.zeros_like(part) for part in left]
        step = self._scaled(left)
        length = _product(left, step)
        sizes = [part / block.table.variance for block, part in zip(self.blocks, known, strict=True)]
        enough = max(length * ENOUGH**2, _product(known, sizes) * ROUNDING**2)
        for _ in range(ROUNDS):
            if length <= enough:
                break
            joined = self._joined(step)
            moved = self._covariance(joined)
            seen = self._gaps(moved, exact=False)
            along = _product(step, seen)
            if along <= _product(joined, moved) * STILL:
                break
            pulls = [a + length / along * b for a, b in zip(pulls, step, strict=True)]
            left = [a - length / along * b for a, b in zip(left, seen, strict=True)]
            scaled = self._scaled(left)
            before, length = length, _product(left, scaled)
            step = [a + length / before * b for a, b in zip(scaled, step, strict=True)]
        return self._directly(known, exact=exact) if length > enough and self._short else self._joined(pulls)

    @cached_property
    def _short(self) -> bool:
        margins = sum(meeting.cells * (len(meeting.tables) - 1) for meeting in self.meetings)
        return margins <= SHORT and sum(block.table.values.size for block in self.blocks) <= SHORT

    def _directly(self, known: Sequence[Floats], *, exact: bool) -> list[Floats]:
        """The same g, with all that must agree written out as A z = t: the solution A'l of A C A'l = A known - t.

        Why   what is hardly known at all, such as values between ranges that nobody asked for, has a variance a hundred
              million times that of what is known well. Conjugate gradients lose their way in it.
        """
        ends = np.cumsum([part.shape[1] for part in known])
        apart = self._disagreements(np.split(np.eye(ends[-1]), ends[:-1], axis=1), exact=False).T
        seen = np.concatenate(self._covariance(np.split(apart, ends[:-1], axis=1)), axis=1) @ apart.T
        root = np.sqrt(np.maximum(np.diag(seen), np.diag(seen).max() * REDUNDANT))
        inverse = np.linalg.pinv(seen / np.outer(root, root), rcond=REDUNDANT, hermitian=True)
        pulls = self._disagreements(known, exact=exact) / root @ inverse / root
        return np.split(np.asarray(pulls @ apart), ends[:-1], axis=1)

    def _disagreements(self, vector: Sequence[Floats], *, exact: bool) -> Floats:
        """How far totals are apart that must agree, at every meeting and every link, for each row of a vector."""
        values, rows = self._values(vector, exact=exact), len(vector[0])
        found = [link.gap(values(link.counts), values(link.sums)) for link in self.links]
        for meeting in self.meetings:
            totals = [
                added_up(values(table), places, meeting.cells).reshape(-1, meeting.cells)
                for table, places in zip(meeting.tables, meeting.places, strict=True)
            ]
            found += [totals[0] - other for other in totals[1:]]
        return np.concatenate([np.broadcast_to(part, (rows, part.shape[1])) for part in found], axis=1)

    def _values(self, vector: Sequence[Floats], *, exact: bool) -> Callable[[EstimatedTable], Floats]:
        """The numbers of a table: those of a vector, or what it tells exactly, or nothing in its place."""
        of = {id(block.table): part for block, part in zip(self.blocks, vector, strict=True)}

        def values(table: EstimatedTable) -> Floats:
            told = table.values.reshape(1, -1) if exact else np.zeros((1, table.values.size))
            return of.get(id(table), told)

        return values

    def _gaps(self, vector: Sequence[Floats], *, exact: bool) -> list[Floats]:
        """How far blocks are from agreeing: for every block, then for every link."""
        agreeing, values = self._agreeing(vector, exact=exact), self._values(vector, exact=exact)
        gaps = [link.gap(values(link.counts), values(link.sums)) for link in self.links]
        return [a - b for a, b in zip(vector, agreeing, strict=True)] + gaps

    def _joined(self, vector: Sequence[Floats]) -> list[Floats]:
        """What pulls at margins and links ask of every block."""
        found = list(vector[: len(self.blocks)])
        place = {id(block.table): number for number, block in enumerate(self.blocks)}
        for link, pull in zip(self.links, vector[len(self.blocks) :], strict=True):
            for table, part in zip((link.counts, link.sums), link.back(pull), strict=True):
                if id(table) in place:
                    found[place[id(table)]] = found[place[id(table)]] + part
        return found

    def _scaled(self, gaps: Sequence[Floats]) -> list[Floats]:
        first = [gap / block.table.variance for block, gap in zip(self.blocks, gaps, strict=False)]
        return first + [link.scaled(gap) for link, gap in zip(self.links, gaps[len(self.blocks) :], strict=True)]

    def _covariance(self, vector: Sequence[Floats]) -> list[Floats]:
        return [block.covariance(part) for block, part in zip(self.blocks, vector, strict=True)]

    def _agreeing(self, vector: Sequence[Floats], *, exact: bool) -> list[Floats]:
        """The nearest tables that agree; with nothing in exact ones, the linear part of that."""
        mine = [block.table for block in self.blocks]
        others = {id(t): t for meeting in self.meetings for t in meeting.tables if t.variance == 0}.values()
        kept = [(table, table.values) for table in (*mine, *others)]
        try:
            for table, part in zip(mine, vector, strict=True):
                table.values = part
            for table in () if exact else others:
                table.values = np.zeros(table.values.size)
            settle(self.meetings)
            return [table.values for table in mine]
        finally:
            for table, values in kept:
                table.values = values


def _product(one: Sequence[Floats], other: Sequence[Floats]) -> float:
    """Without the threads of linear algebra, which wait for each other longer than they multiply."""
    return sum(float(np.einsum("ij,ij->", a, b)) for a, b in zip(one, other, strict=True))
