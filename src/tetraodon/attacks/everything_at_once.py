"""Nothing, nearly always; the whole table, now and then: that is (epsilon, delta) too."""

from __future__ import annotations

import math
from fractions import Fraction

from tetraodon.attacks.attack import Attack, Story
from tetraodon.attacks.picture import lines, rounded
from tetraodon.pufferfish import Additive, Channel, DiscreteLaplace, World, named, verify

DELTA = Fraction(1, 1000)
RELEASES = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)


def run() -> Story:
    world = World.product((0, 1), individuals=3)
    leak = Channel.of(lambda people: {"nothing": 1 - DELTA, people: DELTA}, world)
    accepted = verify(leak, named.indistinguishability(epsilon=0, delta=DELTA))
    pure = verify(leak, named.indistinguishability(epsilon=1))
    noisy = verify(Additive(sum, DiscreteLaplace(1), world), named.indistinguishability(epsilon=1))
    told = {n: float(1 - (1 - DELTA) ** n) for n in RELEASES}
    best_guess = (1 + math.tanh(float(noisy.epsilon) / 2)) / 2  # of the likelier of two counts one apart
    chance = "chance that the table is out"
    rows = [{"releases": n, chance: rounded(p), "mechanism": "all with probability delta"} for n, p in told.items()]
    rows += [{"releases": n, chance: 0.0, "mechanism": "discrete Laplace noise"} for n in told]
    return Story(
        words=f"A mechanism publishes nothing, and with probability delta = {float(DELTA):g} the whole table. `verify` "
        "confirms that it is (0, delta)-private. After 1,000 releases the table is out with probability "
        f"{told[1000]:.0%}. Whoever guesses somebody's bit is right in {(1 + told[1000]) / 2:.0%} of cases then, where "
        "a loss of epsilon 1 allows 73%.",
        defence="Ask at delta = 0. There the loss of this mechanism is infinite, and that of a count with discrete "
        f"Laplace noise is {noisy.epsilon:g}, of one release or of all that a ledger lets pass: no output ever rules "
        "out a dataset. Where delta is used, let it be far below one over the number of people and releases, and let "
        "it come from a noise whose failures are mild.",
        measure="how often a guess about a person's bit is right after 1,000 releases",
        attacked=(1 + told[1000]) / 2 if accepted.holds and math.isinf(pure.epsilon) else 0.5,
        allowed=math.e / (1 + math.e),
        defended=best_guess if noisy.holds else 1.0,
        numbers={
            "delta": float(DELTA),
            "chance that the table is out": rounded(told[1000]),
            "accepted at that delta": bool(accepted),
            "epsilon of discrete Laplace noise at delta 0": noisy.epsilon,
        },
        chart=lines(rows, x="releases", y=chance, colour="mechanism", log="x"),
    )


ATTACK = Attack("everything-at-once", "All, with probability delta", "[MK15] Minimizing probabilistic failure", run)
