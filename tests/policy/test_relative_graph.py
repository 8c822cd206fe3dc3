"""Secrets to within a share, against every pair of values; what a policy file makes of them, and refuses."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.policy.breadth_first import distances

import tetraodon as td
from tetraodon.errors import PolicyError
from tetraodon.policy.attribute_graph import Within, WithinShare

TENTH, HALF = Fraction(1, 10), Fraction(1, 2)
SHARES = [(10, 1, 40, TENTH), (7, 3, 12, HALF), (4, 1, 9, Fraction(9, 4)), (100, 7, 30, Fraction(1, 9))]


def policy(wage: dict[str, Any], secret: object, **changes: Any) -> td.Policy:
    base = {"dataset": "d", "presence": "public", "attributes": {"wage": wage}, "secrets": {"wage": secret}}
    return td.load_policy(base | {"budget": {"epsilon": 1}} | changes)


@pytest.mark.parametrize(("first", "stride", "size", "share"), SHARES)
def test_pairs_are_those_whose_ratio_is_small(first: int, stride: int, size: int, share: Fraction) -> None:
    graph = WithinShare.of(size, share, first=first, stride=stride)
    numbers = [first + stride * code for code in range(size)]
    wanted = {(x, y) for x in range(size) for y in range(x + 1, size) if Fraction(numbers[y], numbers[x]) <= 1 + share}
    assert {(x, y) for x in range(size) for y in range(size) if x < y and graph.is_edge(x, y)} == wanted
    assert {(int(x), int(y)) for xs, ys in graph.edges() for x, y in zip(xs, ys, strict=True)} == wanted
    codes = np.arange(size)
    near = graph.adjacent(codes[:, None], codes[None, :])
    assert {(int(x), int(y)) for x, y in np.argwhere(np.triu(near))} == wanted
    assert np.array_equal(near, near.T)
    assert graph.reach == max(y - x for x, y in wanted)
    assert all(Within(size, graph.reach).is_edge(x, y) for x, y in wanted)


@pytest.mark.parametrize(("first", "stride", "size", "share"), SHARES)
def test_steps_are_the_fewest(first: int, stride: int, size: int, share: Fraction) -> None:
    graph = WithinShare.of(size, share, first=first, stride=stride)
    for x in range(size):
        away = distances(range(size), graph.is_edge, x)
        assert graph.steps(x, np.arange(size)).tolist() == [away[y] for y in range(size)]
        assert [graph.distance(x, y) for y in range(size)] == [away[y] for y in range(size)]


def test_the_file_says_a_share_and_gets_it_back() -> None:
    made = policy({"real": ["0.5", "9"], "step": "0.05"}, {"within": "12.5%"})
    (factor,) = made.graph.factors
    assert isinstance(factor.graph, WithinShare)
    assert (factor.graph.share, factor.graph.first, factor.graph.stride) == (Fraction(1, 8), 10, 1)
    assert made.document["secrets"] == {"wage": {"within": "12.5%"}}
    assert td.load_policy(made.document).graph == made.graph


def test_it_is_told_in_words_with_odds() -> None:
    told = td.explain(policy({"integer": [100, 10_000_000], "unit": "EUR"}, {"within": "10%"})).text
    assert "the larger is at most 10% more than the smaller" in told
    assert "wage 30000 EUR rather than 33000 EUR: the odds move at most 2.72 times (one step" in told
    assert "wage 30000 EUR rather than 33001 EUR: the odds move at most 7.39 times (2 steps" in told


@pytest.mark.parametrize(
    ("wage", "secret", "what"),
    [
        ({"integer": [1, 100]}, {"within": "10%"}, "reaches no other value. Fix: let its values begin at 10;"),
        ({"integer": [0, 100]}, {"within": "10%"}, "reaches no other value"),
        ({"integer": [-9, 100]}, {"within": "10%"}, "reaches no other value"),
        ({"integer": [10, 100]}, {"within": "0%"}, "reaches no other value"),
        ({"integer": [10, 100]}, {"within": "-5%"}, "reaches no other value"),
        ({"integer": [10, 100]}, {"within": "some%"}, "is not a finite number"),
        ({"integer": [10, 100], "missing": "separate"}, {"within": "10%"}, "missing values among it"),
        ({"date": ["2026-01-01", "2026-12-31"]}, {"within": "10%"}, "a share of wage means nothing"),
        ({"categories": ["a", "b"]}, {"within": "10%"}, "have no order"),
    ],
)
def test_what_has_no_share_is_refused(wage: dict[str, Any], secret: object, what: str) -> None:
    with pytest.raises(PolicyError, match=what):
        policy(wage, secret)


def test_a_joint_metric_has_no_share() -> None:
    together = {"metric": "l1", "over": ["wage"], "within": "10%"}
    with pytest.raises(PolicyError, match="not a finite number"):
        policy({"integer": [10, 100]}, "everything", secrets={}, together=together)


def test_thetas_are_not_compared_with_a_share() -> None:
    made = policy({"integer": [10, 100]}, {"within": "10%"}, release=[{"name": "h", "histogram": "wage"}])
    with pytest.raises(td.errors.QueryError, match="have no theta"):
        td.compare(made)


def test_a_ladder_is_drawn_from_end_to_end() -> None:
    graph = WithinShare.of(9_999_901, Fraction(1, 10), first=100, stride=1)
    codes = graph.ladder(12)
    assert (codes[0], codes[-1], len(codes)) == (0, graph.size - 1, 12)
