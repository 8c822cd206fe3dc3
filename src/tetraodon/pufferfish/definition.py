"""A privacy definition: what must not be told apart, by whom, and how well ([KM12] Def. 3.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.errors import PolicyError
from tetraodon.exponent import exp_below, is_at_most_exp
from tetraodon.pufferfish.pair import Masks, SecretPairs
from tetraodon.pufferfish.prior import Prior
from tetraodon.pufferfish.scenario import Scenario
from tetraodon.pufferfish.world import World, classes_of
from tetraodon.rational import decimal_text, rational


@dataclass(frozen=True, init=False)
class Definition:
    """For every attacker and pair, no output moves the odds of the first secret to the second out of bounds.

    The bounds are e^-epsilon and e^epsilon, or any two rational `odds=(low, high)`. With `delta`, a failure of
    that total probability is forgiven ([MK15] Def. 3).

    >>> from tetraodon.pufferfish import pairs, scenarios
    >>> Definition(pairs.presence(), scenarios.independent(), epsilon="0.1").text  # doctest: +NORMALIZE_WHITESPACE
    'whether an individual is in the data, with any value, or is not: attackers to whom the records are independent
    must not move the odds by more than e^0.1'
    """

    pairs: SecretPairs
    scenarios: Scenario
    epsilon: Fraction | None
    odds: tuple[Fraction, Fraction] | None
    delta: Fraction
    name: str

    def __init__(
        self,
        pairs: SecretPairs,
        scenarios: Scenario,
        *,
        epsilon: Any = None,
        odds: tuple[Any, Any] | None = None,
        delta: Any = 0,
        name: str = "",
    ) -> None:
        if not isinstance(pairs, SecretPairs) or not isinstance(scenarios, Scenario):
            raise PolicyError("a definition needs pairs and scenarios", fix="use pairs.* and scenarios.*")
        if (epsilon is None) == (odds is None):
            raise PolicyError("a definition needs either epsilon or odds", fix="give exactly one of the two")
        exact = None if epsilon is None else rational(epsilon, name="epsilon")
        if exact is not None and exact < 0:
            raise PolicyError("epsilon is negative", fix="write zero or more")
        if odds is not None and not (isinstance(odds, tuple | list) and len(odds) == 2):
            raise PolicyError("the odds are not two numbers", fix="write odds=(low, high)")
        bounds = None if odds is None else (rational(odds[0], name="low"), rational(odds[1], name="high"))
        if bounds is not None and not 0 <= bounds[0] <= 1 <= bounds[1]:
            raise PolicyError("the odds do not bracket 1", fix="write low <= 1 <= high: an output may say nothing")
        failure = rational(delta, name="delta")
        if not 0 <= failure < 1 or (failure and exact is None):
            raise PolicyError("delta is not a probability beside epsilon", fix="write 0 <= delta < 1, with epsilon")
        for field, value in (
            ("pairs", pairs),
            ("scenarios", scenarios),
            ("epsilon", exact),
            ("odds", bounds),
            ("delta", failure),
            ("name", name),
        ):
            object.__setattr__(self, field, value)

    def __hash__(self) -> int:
        return hash((self.pairs, self.scenarios, self.epsilon, self.odds, self.delta))

    @property
    def text(self) -> str:
        """The promise in words."""
        named = f"{self.name}: " if self.name else ""
        if self.odds is None:
            bound = f"by more than e^{decimal_text(self.epsilon or Fraction(0))}"
        else:
            bound = f"out of [{decimal_text(self.odds[0])}, {decimal_text(self.odds[1])}]"
        forgiven = f", except with probability {decimal_text(self.delta)}" if self.delta else ""
        return f"{named}{self.pairs.text}: {self.scenarios.text} must not move the odds {bound}{forgiven}"

    def allows(self, forward: Fraction | float, backward: Fraction | float) -> bool:
        """Whether the largest odds ratios, first to second and second to first, are within bounds. Exact."""
        if isinstance(forward, float) or isinstance(backward, float):  # infinity
            return (
                self.odds is not None and self.odds[0] == 0 and isinstance(forward, Fraction) and forward <= self.high
            )
        if self.odds is not None:
            return forward <= self.odds[1] and backward * self.odds[0] <= 1
        return is_at_most_exp(max(forward, backward), self.epsilon or Fraction(0))

    @property
    def high(self) -> Fraction:
        """The largest odds ratio allowed, first to second: exact, or a rational just below e^epsilon."""
        return self.odds[1] if self.odds is not None else exp_below(self.epsilon or Fraction(0))

    @property
    def low(self) -> Fraction:
        """The smallest odds ratio allowed, first to second: exact, or a rational just above e^-epsilon."""
        return self.odds[0] if self.odds is not None else 1 / self.high

    def at(self, epsilon: Any) -> Definition:
        """The same promise at another epsilon."""
        return Definition(self.pairs, self.scenarios, epsilon=epsilon, delta=self.delta, name=self.name)

    def against(self, scenarios: Scenario) -> Definition:
        """The same promise against other attackers."""
        return Definition(self.pairs, scenarios, epsilon=self.epsilon, odds=self.odds, delta=self.delta, name=self.name)


@dataclass(frozen=True)
class SpelledOut:
    """A definition spelled out in a world: the datasets that are possible, the pairs, and how to go about it.

    `groups` holds, for each pair, the group that decides it, or None for everybody; with `exact` the supremum over the
    attackers is the one over datasets that agree outside the group, otherwise it is at most that. `priors` are all the
    attackers, None where there are infinitely many.
    """

    definition: Definition
    priors: tuple[Prior, ...] | None
    world: World
    masks: Masks
    groups: Sequence[frozenset[int] | None]
    exact: bool
    method: str
    shared: tuple[int, ...] = ()

    def neighbours(self, number: int) -> Iterator[tuple[int, int]]:
        """Datasets on the two sides of a pair that agree outside its group."""
        labels = classes_of(self.world, self.groups[number])
        one, other = self.masks.masks[self.masks.first[number]], self.masks.masks[self.masks.second[number]]
        for x in np.flatnonzero(one).tolist():
            for y in np.flatnonzero(other & (labels == labels[x])).tolist():
                yield x, y
