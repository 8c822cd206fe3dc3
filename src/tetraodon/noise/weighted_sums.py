"""How far weighted sums of independent noise reach: nearly exact, and never too short."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tetraodon.exact.arrays import Floats
from tetraodon.noise.laws import NoiseLaw

FOLDED = 1e-5
"""The chance that a sum lies outside the stretch that it is folded into."""
BLURRED = 1e-4
"""The chance that blur or rounded weights move it farther than is added for them."""
ROUNDED = 1e-6
"""What is left out of the series, and what floats add."""
BLUR = 0.01
"""The standard deviation of the blur, in those of the sum."""
LAST = 5.7
"""The series ends where the blur has taken all but e^(-LAST^2 / 2) of a term."""
FEW = 48
"""Different weights that are all kept as they are; more are rounded to `GRAIN`."""
SHORT = 4096
"""So many weights or fewer are remembered: a plan that is released again has the same."""
SAME = 1e-9
GRAIN = 0.01


def weighted_reach(law: NoiseLaw, parts: Sequence[tuple[Floats, Fraction]], confidence: Fraction) -> float:
    """A t with P(|sum of weight * noise| <= t) >= confidence; `parts` are weights, and the scale of their noise.

    Why   adding an independent blur G, and replacing weights by near ones, changes the sum by little: by more than r
          only with the chance that G or the difference exceeds it. A sum with a blur has a short Fourier series on a
          stretch that it hardly ever leaves, so that its distribution can be added up. Chernoff's bound is taken where
          it is shorter, and where one weight is all there is, the quantile is exact.

    >>> from tetraodon.noise.laws import LAPLACE
    >>> weighted_reach(LAPLACE, [(np.array([1.0]), Fraction(10))], Fraction(95, 100))
    30.0
    >>> round(weighted_reach(LAPLACE, [(np.full(9, 0.5), Fraction(10)), (np.ones(9), Fraction(10))], Fraction(95, 100)))
    96
    """
    if sum(part.size for part, _ in parts) > SHORT:
        return _worked_out(law, parts, confidence)
    return _remembered(law, tuple((part.astype(np.float64).tobytes(), scale) for part, scale in parts), confidence)


@lru_cache(maxsize=4096)
def _remembered(law: NoiseLaw, parts: tuple[tuple[bytes, Fraction], ...], confidence: Fraction) -> float:
    return _worked_out(law, [(np.frombuffer(part), scale) for part, scale in parts], confidence)


def _worked_out(law: NoiseLaw, parts: Sequence[tuple[Floats, Fraction]], confidence: Fraction) -> float:
    weights, scales, times, variance, largest = _alike(law, parts)
    if not len(weights):
        return 0.0
    if len(weights) == 1 and not variance:
        return float(weights[0]) * law.sum_quantile(scales[0], int(times[0]), confidence)
    every = [(np.abs(part[part != 0.0]), scale) for part, scale in parts]
    whole = sum(law.smooth_variance(scale) * float(part @ part) for part, scale in every if len(part))
    most = max(float(part.max()) * float(scale) for part, scale in every if len(part))
    safe = _reach(law, whole, most, float(confidence))
    doubt = 1 - float(confidence)
    if doubt < 10 * (FOLDED + BLURRED):
        return safe
    half = _reach(law, whole, most, 1 - FOLDED)
    blur = BLUR * math.sqrt(whole)
    added = 4.06 * blur + _reach(law, variance, largest, 1 - BLURRED / 2)  # P(|G| > 4.06 deviations) < BLURRED / 2
    step = math.pi / half
    angles: Floats = step * np.arange(1.0, math.ceil(LAST / (blur * step)) + 1)
    terms: Floats = np.exp(-((blur * angles) ** 2) / 2)
    for scale in dict.fromkeys(scales):
        mine = np.array([(w, n) for w, s, n in zip(weights, scales, times, strict=True) if s == scale])
        each = law.characteristic(scale, np.outer(mine[:, 0], angles)) ** mine[:, 1:]
        terms = terms * np.multiply.reduce(each, axis=0)
    wanted = float(confidence) + FOLDED + BLURRED + ROUNDED
    terms = terms * (2 / (half * angles))
    low, high = 0.0, half
    for _ in range(40):
        middle = (low + high) / 2
        if middle / half + float(terms @ np.sin(angles * middle)) < wanted:
            low = middle
        else:
            high = middle
    return min(safe, high + added)


def _reach(law: NoiseLaw, variance: float, largest: float, confidence: float) -> float:
    return float(law.reach(np.array([variance]), np.array([largest]), Fraction(confidence))[0])


def _alike(
    law: NoiseLaw, parts: Sequence[tuple[Floats, Fraction]]
) -> tuple[list[float], list[Fraction], list[int], float, float]:
    """Weights without their signs, each once, with its scale and how often it occurs; and what that leaves out.

    Post  what is left out is returned as `NoiseLaw.reach` wants it: its variance and its largest part; nothing where
          one weight is all there is, up to rounding.
    """
    for grain in (SAME, GRAIN):
        weights: list[float] = []
        scales: list[Fraction] = []
        times: list[int] = []
        variance, largest = 0.0, 0.0
        for part, scale in parts:
            given = np.abs(part[part != 0.0])
            kinds, which, count = np.unique(np.round(np.log(given) / grain), return_inverse=True, return_counts=True)
            near = np.exp(kinds * grain)
            off = given - near[which]
            weights += near.tolist()
            scales += [scale] * len(near)
            times += count.tolist()
            variance += law.smooth_variance(scale) * float(off @ off)
            largest = max(largest, float(np.abs(off).max(initial=0.0)) * float(scale))
        if len(weights) == 1 and grain == SAME:
            return [max(float(np.abs(part).max(initial=0.0)) for part, _ in parts)], scales, times, 0.0, 0.0
        if len(weights) <= FEW:
            break
    return weights, scales, times, variance, largest
