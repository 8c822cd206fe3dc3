"""Marginals for several histograms: predicted errors against the estimates themselves, on tables small enough to write
out."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tetraodon as td
from tetraodon.errors import QueryError, Refused
from tetraodon.mechanism.marginals import MarginalStrategy, marginals
from tetraodon.noise import laplace_variance


def policy(shape: tuple[int, ...] = (4, 3, 2), **changes: Any) -> td.Policy:
    document: dict[str, Any] = {
        "dataset": "people",
        "presence": "public",
        "attributes": {name: {"integer": [0, size - 1]} for name, size in zip("abcdefghijkl", shape, strict=False)},
        "budget": {"epsilon": 1},
    }
    return td.load_policy(document | changes)


def two_way(names: str) -> list[Any]:
    return [td.queries.histogram(*pair) for pair in itertools.combinations(names, 2)]


def measured_for(found: MarginalStrategy, table: np.ndarray) -> list[np.ndarray]:
    rows = [m.query.matrix(found.policy.domain)[0] for m in found.measurements]
    shapes = [m.query.shape(found.policy.domain) for m in found.measurements]
    return [(row @ table.ravel()).reshape(shape) for row, shape in zip(rows, shapes, strict=True)]


@pytest.mark.parametrize(
    "changes",
    [{}, {"presence": "secret"}, {"together": "one attribute at a time"}, {"secrets": {"c": "public"}}],
)
def test_estimates_are_unbiased_and_as_good_as_predicted(changes: dict[str, Any]) -> None:
    found = marginals(two_way("abc"), policy(**changes))
    table = np.arange(24).reshape(4, 3, 2) ** 2 % 17
    exact = measured_for(found, table)
    pairs = list(itertools.combinations("abc", 2))
    for names in (*pairs, ("c", "a"), ("b",), ()):
        others = tuple(axis for axis, name in enumerate("abc") if name not in names)
        truth = table.sum(axis=others)
        truth = truth if names != ("c", "a") else truth.T
        assert np.allclose(found.marginal(exact, names), truth)
    variance, answers = 0.0, 0
    for names in pairs:
        zero = [np.zeros_like(one) for one in exact]
        answers += found.marginal(zero, names).size
        for place, one in enumerate(found.measurements):
            if not one.scale:
                continue
            for cell in range(exact[place].size):
                zero[place].flat[cell] = 1
                moved = found.marginal(zero, names)
                variance += laplace_variance(one.scale) * float((moved**2).sum())
                zero[place].flat[cell] = 0
    assert found.expected_error**2 == pytest.approx(variance / answers)
    assert found.certificate.epsilon <= 1


@pytest.mark.parametrize(
    ("changes", "joined"),
    [
        ({}, True),
        ({"presence": "secret", "secrets": "none but presence"}, True),
        ({"together": "one attribute at a time"}, False),
    ],
)
def test_marginals_of_more_attributes_take_the_place_of_several(changes: dict[str, Any], joined: bool) -> None:
    """Where a step may change all attributes; and a plan of the same tables errs no more."""
    asked = [{"name": "-".join(pair), "histogram": list(pair)} for pair in itertools.combinations("abcde", 2)]
    here = policy((74, 16, 5, 2, 99), release=asked, **changes)
    found = marginals(two_way("abcde"), here)
    assert found.certificate.epsilon == 1
    assert found.certificate.exact
    assert [word for word, _ in found.rivals] == ["identity", "direct", "marginals"]
    assert found.expected_error == min(error for _, error in found.rivals)
    plan = td.plan(here)
    sizes = [item.strategy.noisy[0].size(here.domain) for item in plan]
    mean = sum(item.expected_error**2 * size for item, size in zip(plan, sizes, strict=True)) / sum(sizes)
    assert mean <= 1.002 * found.expected_error**2
    names = [m.query.names for m in found.measurements if m.scale]
    assert (("c", "d") not in names, ("a", "c", "d") in names) == (joined, joined)


@pytest.mark.parametrize(
    "asked", [td.queries.cdf("a"), td.queries.count("a > 1"), td.queries.histogram("a", bins={"a": [[0, 1], [2, 3]]})]
)
def test_only_whole_histograms_are_asked(asked: Any) -> None:
    with pytest.raises(QueryError, match="whole histograms"):
        marginals([asked], policy())


def test_what_is_refused() -> None:
    here = policy()
    found = marginals([td.queries.histogram("a")], here)
    with pytest.raises(QueryError, match="not measured"):
        found.marginal([np.zeros(m.query.shape(here.domain), np.int64) for m in found.measurements], ("b",))
    with pytest.raises(Refused, match="1 to 10 attributes"):
        marginals([], here)
    with pytest.raises(Refused, match="1 to 10 attributes"):
        marginals([td.queries.histogram(*"abcdefghijkl")], policy((2,) * 12))
    with pytest.raises(Refused, match="not positive"):
        marginals([td.queries.histogram("a")], here, epsilon=0)
    with pytest.raises(Refused, match="secret"):
        marginals([td.queries.histogram("a")], policy((3, 3), secrets={"a": "public", "b": "public"}))
