"""Simulation: can somebody who never learns which of two records it was produce outputs that pass for ours?

[MK15] reads a promise about neighbours as a counterfactual, and asks for a simulator that does without the record. The
best one is found here, with how far it is off, so that the reading is computed and not only said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tetraodon.errors import Refused
from tetraodon.exponent import display, is_at_most_exp
from tetraodon.pufferfish.channel import Channel
from tetraodon.pufferfish.definition import Definition
from tetraodon.pufferfish.pair import Pair
from tetraodon.pufferfish.verification import ask


@dataclass(frozen=True)
class Simulator:
    """How far the best simulator is off where it is off most: by a factor whose square is `squared`.

    `outputs` are the chances that it gives to the outputs there, without knowing which dataset of the two it is.
    """

    definition: Definition
    squared: Fraction
    pair: Pair | None
    datasets: tuple[Any, Any] | None
    outputs: tuple[tuple[Any, float], ...]

    @property
    def factor(self) -> float:
        return math.sqrt(display(self.squared))

    @property
    def holds(self) -> bool:
        """Whether nothing that the definition protects can be told from what the simulator makes by e^epsilon."""
        return is_at_most_exp(self.squared, 2 * (self.definition.epsilon or Fraction(0)))

    @property
    def text(self) -> str:
        if self.pair is None or self.datasets is None:
            return "No record moves an output, so nothing needs to be simulated."
        return (
            f"Somebody who does not know whether {self.pair.text} holds can make outputs whose chances are off by a "
            f"factor of at most {self.factor:.6g} from ours, whichever it is. It is hardest where the dataset is "
            f"{self.datasets[0]!r} or {self.datasets[1]!r}."
        )


def simulation(channel: Channel, definition: Definition) -> Simulator:
    """The best simulator of a mechanism for every two neighbours that a definition compares, and where it is worst.

    Pre   the definition compares neighbours: independent records, groups, or every prior.
    Post  between the square root of the odds that the mechanism moves and those odds.
    Why   chances s fit within a factor f of p and of q iff max(p, q) / f <= s <= f min(p, q) for each output. That is
          possible with sum 1 iff p / q and q / p are at most f^2, and the lower bounds sum to at most 1 and the upper
          ones to at least 1: sum max(p, q) <= f and 1 / sum min(p, q) <= f.

    >>> from tetraodon.pufferfish import World, named
    >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], [(0,), (1,)], (0, 1))
    >>> found = simulation(coin, named.indistinguishability(epsilon="1.1"))
    >>> round(found.factor, 6), found.outputs  # a fair coin is twice the one chance, and two thirds of the other
    (2.0, ((0, 0.5), (1, 0.5)))
    """
    if definition.epsilon is None or definition.delta:
        raise Refused("a simulator is looked for at an epsilon alone", fix="write the definition with epsilon=...")
    question = ask(definition, channel.world)
    if question.priors is not None or not question.exact:
        raise Refused(
            "these attackers do not compare neighbours, so there is no record to leave out",
            fix="use scenarios.independent(), groups(members) or anything()",
        )
    rows = [channel.matrix[channel.world.index[dataset]] for dataset in question.world.datasets]
    worst: tuple[Fraction, Pair | None, tuple[int, int] | None] = (Fraction(1), None, None)
    for number, pair in enumerate(question.masks.pairs):
        for x, y in question.neighbours(number):
            squared = _squared(rows[x], rows[y])
            if squared is None:
                raise Refused(
                    "an output tells for certain which of two neighbours it was: nobody can simulate that",
                    fix="give every output a chance on every dataset",
                )
            if squared > worst[0]:
                worst = (squared, pair, (x, y))
    squared, found, places = worst
    if places is None:
        return Simulator(definition, squared, None, None, ())
    x, y = places
    told = tuple(zip(channel.outputs, _simulator(rows[x], rows[y], math.sqrt(squared)), strict=True))
    return Simulator(definition, squared, found, (question.world.datasets[x], question.world.datasets[y]), told)


def _squared(p: Sequence[Fraction], q: Sequence[Fraction]) -> Fraction | None:
    """The square of the least factor; None where there is none."""
    if any((a == 0) != (b == 0) for a, b in zip(p, q, strict=True)):
        return None
    ratio = max(max(a / b, b / a) for a, b in zip(p, q, strict=True) if a)
    above = sum((max(a, b) for a, b in zip(p, q, strict=True)), Fraction(0))
    below = sum((min(a, b) for a, b in zip(p, q, strict=True)), Fraction(0))
    return max(ratio, above**2, 1 / below**2)


def _simulator(p: Sequence[Fraction], q: Sequence[Fraction], factor: float) -> list[float]:
    lower = [float(max(a, b)) / factor for a, b in zip(p, q, strict=True)]
    upper = [float(min(a, b)) * factor for a, b in zip(p, q, strict=True)]
    room = sum(upper) - sum(lower)
    share = min(1.0, max(0.0, (1 - sum(lower)) / room)) if room > 0 else 0.0
    return [low + share * (high - low) for low, high in zip(lower, upper, strict=True)]
