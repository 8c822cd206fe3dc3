"""A table that was coarsened only because it had to be tells why it had to be."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tetraodon.attacks.attack import Attack, Story
from tetraodon.attacks.exact_bayes import belief, noisy_count, strongest_belief
from tetraodon.attacks.picture import bars, rounded
from tetraodon.pufferfish import Channel, Secret, World, named, posterior, verify
from tetraodon.pufferfish.scenario import product_prior

STREET, PEOPLE = 2, 6
"""The first two people live in one street, the other four in another."""
SICK = Fraction(1, 4)


def publish(people: Any) -> tuple[str, tuple[int, ...]]:
    """The sick of each street if at most half of each are, else of both streets together, else nothing.

    Groups have at least two members and at most half of them are sick: the table is 2-anonymous and diverse.
    """
    one, other = sum(people[:STREET]), sum(people[STREET:])
    if 2 * one <= STREET and 2 * other <= PEOPLE - STREET:
        return "by street", (one, other)
    if 2 * (one + other) <= PEOPLE:
        return "both streets", (one + other,)
    return "nothing", ()


def run() -> Story:
    world = World.product((0, 1), individuals=PEOPLE)
    prior = product_prior(world, [{0: 1 - SICK, 1: SICK}] * PEOPLE, "one in four is sick")
    sick = Secret.value(0, 1)
    coarse = Channel.of(lambda people: {publish(people): 1}, world)
    seen = ("both streets", (2,))
    known = belief(prior, coarse, sick, seen)
    noisy = Channel.of(lambda people: noisy_count(sum(people[:STREET]), STREET, Fraction(3, 8)), world)
    verdict = verify(noisy, named.indistinguishability(epsilon=1))
    safe = strongest_belief(prior, noisy, sick)
    stages = {
        "before": SICK,
        "reads the table": Fraction(2, PEOPLE),
        "knows the method too": known,
        "noisy counts": safe,
    }
    return Story(
        words="A curator publishes the number of sick people by street, and puts two streets together only if more "
        "than half of one are sick. The table says: 2 of 6 in both streets. Who reads it thinks 1 in 3. Who knows the "
        "method reasons that no other two could have forced the streets together: both people of the small street are "
        f"sick, with probability {float(known):g}.",
        defence="A promise must be about the method, not about its output. `verify` finds an infinite loss in this "
        f"method, and epsilon {verdict.epsilon:.3f} in counts with geometric noise, where no output leads to more "
        f"than {float(safe):.1%}.",
        measure="the strongest belief that a person is sick",
        attacked=float(known),
        allowed=posterior(SICK, 1),
        defended=float(safe),
        numbers={
            "belief of who reads the table only": rounded(2 / PEOPLE),
            "epsilon of the coarsened table is infinite": math.isinf(
                verify(coarse, named.indistinguishability(epsilon=1)).epsilon
            ),
            "epsilon of noisy counts": rounded(verdict.epsilon),
        },
        chart=bars(
            [{"who": stage, "belief": rounded(float(number))} for stage, number in stages.items()],
            x="who",
            y="belief",
            colour="who",
        ),
    )


ATTACK = Attack("minimality", "Coarsened no more than needed", "[WFWP07]; [MK15] Post-processing", run)
