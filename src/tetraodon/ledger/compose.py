"""What several releases have lost together, where a delta is allowed: pure losses and zCDP losses, mixed.

Whoever asks may choose each release after seeing the answers to all before it. So the price of what was spent must not
be picked among several that hold one by one: the first release with Gaussian noise fixes one order of Renyi divergence,
and from then on every loss is added up at that order. The proof is on the page on delta in the documentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

from tetraodon.zcdp import best_order, epsilon_at_order


@dataclass(frozen=True, slots=True)
class ReleaseLoss:
    """What one release has lost: `epsilon`, but for a chance of `delta`, or `rho` in zCDP."""

    epsilon: Fraction
    rho: Fraction | None = None
    delta: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Spent:
    """What releases have lost so far, as a few sums: enough to charge the next one without looking at them again.

    Attributes
    ----------
    pure:   the losses that are no rho.
    rho:    those in zCDP.
    delta:  the chances with which pure losses may not hold.
    before: what of `pure` came before the first loss in zCDP: it fixes the order at which these are read.
    last:   the number of the last release in it; 0 if there is none.
    """

    pure: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    before: Fraction = Fraction(0)
    last: int = 0

    def plus(self, loss: ReleaseLoss, number: int = 0) -> Spent:
        """With one more release, after all others."""
        if loss.rho is not None:
            return replace(self, rho=self.rho + loss.rho, last=number)
        pure = self.pure + loss.epsilon
        return Spent(pure, self.rho, self.delta + loss.delta, self.before if self.rho else pure, number)

    def epsilon(self, delta: Fraction, total: Fraction) -> Fraction:
        """What is charged for all of it together, out of a total; see `composed`."""
        if not self.rho:
            return self.pure
        left = delta - self.delta
        assert left > 0, "a loss in zCDP needs a delta"
        return self.pure + epsilon_at_order(self.order(left, total), self.rho, left)

    def order(self, delta: Fraction, total: Fraction) -> Fraction:
        """The order that the first Gaussian release fixes: the best if all that was left then goes to such releases.

        Post  depends on nothing but the releases before the first of its kind.
        """
        return best_order(max(total - self.before, Fraction(0)), delta)


NOTHING = Spent()


def spent_by(losses: Iterable[ReleaseLoss]) -> Spent:
    """What releases have lost, in the order in which they were made."""
    return reduce(Spent.plus, losses, NOTHING)


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
    return spent_by(losses).epsilon(delta, total)
