"""An attack that can be run, its story and its picture."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from tetraodon.pufferfish import Channel, Prior, Secret
from tetraodon.report.chart import PALETTE, Spec

# -- picture ----------------------------------------------------------------------------------------
# Pictures of attacks: lines, bars and points as Vega-Lite specifications.

Row = dict[str, Any]
"""Numbers and names by their titles in the picture."""


def rounded(number: float) -> float:
    """Four significant digits, so that the same run draws the same picture on every machine.

    >>> rounded(13359.7268), rounded(0.0312345)
    (13360.0, 0.03123)
    """
    return float(f"{number:.4g}")


def lines(
    rows: Sequence[Row], *, x: str, y: str, colour: str, log: Literal["", "x", "y", "xy"] = "", points: bool = True
) -> Spec:
    """A line for each colour; `log` names the axes that are logarithmic."""
    mark = {"type": "line", "point": points}
    return _drawn(rows, mark, {"x": _axis(x, "x" in log), "y": _axis(y, "y" in log), "color": _colour(rows, colour)})


def bars(rows: Sequence[Row], *, x: str, y: str, colour: str) -> Spec:
    """Groups of bars, in the order of the rows."""
    order = list(dict.fromkeys(row[x] for row in rows))
    stages = list(dict.fromkeys(row[colour] for row in rows))
    encoding = {
        "x": {"field": x, "type": "nominal", "sort": order, "axis": {"labelAngle": 0, "labelLimit": 200}},
        "y": _axis(y, log=False),
        "color": _colour(rows, colour),
    }
    if stages != order:
        encoding["xOffset"] = {"field": colour, "sort": stages}
    else:
        encoding["color"]["legend"] = None
    return _drawn(rows, {"type": "bar"}, encoding)


def dots(rows: Sequence[Row], *, x: str, y: str, colour: str) -> Spec:
    """A point for each row."""
    encoding = {"x": _axis(x, log=False), "y": _axis(y, log=False), "color": _colour(rows, colour)}
    return _drawn(rows, {"type": "point", "filled": True}, encoding)


def svg(chart: Spec) -> str:
    """A chart as a picture that scales."""
    import vl_convert

    picture: str = vl_convert.vegalite_to_svg(chart)
    return picture


def _axis(title: str, log: bool) -> Spec:
    axis: Spec = {"field": title, "type": "quantitative"}
    if log:
        axis |= {"scale": {"type": "log", "nice": False}, "axis": {"grid": False, "tickCount": 6}}
    return axis


def _colour(rows: Sequence[Row], field: str) -> Spec:
    names = list(dict.fromkeys(row[field] for row in rows))
    return {
        "field": field,
        "type": "nominal",
        "title": None,
        "scale": {"domain": names, "range": list(PALETTE[: len(names)])},
        "legend": {"orient": "top", "columns": 2, "labelLimit": 320},
    }


def _drawn(rows: Sequence[Row], mark: Spec, encoding: Spec) -> Spec:
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": list(rows)},
        "width": 520,
        "height": 260,
        "mark": mark,
        "encoding": encoding,
    }


# -- attack -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Story:
    """What happened: the attack in words and numbers, and what happened to the same attacker under a defence.

    `measure` says what `attacked`, `allowed` and `defended` measure, more being worse: what the attacker got, the most
    that the promise allows, and what is left to get where the defence is in place.
    """

    words: str
    defence: str
    measure: str
    attacked: float
    allowed: float
    defended: float
    numbers: Mapping[str, float | bool]
    chart: Spec

    @property
    def succeeded(self) -> bool:
        """Whether the attacker got more than the promise allows."""
        return self.attacked > self.allowed

    @property
    def held(self) -> bool:
        """Whether the defence left the attacker with no more than the promise allows."""
        return self.defended <= self.allowed


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack of the gallery. `run` plays it on made-up data and comes to the same end every time."""

    name: str
    title: str
    paper: str
    run: Callable[[], Story]

    def document(self, story: Story | None = None) -> dict[str, Any]:
        """The attack as plain data, with the story of a run if there is one."""
        listed: dict[str, Any] = {"name": self.name, "title": self.title, "paper": self.paper}
        if story is None:
            return listed
        return listed | {
            "words": story.words,
            "defence": story.defence,
            "measure": story.measure,
            "attacked": story.attacked,
            "allowed": story.allowed,
            "defended": story.defended,
            "succeeded": story.succeeded,
            "held": story.held,
            "numbers": dict(story.numbers),
            "chart": story.chart,
        }


# -- exact bayes ------------------------------------------------------------------------------------
# What an attacker believes on seeing an output, exactly; and a noisy count written out.


def belief(prior: Prior, channel: Channel, secret: Secret, output: Hashable) -> Fraction:
    """The probability of a secret for somebody with this prior who has seen the output.

    >>> from tetraodon.pufferfish import World
    >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], datasets=[(0,), (1,)], outputs=[0, 1])
    >>> belief(Prior.uniform(coin.world), coin, Secret.value(0, 1), 1)
    Fraction(3, 4)
    """
    weights = [(dataset, weight * channel.probability(dataset, output)) for dataset, weight in prior.weights]
    total = sum((weight for _, weight in weights), Fraction(0))
    return sum((weight for dataset, weight in weights if secret.holds(dataset)), Fraction(0)) / total


def strongest_belief(prior: Prior, channel: Channel, secret: Secret) -> Fraction:
    """The largest belief in a secret that any output leads to."""
    seen = [output for n, output in enumerate(channel.outputs) if any(row[n] for row in channel.matrix)]
    return max(belief(prior, channel, secret, output) for output in seen)


def noisy_count(count: int, top: int, ratio: Fraction) -> dict[int, Fraction]:
    """The law of a count with two-sided geometric noise, moved into 0..top: its loss is -ln(ratio) at most.

    >>> noisy_count(0, 1, Fraction(1, 3))
    {0: Fraction(3, 4), 1: Fraction(1, 4)}
    """
    law = {}
    for output in range(top + 1):
        power = ratio ** abs(output - count)
        law[output] = power / (1 + ratio) if output in (0, top) else power * (1 - ratio) / (1 + ratio)
    return law
