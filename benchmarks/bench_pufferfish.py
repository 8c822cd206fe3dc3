"""Verification and optimal mechanisms at size, each against the budget that was promised.

    python -m benchmarks pufferfish [--quick]

The reference for verification is one dense float product of the same shape, measured in the same run.
"""

from __future__ import annotations

import random
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


def pairs_of(number: int, datasets: int, chance: random.Random) -> pairs.SecretPairs:
    """Random pairs of disjoint sets of datasets."""
    listed = []
    for n in range(number):
        side = [chance.randrange(3) for _ in range(datasets)]
        one, other = (frozenset(d for d, s in enumerate(side) if s == which) for which in (1, 2))
        listed.append(
            (Secret.that(f"set {n}, first", one.__contains__), Secret.that(f"set {n}, second", other.__contains__))
        )
    return pairs.explicit(listed)


def row_of(name: str, seconds: float, budget: float | None, detail: dict[str, Any]) -> dict[str, Any]:
    """One line of the common report: seconds over the stated budget."""
    return {
        "name": f"{name}: seconds over {budget:g}" if budget else f"{name}: seconds",
        "ratio": seconds / budget if budget else seconds,
        "target": 1.0 if budget else None,
        "reached": budget is None or seconds <= budget,
        "detail": {"seconds": seconds, **detail},
    }


def run(quick: bool) -> list[dict[str, Any]]:
    """Rows for the common report."""
    datasets, outputs, number = (200, 20, 100) if quick else (2000, 200, 1000)
    chance = random.Random(0)
    protected = pairs_of(number, datasets, chance)
    matrix = np.random.default_rng(0).random((2 * number, datasets))
    reference, _ = timed(lambda: matrix @ np.ones((datasets, outputs)))
    rows = []
    for common in (True, False):
        channel = channel_of(datasets, outputs, common=common, chance=chance)
        prior = Prior.proportional({d: chance.randrange(1, 100) for d in channel.datasets})
        definition = Definition(protected, scenarios.explicit([prior]), epsilon=1)
        seconds, verdict = timed(lambda c=channel, d=definition: verify(c, d))
        kind = "one denominator" if common else "a denominator for each row"
        name = f"verify {datasets} x {outputs}, {number} pairs, {kind}"
        detail = {"float_matrix_product_seconds": reference, "epsilon": float(verdict.epsilon)}
        rows.append(row_of(name, seconds, 5.0, detail))
    top = 10 if quick else 30
    world = World.of(range(top + 1))
    counts = named.neighbours(world, lambda a, b: abs(a - b) == 1, epsilon="1/2")
    for words, worst in (("expected", False), ("worst", True)):
        seconds, found = timed(lambda w=worst: optimal_mechanism(counts, lambda k, o: abs(k - o), world=world, worst=w))
        rows.append(
            row_of(f"optimal mechanism for counts 0..{top}, {words} loss", seconds, 10.0, {"loss": float(found.loss)})
        )
    bits = World.product((0, 1), individuals=7 if quick else 11)
    law = {
        ones: [Fraction(1 + (w == ones), 2 + bits.individuals) for w in range(bits.individuals + 1)]
        for ones in range(20)
    }
    votes = Channel([law[sum(d)] for d in bits.datasets], bits.datasets, range(bits.individuals + 1))
    seconds, verdict = timed(lambda: verify(votes, named.indistinguishability(epsilon=1)))
    rows.append(
        row_of(f"verify {bits.size} datasets against independent records", seconds, None, {"odds": str(verdict.odds)})
    )
    return rows
