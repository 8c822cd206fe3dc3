"""Sums along one attribute: predicted errors against the estimates themselves, and what they gain."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tetraodon as td
from tetraodon.mechanism.searched import one_attribute
from tetraodon.noise import laplace_variance


def policy(shape: tuple[int, ...], **changes: Any) -> td.Policy:
    document: dict[str, Any] = {
        "dataset": "people",
        "presence": "public",
        "attributes": {name: {"integer": [0, size - 1]} for name, size in zip("abc", shape, strict=False)},
        "budget": {"epsilon": 1},
    }
    return td.load_policy(document | changes)


RANGES = np.array([[low <= code <= high for code in range(40)] for low in range(40) for high in range(low, 40)], float)
NEAR = {"secrets": {"a": {"within": 2}, "b": "public"}}


@pytest.mark.parametrize("changes", [{}, {"together": "one attribute at a time"}, {"presence": "secret"}, NEAR])
def test_estimates_and_errors_are_those_of_least_squares(changes: dict[str, Any]) -> None:
    asked = policy((40, 3), **changes)
    found = [
        *one_attribute.plain(asked, ("a", "b"), "a"),
        one_attribute.searched(asked, ("a", "b"), "a", RANGES.T @ RANGES),
    ]
    words = [one.word for one in found if one is not None]
    assert words[0] == "ordered"
    assert words[-1] == "optimised"
    table = np.arange(120).reshape(40, 3) ** 2 % 11
    for one in found:
        assert one is not None
        measured = one.measurements(Fraction(3))
        answers = [
            (m.query.matrix(asked.domain)[0] @ table.ravel()).reshape(m.query.shape(asked.domain)) for m in measured
        ]
        assert np.allclose(one_attribute.cells_of(measured, answers, 40), table.T)
        steps = float((np.diff(RANGES, axis=1, append=0.0) ** 2).sum())
        predicted = one_attribute.variance(measured, RANGES.T @ RANGES, steps)
        summed = 0.0
        for place, m in enumerate(measured):
            rows = answers[place].shape[-1] if m.query.contribution.names else 40
            zero = [np.zeros((rows, *answer.shape[1:]), np.int64) for answer in answers]  # one noise after the other
            zero[place][np.arange(rows), np.arange(rows)] = 1
            moved = RANGES @ one_attribute.cells_of(measured, zero, 40).T
            summed += laplace_variance(m.scale) * float((moved**2).sum())
        assert predicted == pytest.approx(summed)
        assert one_attribute.sums_one_attribute(measured)


@pytest.mark.parametrize("secrets", [{}, {"secrets": {"a": {"within": 8}}, "together": "one attribute at a time"}])
def test_ranges_of_one_attribute_by_another_gain(secrets: dict[str, Any]) -> None:
    asked = policy((100, 30), **secrets)
    ranges = np.tril(np.ones((100, 100)))
    found = td.research.strategy(td.research.Kronecker({"a": ranges, "b": None}), asked)
    assert not found.every_cell
    rivals: dict[str, float] = {}
    for word, error in found.rivals:
        rivals[word] = min(error, rivals.get(word, error))
    assert {"identity", "ordered", "hierarchical", "optimised", "marginals"} <= set(rivals)
    assert found.mechanism == "optimised"
    assert found.expected_error < 0.98 * min(rivals[word] for word in ("identity", "ordered", "hierarchical"))
    assert found.certificate.epsilon <= 1
    blank = [np.zeros(m.query.shape(asked.domain), np.int64) for m in found.measurements]
    assert found.marginal(blank, ("b",)).shape == (30,)


def test_small_domains_are_compared_with_each_along_every_attribute() -> None:
    found = td.research.strategy(np.tril(np.ones((80, 80))), policy((40, 2)))
    assert {"identity", "ordered", "hierarchical"} <= {word for word, _ in found.rivals}
    assert found.expected_error <= min(error for _, error in found.rivals)


def test_short_or_unordered_attributes_have_nothing_to_smooth() -> None:
    short = policy((3, 2))
    assert [one.word for one in one_attribute.plain(short, ("a", "b"), "a")] == ["ordered"]
    assert one_attribute.searched(short, ("a", "b"), "a", np.eye(3)) is None
