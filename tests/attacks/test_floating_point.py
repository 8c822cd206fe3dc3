"""The true answer is always possible; the other one often is not."""

from __future__ import annotations

from tests.attacks.stories import story

from tetraodon.attacks.on_mechanisms import GRAIN, possible, textbook
from tetraodon.noise.repeatable_coins import Dice


def test_the_truth_is_never_ruled_out() -> None:
    numbers = Dice(12).draw(2000, 53).tolist()
    for number in (*numbers, 0, 1, GRAIN - 1, GRAIN // 2):
        for answer in (0.0, 1.0):
            for sign in (1, -1):
                assert possible(textbook(number + 1, sign, answer), answer)


def test_most_releases_give_the_answer_away() -> None:
    played = story("floating-point")
    assert 0.5 < played.attacked < 0.8
    assert played.numbers["epsilon of exact noise"] == 1
