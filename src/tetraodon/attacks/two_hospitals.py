"""Two k-anonymous tables that hold the same person, intersected."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.attacks.attack import Attack, Story
from tetraodon.attacks.picture import bars, rounded
from tetraodon.noise.dice import Dice
from tetraodon.pufferfish import Additive, DiscreteLaplace, World, compose, named, posterior

DISEASES = ("none", "stroke", "flu", "cancer", "cold", "rash")
FIRST = ("none", "stroke", "flu", "cancer")
SECOND = ("cold", "stroke", "rash")
BOB = "stroke"
PLAYS = 1000


def likelihood(table: tuple[str, ...], bob: str) -> Fraction:
    """How likely a group of patients is, if Bob has `bob` and the others have any disease, independently."""
    others = Counter(table)
    if not others[bob]:
        return Fraction(0)
    others[bob] -= 1
    ways = math.factorial(others.total()) // math.prod(map(math.factorial, others.values()))
    return Fraction(ways, len(DISEASES) ** others.total())


def beliefs(*tables: tuple[str, ...]) -> dict[str, Fraction]:
    """What somebody believes of Bob who sees his group in each table, and thought every disease equally likely."""
    weights = {disease: math.prod(likelihood(table, disease) for table in tables) for disease in DISEASES}
    total = sum(weights.values())
    return {disease: Fraction(weight) / total for disease, weight in weights.items()}


def counts(table: tuple[str, ...], world: World) -> Additive:
    """A table's diseases, counted with noise that costs epsilon 1/2, as a function of Bob's."""
    others = Counter(table)
    others[BOB] -= 1
    return Additive(lambda d: [others[x] + (d[0] == x) for x in DISEASES], DiscreteLaplace(4), world)


def run() -> Story:
    world = World.of([(disease,) for disease in DISEASES])
    first, second = counts(FIRST, world), counts(SECOND, world)
    both = compose(first, second, named.indistinguishability(epsilon=1))
    joint = first.with_(second)
    answers = np.array([[float(part) for part in answer] for answer in joint.answers])
    noisy = answers[DISEASES.index(BOB)] + Dice(3).laplace(4, (PLAYS, answers.shape[1]))
    weights = np.exp(-np.abs(noisy[:, None, :] - answers).sum(axis=2) / 4)
    plays = weights / weights.sum(axis=1, keepdims=True)
    strongest = float(plays.max())
    before = Fraction(1, len(DISEASES))
    stages: dict[str, dict[str, Any]] = {
        "before": dict.fromkeys(DISEASES, before),
        "after the first table": beliefs(FIRST),
        "after both tables": beliefs(FIRST, SECOND),
        "after two noisy tables, on average": dict(zip(DISEASES, plays.mean(axis=0), strict=True)),
    }
    rows = [
        {"Bob has": disease, "belief": rounded(float(number)), "stage": stage}
        for stage, law in stages.items()
        for disease, number in law.items()
    ]
    return Story(
        words="One hospital publishes a 4-anonymous table, another a 3-anonymous one. Bob was in both, and the "
        "attacker knows his postcode and age, so he is in one group of each. Each table alone leaves several diseases. "
        f"Only one is in both: the belief that he had a stroke goes from {float(before):.0%} over "
        f"{float(beliefs(FIRST)[BOB]):.0%} to {float(beliefs(FIRST, SECOND)[BOB]):.0%}.",
        defence="Promises about outputs do not add up; promises about probabilities do. Two noisy counts at epsilon "
        f"1/2 cost {float(both.charge):g} together, and in {PLAYS:,} plays no belief passed {strongest:.1%}.",
        measure="the strongest belief about Bob",
        attacked=float(max(beliefs(FIRST, SECOND).values())),
        allowed=posterior(before, 1),
        defended=posterior(before, both.charge),
        numbers={
            "belief in a stroke before": rounded(float(before)),
            "after the first table": float(beliefs(FIRST)[BOB]),
            "after both": float(beliefs(FIRST, SECOND)[BOB]),
            "epsilon of both noisy tables": float(both.charge),
            "strongest belief in 1,000 plays with noise": rounded(strongest),
        },
        chart=bars(rows, x="Bob has", y="belief", colour="stage"),
    )


ATTACK = Attack("two-hospitals", "Two k-anonymous hospital tables", "[MK15] Composition", run)
