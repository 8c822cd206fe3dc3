"""How far off an answer can be: exact quantiles of sums of discrete noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.noise.laws.noise_law import NoiseLaw

LONGEST = 2**22
SLACK = 1e-9


def quantile_of_sum(
    law: NoiseLaw,
    scale: Fraction,
    terms: int,
    confidence: Fraction,
    bound: Callable[[Fraction, int, float], int],
    characteristic: Callable[[float, int], Floats],
) -> int:
    """The least t, or a little more, with P(|X_1 + ... + X_terms| <= t) >= confidence.

    Pre   `bound(scale, terms, tail)` is a t with P(|sum| > t) <= tail; `characteristic(scale, length)` is the
          characteristic function of one term at 0, 2 pi / length, ..., pi.

    A sum of more terms is more spread out, so beyond 64 the number of terms is rounded up to six binary digits: tables
    of a million running counts need a few hundred quantiles.
    """
    rounding = 1 << max(0, terms.bit_length() - 6)
    return _quantile(law, scale, -(-terms // rounding) * rounding, confidence, bound, characteristic)


@lru_cache(maxsize=4096)
def _quantile(
    law: NoiseLaw,
    scale: Fraction,
    terms: int,
    confidence: Fraction,
    bound: Callable[[Fraction, int, float], int],
    characteristic: Callable[[float, int], Floats],
) -> int:
    """As `quantile_of_sum`.

    Why   the power of the characteristic function, sampled at N points, is the law of the sum folded modulo N, and
          folding can only add `SLACK` in the range where Chernoff's bound leaves no more outside. Where N would be too
          long, Chernoff's bound itself is the answer: safe, and about a third too wide.
    """
    if terms == 0 or scale == 0:
        return 0
    if terms == 1:
        return law.quantile(scale, confidence)
    reach = bound(scale, terms, SLACK)
    length = 1 << max(4, math.ceil(math.log2(2 * reach + 2)))
    if length > LONGEST:
        return bound(scale, terms, 1 - float(confidence))
    folded = np.fft.irfft(characteristic(float(scale), length) ** terms, n=length)
    inside = folded[0] + 2 * np.concatenate([[0.0], np.cumsum(folded[1 : length // 2])])
    return int(np.searchsorted(inside, float(confidence) + 2 * SLACK))
