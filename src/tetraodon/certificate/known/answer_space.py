"""How far a move, or many moves together, push the answers of weighted linear queries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.certificate.known.classes import Classes
from tetraodon.certificate.known.push_bounds import PushBounds
from tetraodon.certificate.known.zero_sum import independent_coordinates
from tetraodon.errors import Refused
from tetraodon.workload.linear import LinearQuery

ENTRY_LIMIT = 20_000_000
PAIR_CHUNK = 2_000_000
SIGN_ROWS = 11
"""Answers for which every pattern of signs is tried."""


@dataclass(frozen=True, eq=False)
class AnswerSpace(PushBounds):
    """Queries over the cells of some classes, each with a whole weight per unit; all losses are divided by `common`."""

    over: Classes
    queries: tuple[tuple[LinearQuery, int], ...]
    common: int

    @property
    def classes(self) -> Classes:
        return self.over

    @cached_property
    def _looked_at(self) -> list[tuple[LinearQuery, int, Ints, Ints, Ints]]:
        domain = self.classes.graph.domain
        cells = np.arange(domain.size)
        codes = dict(zip(domain.names, np.unravel_index(cells, domain.shape), strict=True))
        found = []
        for query, weight in self.queries:
            row = np.zeros(domain.size, np.int64)
            for split in query.by:
                row = row * split.size(domain) + split.of(codes[split.name])
            names = query.contribution.names
            inner = np.zeros(domain.size, np.int64)
            if names:
                inner = np.ravel_multi_index([codes[n] for n in names], [domain[n].size for n in names])
            alone = np.asarray(query.contribution.alone(inner), np.int64)
            if self.classes.graph.absent:
                row, inner, alone = np.append(row, -1), np.append(inner, 0), np.append(alone, 0)
            found.append((query, weight, row, inner, alone))
        return found

    def apart(self, x: Ints, y: Ints) -> Ints:
        """The L1 distance that one move pushes the answers, for arrays of cells."""
        total = np.zeros(len(x), np.int64)
        for query, weight, row, inner, alone in self._looked_at:
            same = row[x] == row[y]
            inside = np.asarray(query.contribution.apart(inner[x], inner[y]), np.int64)
            moved = np.where(same, inside, alone[x] + alone[y])
            total += weight * np.where(same & (row[x] < 0), 0, moved)
        return total

    @cached_property
    def widest(self) -> Ints:
        order = np.concatenate(self.classes.members)
        starts = np.cumsum(self.classes.sizes) - self.classes.sizes
        step = max(1, PAIR_CHUNK // len(order))
        best = np.zeros((len(order), self.classes.count), np.int64)
        for start in range(0, len(order), step):
            part = order[start : start + step]
            moved = self.apart(np.repeat(part, len(order)), np.tile(order, len(part))).reshape(len(part), -1)
            best[start : start + step] = np.maximum.reduceat(moved, starts, axis=1)
        return np.maximum.reduceat(best, starts, axis=0)

    @cached_property
    def secret_moves(self) -> dict[tuple[int, int], int]:
        x, y = self.classes.crossing
        pair = self.classes.class_of[x] * self.classes.count + self.classes.class_of[y]
        moved = np.zeros(self.classes.count**2, np.int64)
        np.maximum.at(moved, pair, self.apart(x, y))
        return {(a, b): int(moved[a * self.classes.count + b]) for a, b in self.classes.arcs}

    @cached_property
    def still(self) -> bool:
        """Whether every answer follows from the known counts and the number of people: then no neighbours differ.

        Why  where nobody in a class is apart from the first of it, no two of them are apart (triangle inequality).
        """
        heads = [int(cells[0]) for cells in self.classes.members]
        if self.apart(np.arange(len(self.classes.class_of)), np.array(heads)[self.classes.class_of]).any():
            return False
        told = [[1] * len(heads), *(list(row) for row in zip(*self.classes.vectors, strict=True))]
        rows = self.rows[:, heads].tolist()
        return max(independent_coordinates([*told, *rows], len(told)), default=0) < len(told)

    @cached_property
    def rows(self) -> Ints:
        """One column for each cell and one row for each answer, less what the first cell adds."""
        domain = self.classes.graph.domain
        if sum(query.size(domain) for query, _ in self.queries) * domain.size > ENTRY_LIMIT:
            raise Refused(
                "with known counts, the answers are too many to be compared cell by cell",
                fix="ask for fewer attributes, or for `bins` of them",
            )
        rows = np.concatenate([query.matrix(domain)[0] * weight for query, weight in self.queries])
        if self.classes.graph.absent:
            rows = np.concatenate([rows, np.zeros((len(rows), 1), rows.dtype)], axis=1)
        return np.asarray(rows - rows[:, :1], np.int64)

    @cached_property
    def columns(self) -> Ints:
        """The same with equal rows merged, and still ones dropped."""
        rows = self.rows
        lead = np.take_along_axis(rows, np.argmax(rows != 0, axis=1)[:, None], axis=1)
        shape = rows * np.where(lead < 0, -1, 1)
        unit = np.gcd.reduce(shape, axis=1, initial=0)
        moving = unit > 0
        distinct, place = np.unique(shape[moving] // unit[moving][:, None], axis=0, return_inverse=True)
        weight = np.bincount(place.ravel(), weights=unit[moving], minlength=len(distinct)).astype(np.int64)
        return np.asarray(distinct * weight[:, None], np.int64)

    @cached_property
    def signs(self) -> tuple[Ints, bool]:
        """Patterns of signs for the answers, and whether they are all there are.

        Why  the L1 norm is the largest sum over all patterns of signs, which are the corners of the unit ball of its
             dual norm, the largest entry. So a maximum over moves is one over signs and, for fixed signs, over linear
             functions. Any selection of patterns bounds it from below.
        """
        rows = len(self.columns)
        if rows <= SIGN_ROWS:
            every = (np.arange(2**rows)[:, None] >> np.arange(rows)[None, :]) & 1
            return 1 - 2 * every, True
        random = np.random.default_rng(20140622).integers(0, 2, (40, rows)) * 2 - 1
        place = np.arange(rows)
        named = [np.ones(rows), 1 - 2 * (place % 2), np.where(place == 0, 1, -1), np.where(2 * place < rows, 1, -1)]
        apart = [np.sign(self.columns[:, cell] * 2 - 1) for cell in range(min(16, self.columns.shape[1]))]
        return np.concatenate([np.array([*named, *apart]).astype(np.int64), random]), False

    @cached_property
    def one_row_per_cell(self) -> bool:
        """Whether the answers are a histogram of all the cells, each with the same weight."""
        if len(self.queries) != 1 or self.classes.graph.absent:
            return False
        query, _, row, _, _ = self._looked_at[0]
        return not query.contribution.names and len(np.unique(row)) == len(row)


def answer_space(classes: Classes, queries: Sequence[tuple[LinearQuery, Fraction]]) -> AnswerSpace:
    """Queries with weights per unit, over a common denominator."""
    common = math.lcm(*(weight.denominator for _, weight in queries)) if queries else 1
    whole = tuple((query, int(weight * common)) for query, weight in queries)
    space = AnswerSpace(classes, whole, common)
    heaviest = sum(weight * int(alone.max(initial=0)) for _, weight, _, _, alone in space._looked_at)
    if heaviest >= 2**44:  # times 10,000 moves, this still fits into 63 bits
        raise Refused("the weights of this release are too long to be compared exactly", fix="use rounder scales")
    return space
