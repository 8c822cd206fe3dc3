"""Where not every pattern of signs is tried, answers are bounds, and they are above the truth."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from tests.known_worlds import random_case, random_query

from tetraodon.certificate.known.push import largest_push


def test_large_answers_are_bounded_from_above_when_not_every_sign_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(42)
    cases = [(random_case(rng), rng.random()) for _ in range(250)]
    asked = [random_query(random.Random(seed), case.graph.domain) for case, seed in cases]
    truths = [largest_push(c.graph, c.known, [(q, Fraction(1))]) for (c, _), q in zip(cases, asked, strict=True)]
    monkeypatch.setattr("tetraodon.certificate.known.push.SIGN_ROWS", 0)
    monkeypatch.setattr("tetraodon.certificate.known.push.LONE_CLASSES", 0)
    exact = 0
    for (case, _), query, truth in zip(cases, asked, truths, strict=True):
        push = largest_push(case.graph, case.known, [(query, Fraction(1))])
        assert push.value == truth.value if push.exact else push.value >= truth.value
        exact += push.exact
    assert exact >= 200
