"""The loss of x + L eta on small graphs, against shortest ways, and against every small shift of the noise."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import tetraodon as td
from tetraodon.certificate.added_noise import certify_added_noise
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.errors import QueryError, Refused
from tetraodon.query.edge_flows import PARTS, FlowLine, Flows
from tetraodon.query.linear import LinearQuery, Measurement

GRAPHS: dict[str, list[tuple[int, int]]] = {
    "path": [(0, 1), (1, 2), (2, 3), (3, 4)],
    "ring": [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)],
    "tree": [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)],
    "star": [(0, 1), (0, 2), (0, 3), (0, 4)],
    "grid": [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)],
    "two parts": [(0, 1), (2, 3)],
}


def policy(edges: list[tuple[int, int]], **changes: Any) -> td.Policy:
    names = [f"v{number}" for number in range(1 + max(map(max, edges)))]
    document = {
        "dataset": "d",
        "individuals": "one row each",
        "presence": "public",
        "attributes": {"x": names},
        "secrets": {"x": {"pairs": [[names[u], names[v]] for u, v in edges]}},
        "budget": {"epsilon": 1},
    }
    return td.load_policy(document | changes)


def steps(edges: list[tuple[int, int]]) -> np.ndarray:
    """One column for each edge."""
    found = np.zeros((1 + max(map(max, edges)), len(edges)), np.int64)
    for column, (u, v) in enumerate(edges):
        found[u, column], found[v, column] = 1, -1
    return found


def shortest(edges: list[tuple[int, int]], costs: list[Fraction]) -> dict[tuple[int, int], Fraction]:
    ways: dict[tuple[int, int], Fraction] = {}
    for (u, v), cost in zip(edges, costs, strict=True):
        ways[u, v] = ways[v, u] = cost
    ends = sorted({end for edge in edges for end in edge})
    for k, u, v in product(ends, repeat=3):
        if u != v and (u, k) in ways and (k, v) in ways:
            ways[u, v] = min(ways.get((u, v), ways[u, k] + ways[k, v]), ways[u, k] + ways[k, v])
    return ways


@pytest.mark.parametrize("kind", GRAPHS)
def test_noise_on_every_edge_costs_the_shortest_way(kind: str) -> None:
    edges = GRAPHS[kind]
    scales = [Fraction(1 + 3 * number % 4, 2) for number in range(len(edges))]
    found = certify_added_noise(policy(edges), steps(edges), scales)
    ways = shortest(edges, [1 / scale for scale in scales])
    assert found.epsilon == max(ways[edge] for edge in edges)
    assert found.exact


@pytest.mark.parametrize("kind", ["tree", "ring"])
def test_any_steps_may_be_hidden_by_noise_on_others(kind: str) -> None:
    """Secrets between all values, noise along the edges of a smaller graph: the longest of the shortest ways."""
    edges = GRAPHS[kind]
    scales = [Fraction(number + 2, 3) for number in range(len(edges))]
    ways = shortest(edges, [1 / scale for scale in scales])
    found = certify_added_noise(policy(edges, secrets={}), steps(edges), scales)
    assert (found.epsilon, found.exact) == (max(ways.values()), True)


def least(matrix: list[list[Fraction]], scales: list[Fraction], moved: list[int], reach: int) -> Fraction | float:
    """The cheapest whole shift of all within reach, one by one."""
    common = math.lcm(*(entry.denominator for row in matrix for entry in row))
    whole = np.array([[int(entry * common) for entry in row] for row in matrix])
    every = np.array(list(product(range(-reach, reach + 1), repeat=len(scales))))
    there = every[(every @ whole.T == common * np.array(moved)).all(axis=1)]
    costs = [sum((abs(int(n)) / s for n, s in zip(z, scales, strict=True)), Fraction(0)) for z in there]
    return min(costs, default=math.inf)


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_cheapest_of_all_small_shifts(seed: int) -> None:
    """A strategy on the edges of a path or a ring with sums of neighbouring edges, and any left inverse of it."""
    coins = np.random.default_rng(seed)
    edges = GRAPHS[["path", "ring"][seed % 2]]
    count = len(edges)
    sums = np.array([[1, 1] + [0] * (count - 2), [0] * (count - 2) + [1, 1]])
    gains = coins.integers(-3, 4, (count, 2))
    inverse = np.hstack([4 * np.eye(count, dtype=np.int64) - gains @ sums, gains])  # in quarters
    whole = (steps(edges) @ inverse).tolist()
    matrix = [[Fraction(entry, 4) for entry in row] for row in whole]
    scales = [Fraction(int(n)) for n in coins.integers(1, 6, count + 2)]
    found = certify_added_noise(policy(edges), matrix, scales)
    moves = [[(cell == u) - (cell == v) for cell in range(len(matrix))] for u, v in edges]
    truth = max(least(matrix, scales, moved, 2) for moved in moves)
    asked = [sum((Fraction(int(abs(n))) / s for n, s in zip(column, scales, strict=True)), Fraction(0))
             for column in np.vstack([np.eye(count, dtype=np.int64), sums]).T]  # fmt: skip
    assert found.epsilon == truth <= max(asked)


def test_noise_on_every_cell_is_that_of_a_histogram() -> None:
    for changes in ({}, {"presence": "secret"}, {"secrets": {}}):
        here = policy(GRAPHS["tree"], **changes)
        rows, scales = np.eye(6, dtype=int).tolist(), [1, 2, "1/2", 3, 4, 1]
        found, other = certify_added_noise(here, rows, scales), td.certify(here, rows, scales)
        assert (found.epsilon, found.exact) == (other.epsilon, True)


def test_noise_along_a_map_is_priced_as_the_kernel_prices_it() -> None:
    flows = Flows(("x", "y"), FlowLine(4, Fraction(2), 2, Fraction(3)), FlowLine(3, Fraction(1)))
    here = td.load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"x": {"integer": [0, 2]}, "y": {"integer": [0, 3]}},
            "secrets": {"x": {"within": 1}, "y": {"within": 1}},
            "together": "one attribute at a time",
            "budget": {"epsilon": 1},
        }
    )
    columns, scales = [], []
    for number, (scale, (borders, places)) in enumerate(flows.noises):
        for place in range(borders * places):
            noises = [np.zeros(size, np.int64) for _, size in flows.noises]
            noises[number].flat[place] = 1
            columns.append([Fraction(int(entry), PARTS) for entry in flows.spread(noises)])
            scales.append(scale)
    found = certify_added_noise(here, [list(row) for row in zip(*columns, strict=True)], scales)
    assert found.epsilon == certify_measurements(here.graph, [Measurement(LinearQuery(flows), Fraction(1))]).epsilon


def test_where_no_whole_shift_is_as_cheap_as_a_fraction_of_one_it_is_a_bound() -> None:
    """Noises of two and of three records: one record is a step of the one and a step back of the other."""
    found = certify_added_noise(policy([(0, 1)]), [[2, 3], [-2, -3]], [1, 1])
    assert (found.epsilon, found.exact) == (2, False)


@pytest.mark.parametrize("changes", [{"presence": "secret"}, {"secrets": {}}])
def test_what_no_noise_hides_is_told(changes: dict[str, Any]) -> None:
    edges = GRAPHS["two parts"]
    assert certify_added_noise(policy(edges), steps(edges), [1, 1]).epsilon == 1
    assert math.isinf(certify_added_noise(policy(edges, **changes), steps(edges), [1, 1]).epsilon)


def test_half_a_record_hides_nobody() -> None:
    assert math.isinf(certify_added_noise(policy([(0, 1)]), [[2], [-2]], [1]).epsilon)
    assert certify_added_noise(policy([(0, 1)]), [["1/2"], ["-1/2"]], [1]).epsilon == 2


def test_what_cannot_be_priced_is_refused() -> None:
    here, good = policy([(0, 1)]), [[1], [-1]]
    for matrix, scales in (([[1]], [1]), (good, [1, 1]), (good, [0])):
        with pytest.raises(QueryError, match="Fix:"):
            certify_added_noise(here, matrix, scales)
    with pytest.raises(Refused, match="known counts"):
        certify_added_noise(policy([(0, 1)], known=[{"marginal": ["x"]}]), good, [1])
    with pytest.raises(Refused, match="independent"):
        certify_added_noise(policy([(0, 1)], attackers=[{"groups": "house", "at most": 2}]), good, [1])
    long = td.load_policy({"dataset": "d", "attributes": {"x": {"integer": [0, 199]}}, "budget": {"epsilon": 1}})
    with pytest.raises(Refused, match="edges to look at"):
        certify_added_noise(long, np.eye(200, dtype=int).tolist(), [1] * 200)
