"""Verification and optimal mechanisms at size, each against the budget that was promised.

    python benchmarks/bench_pufferfish.py [--quick]

The reference for verification is one dense float product of the same shape, measured in the same run.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.pufferfish import (
    Channel,
    Definition,
    Prior,
    Secret,
    World,
    named,
    optimal_mechanism,
    pairs,
    scenarios,
    verify,
)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def channel_of(datasets: int, outputs: int, *, common: bool, chance: random.Random) -> Channel:
    """Random rows: over one denominator, or each over a denominator of its own."""
    rows = []
    for _ in range(datasets):
        row = [chance.randrange(1, 1000) for _ in range(outputs)]
        if common:
            row = [1000 + number % 7 for number in row]
            row[0] += 1010 * outputs - sum(row)
        rows.append([Fraction(number, sum(row)) for number in row])
    return Channel(rows, range(datasets), range(outputs))


def pairs_of(number: int, datasets: int, chance: random.Random) -> pairs.Pairs:
    """Random pairs of disjoint sets of datasets."""
    listed = []
    for n in range(number):
        side = [chance.randrange(3) for _ in range(datasets)]
        one, other = (frozenset(d for d, s in enumerate(side) if s == which) for which in (1, 2))
        listed.append(
            (Secret.that(f"set {n}, first", one.__contains__), Secret.that(f"set {n}, second", other.__contains__))
        )
    return pairs.explicit(listed)


def main() -> None:
    quick = "--quick" in sys.argv
    datasets, outputs, number = (200, 20, 100) if quick else (2000, 200, 1000)
    chance = random.Random(0)
    protected = pairs_of(number, datasets, chance)
    matrix = np.random.default_rng(0).random((2 * number, datasets))
    reference, _ = timed(lambda: matrix @ np.ones((datasets, outputs)))
    for common in (True, False):
        channel = channel_of(datasets, outputs, common=common, chance=chance)
        prior = Prior.proportional({d: chance.randrange(1, 100) for d in channel.datasets})
        definition = Definition(protected, scenarios.explicit([prior]), epsilon=1)
        seconds, verdict = timed(lambda c=channel, d=definition: verify(c, d))
        kind = "one denominator" if common else "a denominator for each row"
        name = f"verify {datasets} x {outputs}, {number} pairs, {kind}"
        print(f"{name:62} {seconds:6.2f} s (budget 5)  {seconds / reference:5.0f} x float  {verdict.epsilon:.4f}")
    top = 10 if quick else 30
    world = World.of(range(top + 1))
    counts = named.neighbours(world, lambda a, b: abs(a - b) == 1, epsilon="1/2")
    seconds, found = timed(lambda: optimal_mechanism(counts, lambda k, w: abs(k - w), world=world))
    name = f"optimal mechanism for counts 0..{top}, expected loss {float(found.loss):.6f}"
    print(f"{name:62} {seconds:6.2f} s (budget 10)")
    seconds, found = timed(lambda: optimal_mechanism(counts, lambda k, w: abs(k - w), world=world, worst=True))
    name = f"optimal mechanism for counts 0..{top}, worst loss {float(found.loss):.6f}"
    print(f"{name:62} {seconds:6.2f} s (budget 10)")
    bits = World.product((0, 1), individuals=7 if quick else 11)
    law = {
        ones: [Fraction(1 + (w == ones), 2 + bits.individuals) for w in range(bits.individuals + 1)]
        for ones in range(20)
    }
    votes = Channel([law[sum(d)] for d in bits.datasets], bits.datasets, range(bits.individuals + 1))
    seconds, verdict = timed(lambda: verify(votes, named.indistinguishability(epsilon=1)))
    print(f"{f'verify {bits.size} datasets against independent records':62} {seconds:6.2f} s  {verdict.odds}")


if __name__ == "__main__":
    main()
