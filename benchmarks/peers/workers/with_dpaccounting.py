"""dp-accounting: how much noise the tree of hashes of Google's k-means needs, by its own search."""

from __future__ import annotations

from typing import Any

import dp_accounting
from dp_accounting import dp_event, pld
from work import serve

COUNTS = 20.0
"""How many times the relative noise of sums that of counts is."""


def coreset(epsilon: float, delta: float, levels: int) -> dict[str, Any]:
    """Noise for one sum of points of length at most 1, and for a count on each level: deviation and scale."""

    def event(noise: float) -> dp_accounting.DpEvent:
        counts = dp_event.DiscreteLaplaceDpEvent(1 / (COUNTS * noise), 1)
        return dp_accounting.ComposedDpEvent(
            [dp_accounting.GaussianDpEvent(noise), dp_accounting.SelfComposedDpEvent(counts, levels)]
        )

    interval = dp_accounting.LowerEndpointAndGuess(0.1 / epsilon, 2 / epsilon)
    noise = dp_accounting.calibrate_dp_mechanism(pld.PLDAccountant, event, epsilon, delta, interval)
    return {"sums": noise, "counts": COUNTS * noise}


if __name__ == "__main__":
    serve("dp-accounting", {"coreset": coreset})
