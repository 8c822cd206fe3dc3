"""What verification found: the loss, how sure that is, and the attacker who shows it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tetraodon.pufferfish.definition import Definition
from tetraodon.pufferfish.exponent import display
from tetraodon.pufferfish.pair import Pair
from tetraodon.pufferfish.prior import Prior


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
            f"“{self.pair.second.text}”, and {_odds(self.posterior_odds)} as likely on seeing {self.output!r}"
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
    skipped: tuple[Pair, ...] = ()
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
            lines.append(f"Smallest delta at this epsilon: {_bracket(*self.delta)}.")
        if self.exact:
            lines.append(f"Smallest epsilon: {_number(self.upper)}, exactly ({self.method}).")
        elif self.confidence is not None:
            lines.append(
                f"Smallest epsilon: at least {_number(self.lower)} with confidence {float(self.confidence):.7g}; "
                f"sampling never proves an upper bound ({self.method})."
            )
        else:
            lines.append(f"Smallest epsilon: {_bracket(self.lower, self.upper)} ({self.method}).")
        if self.witness is not None:
            lines.append(f"Witness: {self.witness.text}.")
        if self.skipped:
            lines.append(
                f"{len(self.skipped)} pairs were skipped, because no attacker thinks both of their secrets possible; "
                f"for example {self.skipped[0].text}."
            )
        return "\n".join(lines)


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
