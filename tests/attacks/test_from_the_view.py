"""A sparse view names most people by itself, rightly; a dense one nobody."""

from __future__ import annotations

from tests.attacks.stories import story


def test_the_attacker_is_right_and_knows_how_often() -> None:
    told = story("from-the-view")
    assert told.attacked > 0.5
    assert told.defended < 0.01
    assert abs(told.numbers["named rightly"] - told.numbers["expected to be right"]) < 0.03
