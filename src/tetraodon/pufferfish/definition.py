"""Privacy definitions ([KM12] Def. 3.1), and the verdict on a mechanism."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.errors import PolicyError
from tetraodon.exact.exponent import display, exp_below, is_at_most_exp, log_above, log_below
from tetraodon.exact.rational import decimal_text, rational
from tetraodon.pufferfish.largest_odds import Likelihoods, OddsPeak, Peaks
from tetraodon.pufferfish.pairs import Masks, Pair, SecretPairs
from tetraodon.pufferfish.scenarios import Prior, Scenario
from tetraodon.pufferfish.world import World, classes_of, shown

# -- definition -------------------------------------------------------------------------------------


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
            raise PolicyError(
                "delta is not a probability, or comes without epsilon", fix="write 0 <= delta < 1, with epsilon"
            )
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

    def allows_delta(self, low: Fraction | float, high: Fraction | float) -> bool | None:
        """Whether bounds on the smallest delta are within the promise; None where they do not decide."""
        return True if high <= self.delta else False if low > self.delta else None

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


# -- verdict ----------------------------------------------------------------------------------------
# What verification found: the loss, how sure that is, and the attacker who shows it.


@dataclass(frozen=True)
class Witness:
    """An attacker, a pair and an output: the odds of the pair before and after the attacker sees the output."""

    pair: Pair
    prior: Prior
    output: Any
    prior_odds: Fraction
    posterior_odds: Fraction | float
    scenario: str = ""

    @property
    def text(self) -> str:
        return (
            f"{self.prior.name} thinks “{self.pair.first.text}” {_odds(self.prior_odds)} as likely as "
            f"“{self.pair.second.text}”, and {_odds(self.posterior_odds)} as likely on seeing {shown(self.output)}"
        )


@dataclass(frozen=True)
class Verdict:
    """The smallest epsilon at which a mechanism satisfies a definition's pairs against its attackers.

    `lower` and `upper` enclose that epsilon; `exact` says that the same number, up to the last digits of a logarithm,
    stands on both sides, and otherwise `lower` is what an actual attacker achieves and `upper` is proved. `odds` is
    e^epsilon as a Fraction where the mechanism is rational. `holds` is None when the bracket does not decide.
    """

    definition: Definition
    lower: Fraction | float
    upper: Fraction | float
    exact: bool
    holds: bool | None
    witness: Witness | None
    method: str
    odds: Fraction | float | None = None
    forward: Fraction | float | None = None
    backward: Fraction | float | None = None
    skipped: tuple[Pair, ...] = dataclass_field(default=(), repr=False)
    delta: tuple[Fraction | float, Fraction | float] | None = None
    confidence: Fraction | None = None

    @property
    def epsilon(self) -> float:
        """The loss for reading: the proved upper end of the bracket."""
        return display(self.upper)

    def __bool__(self) -> bool:
        return self.holds is True

    @property
    def text(self) -> str:
        """What was found, in words."""
        lines = [f"{_decision(self.holds)}: {self.definition.text}."]
        if self.delta is not None:
            low, high = self.delta
            found = (
                _bracket(low, high) if self.witness is not None or low == high else f"at most {_number(high)}, proved"
            )
            lines.append(f"Smallest delta at this epsilon: {found} ({self.method}).")
        elif self.exact:
            lines.append(f"Smallest epsilon: {_number(self.upper)}, exactly ({self.method}).")
        elif self.confidence is not None:
            lines.append(
                f"Smallest epsilon: at least {_number(self.lower)} with confidence {float(self.confidence):.7g}; "
                f"sampling never proves an upper bound ({self.method})."
            )
        elif self.witness is None:
            lines.append(f"Smallest epsilon: at most {_number(self.upper)}, proved ({self.method}).")
        else:
            lines.append(f"Smallest epsilon: {_bracket(self.lower, self.upper)} ({self.method}).")
        if self.witness is not None:
            lines.append(f"Witness: {self.witness.text}.")
        if self.skipped:
            number = "1 pair was" if len(self.skipped) == 1 else f"{len(self.skipped)} pairs were"
            lines.append(
                f"{number} skipped, because no attacker thinks both of their secrets possible; "
                f"for example {self.skipped[0].text}."
            )
        return "\n".join(lines)


def concluded(table: Likelihoods, definition: Definition, masks: Masks, peaks: Peaks, method: str) -> Verdict:
    """The verdict when the extremes over all attackers are known exactly."""
    skipped = tuple(masks.pairs[n] for n in peaks.skipped)
    if peaks.forward is None or peaks.backward is None:
        return no_loss(definition, method, skipped)
    forward, backward = peaks.forward.odds, peaks.backward.odds
    best = peaks.forward if forward >= backward else peaks.backward
    low, high = log_range(best.odds)
    holds = definition.allows(forward, backward)
    witness = witness_of(table, masks, best, definition)
    return Verdict(definition, low, high, True, holds, witness, method, best.odds, forward, backward, skipped)


def no_loss(definition: Definition, method: str, skipped: tuple[Pair, ...]) -> Verdict:
    """The verdict when no attacker thinks both secrets of any pair possible."""
    one, why = Fraction(1), f"{method}: no pair is in doubt"
    return Verdict(definition, one - 1, one - 1, True, True, None, why, one, one, one, skipped)


def bracketed(
    table: Likelihoods, definition: Definition, masks: Masks, below: Peaks, above: Peaks, method: str
) -> Verdict:
    """The verdict between what an attacker achieves (`below`) and what is proved (`above`)."""
    skipped = tuple(masks.pairs[n] for n in above.skipped)
    assert above.forward is not None
    assert above.backward is not None
    slack = 1 + 4 * table.error
    proved = [_times(peak.odds, slack) for peak in (above.forward, above.backward)]
    holds: bool | None = True if definition.allows(proved[0], proved[1]) else None
    high = log_range(max(proved))[1]
    if below.forward is None or below.backward is None:
        return Verdict(definition, Fraction(0), high, False, holds, None, method, skipped=skipped)
    best = below.forward if below.forward.odds >= below.backward.odds else below.backward
    if not definition.allows(_times(below.forward.odds, 1 / slack), _times(below.backward.odds, 1 / slack)):
        holds = False
    low = log_range(_times(best.odds, 1 / slack))[0]
    witness = witness_of(table, masks, best, definition)
    met = best.odds == max(above.forward.odds, above.backward.odds) and not table.error
    odds = best.odds if met else None
    return Verdict(definition, low, high, met, holds, witness, method, odds, skipped=skipped)


def log_range(odds: Fraction | float) -> tuple[Fraction | float, Fraction | float]:
    """Bounds on the logarithm of exact odds."""
    if isinstance(odds, float):
        return math.inf, math.inf
    return max(Fraction(0), log_below(odds)), max(Fraction(0), log_above(odds))


def witness_of(table: Likelihoods, masks: Masks, peak: OddsPeak, definition: Definition) -> Witness:
    """The attacker behind an odds ratio, with the odds before and after."""
    pair = masks.pairs[peak.pair]
    before = peak.prior.probability(pair.first) / peak.prior.probability(pair.second)
    after: Fraction | float = before * peak.first / peak.second if peak.second else math.inf
    return Witness(pair, peak.prior, table.outputs[peak.output], before, after, definition.scenarios.text)


def _times(odds: Fraction | float, factor: Fraction) -> Fraction | float:
    return odds if isinstance(odds, float) else odds * factor


def _decision(holds: bool | None) -> str:
    return {True: "Holds", False: "Fails", None: "Not decided"}[holds]


def _number(number: Fraction | float) -> str:
    return "infinite" if math.isinf(display(number)) else f"{display(number):.6g}"


def _bracket(low: Fraction | float, high: Fraction | float) -> str:
    if low == high:
        return _number(low)
    return f"between {_number(low)} (an actual attacker) and {_number(high)} (proved)"


def _odds(odds: Fraction | float) -> str:
    if math.isinf(display(odds)):
        return "infinitely more"
    return f"{display(odds):.6g} times"
