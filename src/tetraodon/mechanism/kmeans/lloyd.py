"""Lloyd's algorithm under a policy, and the certificates of private clustering.

For many columns a grid has too many cells; the noise of these steps grows with the columns alone. What Lemma 6.1 of
[HMD14] says about the sums is not true (a record that crosses from one cell to another takes all of itself
along), so every record is clipped to a box around its cell's centre, and no edge moves the sums by more than two boxes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.correlated_records import require_independent
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.product_bounds import only
from tetraodon.errors import Refused
from tetraodon.exact.arrays import LARGEST, MOST_ROWS, Floats, Ints, add_up, cut_off, with_noise
from tetraodon.mechanism.kmeans.synopsis import Synopsis
from tetraodon.noise.laws import LAPLACE
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import SecretGraph, complete_graph
from tetraodon.query.contribution import One, Prefix
from tetraodon.query.linear import LinearQuery, Measurement, splits

if TYPE_CHECKING:
    from tetraodon.gate import Permit


# -- certificates -----------------------------------------------------------------------------------
# What clustering costs under a policy, computed by the kernel.


def certify_synopsis(
    policy: Policy,
    synopsis: Synopsis,
    scale: Fraction,
    *,
    totals: Synopsis | None = None,
    further: Sequence[Fraction] = (),
) -> Certificate:
    """The loss of the table, each cell with discrete Laplace noise of `scale` parts of a record; 0 means exactly.

    `totals` are told exactly besides. `further` are the scales of other tables that are released as well, as in
    `certify_records`.
    """
    require_same_secrets(policy)
    told = [Measurement(totals.query, Fraction(0))] if totals else []
    return _certify(policy, [Measurement(synopsis.query, scale), *told, *_records(synopsis.names, further)])


def certify_records(policy: Policy, names: Sequence[str], scales: Sequence[Fraction]) -> Certificate:
    """The loss of several tables, each with its noise, in which every record adds at most one in total.

    Why   whatever a record adds is told by its values: so a table moves by at most one for every record more or less in
          the table of values, whether one record changes or, where counts are known, several do.
    """
    require_same_secrets(policy)
    return _certify(policy, _records(names, scales))


def certify_rates(
    policy: Policy, names: Sequence[str], rates: Sequence[Fraction], *, changed: Fraction, alone: Fraction
) -> Certificate:
    """The loss of answers that a step along a column moves no faster than `rates`, per code, times its length.

    Pre   losses, not answers: each is divided by the scale of its noise. Any step may lose `changed` besides, and
          somebody who appears or leaves loses at most `alone`.
    Why   running counts of a column move by exactly the length of a step along it, so they stand in for such answers.
          A record adds much more to them than it does to the answers, so that presence is judged by itself.
    """
    require_same_secrets(policy)
    if policy.known:  # changes of several records may cancel in running counts, and not in what these stand for
        raise Refused(
            "shares of records are not certified for data about which something is known",
            fix="cluster a table, or by steps: method='auto', 'table', 'refined' or 'steps'",
        )
    moving = [
        Measurement(LinearQuery(Prefix(name, policy.domain[name].size, policy.domain[name].size - 1)), 1 / rate)
        for name, rate in zip(names, rates, strict=True)
        if policy.domain[name].size > 1
    ]
    found = _certify(policy, [*moving, *_records(names, [2 / changed])], replace(policy.graph, absent=False))
    if not policy.graph.absent:
        return found
    there = [Measurement(LinearQuery(One()), 1 / alone)]
    return max(found, _certify(policy, there, only(policy.graph)), key=lambda one: one.epsilon)


def require_same_secrets(policy: Policy) -> None:
    """Stop where people are not independent, or groups have secrets of their own: nothing here says so."""
    require_independent(policy, "k-means")
    if policy.graph.groups is not None:
        raise Refused(
            "k-means is not certified for people with secrets of their own",
            fix="drop `groups` and give everybody the strictest secrets, or release counts instead",
        )


def dearer_by(policy: Policy, names: Sequence[str]) -> Fraction:
    """How many times as much a table of some columns loses because of what is known. At least 1."""
    if not policy.known:
        return Fraction(1)
    aware, plain = (
        Fraction(_certify(policy, _records(names, [Fraction(1)]), graph).epsilon)
        for graph in (policy.graph, replace(policy.graph, known=()))
    )
    return max(Fraction(1), aware / plain) if plain else Fraction(1)


def _records(names: Sequence[str], scales: Sequence[Fraction]) -> list[Measurement]:
    """All of them as one table: each moves as the others do, so their losses add up."""
    if not scales:
        return []
    scale = 1 / sum((1 / scale for scale in scales), Fraction(0)) if all(scales) else Fraction(0)
    return [Measurement(LinearQuery(One(), splits(names)), scale)]


def _certify(policy: Policy, measurements: Sequence[Measurement], graph: SecretGraph | None = None) -> Certificate:
    graph = policy.graph if graph is None else graph
    try:
        return certify_measurements(graph, measurements, rows_per_person=policy.rows_per_person)
    except Refused:  # too many secrets to look at: taking every pair for one is safe, if what is known stays known
        graph = replace(complete_graph(graph), known=graph.known)
        return certify_measurements(graph, measurements, rows_per_person=policy.rows_per_person)


# -- lloyd steps ------------------------------------------------------------------------------------

EDGE_LIMIT = 5_000_000
COUNT_SHARE = Fraction(1, 4)
"""Part of the budget of a step that goes to the counts; the columns share the rest evenly."""


NARROW = 0.03
"""Variance of a cluster, in parts of the squared length of a column, that noise is compared with. Chosen, like the
settings of the grid, on mixtures that are not reported."""


@dataclass(frozen=True)
class Rounds(ABC):
    """`rounds` of Lloyd's steps with noise. A record is divided into `parts`; sums are in grid steps times parts of it,
    and it adds at most `box[i]` steps, clipped around a centre, on column i.
    """

    rounds: int
    box: tuple[int, ...]
    count_scale: Fraction
    sum_scales: tuple[Fraction, ...]

    parts: ClassVar[int] = 1

    @abstractmethod
    def certificate(self, policy: Policy, names: Sequence[str]) -> Certificate:
        """The loss of all rounds, by the kernel, whatever the centres turn out to be."""

    @abstractmethod
    def asked(self, codes: Ints, anchor: Ints, lengths: Floats) -> Ints:
        """The exact numbers of one round: the counts of the clusters, then the sums on each column."""

    def run(self, codes: Ints, sizes: Sequence[int], lengths: Floats, start: Floats, permit: Permit) -> Floats:
        """Centres, in codes, from public ones. `lengths` are the steps of the grid in the data's own units."""
        centres, none = start.copy(), np.zeros(len(start), np.int64)
        for _ in range(self.rounds):
            anchor = np.rint(centres).astype(np.int64)
            scales = (self.count_scale, *self.sum_scales)
            noise = [permit.noise(LAPLACE, scale, len(start)) if scale else none for scale in scales]
            counts, *sums = with_noise(self.asked(codes, anchor, lengths), np.stack(noise))
            for column, box in enumerate(self.box):
                moved = np.clip(sums[column] / np.maximum(counts, self.parts), -box, box)
                centres[:, column] = np.clip(anchor[:, column] + moved, 0, sizes[column] - 1)
        return centres

    def expected_noise(self, sizes: Sequence[int], clusters: int, rows: int) -> float:
        """A rough guess of what the noise of the last round costs, comparable with the score of `choose_grid`."""
        relative = [float(s) / self.parts / max(1, n - 1) for s, n in zip(self.sum_scales, sizes, strict=True)]
        return sum(2 * (r * clusters / rows) ** 2 for r in relative) / (NARROW * len(sizes))


@dataclass(frozen=True)
class Steps(Rounds):
    """Hard assignments: every record belongs to its nearest centre."""

    @property
    def scales(self) -> list[Fraction]:
        """The noise of every table of all rounds, for tables to which a record adds at most one."""
        ratios = [scale / box for scale, box in zip(self.sum_scales, self.box, strict=True)]
        return [self.count_scale, *ratios] * self.rounds

    def certificate(self, policy: Policy, names: Sequence[str]) -> Certificate:
        return certify_records(policy, names, self.scales)

    def asked(self, codes: Ints, anchor: Ints, lengths: Floats) -> Ints:
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


PARTS = 2**16
"""Parts that a record is divided into."""
SHARPEST = 2**12
"""Logits stay below this times the number of columns, so that floats are wrong by far less than half a part."""
TOGETHER = 2**16
"""Rows that are looked at together."""
SHARPNESSES = (4, 8, 16, 32, 64)
BLUR = 0.06
"""What soft borders cost, for a squared width of one, in the score of `choose_grid`."""


@dataclass(frozen=True)
class SoftSteps(Rounds):
    """Soft assignments: a record belongs to every centre in part, and a short step changes little of it. From end to
    end of a column, two logits draw apart by at most `sharpness`.

    The shares of a record are softmax(g_c . x + h_c), which for squared distances is the usual soft k-means. While x
    moves by d, they move by at most half the range over c of g_c . d, in total: the derivative of a share is the share
    times what its logit gains above the average, and the mean distance from a mean is at most half a range. So the
    gradients of the logits are kept below a public bound, and the noise is made for that bound: two centres cannot be
    told apart more sharply than the policy pays for. Shares are rounded to whole parts of a record, so that noise is
    exact; what rounding can add is in the certificate.
    """

    clusters: int
    sharpness: int
    sizes: tuple[int, ...]

    parts: ClassVar[int] = PARTS

    def __post_init__(self) -> None:
        if not 0 < self.sharpness <= SHARPEST:
            raise Refused("the borders are too sharp for exact arithmetic", fix="use `steps`, which has hard ones")
        if self._longest > LARGEST:
            raise Refused("the sums would be too long for exact arithmetic", fix="use a coarser grid")

    @property
    def _longest(self) -> int:
        """The most that one record adds to a sum."""
        return (PARTS + self.clusters) * max(self.box)

    def certificate(self, policy: Policy, names: Sequence[str]) -> Certificate:
        """Why  |w u - w' u'| <= |w - w'| |u| + w' |u - u'|, for shares w and clipped places u, which move no further
        than the record. Each of `clusters` shares is off by less than one part, before and after.
        """
        spoiled = 1 / self.count_scale + sum(b / s for b, s in zip(self.box, self.sum_scales, strict=True))
        most = PARTS + self.clusters  # parts of one record, rounded
        rates = []
        for size, scale in zip(self.sizes, self.sum_scales, strict=True):
            gradient = Fraction(self.sharpness, max(1, size - 1))
            rates.append(self.rounds * (PARTS * gradient / 2 * spoiled + most / scale))
        return certify_rates(
            policy, names, rates, changed=self.rounds * 2 * self.clusters * spoiled, alone=self.rounds * most * spoiled
        )

    def asked(self, codes: Ints, anchor: Ints, lengths: Floats) -> Ints:
        """Post  no number is beyond `LARGEST`.
        Why   any number of rows is added up: as many at once as 64 bits hold for certain, and Python's integers do the
              rest. So nothing is refused for how many rows there are.
        """
        whole = np.zeros((1 + len(self.box), self.clusters), object)
        together = max(1, min(TOGETHER, LARGEST // self._longest))
        for start in range(0, len(codes), together):
            part = codes[start : start + together]
            parts = self.shares(part, anchor, lengths)
            inside = (
                np.clip(part[:, column, None] - anchor[:, column], -box, box) for column, box in enumerate(self.box)
            )
            whole += np.stack([parts.sum(axis=0), *((parts * near).sum(axis=0) for near in inside)]).astype(object)
        return cut_off(whole)

    def shares(self, codes: Ints, anchor: Ints, lengths: Floats) -> Ints:
        """Whole parts of every record (row) for every centre (column): soft k-means, no sharper than allowed.

        Post  in exact arithmetic no two logits draw apart by more than `sharpness` along any column. What one record
              gets, no other changes: products of matrices may round a row by where it stands, so columns are added up.
        """
        ends = np.maximum(1, np.array(self.sizes) - 1)
        pull = lengths**2 * anchor  # the gradient of -|x - a|^2 / 2, but for what all centres share
        spread = np.ptp(pull, axis=0) * ends
        # the largest gap is brought down to the bound, and a little below it, so that floats cannot exceed it
        pull = pull * (self.sharpness * (1 - 1e-9) / spread.max() if spread.any() else 0.0)
        pull = pull - pull.min(axis=0)
        level = -(pull * (anchor + anchor.min(axis=0))).sum(axis=1) / 2
        logits = np.broadcast_to(level, (len(codes), len(anchor))).copy()
        for column, slope in enumerate(pull.T):
            logits += codes[:, column, None] * slope
        weight = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(np.rint(PARTS * weight / weight.sum(axis=1, keepdims=True)), np.int64)


def plan_soft(
    policy: Policy, names: Sequence[str], clusters: int, epsilon: Fraction, rounds: int, sharp: int
) -> SoftSteps:
    """Soft steps that lose `epsilon` in all."""
    sizes = tuple(policy.domain[name].size for name in names)
    box = tuple(max(1, (size - 1) // 4) for size in sizes)
    one = Fraction(PARTS)
    sums = tuple(one * b * len(sizes) * COUNT_SHARE / (1 - COUNT_SHARE) for b in box)
    trial = SoftSteps(rounds, box, one, sums, clusters, sharp, sizes)
    stretch = Fraction(trial.certificate(policy, names).epsilon) / epsilon or Fraction(1)
    return replace(trial, count_scale=one * stretch, sum_scales=tuple(s * stretch for s in sums))


def expected_score(steps: SoftSteps, rows: int) -> float:
    """A rough guess of what noise and soft borders cost, comparable with `expected_noise` of hard steps."""
    return steps.expected_noise(steps.sizes, steps.clusters, rows) + BLUR / steps.sharpness**2 / NARROW
