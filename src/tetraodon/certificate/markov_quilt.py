"""The Markov quilt: how far a secret of one row spreads along a chain ([SWC17] section 4).

Let X_i be a row of a chain, and let the rows a before and b after it be the *quilt*. Given the quilt, everything beyond
it is independent of X_i. So whatever is released tells two values x and y of X_i apart by at most

    log P(quilt | x) / P(quilt | y)  +  what the a + b - 1 rows inside the quilt can move the answers by

([SWC17] Thm 4.3). The first term, the *influence*, falls as the quilt widens; the second grows. Every width is a valid
bound, so the least over widths is one.

Numbers are doubles, and every rounding error is bounded: all sums are of numbers that are not negative, so relative
errors only add up. Influences are rounded up to exact fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tetraodon.arrays import Bools, Floats
from tetraodon.errors import Refused
from tetraodon.policy.attackers import Chain, Matrix
from tetraodon.rational import rounded_up

ROUNDING = 2.0**-53
TINY = 1e-250
"""Probabilities below this are taken for zero where they divide: that makes an influence infinite, never small."""
ALL_SPLITS = 256
CELLS = 8_000_000
WIDEST = 4096
FOLLOWED = 2 * WIDEST
"""How many moments after a stated start are looked at one by one."""
MOST_STATES = 128
"""Chains of more states are bounded by how fast they mix."""


@dataclass(frozen=True)
class QuiltBounds:
    """Ways to bound what a secret costs: an influence, and how many rows change with it."""

    options: tuple[tuple[Fraction, int], ...]

    def loss(self, each: Fraction) -> Fraction | float:
        """The least bound when a change of one row costs `each`; infinite without options.

        Why   it is concave and at least 0 at 0, so it grows by less than in proportion: what two releases lose
              together is never more than the sum.
        """
        return min((influence + rows * each for influence, rows in self.options), default=math.inf)

    def each(self, epsilon: Fraction) -> Fraction:
        """The most that one row may cost within a budget; 0 where no option fits it."""
        return max(((epsilon - influence) / rows for influence, rows in self.options), default=Fraction(0))


def quilt_loss(chain: Chain, secrets: Bools, each: Fraction) -> Fraction:
    """The loss of a release under a chain, when a change of one row costs `each`."""
    width = 16
    while True:
        found = spread(chain, secrets.tobytes(), width)
        loss = found.loss(each)
        if loss <= width * each or width >= _limit(chain):
            break
        width *= 2
    if isinstance(loss, float):
        raise _too_slow()
    return loss


def quilt_budget(chain: Chain, secrets: Bools, epsilon: Fraction) -> Fraction:
    """What a change of one row may cost so that a release under a chain keeps a budget: 1 / sigma_max of [SWC17]."""
    width = 16
    while True:
        each = spread(chain, secrets.tobytes(), width).each(epsilon)
        if (each > 0 and epsilon <= width * each) or width >= _limit(chain):
            break
        width *= 2
    if each <= 0:
        raise _too_slow()
    return each


def best_quilt(chain: Chain, secrets: Bools, worth: Callable[[float, int], float]) -> tuple[Fraction, int]:
    """The quilt that is worth the most, as its influence and how many rows change with it.

    Pre   `worth` of an influence and a number of rows rises with neither; it is -infinity where a quilt is of no use.
    Why   every quilt gives a bound, so that one may be looked for in floats, and priced afterwards.
    """
    width = 16
    while True:
        options = spread(chain, secrets.tobytes(), width).options
        found = max(((worth(float(one[0]), one[1]), one) for one in options), default=(-math.inf, (Fraction(0), 0)))
        if found[0] >= worth(0.0, width) or width >= _limit(chain):
            break
        width *= 2
    if math.isinf(found[0]):
        raise _too_slow()
    return found[1]


def _too_slow() -> Refused:
    return Refused(
        "the chain forgets its states too slowly for this budget: no quilt is wide enough",
        fix="use a larger epsilon, coarser values, or a chain with longer steps; a stated `length` bounds it too",
        where="attackers",
    )


def _limit(chain: Chain) -> int:
    most = WIDEST if chain.states > MOST_STATES else min(WIDEST, CELLS // chain.states**2)
    return 1 << (max(16, min(most, chain.length or most)) - 1).bit_length()


@lru_cache(maxsize=64)
def spread(chain: Chain, secrets: bytes, width: int) -> QuiltBounds:
    """Every quilt of at most `width` rows that no other makes superfluous, and all rows if their number is known."""
    mask = np.frombuffer(secrets, np.bool_).reshape(chain.states, chain.states)
    exact = chain.states <= MOST_STATES
    found = exact_influences(chain, mask, width) if exact else approximate_influences(chain, width)
    options: list[tuple[Fraction, int]] = []
    least = math.inf
    for rows, influence in enumerate(found.tolist(), 1):
        if influence < least:
            least = influence
            options.append((rounded_up(Fraction(influence), digits=6), rows))  # the same on every machine
    return QuiltBounds((*options, (Fraction(0), chain.length)) if chain.length else tuple(options))


def exact_influences(chain: Chain, secrets: Bools, width: int) -> Floats:
    """For every number of rows up to `width`, the influence of the best quilt around so many, for any row of the chain.

    Post  entry c - 1 is not below the largest log P(X_(i-a), X_(i+b) | X_i = x) / P(... | X_i = y) over all secret
          pairs x, y and all i, for some a + b = c + 1. Near an end the quilt has one side and no more rows inside.
    Why   given X_i the two sides are independent, so their log ratios add up for each pair x, y. By Bayes' rule the
          left side is P^a(z, x) / m_i(x) times what does not depend on x, where m_i is the distribution of X_i. With
          stated starts, m_i is bounded over all i > a at once. Where moments without a row lie between, a side is g
          steps further away and tells less: the rows and columns of P^(a+g) are averages of those of P^a. The influence
          of one side is looked at apart, for the rows near the ends.
    """
    worst = np.full(width, -np.inf)
    for matrix in chain.transitions:
        powers = _powers(_float(matrix), width)
        left, right = _ratios(powers.transpose(0, 2, 1)), _ratios(powers)
        for start in chain.starts or (None,):
            if start is None:
                settled = np.log(stationary_float(matrix))
                high = low = np.broadcast_to(settled, (width, chain.states))
            else:
                high, low = _marginals(np.array([float(p) for p in start]), powers[0], width)
            before = left + high[:, None, :] - low[:, :, None]
            np.maximum(worst, _best_splits(before[:, secrets], right[:, secrets]), out=worst)
    return worst + _slack(chain, width)


def approximate_influences(chain: Chain, width: int) -> Floats:
    """The same from two numbers of each chain: its rarest state and its second singular value ([SWC17] Lemma 4.8).

    Why   in the space of functions with weights pi, P^t minus its limit has norm at most s^t, s the second singular
          value of P. So |P^t(x, y) / pi(y) - 1| <= s^t sqrt((1/pi(x) - 1) (1/pi(y) - 1)) <= s^t (1/pi_min - 1) =: d,
          and each side moves the odds by (1 + d)/(1 - d) at most. A start other than pi is within d of it after a
          steps, which counts the left side twice.
    """
    right = np.zeros(width)
    steps = np.arange(1, width + 1)
    for matrix in chain.transitions:
        settled = stationary_float(matrix)
        scaled = np.sqrt(settled)[:, None] * _float(matrix) / np.sqrt(settled)[None, :]
        singular = float(np.linalg.svd(scaled, compute_uv=False)[1]) + 1e-9 if chain.states > 1 else 0.0
        if singular >= 1:
            raise Refused(
                "the chain does not mix at every step, so that the approximate quilt does not hold",
                fix="use the exact quilt, or write a small probability for transitions that are merely unlikely",
                where="attackers",
            )
        far = singular**steps * (1 / settled.min() - 1) * (1 + 1e-6)
        side = np.full(width, np.inf)
        near = far < 1
        side[near] = np.log1p(far[near]) - np.log1p(-far[near])
        right = np.maximum(right, side * (1 + 1e-9))
    before = right * (2 if chain.starts else 1)
    best = np.array([(before[:c] + right[c - 1 :: -1]).min() for c in range(1, width + 1)])
    return best + 1e-12


def stationary_float(matrix: Matrix) -> Floats:
    """The distribution a chain settles in, each entry to within 4 n^3 roundings of its own size.

    Why   the elimination of Grassmann, Taksar and Heyman subtracts nothing, so no digit is lost (O'Cinneide 1993).
    """
    work = _float(matrix).copy()
    size = len(work)
    for last in range(size - 1, 0, -1):
        work[:last, last] /= work[last, :last].sum()
        work[:last, :last] += np.outer(work[:last, last], work[last, :last])
    found = np.ones(size)
    for state in range(1, size):
        found[state] = found[:state] @ work[:state, state]
    total: Floats = found / found.sum()
    return total


def _float(matrix: Matrix) -> Floats:
    return np.array([[float(number) for number in row] for row in matrix])


def _powers(matrix: Floats, width: int) -> Floats:
    """The powers 1 to `width`. Relative errors are at most (states + 2) roundings for each step."""
    powers = np.empty((width, *matrix.shape))
    powers[0] = matrix
    for step in range(1, width):
        np.matmul(powers[step - 1], matrix, out=powers[step])
    return powers


def _ratios(powers: Floats) -> Floats:
    """For every power and states x, y: the largest log ratio of row x to row y; infinite where one is impossible."""
    found = np.full(powers.shape, np.inf)
    for step, power in enumerate(powers):
        if power.min() > TINY:
            logs = np.log(power)
            found[step] = (logs[:, None, :] - logs[None, :, :]).max(axis=2)
    return found


def _marginals(start: Floats, matrix: Floats, width: int) -> tuple[Floats, Floats]:
    """For every a: the largest and the least log P(X_i = x) over all moments i > a, whether or not they have a row.

    Why   moments one by one up to FOLLOWED; later laws are averages of the rows of P^FOLLOWED.
    """
    laws = np.empty((FOLLOWED + 1, 2, len(start)))
    here = start
    for row in range(FOLLOWED):
        laws[row] = here
        here = here @ matrix
    settled = np.linalg.matrix_power(matrix, FOLLOWED)
    laws[FOLLOWED] = settled.max(axis=0), settled.min(axis=0)
    with np.errstate(divide="ignore"):
        logs = np.log(np.where(laws > TINY, laws, 0.0))
    high = np.maximum.accumulate(logs[::-1, 0])[::-1][1 : width + 1]
    low = np.minimum.accumulate(logs[::-1, 1])[::-1][1 : width + 1]
    return high, low


def _best_splits(before: Floats, after: Floats) -> Floats:
    """For every number of rows c, the least over a + b = c + 1 of the largest influence over pairs."""
    width = len(before)
    before, after = (np.where(np.isnan(side), np.inf, side) for side in (before, after))
    alone = np.maximum.accumulate(before.max(axis=1)[::-1])[::-1], np.maximum.accumulate(after.max(axis=1)[::-1])[::-1]
    best = np.full(width, np.inf)
    for c in range(1, width + 1):
        a = np.arange(1, c + 1)
        if width > ALL_SPLITS:
            a = np.unique(np.clip((c + 1) * np.arange(1, 16) // 16, 1, c))
        b = c + 1 - a
        both = (before[a - 1] + after[b - 1]).max(axis=1)
        best[c - 1] = np.maximum(both, np.maximum(alone[0][a - 1], alone[1][b - 1])).min()
    return best


def _slack(chain: Chain, width: int) -> float:
    """More than all roundings together can have taken off an influence: four powers, two distributions, logarithms."""
    steps = 4 * (width + 1) * (chain.states + 3) + 2 * (FOLLOWED if chain.starts else 0) * (chain.states + 3)
    return 2 * ROUNDING * (steps + 8 * chain.states**3) + 2.0**-40
