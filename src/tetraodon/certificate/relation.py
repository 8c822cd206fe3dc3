"""The one relation between classes of values, where there are two classes more than independent known counts."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from tetraodon.certificate.zero_sum import Vector
from tetraodon.rational import row_reduced


@lru_cache(maxsize=64)
def relation(vectors: tuple[Vector, ...]) -> tuple[int, ...]:
    """The whole numbers r, without a common factor, with sum of r = 0 and sum of r_c v_c = 0.

    Pre   there is one such r up to sign: two classes more than dimensions.
    """
    rows = [[Fraction(1), *map(Fraction, vector)] for vector in vectors]
    count, width = len(rows), len(rows[0])
    matrix, pivots = row_reduced([[rows[c][k] for c in range(count)] for k in range(width)], count)
    [free] = [column for column in range(count) if column not in pivots]
    kernel = [Fraction(0)] * count
    kernel[free] = Fraction(1)
    for k, column in enumerate(pivots):
        kernel[column] = -matrix[k][free]
    common = math.lcm(*(entry.denominator for entry in kernel))
    whole = [int(entry * common) for entry in kernel]
    divisor = math.gcd(*whole)
    return tuple(entry // divisor for entry in whole)
