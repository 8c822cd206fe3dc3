"""Known tables, added up to the attributes of an item, cost nothing and are measured exactly."""

from __future__ import annotations

from dataclasses import replace

import tetraodon as td
from tetraodon.certificate.kernel import sensitivity_of
from tetraodon.mechanism.direct import free_totals, known_totals
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, Split

POLICY = td.load_policy(
    {
        "dataset": "d",
        "attributes": {"sex": ["F", "M"], "region": ["N", "S", "E"], "age": {"integer": [0, 9]}},
        "secrets": {"age": {"blocks": [[0, 4], [5, 9]]}},
        "known": [
            {"marginal": ["sex", "region"]},
            {"blocks": {"age": [[0, 1], [2, 9]]}},
            {"count": "age = 3"},
        ],
        "together": "one attribute at a time",
        "presence": "public",
        "budget": {"epsilon": 1},
    }
)


def test_known_tables_are_added_up_to_the_attributes_that_are_asked_about() -> None:
    asked = (Split("sex"), Split("age"))
    found = known_totals(asked, POLICY)
    assert LinearQuery(One(), (Split("sex"),)) in found
    assert [tuple(s.name for s in query.by) for query in found] == [("sex",), ("age",)]
    for query in found:
        assert sensitivity_of(POLICY.graph, query).value == 0


def test_what_no_secret_changes_is_certified_anew() -> None:
    """Blocks of age are free without known counts. With them, a person may move out of a block if others move in."""
    blocks = LinearQuery(One(), (Split("age", (0, 0, 0, 0, 0, 1, 1, 1, 1, 1)),))
    nothing_known = replace(POLICY, graph=replace(POLICY.graph, known=()))
    assert blocks in free_totals((Split("age"),), nothing_known)
    assert blocks not in free_totals((Split("age"),), POLICY)
    one_known = replace(POLICY, graph=replace(POLICY.graph, known=POLICY.known[1:]))
    assert blocks not in free_totals((Split("age"),), one_known)
    assert sensitivity_of(one_known.graph, blocks).value > 0
