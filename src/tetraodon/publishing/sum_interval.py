"""Confidence intervals for a sum behind a view, by Chernoff's bound: safe for every table.

The view's sum W of an attribute v is a sum of independent numbers. For any lambda > 0,

    ln P(W >= w) <= -lambda w + sum over records of g(v) + sum over the domain of n(v) h(v),

with the logarithmic moments h of the noise at one tuple and g of a record beside it. The records are unknown, but for
any slope k: sum of g(v) <= k S + q max(0, max(g(v) - k v)), where S is the sum that is looked for and q a bound on the
number of records. So every lambda and slope gives a bound on S, and the best of many is taken.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import assert_never

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.publishing.channel import CopyChannel, SetChannel, ViewChannel

EXPONENTS = np.geomspace(1 / 12, 12, 61)
SLOPES = np.linspace(0.0, 1.0, 9)
ROUNDING = 1e-9


def sum_interval(
    channel: ViewChannel, in_view: Floats, in_domain: Floats, values: Floats, records: float, alpha: Fraction
) -> tuple[float, float]:
    """The least and the largest sum of an attribute that the view does not contradict.

    Pre   `in_view` and `in_domain` count the tuples at each of the `values`; at most `records` records satisfy the
          condition.
    Post  the true sum is below the interval with probability at most alpha/2, and above it with at most alpha/2.
    """
    unit = float(np.abs(values).max(initial=0.0))
    if unit == 0.0:
        return 0.0, 0.0
    scaled = values / unit
    budget = math.log(float(alpha) / 2)
    total = float(in_view @ scaled)
    spread = records * float(channel.shown) + float(in_domain @ scaled**2) * float(channel.variance_per_tuple) + 1
    best = math.sqrt(-2 * budget / spread)
    ends = [records * min(0.0, float(values.min())), records * max(0.0, float(values.max()))]
    for side, sign in enumerate((1.0, -1.0)):
        for exponent in sign * best * EXPONENTS:
            noise, record = moments(channel, exponent * scaled)
            if noise is None or record is None:
                continue
            around = float(in_domain @ noise)
            left = budget + exponent * total - around
            left -= ROUNDING * (1 + abs(exponent * total) + abs(around))
            for slope in _slopes(channel, exponent, scaled, record):
                above = max(0.0, float((record - slope * scaled).max()))
                end = (left - records * above) / slope * unit
                ends[side] = max(ends[side], end) if side == 0 else min(ends[side], end)
    return min(ends), max(ends)


def moments(channel: ViewChannel, exponents: Floats) -> tuple[Floats | None, Floats | None]:
    """ln E e^(x N) of the noise N at one tuple, and by how much a record at it raises the whole; None if infinite."""
    grown = np.expm1(np.minimum(exponents, 700.0))
    noise, shown = float(channel.noise), float(channel.shown)
    match channel:
        case SetChannel():
            around = np.log1p(noise * grown)
            return around, np.log1p(shown * grown) - around
        case CopyChannel():
            if (noise * (1 + grown) >= 1).any():
                return None, None
            return -np.log1p(-noise / (1 - noise) * grown), np.log1p(shown * grown)
        case _:
            assert_never(channel)


def _slopes(channel: ViewChannel, exponent: float, values: Floats, record: Floats) -> Floats:
    """Slopes of the sign of the exponent, from what a record adds on average to those that no record exceeds."""
    mean = exponent * float(channel.keep)
    up, down = values > 0, values < 0
    limits = [(record[up] / values[up]).max(initial=-np.inf), (record[down] / values[down]).min(initial=np.inf)]
    found = np.concatenate([mean + SLOPES * (limit - mean) for limit in limits if np.isfinite(limit)])
    return np.asarray(found[found * exponent > 0])
