"""Secrets about the whole table: a firm's share of something, and not any one person's record ([ZOC22]).

An attacker who knows the law of the records learns from one number about another: from how many are ill, how many are
old. If the second is a secret of the table's owner, noise must hide by how much it moves the law of the first. Random
records hide a part of that already, and only the rest is added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tetraodon.certificate.table_secret_loss import ROUNDING, AnswerLaw, LawPair
from tetraodon.errors import PolicyError, Refused
from tetraodon.exact.arrays import Floats
from tetraodon.exact.rational import Number, probabilities, rational
from tetraodon.pufferfish.gaussian import delta_of

MOST_RECORDS = 2000


def secret_share(records: int, joint: Sequence[Sequence[Number]], *, within: int) -> tuple[LawPair, ...]:
    """How many records have B, if a have A and if a + `within` do: for every a, for `least_noise_on`.

    `joint` has the chances that a record has neither, B alone; A alone, both: rows by A, columns by B. Records are
    independent, and their number is public.

    Post  pairs that are nearer to each other than `within` lose less, because more records with A move the law of the
          answer further the same way.

    >>> pairs = secret_share(20, [["0.4", "0.1"], ["0.1", "0.4"]], within=2)
    >>> len(pairs), pairs[0].words
    (19, '0 records have A, or 2')
    """
    if not 1 <= within <= records <= MOST_RECORDS:
        raise PolicyError(
            "the secret is no number of records that may differ",
            fix=f"give up to {MOST_RECORDS:,} records, and let `within` be from 1 to their number",
        )
    chances = probabilities([chance for row in joint for chance in row], name="a chance of the two attributes")
    if len(joint) != 2 or len(chances) != 4:
        raise PolicyError("two attributes of two values have four chances", fix="write [[p00, p01], [p10, p11]]")
    neither, only_b, only_a, both = chances
    if neither + only_b == 0 or only_a + both == 0:
        raise PolicyError("A has probability 0 or 1, so there is no secret", fix="check the chances of A")
    without = _counts(float(only_b / (neither + only_b)), float(neither / (neither + only_b)), records)
    having = _counts(float(both / (only_a + both)), float(only_a / (only_a + both)), records)
    laws = [
        AnswerLaw(0, np.convolve(having[a, : a + 1], without[records - a, : records - a + 1]), _error(records))
        for a in range(records + 1)
    ]
    return tuple(
        LawPair(laws[a], laws[a + within], f"{a} records have A, or {a + within}") for a in range(records + 1 - within)
    )


def _counts(success: float, failure: float, most: int) -> Floats:
    """Row t: the chances of 0, 1, ... successes in t trials."""
    found = np.zeros((most + 1, most + 1))
    found[0, 0] = 1
    for trials in range(1, most + 1):
        found[trials] = found[trials - 1] * failure
        found[trials, 1:] += found[trials - 1, :-1] * success
    return found


def _error(records: int) -> float:
    return 8 * (records + 2) * ROUNDING


@dataclass(frozen=True, slots=True)
class GaussianSecret:
    """An answer and a secret of the whole table that are jointly normal, to whoever attacks.

    Attributes
    ----------
    variance:   of the answer.
    secret:     the variance of the secret number.
    covariance: of the two.
    """

    variance: float
    secret: float
    covariance: float

    def __post_init__(self) -> None:
        if min(self.variance, self.secret) <= 0 or self.covariance**2 > self.variance * self.secret * (1 + 1e-12):
            raise PolicyError("these are no variances and covariance of two numbers", fix="check them")

    @property
    def hidden(self) -> float:
        """The variance that the answer keeps when the secret is known."""
        return max(0.0, self.variance - self.covariance**2 / self.secret)

    def sigma(self, *, within: Number, epsilon: Number, delta: Number) -> float:
        """The least Gaussian noise on the answer, rounded up, that hides the secret to within a distance.

        Post  0 where the randomness of the records hides it already.
        Why   given the secret, the answer is normal with mean covariance / secret times its value and variance
              `hidden`; noise adds its own. Two values at a distance then are two normal laws of the same variance, and
              delta is known exactly for those ([ZOC22] use a bound there).

        >>> GaussianSecret(100, 25, 20).sigma(within=5, epsilon=1, delta="0.001") > 0
        True
        >>> GaussianSecret(100, 25, 0).sigma(within=5, epsilon=1, delta="0.001")
        0.0
        """
        far, loss, chance = (
            float(rational(number, name=name))
            for number, name in ((within, "within"), (epsilon, "epsilon"), (delta, "delta"))
        )
        if far <= 0 or loss <= 0 or not 0 < chance < 1:
            raise Refused("Gaussian noise needs a distance, an epsilon and a delta", fix="give numbers above zero")
        moved = abs(self.covariance) / self.secret * far
        if moved == 0:
            return 0.0
        low, high = 0.0, 1.0
        while delta_of(high, loss) <= chance * (1 - 1e-9):
            high *= 2
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if delta_of(middle, loss) <= chance * (1 - 1e-9) else (low, middle)
        return math.sqrt(max(0.0, (moved / low) ** 2 * (1 + 1e-9) - self.hidden))
