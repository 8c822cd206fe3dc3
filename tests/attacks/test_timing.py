"""With a clock the noise is known; without it, it is not."""

from __future__ import annotations

from fractions import Fraction

from tests.attacks.stories import story

from tetraodon.attacks.on_mechanisms import RATIO, naive, watched
from tetraodon.noise.repeatable_coins import Dice


def test_steps_tell_the_size_of_the_noise() -> None:
    dice = Dice(13)
    drawn = [naive(dice) for _ in range(2000)]
    assert all(steps > abs(noise) for noise, steps in drawn)
    assert sum(steps == abs(noise) + 1 for noise, steps in drawn) > 1800


def test_the_law_with_the_clock() -> None:
    law = watched((1,))
    assert sum(law.values()) == 1
    assert law[1, 0] == (1 - RATIO) / (1 + RATIO)
    assert all(noisy - clock in (-80, 1) or noisy + clock == 1 or clock == 40 for noisy, clock in law)


def test_undecided_or_certain() -> None:
    played = story("timing")
    assert played.attacked == 1
    assert Fraction(played.defended).limit_denominator(1000) == Fraction(21, 40)
    assert played.numbers["random words for a value from the table"] < 1.1
