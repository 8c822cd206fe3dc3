"""The method tells what its output hides."""

from __future__ import annotations

import itertools

from tests.attacks.stories import story

from tetraodon.attacks.on_views import MINIMALITY_PEOPLE as PEOPLE
from tetraodon.attacks.on_views import STREET, publish


def test_what_is_published_is_diverse() -> None:
    for people in itertools.product((0, 1), repeat=PEOPLE):
        what, sick = publish(people)
        sizes = {"by street": (STREET, PEOPLE - STREET), "both streets": (PEOPLE,), "nothing": ()}[what]
        assert all(2 * number <= size for number, size in zip(sick, sizes, strict=True))


def test_two_in_both_streets_are_the_small_street() -> None:
    seen = [people for people in itertools.product((0, 1), repeat=PEOPLE) if publish(people) == ("both streets", (2,))]
    assert seen == [(1, 1, 0, 0, 0, 0)]
    played = story("minimality")
    assert played.attacked == 1
    assert played.numbers["epsilon of the coarsened table is infinite"] is True
    assert played.numbers["epsilon of noisy counts"] < 1
