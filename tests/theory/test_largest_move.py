"""The judge itself, judged by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.theory.largest_move import largest_move
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.policy.attribute_graph import AttributeGraph, Everything, Pairs, Public, Within
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.contribution import One, Prefix, Table
from tetraodon.query.linear import LinearQuery, splits
from tetraodon.query.number import Number

DOMAIN = Domain((Attribute("a", Integers(1, 3)), Attribute("b", Integers(0, 1))))
HISTOGRAM = LinearQuery(One(), splits(["a", "b"]))
RUNNING = LinearQuery(Prefix("a", 3, 3))
TOTAL = LinearQuery(Number(DOMAIN["a"]))
ROW = LinearQuery(Table(("a", "b"), np.array([[5, 0, 0, 0, 0, -2]])))


def graph(a: AttributeGraph, b: AttributeGraph, at_most: int = 1, absent: bool = False) -> SecretGraph:
    return SecretGraph(DOMAIN, (Factor(("a",), a), Factor(("b",), b)), at_most, absent)


@pytest.mark.parametrize(
    ("secrets", "queries", "value"),
    [
        (graph(Everything(3), Everything(2)), [(HISTOGRAM, 1)], 2),
        (graph(Everything(3), Public(2)), [(RUNNING, 1)], 2),
        (graph(Within(3, 1), Public(2)), [(RUNNING, 1)], 1),
        (graph(Within(3, 1), Public(2)), [(RUNNING, 1), (HISTOGRAM, Fraction(1, 2)), (TOTAL, 3)], 5),
        (graph(Public(3), Everything(2)), [(RUNNING, 1), (TOTAL, 1)], 0),
        (graph(Public(3), Public(2), absent=True), [(RUNNING, 1)], 3),
        (graph(Public(3), Public(2), absent=True), [(TOTAL, Fraction(1, 3))], 1),
        (graph(Everything(3), Everything(2), at_most=1), [(ROW, 1)], 5),
        (graph(Everything(3), Everything(2), at_most=2), [(ROW, 1)], 7),
        (graph(Pairs(3, frozenset({(2, 0)})), Public(2)), [(TOTAL, 1)], 2),
        (graph(Public(3), Public(2)), [(HISTOGRAM, 1)], 0),
        (graph(Everything(3), Everything(2)), [], 0),
    ],
)
def test_by_hand(secrets: SecretGraph, queries: list[tuple[LinearQuery, Fraction]], value: int) -> None:
    assert largest_move(secrets, queries) == value
