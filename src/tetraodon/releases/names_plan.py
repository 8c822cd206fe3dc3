"""Planning what is told of columns of open text: a scale of noise and a threshold for each item."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.partition_selection import NamesAbove, certify_names, least_threshold, names_moved, open_text
from tetraodon.errors import PolicyError
from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.noise.discrete import drawable
from tetraodon.policy.policy import NamesItem, Policy

MISSED = 0.025
"""The chance with which the truth may lie beyond either end of an interval."""


@dataclass(frozen=True)
class PlannedNames:
    """An item that tells names, with its scale of noise and its threshold."""

    item: NamesItem
    above: NamesAbove
    certificate: Certificate

    @property
    def name(self) -> str:
        return self.item.name

    @property
    def epsilon(self) -> Fraction:
        """What this item would lose if it were released alone."""
        return Fraction(self.certificate.epsilon)

    @property
    def asked(self) -> str:
        """What is asked for, in a few words."""
        return f"names in {self.above.column}"

    @property
    def sentence(self) -> str:
        """What is told and what is not."""
        few, sure = self.above.threshold + 1, 2 * self.above.threshold + 1
        return (
            f"The values of {self.above.column} that enough people share, and about how many do. Names that fewer than "
            f"about {few:,} people share do not appear; those that {sure:,} or more share all do."
        )

    @cached_property
    def expected_error(self) -> float:
        """The root mean squared error of the count of a name that very many people have."""
        places = np.arange(-self.above.threshold, self.above.threshold + 1, dtype=np.float64)
        return math.sqrt(float((self._chances * places**2).sum()))

    def intervals(self, told: Ints) -> tuple[Ints, Ints]:
        """Ends for the count of each name that was told; given that it was, they hold the truth with 95% probability.

        Why   a name near the threshold is told only where noise pushed it up. So chances are those of a count that is
              above the threshold. They rise with the truth, and halving finds where they are large enough.
        """
        most = self.above.threshold

        def reached(truth: Ints) -> Bools:
            return self._at_least(told - truth) >= MISSED * self._at_least(most + 1 - truth)

        def kept(truth: Ints) -> Bools:
            passing = self._at_least(most + 1 - truth)
            return passing - self._at_least(told - truth + 1) >= MISSED * passing

        lower = _first(reached, np.maximum(told - most, 1), told)
        upper = _first(lambda truth: ~kept(truth), told, told + most + 1) - 1
        return lower, np.maximum(upper, told)

    @cached_property
    def _chances(self) -> Floats:
        """The chance of each noise from -threshold to threshold."""
        places = np.abs(np.arange(-self.above.threshold, self.above.threshold + 1, dtype=np.float64))
        weights = np.exp(-places / float(self.above.scale))
        return np.asarray(weights / weights.sum())

    @cached_property
    def _tails(self) -> Floats:
        return np.append(np.cumsum(self._chances[::-1])[::-1], 0.0)

    def _at_least(self, noise: Ints) -> Floats:
        """The chance that noise is at least so large."""
        return np.asarray(self._tails[np.clip(noise + self.above.threshold, 0, len(self._chances))])


def _first(holds: Callable[[Ints], Bools], low: Ints, high: Ints) -> Ints:
    """The first number from `low` on from which something holds; `high` where it does not hold before."""
    while (low < high).any():
        middle = (low + high) // 2
        found = holds(middle)
        low, high = np.where(found | (low >= high), low, middle + 1), np.where(found & (low < high), middle, high)
    return high


def plan_names(policy: Policy) -> tuple[tuple[PlannedNames, ...], Policy]:
    """The items that tell names, and the policy with the budget that they leave for the others.

    Post  every item has its share of epsilon; those that tell names divide delta among them as their shares say.
    """
    if not policy.names:
        return (), policy
    if not policy.delta or policy.rho is not None:
        raise PolicyError(
            "names that nobody listed cannot be told without a delta",
            fix="write `budget: {epsilon: 1, delta: 1e-6}`",
            where="budget",
        )
    naming = sum(item.share for item in policy.names)
    shares = naming + sum(item.share for item in policy.items)
    found = tuple(
        _planned(item, policy, policy.epsilon * item.share / shares, policy.delta * item.share / naming)
        for item in policy.names
    )
    left = policy.epsilon * (shares - naming) / shares
    return found, policy.with_epsilon(left) if policy.items else policy


def _planned(item: NamesItem, policy: Policy, epsilon: Fraction, delta: Fraction) -> PlannedNames:
    moved = names_moved(policy, open_text(policy, item.column))
    scale = moved / epsilon
    drawable(scale, name=f"the scale of the noise on {item.name}")
    above = NamesAbove(item.column, scale, least_threshold(scale, moved, delta))
    return PlannedNames(item, above, certify_names(policy, [above]))
