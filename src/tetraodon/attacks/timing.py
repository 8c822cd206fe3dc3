"""A sampler that counts its way to the noise, and a clock."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tetraodon.attacks.attack import Attack, Story
from tetraodon.attacks.exact_bayes import strongest_belief
from tetraodon.attacks.picture import dots, rounded
from tetraodon.noise.dice import Dice
from tetraodon.pufferfish import Channel, Prior, Secret, World, named, posterior, verify

RATIO = Fraction(19, 21)
"""A step of the naive sampler goes on with this probability: a count costs ln(21/19), about 0.1."""
FAR = 40
PLAYS = 60


def naive(dice: Dice) -> tuple[int, int]:
    """Two-sided geometric noise by counting, and how many steps that took."""
    steps = 0
    while True:
        sign = 1 if dice.draw(1, 1)[0] else -1
        size = 0
        while dice.random.random() < RATIO:
            size += 1
        steps += size + 1
        if size or sign > 0:  # there is one zero, not two
            return sign * size, steps


def watched(people: Any) -> dict[tuple[int, int], Fraction]:
    """The law of a noisy count with the number of steps, both cut off far out; one round, without the second zero."""
    law: dict[tuple[int, int], Fraction] = {}
    for noise in range(-FAR, FAR + 1):
        tail = 1 if abs(noise) == FAR else 1 - RATIO
        shown = min(max(sum(people) + noise, 1 - FAR), FAR), abs(noise)
        law[shown] = law.get(shown, Fraction(0)) + RATIO ** abs(noise) * tail / (1 + RATIO)
    return law


def run() -> Story:
    world = World.product((0, 1), individuals=1)
    with_clock = Channel.of(watched, world)
    without = with_clock.then(lambda shown: shown[0])
    prior, one = Prior.uniform(world), Secret.value(0, 1)
    promise = named.indistinguishability(epsilon="0.1002")
    kept, broken = verify(without, promise), verify(with_clock, promise)
    dice = Dice(6)
    rows = []
    for truth in (0, 1):
        for _ in range(PLAYS):
            noise, steps = naive(dice)
            rows.append({"steps of the sampler": steps, "published": truth + noise, "count": f"the count is {truth}"})
    words = Dice(7)
    words.laplace(10, (100_000,))
    return Story(
        words="A count of 0 or 1 is published with geometric noise of epsilon 0.1, drawn by counting coins until one "
        "falls the other way. How long that takes tells the size of the noise. Published number and clock together "
        f"make an attacker who was undecided {float(strongest_belief(prior, with_clock, one)):.0%} sure.",
        defence="Nobody may watch the clock: without it nobody who was undecided gets more than "
        f"{float(strongest_belief(prior, without, one)):.1%} sure. Here noise is looked up in a table, all of a batch "
        f"at once, with {words.drawn / 100_000:.2f} random words for a value whatever its size. Counting a table takes "
        "a time that depends on it, so time stays outside the promise.",
        measure="belief in the count",
        attacked=float(strongest_belief(prior, with_clock, one)) if broken.holds is False else 0.0,
        allowed=posterior("0.5", "0.1002"),
        defended=float(strongest_belief(prior, without, one)) if kept.holds else 1.0,
        numbers={
            "epsilon without the clock": rounded(kept.epsilon),
            "random words for a value from the table": rounded(words.drawn / 100_000),
        },
        chart=dots(rows, x="steps of the sampler", y="published", colour="count"),
    )


ATTACK = Attack("timing", "A clock beside the noise", "[MK15] Implementation concerns", run)
