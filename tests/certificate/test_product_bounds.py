"""Tables of products: the certificate is never below enumeration, and is it where it says so."""

from __future__ import annotations

from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.theory.largest_move import largest_move
from tests.worlds import graphs, positive, queries, soft_bins

from tetraodon.certificate import axis as cell_axis
from tetraodon.certificate import product_bounds
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.product_bounds import largest_with_products, needs_stand_in
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.policy.attribute_graph import Everything, Within
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.contribution import One, Table
from tetraodon.query.linear import LinearQuery, Measurement
from tetraodon.query.soft_bins import Product, hats


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_products_with_other_answers_are_never_priced_too_low(data: st.DataObject) -> None:
    graph = data.draw(graphs().filter(lambda graph: len(graph.domain.names) > 1))
    names = data.draw(st.permutations(graph.domain.names))
    parts = tuple(data.draw(soft_bins(graph.domain[name])) for name in names[: data.draw(st.integers(2, len(names)))])
    asked = [LinearQuery(Product(parts)), *data.draw(st.lists(queries(graph.domain), max_size=2))]
    scales = [data.draw(positive) for _ in asked]
    with mock.patch.object(product_bounds, "FEW_CELLS", 0):
        found = certify_measurements(graph, [Measurement(q, s) for q, s in zip(asked, scales, strict=True)])
    truth = largest_move(graph, [(q, 1 / s) for q, s in zip(asked, scales, strict=True)])
    assert found.epsilon >= truth
    if found.exact:
        assert found.epsilon == truth
    gaussian = [Measurement(q, s, GAUSSIAN) for q, s in zip(asked, scales, strict=True)]
    exactly = certify_measurements(graph, gaussian, delta=Fraction(1, 10**6))
    with mock.patch.object(product_bounds, "FEW_CELLS", 0):
        bound = certify_measurements(graph, gaussian, delta=Fraction(1, 10**6))
    assert (bound.rho or 0) >= (exactly.rho or 0)


def plane(size: int, reach: int | None, at_most: int, *, absent: bool = False) -> SecretGraph:
    domain = Domain(tuple(Attribute(name, Integers(0, size - 1)) for name in "xy"))
    graph = Everything(size) if reach is None else Within(size, reach)
    return SecretGraph(domain, tuple(Factor((name,), graph) for name in "xy"), at_most, absent)


@pytest.mark.parametrize(("reach", "at_most", "moved"), [(None, 2, 2), (None, 1, 2), (2, 1, 1), (1, 1, Fraction(1, 2))])
@pytest.mark.parametrize("absent", [False, True])
def test_a_step_of_theta_moves_twice_theta_over_the_width(
    reach: int | None, at_most: int, moved: Fraction, absent: bool
) -> None:
    table = LinearQuery(Product((hats("x", 9, 4), hats("y", 9, 4))))
    with mock.patch.object(product_bounds, "FEW_CELLS", 0):
        found = certify_measurements(plane(9, reach, at_most, absent=absent), [Measurement(table, Fraction(16))])
    assert found.exact
    assert found.epsilon == (max(moved, 1) if absent else moved)


def test_what_cannot_be_judged_is_refused() -> None:
    table = LinearQuery(Product((hats("x", 9, 4), hats("y", 9, 4))))
    assert needs_stand_in(plane(40, 1, 1), [(table, Fraction(1))])
    assert not needs_stand_in(plane(9, 1, 1), [(table, Fraction(1))])
    assert not needs_stand_in(plane(40, 1, 1), [(LinearQuery(One()), Fraction(1))])

    tied = LinearQuery(Table(("x", "y"), np.arange(81).reshape(1, 81)))
    with mock.patch.object(cell_axis, "EDGE_LIMIT", 0), pytest.raises(Refused, match="cannot be computed"):
        largest_with_products(plane(9, 1, 1), [(table, Fraction(1)), (tied, Fraction(1))], {})
