"""Pictures of a promise: the odds strip of an attribute, and the odds map of two coordinates.

Only the policy is looked at. A map is drawn by the studio's `map.js`, which counts steps as `OddsMap.steps` does: a
test in a browser compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.domain import Attribute, Dates, Grid, Integers
from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.policy.attribute_graph import (
    INFINITE,
    AttributeGraph,
    Blocks,
    Pairs,
    Public,
    Within,
    WithinOrMissing,
    WithinShare,
)
from tetraodon.policy.explain import WORTHLESS, chance, has_secrets, odds, people, percent, times
from tetraodon.policy.joint_graph import EARTH_RADIUS_KM, JointGraph, JointMetric
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import Factor

# -- odds strip -------------------------------------------------------------------------------------
# The picture of a promise: how far the odds between a chosen value of an attribute and every other one can move.
#
# Only the policy is looked at. A strip is drawn by `strips.js`, which counts steps as `OddsStrip.steps` does: a test
# in a browser compares the two.

MOST_TEXTS, MOST_CHIPS, MOST_RUNS, MOST_MOVES = 500, 60, 1000, 1000
"""The most values written out, values drawn as words, changes of block along a ruler, and steps with odds listed."""


@dataclass(frozen=True)
class OddsStrip:
    """One attribute as its secrets lie along it, everything else about a person being equal.

    `most` is the largest number of steps there is where leaving the data is a secret too, and `edges_only` says that
    nothing is promised beyond one step. `whom` names the people with these secrets, where groups have their own.

    >>> from tetraodon.domain import Attribute, Integers
    >>> ages = OddsStrip(Attribute("age", Integers(17, 90)), Within(74, 5), Fraction(1))
    >>> ages.steps(17, np.array([17, 22, 23, 73])).tolist(), ages.moves(17, 22)
    ([0.0, 1.0, 2.0, 12.0], Decimal('2.718281828459045235360287471352662497757'))
    """

    attribute: Attribute
    graph: AttributeGraph
    epsilon: Fraction
    most: float = INFINITE
    edges_only: bool = False
    whom: str = ""

    def steps(self, chosen: int, codes: Ints) -> Floats:
        """How many steps each of some values is away from a chosen one; infinite where nothing joins them."""
        away = np.array([self.graph.distance(chosen, int(code)) for code in codes], np.float64)
        away = np.minimum(away, self.most)
        return np.where(away > 1, INFINITE, away) if self.edges_only else away

    def moves(self, chosen: int, other: int) -> Decimal | None:
        """How many times the odds between two values can grow; None where nothing is promised."""
        (away,) = self.steps(chosen, np.array([other]))
        return None if math.isinf(away) else odds(self.epsilon, int(away))

    @property
    def ruler(self) -> bool:
        """Whether it is drawn along a line, from its least to its largest value; otherwise word by word."""
        line = isinstance(self.attribute.values, Integers | Grid | Dates) and not isinstance(
            self.graph, Pairs | WithinOrMissing | WithinShare
        )
        return line and len(self._runs) <= MOST_RUNS

    @property
    def codes(self) -> Ints:
        """The values that are drawn word by word, those of a block together; of many only some."""
        match self.graph:
            case Pairs():
                found = np.unique(np.array(sorted(self.graph.pairs), np.int64))
            case Blocks():
                found = np.argsort(self.graph.components(), kind="stable")
            case WithinShare():
                found = self.graph.ladder(MOST_CHIPS)
            case WithinOrMissing():  # the last one, which stands apart, is always among them
                found = np.append(np.arange(min(self.graph.size, MOST_CHIPS) - 1), self.graph.size - 1)
            case _:
                found = np.arange(min(self.graph.size, MOST_CHIPS))
        return found[:MOST_CHIPS]

    @property
    def _runs(self) -> Ints:
        """Where blocks of neighbours begin."""
        if not isinstance(self.graph, Blocks):
            return np.zeros(1, np.int64)
        return np.append(0, np.flatnonzero(np.diff(self.graph.components())) + 1)

    @property
    def longest(self) -> float:
        """The largest number of steps between any two values that are joined."""
        match self.graph:
            case Within() | WithinShare():
                away = self.graph.distance(0, self.graph.size - 1)
            case WithinOrMissing():
                away = 2.0
            case Pairs():
                found = [self.steps(int(code), self.codes) for code in self.codes]
                away = max(float(row[np.isfinite(row)].max()) for row in found)
            case _:
                away = 1.0 if math.isinf(self.most) else self.most
        return 1.0 if self.edges_only else min(away, self.most)

    def document(self) -> dict[str, Any]:
        """All that is needed to draw it for any chosen value, without asking again.

        `moves` lists for one step and more: the odds, how often a direct question would be answered truthfully, and how
        dark it is drawn, from 1, where nothing can be learned, to 0, where the protection is not worth the name.
        """
        levels = moves_by_step(self.epsilon, self.longest)
        drawn = self._line() if self.ruler else self._words()
        return {
            "name": self.attribute.name,
            "moves": levels,
            "worthless": odds(self.epsilon, len(levels) + 1) > WORTHLESS,
            "most": None if math.isinf(self.most) else int(self.most),
            "edgesOnly": self.edges_only,
            **drawn,
        }

    def _line(self) -> dict[str, Any]:
        attribute, values = self.attribute, self.attribute.values
        listed = attribute.size <= MOST_TEXTS
        low = 0 if isinstance(values, Dates) else attribute.number(0)
        blocks = self.graph.components()[self._runs].tolist() if isinstance(self.graph, Blocks) else [0]
        return {
            "size": attribute.size,
            "chosen": (attribute.size - 1) // 2,
            "reach": self.graph.reach if isinstance(self.graph, Within) else None,
            "joined": not isinstance(self.graph, Public),
            "starts": self._runs.tolist(),
            "blocks": blocks,
            "texts": [attribute.text(code) for code in range(attribute.size)] if listed else None,
            "units": [attribute.unit_of(Fraction(1)), attribute.unit],
            "low": float(low),
            "step": float(attribute.step),
            "digits": max(3 if "/" in text else len(text.partition(".")[2]) for text in map(attribute.text, (0, 1))),
            "day": attribute.text(0) if isinstance(values, Dates) else None,
            "apart": attribute.separate,
        }

    def _words(self) -> dict[str, Any]:
        away = [self.steps(int(code), self.codes) for code in self.codes]
        return {
            "texts": [self.attribute.measured(int(code)) for code in self.codes],
            "left": self.graph.size - len(self.codes),
            "steps": [[-1 if math.isinf(steps) else int(steps) for steps in row.tolist()] for row in away],
        }


def moves_by_step(epsilon: Fraction, longest: float) -> list[list[Any]]:
    """For one step and more, as long as it is worth telling: the odds, how often a direct question would be answered
    truthfully, and how dark it is drawn.

    >>> moves_by_step(Fraction(3), 9)
    [['20.09', '95.3%', 0.5657], ['404', '99.8%', 0.1314]]
    """
    levels: list[list[Any]] = []
    while len(levels) < min(longest, MOST_MOVES) and odds(epsilon, len(levels) + 1) <= WORTHLESS:
        step = len(levels) + 1
        dark = 1 - float(epsilon * step) / math.log(WORTHLESS)
        levels.append([times(odds(epsilon, step)), percent(chance(epsilon, step)), round(max(dark, 0.0), 4)])
    return levels


def _groups(policy: Policy) -> list[tuple[Policy, str, str]]:
    """The policy of each group of people, the attribute that tells them apart, and who they are."""
    if policy.graph.groups is None:
        return [(policy, "", "")]
    return [(own.policy, own.by, own.whom) for own in people(policy)]


def odds_strips(policy: Policy) -> tuple[OddsStrip, ...]:
    """A strip for each attribute that has secrets, and for each group of people with secrets of their own.

    Post  those of a joint metric are along each of its attributes, the others being equal, except on the globe, where a
          step along a parallel depends on the latitude: these have none.
    """
    return tuple(strip for own in _groups(policy) for strip in _strips(*own))


def odds_strip(policy: Policy, name: str) -> OddsStrip:
    """The strip of one attribute; that of the first group of people, where groups have their own.

    Raises QueryError where there is none.
    """
    for strip in odds_strips(policy):
        if strip.attribute.name == name:
            return strip
    raise QueryError(f"there is no strip of {name!r}", fix="name an attribute with secrets, not measured on the globe")


def _strips(policy: Policy, by: str, whom: str) -> Iterator[OddsStrip]:
    most = 2.0 if policy.graph.absent else INFINITE
    for factor in policy.graph.factors:
        if by in factor.names or not (has_secrets(factor) or policy.graph.absent):
            continue
        for name, graph in _along(factor):
            if graph.size > 1 and (graph.edge_count or policy.graph.absent):
                attribute = policy.domain[name]
                yield OddsStrip(attribute, graph, policy.epsilon, most, not policy.steps_join, whom)


def _along(factor: Factor) -> Iterator[tuple[str, AttributeGraph]]:
    """The graph along each attribute of a factor.

    Why  in l1, l2 and linf no step moves a coordinate further than `within`, and one that moves it alone may.
    """
    graph = factor.graph
    if not isinstance(graph, JointGraph):
        yield factor.names[0], graph
    elif isinstance(graph, JointMetric) and graph.metric != "great circle km":
        for name, size, step in zip(factor.names, graph.shape, graph.steps, strict=True):
            reach = int(graph.within / step)
            yield name, Within(size, reach) if reach else Public(size)


# -- odds map ---------------------------------------------------------------------------------------

Place = tuple[int, int]
"""The codes of two coordinates."""


@dataclass(frozen=True)
class OddsMap:
    """Two attributes that a joint metric measures as one, everything else about a person being equal.

    `most`, `edges_only` and `whom` are those of an `OddsStrip`. On the globe steps beyond the first are not counted.

    >>> from tetraodon.domain import Integers
    >>> graph = JointMetric("l2", Fraction(5), (9, 9), (Fraction(0),) * 2, (Fraction(1),) * 2)
    >>> drawn = OddsMap((Attribute("x", Integers(0, 8)), Attribute("y", Integers(0, 8))), graph, Fraction(1))
    >>> drawn.steps((0, 0), np.array([0, 3, 4, 8]), np.array([0, 4, 4, 8])).tolist()
    [0.0, 1.0, 2.0, 3.0]
    """

    attributes: tuple[Attribute, Attribute]
    graph: JointMetric
    epsilon: Fraction
    most: float = INFINITE
    edges_only: bool = False
    whom: str = ""

    @property
    def globe(self) -> bool:
        return self.graph.metric == "great circle km"

    def steps(self, chosen: Place, first: Ints, second: Ints) -> Floats:
        """Steps from a chosen place; infinite where no path leads there or the distance is not computed."""
        here = (first == chosen[0]) & (second == chosen[1])
        if self.globe:
            columns = self.graph.shape[1]
            near = self.graph.adjacent(np.asarray(chosen[0] * columns + chosen[1]), first * columns + second)
            away = np.where(near, 1.0, INFINITE)
        else:
            gaps = np.abs(first - chosen[0]), np.abs(second - chosen[1])
            bounds = [-(-(a * gaps[0] + b * gaps[1]) // c) for a, b, c in self.graph.sides]
            away = np.maximum.reduce(bounds).astype(np.float64)
            for gap, step in zip(gaps, self.graph.steps, strict=True):
                away = np.where((gap > 0) & (step > self.graph.within), INFINITE, away)
        away = np.where(here, 0.0, np.minimum(away, self.most))
        return np.where(away > 1, INFINITE, away) if self.edges_only else away

    def document(self) -> dict[str, Any]:
        """All that is needed to draw it for any chosen place, without asking again; see `OddsStrip.document`."""
        levels = moves_by_step(self.epsilon, MOST_MOVES)
        return {
            "names": [attribute.name for attribute in self.attributes],
            "units": [attribute.unit for attribute in self.attributes],
            "shape": list(self.graph.shape),
            "starts": [float(start) for start in self.graph.starts],
            "spacing": [float(step) for step in self.graph.steps],
            "digits": [
                max(len(attribute.text(code).partition(".")[2]) for code in (0, 1)) for attribute in self.attributes
            ],
            "within": float(self.graph.within),
            "sides": None if self.globe else [list(side) for side in self.graph.sides],
            "fixed": [step > self.graph.within for step in self.graph.steps],
            "radius": EARTH_RADIUS_KM,
            "moves": levels,
            "worthless": odds(self.epsilon, len(levels) + 1) > WORTHLESS,
            "most": None if math.isinf(self.most) else int(self.most),
            "edgesOnly": self.edges_only,
        }


def odds_maps(policy: Policy) -> tuple[OddsMap, ...]:
    """A map for two attributes that are measured as one, and for each group of people with a metric of its own."""
    return tuple(
        OddsMap(
            (own.domain[factor.names[0]], own.domain[factor.names[1]]),
            factor.graph,
            own.epsilon,
            2.0 if own.graph.absent else INFINITE,
            not own.steps_join,
            whom,
        )
        for own, _, whom in _groups(policy)
        for factor in own.graph.factors
        if isinstance(factor.graph, JointMetric) and len(factor.names) == 2
    )


def picture(policy: AnyPolicy, *names: str) -> OddsStrip | OddsMap:
    """What there is to draw of a secret: of one attribute a strip, of two that are measured as one a map.

    Both have `steps` from a chosen value, `epsilon`, and `document()`, which holds the odds, steps and blocks as plain
    data. Where groups of people have secrets of their own, it is that of the first group.

    Raises QueryError where nothing about them is a secret, or no metric measures two of them as one.
    """
    stated = load_policy(policy)
    if len(names) == 1:
        return odds_strip(stated, names[0])
    for found in odds_maps(stated):
        if names == tuple(attribute.name for attribute in found.attributes):
            return found
    raise QueryError(
        "no metric measures these as one", fix="name one attribute, or the two of `together`, in its order"
    )
