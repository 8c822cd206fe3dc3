"""One factor at a time: exact where steps can be listed, and never below the truth where they cannot."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from tests.certificate.test_part_steps import DOMAIN, listed, random_graph, random_query

from tetraodon.certificate import conditional_steps as part_steps
from tetraodon.certificate import conditional_steps as single_steps
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.worst_edge import worst_edge
from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.policy.attribute_graph import Everything, Within
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.contribution import One, Prefix
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.records_where import RecordsWhere


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("edges", [0, 10**6])
def test_no_bound_is_below_the_truth(seed: int, edges: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on large worlds: cells that are not looked at together, and steps that are too many to be listed."""
    monkeypatch.setattr(part_steps, "MATRIX_LIMIT", 0)
    monkeypatch.setattr(single_steps, "MATRIX_LIMIT", 0)
    monkeypatch.setattr(single_steps, "EDGE_LIMIT", edges)
    chance = random.Random(seed)
    exact = tried = 0
    for _ in range(40):
        graph = random_graph(chance)
        queries = [(random_query(chance), Fraction(chance.randrange(1, 7), 3)) for _ in range(chance.randrange(1, 4))]
        truth = listed(graph, queries, 1)
        try:
            found = worst_edge(graph, queries)
        except Refused:
            continue
        tried += 1
        exact += found.exact
        assert found.value == truth if found.exact else found.value >= truth
    assert 3 * exact > tried > 20


def test_disjoint_parts_cost_what_one_costs() -> None:
    """Of a table that is long: no listing of its cells would do."""
    domain = Domain((Attribute("age", Integers(0, 9999)), Attribute("sex", Categories(("f", "m")), other=0)))
    factors = (Factor(("age",), Within(10_000, 7)), Factor(("sex",), Everything(2)))
    graph = SecretGraph(domain, factors, 1)
    young, old = (RecordsWhere(where, (), domain) for where in ("age < 3000", "age >= 3000"))
    tables = [part.lifted(LinearQuery(One(), (Split("sex"),))) for part in (young, old)]
    one = certify_measurements(graph, [Measurement(tables[0], Fraction(2))])
    both = certify_measurements(graph, [Measurement(table, Fraction(2)) for table in tables])
    assert one.epsilon == both.epsilon == 1
    assert both.exact
    # beside a table of all ages a step over the border moves both parts, and two ages
    ages = Measurement(LinearQuery(One(), (Split("age"),)), Fraction(2))
    together = certify_measurements(graph, [ages, *(Measurement(table, Fraction(2)) for table in tables)])
    assert together.epsilon == 2
    assert together.exact


def test_a_step_out_of_a_part_moves_all_that_the_record_adds() -> None:
    domain = Domain((Attribute("age", Integers(0, 9)), Attribute("pay", Integers(0, 4999))))
    graph = SecretGraph(domain, (Factor(("age",), Within(10, 1)), Factor(("pay",), Within(5000, 3))), 1)
    grown = RecordsWhere("age >= 5", (), domain)
    running = grown.lifted(LinearQuery(Prefix("pay", 5000, 5000)))
    found = certify_measurements(graph, [Measurement(running, Fraction(1))])
    assert found.epsilon == 5000
    assert found.witness == ((4, 0), (5, 0))
    assert DOMAIN.size < domain.size
