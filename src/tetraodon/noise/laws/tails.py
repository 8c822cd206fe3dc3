"""How far off a weighted sum of noise can be: bounds that need its variance, and its largest part, only."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

TILTS = np.linspace(0.005, 0.995, 199)


def laplace_reach(
    variance: NDArray[np.float64], largest: NDArray[np.float64], confidence: Fraction
) -> NDArray[np.float64]:
    """Distances t with P(|sum| <= t) >= confidence, for sums of independent noise with known variances.

    Pre   `variance` is 2 * sum of (weight * scale)^2 or more, `largest` is the largest |weight| * scale or more.
    Why   the moments of discrete Laplace noise of scale b are below those of the continuous: for s b <= 1,
          sinh(s/2) / sinh(1/2b) <= s b, so log E e^{sX} <= -log(1 - (s b)^2). That is convex in (s b)^2, so a sum
          with a given variance has the largest bound when its parts are as large as allowed; Chernoff's bound for
          that sum, at the best of many tilts.

    >>> float(laplace_reach(np.array([2.0]), np.array([1e-3]), Fraction(95, 100))[0].round(2))    # 2.7 deviations
    3.84
    """
    variance, largest = np.asarray(variance, np.float64), np.asarray(largest, np.float64)
    flat_variance = variance.ravel()
    biggest = np.clip(largest.ravel(), np.sqrt(flat_variance / 2) * 1e-3, np.sqrt(flat_variance / 2))
    reach = np.zeros(len(flat_variance))
    noisy = flat_variance > 0
    parts = flat_variance[noisy] / (2 * biggest[noisy] ** 2)
    doubt = math.log(2 / (1 - float(confidence)))
    best = np.full(len(parts), np.inf)
    for size in (1.0, 0.1, 0.01):  # many small parts want small tilts
        for tilt in size * TILTS:
            best = np.minimum(best, (doubt - parts * math.log1p(-(tilt**2))) / tilt)
    reach[noisy] = best * biggest[noisy]
    return reach.reshape(variance.shape)


def gaussian_reach(variance: NDArray[np.float64], confidence: Fraction) -> NDArray[np.float64]:
    """The same for sums of discrete Gaussian noise.

    Pre   `variance` is the sum of (weight * sigma)^2 or more.
    Why   exponential moments of discrete Gaussian noise are at most those of the continuous ([CKS20]): Chernoff.

    >>> float(gaussian_reach(np.array([2.0]), Fraction(95, 100))[0].round(2))
    3.84
    """
    return np.sqrt(2 * np.asarray(variance, np.float64) * math.log(2 / (1 - float(confidence))))
