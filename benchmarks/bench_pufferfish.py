"""Verification and optimal mechanisms at size, each against the budget that was promised.

    python -m benchmarks pufferfish [--quick]

The reference for verification is one dense float product of the same shape, measured in the same run.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.certificate.correlated_records import quilt_budget
from tetraodon.policy.attackers import Chain
from tetraodon.pufferfish import (
    Additive,
    Channel,
    Definition,
    Laplace,
    Prior,
    Secret,
    World,
    epidemic,
    least_noise,
    least_noise_on,
    long_chain,
    named,
    optimal_mechanism,
    pairs,
    scenarios,
    verify,
    wasserstein,
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


def searched() -> list[dict[str, Any]]:
    """Noise by search over that of the Wasserstein mechanism and of group privacy, and how long models of size take."""
    rows = []
    ways = (1, 4, 6, 4, 1)
    counts = [Fraction(n, 100) for n in (10, 15, 50, 15, 10)]
    four, ten = World.product((0, 1), individuals=4), World.product((0, 1), individuals=10)
    flu = {who: counts[sum(who)] / ways[sum(who)] for who in four.datasets}
    spread = scenarios.contagion(10, introduced=Fraction(1, 10), spread=Fraction(1, 4))
    for name, world, joint in (("flu, 4 people", four, flu), ("contagion, 10 people", ten, spread)):
        definition = Definition(
            pairs.values(), scenarios.groups([range(world.individuals)], joint, source="a study"), epsilon=1
        )
        theorem, _ = wasserstein(sum, definition, world)
        found = least_noise(sum, definition, world)
        detail = {"scale": float(found.scale), "wasserstein": float(theorem.scale), "group": world.individuals}
        ratio = float(found.scale / theorem.scale)
        rows.append(
            {"name": f"{name}: noise over the Wasserstein mechanism's", "ratio": ratio, "target": 1.0}
            | {"reached": ratio <= 1, "detail": detail}
        )
    village, made = timed(
        lambda: least_noise_on(epidemic(300, introduced="0.01", spread="0.01"), epsilon=1, promise="infection")
    )
    rows.append(row_of("calibrate an epidemic of 300", village, 10.0, {"scale": float(made.scale)}))
    steps = [["0.9", "0.1"], ["0.2", "0.8"]]
    weather, made = timed(lambda: long_chain(steps, length=100_000, epsilon=1))
    matrix = tuple(tuple(Fraction(p) for p in row) for row in steps)
    chain = Chain("t", (matrix,), (), "a study")
    quilt = 1 / quilt_budget(chain, ~np.eye(2, dtype=np.bool_), Fraction(1))
    detail = {"scale": float(made.scale), "markov_quilt": float(quilt), "group": 100_000}
    rows.append(row_of("calibrate a chain of 100,000", weather, 10.0, detail))
    return rows


def three_counts(people: int) -> dict[str, Any]:
    """Three noisy counts against a list of attackers, exactly, over the same in floats that nothing vouches for."""
    world = World.product((0, 1, 2), individuals=people)
    mechanism = Additive(lambda d: (d.count(0), d.count(1), d.count(2)), Laplace(2), world)
    definition = Definition(pairs.values(), scenarios.explicit([Prior.uniform(world)]), epsilon=1)

    def floats() -> float:
        answers = np.array([[sum(n == value for n in d) for value in range(3)] for d in world.datasets], np.float64)
        axes = [np.unique(answers[:, k]) for k in range(3)]
        outputs = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
        likely = np.exp(-np.abs(answers[:, None] - outputs[None]).sum(axis=2) / 2)
        given = [
            [likely[[d[i] == value for d in world.datasets]].mean(axis=0) for value in range(3)] for i in range(people)
        ]
        return max(float((one / other).max()) for laws in given for one, other in itertools.permutations(laws, 2))

    reference, odds = min(timed(floats) for _ in range(3))
    seconds, verdict = timed(lambda: verify(mechanism, definition))
    assert abs(float(verdict.odds) - odds) < 1e-9
    return {
        "name": f"verify three counts over {world.size} data sets: time over that of floats",
        "ratio": seconds / reference,
        "target": 200.0,
        "reached": seconds <= 5 and seconds <= 200 * reference,
        "detail": {"seconds": seconds, "float_seconds": reference, "limit_seconds": 5.0},
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
    rows.append(three_counts(4 if quick else 6))
    return rows + searched()
