"""What several releases have lost together, where a delta is allowed: pure losses and zCDP losses, mixed.

Whoever asks may choose each release after seeing the answers to all before it. So the price of what was spent must not
be picked among several that hold one by one: the first release with Gaussian noise fixes one order of Renyi divergence,
and from then on every loss is added up at that order. The proof is on the page on delta in the documentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tetraodon.zcdp import best_order, epsilon_at_order


@dataclass(frozen=True, slots=True)
class ReleaseLoss:
    """What one release has lost: `epsilon`, but for a chance of `delta`, or `rho` in zCDP."""

    epsilon: Fraction
    rho: Fraction | None = None
    delta: Fraction = Fraction(0)


def composed(losses: Sequence[ReleaseLoss], delta: Fraction, total: Fraction) -> Fraction:
    """What is charged for all the releases together, out of a total; their sum where delta is 0.

    Pre   the losses are in the order in which the releases were made. None is in zCDP where delta is 0. The noise of
          different releases is independent; each may have been chosen after seeing all answers before it. Those with a
          delta of their own came before any in zCDP, and theirs add up to less than `delta`, or to it if there is none
          in zCDP.
    Post  whoever keeps it at most `total` before every release loses (total, delta) at most. It never falls when a
          release is added, and Gaussian releases alone may spend all of the rho that gives (total, delta).
    Why   pure losses are bounded on every path, so they add up outside, and the chances with which some are not add up
          to what is left of delta. The rest of the loss, raised to one order that was fixed before any of it was drawn,
          is a supermartingale whatever is chosen ([FZ21], [WRRW23]).

    >>> composed([ReleaseLoss(Fraction(1, 3)), ReleaseLoss(Fraction(1, 3))], Fraction(0), Fraction(1))
    Fraction(2, 3)
    """
    pure = sum((loss.epsilon for loss in losses if loss.rho is None), Fraction(0))
    rho = sum((loss.rho for loss in losses if loss.rho is not None), Fraction(0))
    if not rho:
        return pure
    left = delta - spent_delta(losses)
    assert left > 0, "a loss in zCDP needs a delta"
    return pure + epsilon_at_order(fixed_order(losses, left, total), rho, left)


def spent_delta(losses: Sequence[ReleaseLoss]) -> Fraction:
    """What releases with a delta of their own took of the total delta."""
    return sum((loss.delta for loss in losses if loss.rho is None), Fraction(0))


def fixed_order(losses: Sequence[ReleaseLoss], delta: Fraction, total: Fraction) -> Fraction:
    """The order that the first Gaussian release fixes: the best if all that was left then goes to such releases.

    Post  depends on nothing but the releases before the first of its kind.
    """
    before = Fraction(0)
    for loss in losses:
        if loss.rho:
            break
        before += loss.epsilon if loss.rho is None else 0
    return best_order(max(total - before, Fraction(0)), delta)
