"""Laplace noise in floating-point numbers: the last bits tell the true answer."""

from __future__ import annotations

import math
from fractions import Fraction

from tetraodon.attacks.attack import Attack, Story
from tetraodon.attacks.picture import bars, rounded
from tetraodon.noise import laplace_pmf
from tetraodon.noise.dice import Dice
from tetraodon.pufferfish import Additive, DiscreteLaplace, World, named, verify

GRAIN = 1 << 53
TRIES = 4000
REACH = 12
"""How many neighbouring random numbers are looked at; a logarithm in floats is off by less."""


def textbook(number: int, sign: int, answer: float) -> float:
    """The answer plus Laplace noise of scale 1, by the textbook: a uniform number in (0, 1] and its logarithm."""
    return answer + sign * -math.log(number / GRAIN)


def possible(published: float, answer: float) -> bool:
    """Whether some uniform number of 53 bits turns this answer into what was published ([Mir12])."""
    noise = published - answer
    sign = 1 if noise >= 0 else -1
    middle = round(GRAIN * math.exp(-abs(noise)))
    near = range(max(1, middle - REACH), min(GRAIN, middle + REACH) + 1)
    return any(textbook(number, sign, answer) == published for number in near)


def run() -> Story:
    dice = Dice(5)
    numbers, signs = dice.draw(TRIES, 53), dice.draw(TRIES, 1)
    certain = {0: 0, 1: 0}
    for truth in (0, 1):
        for number, sign in zip(numbers.tolist(), signs.tolist(), strict=True):
            published = textbook(number + 1, 1 if sign else -1, float(truth))
            certain[truth] += not possible(published, float(1 - truth))
    share = sum(certain.values()) / (2 * TRIES)
    exact = verify(
        Additive(sum, DiscreteLaplace(1), World.product((0, 1), individuals=1)), named.indistinguishability(epsilon=1)
    )
    wholly = sum(1 for k in range(-50, 51) if not (laplace_pmf(1, k) and laplace_pmf(1, k - 1)))
    stage, told = "noise", "share of releases that give the answer away"
    rows = [
        {stage: f"floats, the answer is {truth}", told: rounded(number / TRIES)} for truth, number in certain.items()
    ]
    rows.append({stage: "whole numbers", told: float(wholly)})
    return Story(
        words="A count of 0 or 1 is published with Laplace noise, computed in the textbook way with floating-point "
        "numbers. Of those, only some can come out for 0, others for 1. The attacker tries the few random numbers that "
        f"could have led to what was published: in {share:.0%} of {2 * TRIES:,} releases one answer is impossible, and "
        "the other certain.",
        defence="Noise in whole numbers, drawn exactly. Every whole number can come out for both answers, and the loss "
        f"is epsilon = {exact.epsilon:g}, to the last bit.",
        measure="share of releases that give the answer away",
        attacked=share,
        allowed=0.0,
        defended=float(wholly) if exact.upper == Fraction(1) else 1.0,
        numbers={"releases": 2 * TRIES, "given away": sum(certain.values()), "epsilon of exact noise": exact.epsilon},
        chart=bars(rows, x=stage, y=told, colour=stage),
    )


ATTACK = Attack("floating-point", "The last bits of noise in floats", "[Mir12]; [MK15] Implementation concerns", run)
