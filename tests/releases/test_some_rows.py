"""Some rows of a person are a secret: the price is the most that so many rows move, and every row is counted."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.releases.test_rows_per_person import ISSUE, Bag, _through_engine, bags, graphs, truth
from tests.worlds import positive, queries

import tetraodon as td
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.errors import PolicyError
from tetraodon.noise.laws import GAUSSIAN, LAPLACE
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.query.linear import Measurement


def one_change(graph: SecretGraph, bag: Bag, most: int) -> set[Bag]:
    """The bags of up to so many rows that one row changed, one more or one less makes of a bag."""
    edges = [(int(x), int(y)) for x, y in zip(*graph.edge_cells(), strict=True)]
    near = Counter(bag)
    found = {(*bag, cell) for cell in range(graph.domain.size)} if len(bag) < most else set()
    found |= {tuple((near - Counter([cell])).elements()) for cell in bag}
    for x, y in [*edges, *((y, x) for x, y in edges)]:
        if x in near:
            found.add((*(near - Counter([x])).elements(), y))
    return {tuple(sorted(one)) for one in found} - {bag}


def neighbours(graph: SecretGraph, secret: int, most: int) -> list[tuple[Bag, Bag]]:
    """Bags that at most `secret` changes make of each other."""
    pairs = []
    for bag in bags(graph.domain.size, most):
        reached = {bag}
        for _ in range(secret):
            reached |= {other for one in reached for other in one_change(graph, one, most)}
        pairs += [(bag, other) for other in reached - {bag}]
    return pairs


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_the_price_is_the_loss_between_bags_that_differ_in_some_rows(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    secret = data.draw(st.integers(1, 3 if graph.domain.size < 4 else 2))
    kind = data.draw(st.sampled_from([LAPLACE, GAUSSIAN]))
    asked = data.draw(st.lists(queries(graph.domain), min_size=1, max_size=2))
    measured = [Measurement(query, data.draw(positive), kind) for query in asked]
    pairs = neighbours(graph, secret, secret + 1)
    certificate = certify_measurements(graph, measured, rows_per_person=secret, delta=Fraction(1, 10**6))
    assert certificate.exact
    if kind is LAPLACE:
        assert truth(graph.domain, measured, pairs, 1) == certificate.epsilon
    else:
        assert truth(graph.domain, measured, pairs, 2) / 2 == (certificate.rho or 0)


def traces(secret: int = 2, **more: Any) -> td.Policy:
    return td.load_policy(
        {
            **ISSUE,
            "individuals": {"key": "p", "secret": f"{secret} rows"},
            "attributes": {"x": {"integer": [0, 2]}, "y": {"integer": [-1, 0]}},
            "secrets": {"x": {"within": 1}, "y": "public"},
            "release": [{"name": "h", "histogram": ["x", "y"]}, {"name": "s", "total": "y"}, {"name": "c", "cdf": "x"}],
            **more,
        }
    )


def test_every_row_is_counted_and_a_step_moves_no_more_than_the_certificate_says() -> None:
    policy = traces()
    assert td.load_policy(policy.document) == policy
    plan = td.plan(policy)
    measured = [m for item in plan for m in item.measurements]
    pairs = neighbours(policy.graph, 2, 4)
    for bag in {bag for pair in pairs[:: len(pairs) // 12] for bag in pair}:
        assert _through_engine(policy, bag) == bag
    assert truth(policy.domain, measured, pairs, 1) <= plan.certificate.epsilon == 1
    asked = td.queries.histogram("x", "y")
    assert td.sensitivity(policy, asked).value == 2 * td.sensitivity(traces(1), asked).value == 4


def test_a_person_with_many_rows_is_released(tmp_path: Path) -> None:
    policy = traces(budget={"epsilon": 1000})
    frame = pl.DataFrame({"p": ["me"] * 50, "x": [1] * 50, "y": [0] * 50})
    with td.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open("d", 1000, policy.document)
        made = td.release(td.plan(policy), frame, ledger=ledger, out=tmp_path / "out")
        plan = td.plan(td.load_policy({**policy.document, "individuals": {"key": "p", "at most": 2}}))
        with pytest.raises(td.errors.Refused, match="individuals"):
            td.release(plan, frame, ledger=ledger, out=tmp_path / "other")
    assert sum(made["h"].columns["count"]) == 50  # noise of another number has a chance below 1e-30
    assert all(check.passed for check in td.verify(tmp_path / "out"))


def test_it_is_explained() -> None:
    text = " ".join(td.explain(traces()).text.split())
    assert "One step changes at most 2 rows of a person, however many they have" in text
    assert (
        "2 rows of a person may change in one step: the loss, and with it the noise, is 2 times that of one row" in text
    )
    assert "The column p says whose row it is. Every row is used." in text
    assert "left out" not in text


@pytest.mark.parametrize("individuals", [{"key": "p"}, {"key": "p", "at most": 3, "secret": 2}])
def test_how_many_rows_is_said_once(individuals: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match="how many rows of a person"):
        traces(individuals=individuals)


def test_questions_about_people_need_all_their_rows() -> None:
    with pytest.raises((PolicyError, td.errors.Refused), match="whose row it is"):
        traces(release=[{"name": "n", "people": "all"}])
    with pytest.raises(td.errors.Refused, match="all rows of a person"):
        td.sensitivity(traces(), td.queries.people())
    with pytest.raises(td.errors.Refused, match="individuals"):
        td.plan(
            traces(
                attributes={"x": {"integer": [0, 2]}, "y": {"integer": [-1, 0]}, "n": {"open": "text", "longest": 9}},
                release=[{"name": "names", "names": "n"}],
                budget={"epsilon": 1, "delta": "1e-6"},
            )
        )
