"""The picture of a promise about two coordinates: how far the odds between a chosen place and every other one can move.

Only the policy is looked at. A map is drawn by the studio's `map.js`, which counts steps as `OddsMap.steps` does: a
test in a browser compares the two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.domain import Attribute
from tetraodon.errors import QueryError
from tetraodon.policy.attribute_graph import INFINITE
from tetraodon.policy.joint_metric import EARTH_RADIUS_KM, JointMetric
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Policy
from tetraodon.policy.secrets_in_words import people
from tetraodon.policy.words import WORTHLESS, odds
from tetraodon.report.odds_strip import MOST_MOVES, OddsStrip, odds_strip, told_moves

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
        """How many steps places are away from a chosen one; infinite where nothing joins them, or nobody counts."""
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
        told = told_moves(self.epsilon, MOST_MOVES)
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
            "moves": told,
            "worthless": odds(self.epsilon, len(told) + 1) > WORTHLESS,
            "most": None if math.isinf(self.most) else int(self.most),
            "edgesOnly": self.edges_only,
        }


def odds_maps(policy: Policy) -> tuple[OddsMap, ...]:
    """A map for two attributes that are measured as one, and for each group of people with a metric of its own."""
    if policy.graph.groups is None:
        return tuple(_maps(policy, ""))
    return tuple(found for own in people(policy) for found in _maps(own.policy, own.whom))


def _maps(policy: Policy, whom: str) -> list[OddsMap]:
    most = 2.0 if policy.graph.absent else INFINITE
    return [
        OddsMap(
            (policy.domain[factor.names[0]], policy.domain[factor.names[1]]),
            factor.graph,
            policy.epsilon,
            most,
            not policy.steps_join,
            whom,
        )
        for factor in policy.graph.factors
        if isinstance(factor.graph, JointMetric) and len(factor.names) == 2
    ]


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
