"""Restricted sensitivity, where everybody is known to have the same answer."""

from __future__ import annotations

import math
from fractions import Fraction

from tetraodon.attacks.attack import Attack, Story
from tetraodon.attacks.picture import lines, rounded
from tetraodon.pufferfish import Additive, Definition, Laplace, World, pairs, scenarios, verify

EPSILON = Fraction(1, 2)
SIZES = (1, 2, 4, 6, 8, 10, 15, 20)


def run() -> Story:
    odds: dict[tuple[str, int], float] = {}
    for n in SIZES:
        world = World.of([(0,) * n, (1,) * n])
        [none, everybody] = world.datasets
        restricted = Fraction(abs(sum(none) - sum(everybody)), n)  # type: ignore[call-overload]  # over n changed records
        promise = Definition(pairs.values(), scenarios.anything(), epsilon=EPSILON)
        for name, scale in (("restricted sensitivity", restricted / EPSILON), ("induced neighbours", n / EPSILON)):
            odds[name, n] = math.exp(verify(Additive(sum, Laplace(scale), world), promise).epsilon)
    rows = [{"people": n, "odds move by": rounded(number), "noise for the": name} for (name, n), number in odds.items()]
    return Story(
        words="All members of a club vote alike, and everybody knows it: the table is all 0 or all 1. The restricted "
        "sensitivity of the number of ones is 1, the change of the answer over the number of changed records. Noise "
        f"for it, at epsilon 1/2, moves the odds of any member's vote by {odds['restricted sensitivity', 10]:.1f} "
        "with 10 members.",
        defence="The two tables that are possible are neighbours, however many records differ. Noise of scale "
        "n/epsilon keeps the promise, and for known counts the certificate finds such neighbours by itself.",
        measure="the most by which the odds move, 10 people",
        attacked=odds["restricted sensitivity", 10],
        allowed=math.exp(0.5),
        defended=odds["induced neighbours", 10],
        numbers={f"odds, {n} people": rounded(odds["restricted sensitivity", n]) for n in (1, 10, 20)},
        chart=lines(rows, x="people", y="odds move by", colour="noise for the", log="y"),
    )


ATTACK = Attack("all-or-none", "Restricted sensitivity on all or none", "[HMD14] section 4.4", run)
