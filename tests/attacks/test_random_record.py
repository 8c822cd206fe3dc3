"""The smallest delta is one over the number of people, exactly."""

from __future__ import annotations

from fractions import Fraction

from tests.attacks.stories import story

from tetraodon.attacks.on_mechanisms import one_of_them


def test_one_record_in_full() -> None:
    assert one_of_them((0, 1)) == {(0, 0): Fraction(1, 2), (1, 1): Fraction(1, 2)}
    played = story("random-record")
    assert (played.attacked, played.allowed, played.defended) == (1, 0.75, 0.75)
    assert played.numbers["smallest delta, 5 people"] == 0.2
