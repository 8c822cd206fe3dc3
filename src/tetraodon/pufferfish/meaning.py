"""What an epsilon means: beliefs before and after, as a sentence, a table and a picture; and an epsilon from a wish."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tetraodon.errors import PolicyError, Refused
from tetraodon.exponent import display, exp_above, log_below
from tetraodon.pufferfish.additive import Additive
from tetraodon.pufferfish.channel import Channel
from tetraodon.pufferfish.definition import Definition
from tetraodon.pufferfish.scenario import Scenario
from tetraodon.pufferfish.verdict import Verdict
from tetraodon.pufferfish.verification import verify
from tetraodon.rational import Number, rational

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
