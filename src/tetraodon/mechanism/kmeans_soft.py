"""Lloyd's steps with soft assignments: a record belongs to every centre in part, and a short step changes little of it.

The shares of a record are softmax(g_c . x + h_c), which for squared distances is the usual soft k-means. While x moves
by d, they move by at most half the range over c of g_c . d, in total: the derivative of a share is the share times what
its logit gains above the average, and the mean distance from a mean is at most half a range. So the gradients of the
logits are kept below a public bound, and the noise is made for that bound: two centres cannot be told apart more
sharply than the policy pays for.

Shares are rounded to whole parts of a record, so that noise is exact; what rounding can add is in the certificate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.certificate.certificate import Certificate
from tetraodon.errors import Refused
from tetraodon.gate import Permit
from tetraodon.mechanism.kmeans_certificate import certify_rates
from tetraodon.mechanism.kmeans_steps import COUNT_SHARE, NARROW
from tetraodon.noise.laws import LAPLACE
from tetraodon.policy.policy import Policy
from tetraodon.whole_sums import LARGEST, cut_off, with_noise

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
class SoftSteps:
    """`rounds` of soft steps. From end to end of a column, two logits draw apart by at most `sharpness`.

    Sums are in grid steps times parts of a record; a record is clipped to `box[i]` steps around each centre.
    """

    rounds: int
    clusters: int
    sharpness: int
    sizes: tuple[int, ...]
    box: tuple[int, ...]
    count_scale: Fraction
    sum_scales: tuple[Fraction, ...]

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
        """The loss of all rounds, by the kernel, whatever the centres turn out to be.

        Why   |w u - w' u'| <= |w - w'| |u| + w' |u - u'|, for shares w and clipped places u, which move no further than
              the record. Each of `clusters` shares is off by less than one part, before and after.
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

    def run(self, codes: Ints, sizes: Sequence[int], lengths: Floats, start: Floats, permit: Permit) -> Floats:
        """Centres, in codes, from public ones. `lengths` are the steps of the grid in the data's own units."""
        centres = start.copy()
        scales = (self.count_scale, *self.sum_scales)
        for _ in range(self.rounds):
            anchor = np.rint(centres).astype(np.int64)
            noise = np.stack([permit.noise(LAPLACE, scale, self.clusters) for scale in scales])
            counts, *sums = with_noise(self.asked(codes, anchor, lengths), noise)
            for column, box in enumerate(self.box):
                moved = np.clip(sums[column] / np.maximum(counts, PARTS), -box, box)
                centres[:, column] = np.clip(anchor[:, column] + moved, 0, sizes[column] - 1)
        return centres

    def asked(self, codes: Ints, anchor: Ints, lengths: Floats) -> Ints:
        """The exact numbers of one round: the counts of the cells, then the sums on each column, none beyond `LARGEST`.

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
    trial = SoftSteps(rounds, clusters, sharp, sizes, box, one, sums)
    stretch = Fraction(trial.certificate(policy, names).epsilon) / epsilon or Fraction(1)
    return SoftSteps(rounds, clusters, sharp, sizes, box, one * stretch, tuple(s * stretch for s in sums))


def expected_score(steps: SoftSteps, rows: int) -> float:
    """A rough guess of what noise and soft borders cost, comparable with `expected_noise` of hard steps."""
    relative = [float(s) / PARTS / max(1, size - 1) for s, size in zip(steps.sum_scales, steps.sizes, strict=True)]
    noise = sum(2 * (r * steps.clusters / rows) ** 2 for r in relative) / (NARROW * len(steps.sizes))
    return noise + BLUR / steps.sharpness**2 / NARROW
