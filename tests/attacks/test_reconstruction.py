"""Least squares reads the table from many answers, and the ledger pays for few."""

from __future__ import annotations

import numpy as np
from tests.attacks.stories import story

from tetraodon.attacks.on_mechanisms import recovered
from tetraodon.noise.repeatable_coins import Dice


def test_more_answers_read_more_records() -> None:
    dice = Dice(11)
    secret = dice.random.integers(0, 2, 40)
    assert recovered(secret, 2000, 2, dice) == 1.0
    assert recovered(secret, 10, 2, dice) < 0.95
    assert recovered(np.zeros(40, int), 2000, 2000, dice) < 0.8


def test_the_ledger_pays_for_two() -> None:
    played = story("reconstruction")
    assert played.numbers["answers that a ledger of 1 pays for"] == 2
    assert played.attacked > 0.95
    assert played.defended < 0.6
