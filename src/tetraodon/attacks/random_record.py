"""One record, chosen at random, in full: (epsilon, delta) with delta one over the number of people."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tetraodon.attacks.attack import Attack, Story
from tetraodon.attacks.picture import lines, rounded
from tetraodon.pufferfish import Channel, World, named, verify

SIZES = (2, 3, 4, 5, 6, 7)
HALF = Fraction(1, 2)


def one_of_them(people: Any) -> dict[Any, Fraction]:
    """The record of a random person."""
    return {(i, record): Fraction(1, len(people)) for i, record in enumerate(people)}


def run() -> Story:
    rows = []
    needed: dict[int, Fraction] = {}
    for n in SIZES:
        world = World.product((0, 1), individuals=n)
        verdict = verify(Channel.of(one_of_them, world), named.indistinguishability(epsilon=1, delta=HALF))
        assert verdict.delta is not None
        needed[n] = Fraction(verdict.delta[1])
        rows.append({"people": n, "number": rounded(float(needed[n])), "what": "smallest delta that holds"})
    rows += [{"people": n, "number": 1.0, "what": "people whose record is published"} for n in SIZES]
    world = World.product((0, 1), individuals=3)
    pure = verify(Channel.of(one_of_them, world), named.indistinguishability(epsilon=1))
    coin = Channel.of(
        lambda people: {
            (i, out): Fraction(1, 3) * (Fraction(3, 4) if out == record else Fraction(1, 4))
            for i, record in enumerate(people)
            for out in (0, 1)
        },
        world,
    )
    safe = verify(coin, named.indistinguishability(epsilon="1.1"))
    return Story(
        words="A mechanism publishes the record of one random person, in full, every time it is run. With n people it "
        "is (epsilon, 1/n)-private, by `verify`: a delta that looks small when there are many people always costs "
        "somebody everything. A belief of one half in their bit becomes certainty, where odds of 3 allow 75%.",
        defence="Ask at delta = 0, where the loss is infinite, or at a delta far below 1/n. Let the chosen person "
        f"answer with a coin, the truth three times in four, and the loss is ln {safe.odds} at delta 0.",
        measure="belief in the bit of the person who is published",
        attacked=1.0 if pure.holds is False and all(needed[n] == Fraction(1, n) for n in SIZES) else 0.5,
        allowed=0.75,
        defended=float((safe.odds or 0) / (1 + (safe.odds or 0))) if safe.holds else 1.0,
        numbers={f"smallest delta, {n} people": rounded(float(needed[n])) for n in SIZES},
        chart=lines(rows, x="people", y="number", colour="what"),
    )


ATTACK = Attack("random-record", "One random record in full", "[MK15] Minimizing probabilistic failure", run)
