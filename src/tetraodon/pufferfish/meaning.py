"""What an epsilon means: beliefs before and after, and the best simulator."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tetraodon.errors import PolicyError, Refused
from tetraodon.exact.exponent import display, exp_above, is_at_most_exp, log_below
from tetraodon.exact.rational import Number, rational
from tetraodon.pufferfish.additive import Additive
from tetraodon.pufferfish.channel import Channel
from tetraodon.pufferfish.definition import Definition, Verdict
from tetraodon.pufferfish.pairs import Pair
from tetraodon.pufferfish.scenarios import Scenario
from tetraodon.pufferfish.verification import ask, verify

# -- simulation -------------------------------------------------------------------------------------
# Simulation: can somebody who never learns which of two records it was produce outputs that pass for ours?
#
# [MK15] reads a promise about neighbours as a counterfactual, and asks for a simulator that does without the record.
# The best one is found here, with how far it is off, so that the reading is computed and not only said.


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
    outputs = tuple(zip(channel.outputs, _simulator(rows[x], rows[y], math.sqrt(squared)), strict=True))
    return Simulator(definition, squared, found, (question.world.datasets[x], question.world.datasets[y]), outputs)


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


# -- meaning ----------------------------------------------------------------------------------------

PRIORS = tuple(Fraction(n, 100) for n in (1, 5, 10, 25, 50, 75, 90, 99))


@dataclass(frozen=True)
class Belief:
    """How likely one of two alternatives is thought to be, before, and at most and at least after."""

    before: float
    at_least: float
    at_most: float


@dataclass(frozen=True)
class Meaning:
    """A loss in words and numbers. `plot` is a Vega-Lite specification."""

    sentence: str
    table: tuple[Belief, ...]
    plot: dict[str, Any]

    @property
    def text(self) -> str:
        """The sentence, and the table below it."""
        rows = [f"{row.before:7.1%} {row.at_least:9.1%} {row.at_most:8.1%}" for row in self.table]
        return "\n".join([self.sentence, " before  at least  at most", *rows] if rows else [self.sentence])


def posterior(prior: Number, epsilon: Number) -> float:
    """The largest belief that an attacker can reach from a prior belief, rounded up at the last digit.

    >>> round(posterior("0.5", "0.1"), 3)
    0.525
    """
    before, loss = _belief(prior), rational(epsilon, name="epsilon")
    odds = before / (1 - before) * exp_above(loss)
    return float(odds / (1 + odds))


def choose_epsilon(*, prior: Number, posterior: Number) -> Fraction:
    """The largest epsilon, to twelve digits, that keeps every belief of at most `prior` at most at `posterior`.

    >>> float(choose_epsilon(prior="0.1", posterior="0.2"))
    0.810930216216
    """
    before, after = _belief(prior), _belief(posterior)
    if after <= before:
        raise PolicyError("the posterior is not above the prior", fix="allow beliefs to grow at least a little")
    exact = log_below(after * (1 - before) / ((1 - after) * before))
    return Fraction(math.floor(exact * 10**12), 10**12)


def meaning(verdict: Verdict, priors: Iterable[Number] = PRIORS) -> Meaning:
    """A verdict's loss as beliefs: whichever of the two secrets is thought likely, before and after."""
    if verdict.delta is not None:
        raise Refused(
            "delta forgives outputs after which no bound on beliefs holds", fix="ask what the loss means at delta = 0"
        )
    if math.isinf(display(verdict.upper)):
        sure = "Some attacker can become as good as certain." if verdict.exact else "No bound on beliefs was proved."
        return Meaning(sure, (), {})
    factor = display(exp_above(Fraction(verdict.upper)))
    rows = []
    for prior in priors:
        before = float(_belief(prior))
        odds = before / (1 - before)
        rows.append(Belief(before, odds / factor / (1 + odds / factor), odds * factor / (1 + odds * factor)))
    half = factor / (1 + factor)
    sentence = (
        f"If an attacker thinks one of the two secrets a times as likely as the other, then after the release at most "
        f"{factor:.4g} a times and at least {1 / factor:.4g} a times; even odds become at most {half:.1%}."
    )
    return Meaning(sentence, tuple(rows), _plot(rows))


def readings(definition: Definition) -> tuple[str, str]:
    """A neighbour-based promise, such as Blowfish, as a counterfactual and as a simulation ([MK15])."""
    bound = f"{display(definition.high):.4g}"
    counterfactual = (
        "Counterfactual: had any one record been the other end of its pair, every output would have been at most "
        f"{bound} times as likely, so hardly anything that follows would have been different."
    )
    simulation = (
        "Simulation: somebody who never saw that record, and puts the other end of its pair in its place, can produce "
        f"outputs that no test tells from ours by a factor of more than {bound}."
    )
    return counterfactual, simulation


def if_the_scenario_is_wrong(
    mechanism: Channel | Additive, definition: Definition, wrong: Callable[[Any], Scenario], values: Sequence[Any]
) -> tuple[tuple[Any, Verdict], ...]:
    """The loss against other attackers than assumed, one for each value: how it grows as a correlation does."""
    return tuple((value, verify(mechanism, definition.against(wrong(value)))) for value in values)


def _plot(rows: Sequence[Belief]) -> dict[str, Any]:
    values = [{"before": row.before, "at least": row.at_least, "at most": row.at_most} for row in rows]
    belief = {"type": "quantitative", "scale": {"domain": [0, 1]}}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "description": "Beliefs before and after the release",
        "data": {"values": values},
        "layer": [
            {
                "mark": {"type": "area", "opacity": 0.3},
                "encoding": {
                    "x": {"field": "before", "title": "belief before", **belief},
                    "y": {"field": "at least", "title": "belief after", **belief},
                    "y2": {"field": "at most"},
                },
            },
            {
                "mark": {"type": "line", "strokeDash": [4, 4]},
                "encoding": {"x": {"field": "before", **belief}, "y": {"field": "before", **belief}},
            },
        ],
    }


def _belief(number: Number) -> Fraction:
    exact = rational(number, name="a belief")
    if not 0 < exact < 1:
        raise PolicyError("a belief is not between 0 and 1", fix="write a probability such as 0.1")
    return exact
