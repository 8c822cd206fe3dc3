"""Lloyd's steps under a policy: counts and sums of each cell, the sums centred on public centres and clipped.

For many columns a grid has too many cells; the noise of these steps grows with the columns alone. What Lemma 6.1 of
[HMD14] says about the sums is not true (a record that crosses from one cell to another takes all of itself
along), so every record is clipped to a box around its cell's centre, and no edge moves the sums by more than two boxes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.certificate.certificate import Certificate
from tetraodon.errors import Refused
from tetraodon.gate import Permit
from tetraodon.mechanism.kmeans_certificate import certify_records
from tetraodon.noise.laws import LAPLACE
from tetraodon.policy.policy import Policy
from tetraodon.whole_sums import MOST_ROWS, add_up, with_noise

EDGE_LIMIT = 5_000_000
COUNT_SHARE = Fraction(1, 4)
"""Part of the budget of a step that goes to the counts; the columns share the rest evenly."""


NARROW = 0.03
"""Variance of a cluster, in parts of the squared length of a column, that noise is compared with. Chosen, like the
settings of the grid, on mixtures that are not reported."""


@dataclass(frozen=True)
class Steps:
    """`rounds` of Lloyd's steps. Sums are in grid steps; a record adds at most `box[i]` of them on column i."""

    rounds: int
    box: tuple[int, ...]
    count_scale: Fraction
    sum_scales: tuple[Fraction, ...]

    @property
    def scales(self) -> list[Fraction]:
        """The noise of every table of all rounds, for tables to which a record adds at most one."""
        ratios = [scale / box for scale, box in zip(self.sum_scales, self.box, strict=True)]
        return [self.count_scale, *ratios] * self.rounds

    def certificate(self, policy: Policy, names: Sequence[str]) -> Certificate:
        """The loss of all rounds, by the kernel, whatever the centres turn out to be."""
        return certify_records(policy, names, self.scales)

    def run(self, codes: Ints, sizes: Sequence[int], lengths: Floats, start: Floats, permit: Permit) -> Floats:
        """Centres, in codes, from public ones. `lengths` are the steps of the grid in the data's own units."""
        centres = start.copy()
        for _ in range(self.rounds):
            anchor = np.rint(centres).astype(np.int64)
            asked = self.asked(codes, anchor, lengths)
            scales = (self.count_scale, *self.sum_scales)
            none = np.zeros(len(start), np.int64)
            noise = [permit.noise(LAPLACE, scale, len(start)) if scale else none for scale in scales]
            counts, *sums = with_noise(asked, np.stack(noise))
            for column, box in enumerate(self.box):
                moved = anchor[:, column] + sums[column] / np.maximum(counts, 1)
                moved = np.clip(moved, anchor[:, column] - box, anchor[:, column] + box)
                centres[:, column] = np.clip(moved, 0, sizes[column] - 1)
        return centres

    def asked(self, codes: Ints, anchor: Ints, lengths: Floats) -> Ints:
        """The exact numbers of one round: the counts of the cells, then the sums on each column."""
        columns = np.ascontiguousarray(codes.T)
        owner, clusters = _nearest(columns, anchor, lengths), len(anchor)
        sums = [
            _sums(clusters, owner, np.clip(column - centre[owner], -box, box), box)
            for column, centre, box in zip(columns, anchor.T, self.box, strict=True)
        ]
        return np.stack([np.bincount(owner, minlength=clusters), *sums])


def plan_steps(policy: Policy, names: Sequence[str], epsilon: Fraction, rounds: int) -> Steps:
    """Lloyd's steps that lose `epsilon` in all, in boxes of a quarter of each column either way."""
    box = tuple(max(1, (policy.domain[name].size - 1) // 4) for name in names)
    unit = Fraction(certify_records(policy, names, [Fraction(1)]).epsilon)
    each = epsilon / rounds
    count_scale = unit / (each * COUNT_SHARE)
    one = unit * len(names) / (each * (1 - COUNT_SHARE))
    return Steps(rounds, box, count_scale, tuple(one * b for b in box))


def expected_noise(steps: Steps, sizes: Sequence[int], clusters: int, rows: int) -> float:
    """A rough guess of what the noise of the last round costs, comparable with the score that `choose_grid` gives."""
    relative = [float(s) / max(1, size - 1) for s, size in zip(steps.sum_scales, sizes, strict=True)]
    return sum(2 * (r * clusters / rows) ** 2 for r in relative) / (NARROW * len(sizes))


def first_centres(clusters: int, sizes: Sequence[int]) -> Floats:
    """Public centres to begin with, in codes: far apart in the inner part of the box, always the same.

    Why   no data may be looked at here, so the generator's seed is fixed.
    """
    if clusters == 1:
        return (np.array([sizes], np.float64) - 1) / 2
    coins = np.random.default_rng(0)
    pool = coins.uniform(0.15, 0.85, (max(256, 8 * clusters), len(sizes)))
    chosen = [pool[0]]
    while len(chosen) < clusters:
        gap = np.min([((pool - one) ** 2).sum(axis=1) for one in chosen], axis=0)
        chosen.append(pool[int(np.argmax(gap))])
    return np.asarray(np.array(chosen) * (np.array(sizes) - 1))


def centred_sum_sensitivity(policy: Policy, cell: Sequence[int], offset: Sequence[Sequence[Fraction]]) -> Fraction:
    """The exact sensitivity of sums by cell, centred on public offsets: Lemma 6.1 of [HMD14] put right.

    Pre   `cell[x]` is the cell of domain cell x and `offset[c]` its offset, one number for each attribute.
    Post  the maximum of |x - y|_1 over edges inside a cell, and of |x - a|_1 + |y - b|_1 over edges from the
          cell with offset a to the one with offset b; the same without y where somebody may be absent.
    """
    domain = policy.domain
    x, y = policy.graph.edge_cells()
    if len(x) > EDGE_LIMIT:
        raise Refused("there are too many secrets to look at each", fix="use a coarser grid")
    codes = [domain.codes_of(one) for one in range(domain.size)]
    place = [[a.number(code) for a, code in zip(domain, one, strict=True)] for one in codes]
    alone = [_apart(place[one], offset[cell[one]]) for one in range(domain.size)]
    moved = [
        _apart(place[a], place[b]) if cell[a] == cell[b] else alone[a] + alone[b]
        for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]
    largest = max(moved, default=Fraction(0))
    return max(largest, *alone) if policy.graph.absent else largest


def _apart(x: Sequence[Fraction], y: Sequence[Fraction]) -> Fraction:
    return sum((abs(a - b) for a, b in zip(x, y, strict=True)), Fraction(0))


def _sums(cells: int, owner: Ints, amount: Ints, longest: int) -> Ints:
    """Exact sums by cell; how is decided by the most that a record adds, not by how many there are."""
    if longest * MOST_ROWS <= 2**53:  # every partial sum is a whole number that floats hold
        return np.bincount(owner, amount, cells).astype(np.int64)
    return add_up(cells, owner, amount, np.ones(len(owner), np.int64), longest=longest)


def _nearest(columns: Ints, anchor: Ints, lengths: Floats) -> Ints:
    """The first of the nearest anchors of every record, column by column: what one record gets, no other changes."""
    best, owner = np.full(columns.shape[1], math.inf), np.zeros(columns.shape[1], np.int64)
    for number, one in enumerate(anchor):
        gap = np.zeros_like(best)
        for column, centre, length in zip(columns, one, lengths, strict=True):
            along = (column - centre) * length
            gap += along * along
        owner[gap < best] = number
        np.minimum(best, gap, out=best)
    return owner
