"""Quotients of two measured sums."""

from __future__ import annotations

import numpy as np

from tetraodon.questions.answered import MeasuredSum
from tetraodon.questions.moments import Between, between


def quotient(above: MeasuredSum, below: MeasuredSum) -> Between:
    """One sum divided by another, for every cell.

    Post  the interval holds the quotient with 95%, wherever it is defined.
    Why   each noisy sum misses its interval with at most its part of 5%. Where both are in theirs, and the second is
          not zero, it is at least one unit away from zero, for sums are whole numbers of units. On either side of zero
          a quotient is monotone in both.
    """
    failures = max(1, sum(not one.exact for one in (above, below)))
    top, bottom, unit = between(above, failures), between(below, failures), float(below.unit)
    positive, negative = bottom.upper >= unit, bottom.lower <= -unit
    nothing = ~(positive | negative)  # it is zero, and there is no quotient
    divisors = [
        (positive | nothing, np.maximum(bottom.lower, unit)),
        (positive | nothing, np.maximum(bottom.upper, unit)),
        (negative, np.minimum(bottom.lower, -unit)),
        (negative, np.minimum(bottom.upper, -unit)),
    ]
    lower = [np.where(there, end / by, np.inf) for there, by in divisors for end in (top.lower, top.upper)]
    upper = [np.where(there, end / by, -np.inf) for there, by in divisors for end in (top.lower, top.upper)]
    least, largest = np.minimum.reduce(lower), np.maximum.reduce(upper)
    divisor = np.where(np.abs(bottom.value) >= unit, bottom.value, np.where(positive | nothing, unit, -unit))
    return Between(np.clip(top.value / divisor, least, largest), least, largest)
