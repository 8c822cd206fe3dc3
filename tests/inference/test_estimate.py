"""A number that knows its interval."""

from __future__ import annotations

import json

from tetraodon.inference.estimate import Estimate


def test_it_is_a_float_with_ends_that_hold_it() -> None:
    found = Estimate(7.0, 8.0, 9.0)  # an interval that inference left behind is widened to hold the estimate
    assert found + 1 == 8.0
    assert found.interval == (7.0, 9.0)
    assert Estimate(7.0, 1.0, 2.0).interval == (1.0, 7.0)


def test_it_can_be_written_down() -> None:
    document = json.loads(json.dumps(Estimate(1.5, 1.0, 2.0).document()))
    assert document == {"value": 1.5, "lower": 1.0, "upper": 2.0, "confidence": 0.95}
    assert repr(Estimate(1.5, 1.0, 2.0)) == "Estimate(1.5, 1..2)"


def test_what_is_certain_says_so() -> None:
    assert Estimate.certain(3.0).document() == {"value": 3.0, "lower": 3.0, "upper": 3.0, "confidence": 1.0}
