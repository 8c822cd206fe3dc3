"""What noise along steps loses, against shortest ways, linear programmes and the probabilities of what is told."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.query.test_flows import matrix

import tetraodon as td
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.pair_loss import loss_of_pair, rho_of_pair, standing_in
from tetraodon.errors import Refused
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.queries import histogram
from tetraodon.query.edge_flows import PARTS, FlowLine, Flows
from tetraodon.query.kinds import linear
from tetraodon.query.linear import LinearQuery, Measurement
from tetraodon.query.records_where import records_where

ONE = "one attribute at a time"


def policy(sizes: tuple[int, int], **changes: Any) -> td.Policy:
    document = {
        "dataset": "d",
        "individuals": "one row each",
        "presence": "public",
        "attributes": {name: {"integer": [0, size - 1]} for name, size in zip("xy", sizes, strict=True)},
        "secrets": {"x": {"within": 1}, "y": {"within": 1}},
        "together": ONE,
        "budget": {"epsilon": 1},
    }
    return td.load_policy(document | changes)


def measured(first: FlowLine, second: FlowLine, scale: Fraction = Fraction(1), **law: Any) -> Measurement:
    return Measurement(LinearQuery(Flows(("x", "y"), first, second)), scale, **law)


def shortest(sizes: tuple[int, int], across: Fraction, along: Fraction) -> dict[tuple[int, int], Fraction]:
    """The cheapest ways between all cells of a map, by relaxing every step until nothing changes."""
    cells = list(product(*map(range, sizes)))
    cost = {(a, b): Fraction(0) for a in range(len(cells)) for b in [a]}
    steps = {}
    for a, (x, y) in enumerate(cells):
        for b, (u, v) in enumerate(cells):
            if abs(x - u) + abs(y - v) == 1:
                steps[a, b] = across if x != u else along
    for k in range(len(cells)):
        for a in range(len(cells)):
            for b in range(len(cells)):
                ways = [w for w in (cost.get((a, b)), steps.get((a, b))) if w is not None]
                before, after = cost.get((a, k), steps.get((a, k))), cost.get((k, b), steps.get((k, b)))
                if before is not None and after is not None:
                    ways.append(before + after)
                if ways:
                    cost[a, b] = min(ways)
    return cost


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"secrets": {"x": {"within": 2}, "y": {"within": 1}}},
        {"secrets": {"x": {"within": 2}, "y": {"within": 1}}, "together": {"at most": 2}},
        {"secrets": {}, "together": {"metric": "l1", "over": ["x", "y"], "within": 2}},
        {"secrets": {}, "together": {"metric": "linf", "over": ["x", "y"], "within": 1}},
        {"secrets": {"x": "public", "y": {"within": 2}}},
        {"secrets": {}, "together": "all at once"},
    ],
)
def test_without_bins_the_loss_is_the_longest_of_the_shortest_ways(changes: dict[str, Any]) -> None:
    sizes, here = (3, 4), policy((3, 4), **changes)
    one = measured(FlowLine(4, Fraction(2)), FlowLine(3, Fraction(3)), Fraction(1, 2))
    found = certify_measurements(here.graph, [one])
    ways = shortest(sizes, Fraction(1), Fraction(2, 3))
    cells = zip(*here.graph.edge_cells(), strict=True)
    assert found.epsilon == max(ways[int(a), int(b)] for a, b in cells)
    assert found.exact
    assert found.witness is not None
    assert loss_of_pair(here.domain, [one], found.witness) == found.epsilon


LINES = [
    (FlowLine(5, Fraction(2), 2, Fraction(4)), FlowLine(4, Fraction(1))),
    (FlowLine(6, Fraction(3), 3, Fraction(4)), FlowLine(6, Fraction(2), 4, Fraction(8))),
]


@pytest.mark.parametrize("lines", LINES)
@pytest.mark.parametrize("theta", [1, 2])
def test_linear_programmes_find_what_the_bound_says(lines: tuple[FlowLine, FlowLine], theta: int) -> None:
    """The least cost of any real z, edge by edge: some edge needs all of the bound."""
    one = measured(*lines)
    flows = one.query.contribution
    assert isinstance(flows, Flows)
    here = policy(flows.shape, secrets={"x": {"within": theta}, "y": {"within": theta}})
    found = certify_measurements(here.graph, [one])
    whole = matrix(flows) / PARTS
    rates = np.concatenate([np.full(a * b, 1 / float(scale)) for scale, (a, b) in flows.noises])
    worst = 0.0
    for a, b in zip(*here.graph.edge_cells(), strict=True):
        moved = np.zeros(flows.rows)
        moved[a], moved[b] = 1, -1
        solved = linprog(np.tile(rates, 2), A_eq=np.hstack([whole, -whole]), b_eq=moved, method="highs")
        worst = max(worst, solved.fun)
    assert worst == pytest.approx(float(found.epsilon))
    assert not found.exact  # nobody has proved it for all maps


def test_what_is_told_is_as_likely_as_the_certificate_says() -> None:
    """Four cells, four steps in a ring: the probabilities of all that is told, up to noises of 14.

    Why  what was left out is less than e^-13 of the whole; the ratio comes near its bound, and never reaches it.
    """
    one = measured(FlowLine(2, Fraction(1)), FlowLine(2, Fraction(2)))
    here, flows = policy((2, 2)), one.query.contribution
    assert isinstance(flows, Flows)
    found = certify_measurements(here.graph, [one])
    assert (found.epsilon, found.exact) == (1, True)
    reach = np.arange(-14, 15)
    across, along = (np.exp(-np.abs(reach) / b) for b in (1, 2))
    told: dict[tuple[int, int, int], float] = {}
    for (a, p), (b, q) in product(zip(reach, across, strict=True), repeat=2):  # borders between rows
        for (c, r), (d, s) in product(zip(reach, along, strict=True), repeat=2):
            key = (int(a + c), int(b - c), int(d - a))
            told[key] = told.get(key, 0.0) + p * q * r * s
    ratios = [
        math.log(told[key] / told[moved])
        for key in told
        if max(map(abs, key)) <= 5 and (moved := (key[0] + 1, key[1], key[2] - 1)) in told
    ]
    assert max(ratios) <= 1 + 1e-6
    assert max(ratios) > 0.9


def test_gaussian_noise_loses_squares_and_says_that_it_is_a_bound() -> None:
    lines = LINES[0]
    one, here = measured(*lines, noise=GAUSSIAN), policy((4, 5), secrets={"x": {"within": 2}, "y": {"within": 1}})
    found = certify_measurements(here.graph, [one], delta=Fraction(1, 1000))
    assert found.rho == max(2 * (Fraction(1, 4) + Fraction(2, 4) ** 2), Fraction(1)) / 2
    assert not found.exact
    assert rho_of_pair(here.domain, [one], ((0, 0), (2, 0))) == found.rho


def test_a_record_that_may_be_absent_is_told() -> None:
    one = measured(FlowLine(4, Fraction(2)), FlowLine(3, Fraction(3)))
    assert math.isinf(certify_measurements(policy((3, 4), presence="secret").graph, [one]).epsilon)


def test_exact_cells_are_no_noise() -> None:
    one = measured(FlowLine(4, Fraction(2)), FlowLine(3, Fraction(3)), Fraction(0))
    assert math.isinf(certify_measurements(policy((3, 4)).graph, [one]).epsilon)
    public = policy((3, 4), secrets={"x": "public", "y": "public"})
    assert certify_measurements(public.graph, [one]).epsilon == 0


def test_known_counts_and_parts_of_the_records_are_refused() -> None:
    one = measured(FlowLine(4, Fraction(2)), FlowLine(3, Fraction(3)))
    known = policy((3, 4), known=[{"marginal": "x"}])
    with pytest.raises(Refused, match="known counts"):
        certify_measurements(known.graph, [one])
    here = policy((3, 4))
    part = records_where("x <= 1", (), here.domain)
    assert part is not None
    with pytest.raises(Refused, match="all records only"):
        standing_in([Measurement(part.lifted(one.query), Fraction(1))], here.graph)


def test_other_measurements_are_added_up_on_the_same_step() -> None:
    one = measured(FlowLine(4, Fraction(2)), FlowLine(3, Fraction(3)))
    here = policy((3, 4))
    other = Measurement(linear(histogram("x"), here.domain), Fraction(4))
    found = certify_measurements(here.graph, [one, other])
    assert (found.epsilon, found.exact) == (Fraction(1, 2) + Fraction(2, 4), True)
