"""Averaging along known sums beats the noise, until the noise knows of them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.attacks.stories import story

from tetraodon.attacks.on_mechanisms import (
    GRAIN,
    HOURS,
    RATIO,
    day,
    naive,
    one_of_them,
    policy,
    possible,
    recover,
    recovered,
    sitting,
    textbook,
    watched,
)
from tetraodon.certificate import sensitivity
from tetraodon.noise.repeatable_coins import Dice
from tetraodon.pufferfish import Additive, Definition, Laplace, World, pairs, verify
from tetraodon.queries import histogram

# -- known sums -------------------------------------------------------------------------------------


def test_without_noise_the_table_comes_back() -> None:
    counts = np.array([3, 1, 4, 1, 5, 9])
    assert np.allclose(recover(counts, counts[:-1] + counts[1:]), counts)


def test_the_price_of_what_is_known() -> None:
    assert sensitivity(policy(16, known=False), histogram("r")).value == 2
    assert sensitivity(policy(16, known=True), histogram("r")).value == 16


def test_averaging_and_its_end() -> None:
    numbers = story("known-sums").numbers
    assert numbers["attacker's error without the defence"] < numbers["standard deviation of the noise"] / 8
    assert numbers["attacker's error with the defence"] > 5 * numbers["standard deviation of the noise"]


# -- exam -------------------------------------------------------------------------------------------
# The worst odds of Example 9.2, and noise that serves.


def test_only_the_number_is_in_doubt() -> None:
    assert sitting(2).datasets == ((0, 0), (1, 0), (1, 1))


def test_ten_students() -> None:
    played = story("exam")
    assert round(played.attacked, 3) == 37.465
    assert played.defended == pytest.approx(math.exp(0.5), rel=1e-12)
    assert played.numbers["odds, 1 student"] == pytest.approx(math.exp(0.5), rel=1e-3)


# -- reconstruction ---------------------------------------------------------------------------------
# Least squares reads the table from many answers, and the ledger pays for few.


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


# -- everything at once -----------------------------------------------------------------------------
# (0, delta) is kept, and the table gets out.


def test_a_thousand_releases() -> None:
    played = story("everything-at-once")
    assert played.attacked == pytest.approx(1 - 0.999**1000 / 2)
    assert played.numbers["chance that the table is out"] == pytest.approx(1 - 0.999**1000, abs=1e-4)
    assert played.numbers["accepted at that delta"] is True
    assert played.numbers["epsilon of discrete Laplace noise at delta 0"] == 1


# -- random record ----------------------------------------------------------------------------------
# The smallest delta is one over the number of people, exactly.


def test_one_record_in_full() -> None:
    assert one_of_them((0, 1)) == {(0, 0): Fraction(1, 2), (1, 1): Fraction(1, 2)}
    played = story("random-record")
    assert (played.attacked, played.allowed, played.defended) == (1, 0.75, 0.75)
    assert played.numbers["smallest delta, 5 people"] == 0.2


# -- gaussian tail ----------------------------------------------------------------------------------
# Thirteen thousand to one, and e to one.


def test_thirteen_thousand() -> None:
    played = story("gaussian-tail")
    density = [math.exp(-((10 - bit) ** 2) / 2) for bit in (1, 0)]
    assert played.attacked == pytest.approx(density[0] / sum(density))
    assert 13_000 < played.numbers["times as likely for 1 as for 0"] < 14_000
    assert played.defended == pytest.approx(math.e / (1 + math.e), rel=1e-12)
    assert played.numbers["smallest delta at epsilon 1"] == 0.1269


# -- all or none ------------------------------------------------------------------------------------
# Noise for the restricted sensitivity loses n times epsilon.


def test_the_loss_grows_with_the_club() -> None:
    played = story("all-or-none")
    assert played.attacked == pytest.approx(math.exp(5), rel=1e-12)
    assert played.defended == pytest.approx(math.exp(0.5), rel=1e-12)


# -- floating point ---------------------------------------------------------------------------------
# The true answer is always possible; the other one often is not.


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


# -- timing -----------------------------------------------------------------------------------------
# With a clock the noise is known; without it, it is not.


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


# -- markov chain -----------------------------------------------------------------------------------
# The loss of an hour grows with the chain's memory.


def test_the_scale_that_was_found_is_the_smallest_on_the_grid() -> None:
    scale = Fraction(story("markov-chain").numbers["smallest scale that verifies, a day"])
    world = World.product((0, 1), individuals=HOURS)
    promise = Definition(pairs.values(), day(Fraction(9, 10)), epsilon=1)
    assert verify(Additive(sum, Laplace(scale), world), promise).holds
    assert verify(Additive(sum, Laplace(scale - Fraction(1, 8)), world), promise).holds is False
    assert 1 < scale < HOURS


def test_the_plan_knows_of_the_chain() -> None:
    numbers = story("markov-chain").numbers
    assert numbers["smallest scale that verifies, a day"] <= numbers["scale of the plan, a day"] <= HOURS
    assert 1 < numbers["scale of the plan, any length"] < 100


def test_independent_hours_lose_what_was_meant() -> None:
    losses = [row for row in story("markov-chain").chart["data"]["values"] if row["noise"] == "scale 1"]
    assert losses[0]["epsilon"] == 1
    assert [row["epsilon"] for row in losses] == sorted(row["epsilon"] for row in losses)
