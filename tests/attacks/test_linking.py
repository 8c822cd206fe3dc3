"""Whoever knows all but one bit of a person reads it off a view that was made for strangers."""

from __future__ import annotations

from tests.attacks.stories import story


def test_nearly_all_bits_are_read_and_hardly_one_wrongly() -> None:
    told = story("linking")
    assert told.numbers["read rightly"] > 0.9
    assert told.numbers["read wrongly"] < 0.01
    assert 0.5 < told.defended <= told.allowed
