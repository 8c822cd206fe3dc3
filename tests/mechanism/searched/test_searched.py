"""Strategies for a workload: certified, never worse than the plain ones, and their errors are what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.theory.largest_move import largest_move

import tetraodon as td
from tetraodon.mechanism.searched import SearchedStrategy, mean_variance, strategy
from tetraodon.mechanism.searched.workload import gram_of
from tetraodon.noise import discrete_laplace
from tetraodon.questions import linear


def policy(secret: Any, sizes: dict[str, int], **changes: Any) -> td.Policy:
    document: dict[str, Any] = {
        "tetraodon": 1,
        "dataset": "tiny",
        "individuals": "one row each",
        "presence": "public",
        "attributes": {name: {"integer": [0, size - 1]} for name, size in sizes.items()},
        "secrets": dict.fromkeys(sizes, secret),
        "budget": {"epsilon": 1},
        "release": [{"name": "q", "histogram": [next(iter(sizes))]}],
    }
    return td.load_policy(document | changes)


CASES: list[tuple[Any, Any]] = [
    (td.ranges("x"), policy("everything", {"x": 40})),
    (td.ranges("x"), policy({"within": 4}, {"x": 40})),
    (td.cdf("x"), policy({"within": 1}, {"x": 40})),
    (td.cdf("x"), policy("everything", {"x": 40}, presence="secret")),
    (np.tril(np.ones((30, 30)))[::3], policy({"blocks": [["0", "14"], ["15", "29"]]}, {"x": 30})),
    (
        [td.histogram("a", "b"), td.histogram("b", "c"), td.histogram("a", "c")],
        policy({"within": 1}, {"a": 3, "b": 3, "c": 3}, together="one attribute at a time"),
    ),
]


@pytest.fixture(scope="module", params=range(len(CASES)))
def made(request: pytest.FixtureRequest) -> tuple[Any, SearchedStrategy]:
    workload, asked = CASES[request.param]
    return workload, strategy(workload, asked)


def test_the_certificate_is_what_enumeration_finds(made: tuple[Any, SearchedStrategy]) -> None:
    _, found = made
    slow = largest_move(found.policy.graph, [(m.query, 1 / m.scale) for m in found.measurements if m.scale])
    assert found.certificate.epsilon == slow == 1


def test_it_is_never_worse_than_its_rivals(made: tuple[Any, SearchedStrategy]) -> None:
    _, found = made
    assert found.expected_error == min(error for _, error in found.rivals)
    assert "identity" in dict(found.rivals)


def test_the_error_is_the_one_of_least_squares(made: tuple[Any, SearchedStrategy]) -> None:
    """Against noise itself: 400 draws through `cells`, within 35%: more than eight standard errors in every case."""
    workload, found = made
    domain = found.policy.domain
    if isinstance(workload, np.ndarray):
        asked = workload
    else:
        several = workload if isinstance(workload, list) else [workload]
        asked = np.concatenate([linear(query, domain).matrix(domain)[0] for query in several])
    counts = np.arange(domain.size) % 7
    exact = [m.query.matrix(domain)[0] @ counts for m in found.measurements]
    squares = []
    for _ in range(400):
        noisy = [
            e + discrete_laplace(m.scale, e.shape) if m.scale else e
            for e, m in zip(exact, found.measurements, strict=True)
        ]
        squares.append(np.mean((asked @ (found.cells(noisy) - counts)) ** 2))
    assert np.mean(squares) == pytest.approx(found.expected_error**2, rel=0.35)


def test_marginals_gain_where_one_attribute_changes_at_a_time() -> None:
    sizes = {"a": 5, "b": 5, "c": 5}
    asked = policy({"within": 1}, sizes, together="one attribute at a time")
    found = strategy([td.histogram("a", "b"), td.histogram("b", "c"), td.histogram("a", "c")], asked)
    assert found.mechanism in ("direct", "marginals")
    assert found.expected_error < 0.85 * dict(found.rivals)["identity"]


def test_line_policies_keep_running_counts() -> None:
    found = strategy(td.cdf("x"), policy({"within": 1}, {"x": 40}))
    assert dict(found.rivals)["ordered"] < 1.4
    assert found.expected_error <= dict(found.rivals)["ordered"]


def test_what_no_secret_moves_is_exact() -> None:
    found = strategy(td.cdf("x"), policy("public", {"x": 9}))
    assert found.expected_error == 0
    assert found.certificate.epsilon == 0


def test_another_budget_scales_the_noise() -> None:
    asked = policy("everything", {"x": 20})
    half = strategy(td.ranges("x"), asked, epsilon="0.5")
    assert half.certificate.epsilon * 2 == 1
    assert half.expected_error > strategy(td.ranges("x"), asked).expected_error
    with pytest.raises(td.Refused, match="not positive"):
        strategy(td.ranges("x"), asked, epsilon=0)


def test_a_known_total_is_used() -> None:
    """One cell of two: with the total known, both measurements help."""
    domain = policy("everything", {"x": 2}).domain
    gram = gram_of([[1.0, 0.0]], domain)
    rows, spread = np.eye(2), np.array([3.0, 3.0])
    assert mean_variance(rows, spread, gram, known=False) == pytest.approx(3.0)
    assert mean_variance(rows, spread, gram, known=True) == pytest.approx(1.5)


def test_absence_may_be_the_only_secret() -> None:
    """This ended in `zero-size array`: the search looked for the worst edge where there is none."""
    document = {
        "dataset": "d",
        "presence": "secret",
        "attributes": {"x": {"integer": [0, 9]}},
        "secrets": {"x": "public"},
        "budget": {"epsilon": 1},
    }
    made = strategy(td.ranges("x"), document)
    assert made.every_cell
    assert made.certificate.epsilon == 1
    assert made.expected_error <= min(error for _, error in made.rivals)
    rows, scales = zip(*((m.query.matrix(made.policy.domain)[0], m.scale) for m in made.measurements), strict=True)
    lost = sum(np.abs(matrix).sum(axis=0) / float(scale) for matrix, scale in zip(rows, scales, strict=True))
    assert lost.max() == pytest.approx(1)
