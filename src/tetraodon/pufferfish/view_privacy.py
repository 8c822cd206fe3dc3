"""(d, gamma)-privacy, relative privacy and indistinguishability of a view, exactly, and how one implies another.

All three speak of the likelihood ratio L = P(view | t in the table) / P(view | t not in it). A prior p becomes
p L / (p L + 1 - p).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from tetraodon.errors import PolicyError
from tetraodon.policy.adversary import largest_ratio

if TYPE_CHECKING:
    from tetraodon.views.channel import ViewChannel


def after(prior: Fraction, ratio: Fraction) -> Fraction:
    """The posterior that a likelihood ratio makes of a prior."""
    return prior * ratio / (prior * ratio + 1 - prior)


@dataclass(frozen=True)
class Bounds:
    """The least and the largest likelihood ratio of one tuple over all views."""

    low: Fraction
    high: Fraction

    @classmethod
    def of(cls, channel: ViewChannel) -> Bounds:
        return cls(channel.ratio_down, channel.ratio_up)

    def is_private(self, d: Fraction, gamma: Fraction) -> bool:
        """(d, gamma)-privacy against independent attackers ([RS07] Def. 2.3), both inequalities, exactly.

        Why  the posterior grows with the prior, so d is the worst for the right one; a small prior is the worst for the
             left one, where posterior/prior tends to the ratio itself.
        """
        _check(d, gamma)
        return after(d, self.high) <= gamma and self.low >= d / gamma

    @property
    def relative(self) -> Fraction:
        """e^delta for the least delta at which it is (d, delta)-relative-private (Def. A.2), whatever d."""
        return max(self.high, 1 / self.low)

    @property
    def indistinguishable(self) -> Fraction:
        """e^epsilon for the least epsilon at which one tuple replaced by another is indistinguishable (Def. A.1)."""
        return self.high / self.low


def relative_of_private(d: Fraction, gamma: Fraction) -> Fraction:
    """e^delta that (d, gamma)-privacy implies ([RS07] Prop. A.3).

    >>> relative_of_private(Fraction(1, 100), Fraction(1, 5))
    Fraction(99, 4)
    """
    _check(d, gamma)
    return max(largest_ratio(d, gamma), gamma / d)


def private_of_relative(d: Fraction, ratio: Fraction) -> Fraction:
    """gamma = d e^delta that relative privacy implies ([RS07] Prop. A.3)."""
    return d * ratio


def indistinguishable_of_relative(ratio: Fraction) -> Fraction:
    """e^epsilon = e^(2 delta) that relative privacy implies.

    [RS07] Prop. A.5 adds 2 ln 2. It is not needed: relative privacy holds for arbitrarily small priors, where
    posterior/prior tends to the likelihood ratio, so that each of the two tuples is worth at most delta.
    """
    return ratio**2


def _check(d: Fraction, gamma: Fraction) -> None:
    if not 0 < d < gamma < 1:
        raise PolicyError("the posterior bound is not above the prior bound", fix="choose 0 < d < gamma < 1")
