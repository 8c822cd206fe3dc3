"""Differential privacy on a Markov chain: today says what yesterday was."""

from __future__ import annotations

import math
from fractions import Fraction

from tetraodon.attacks.attack import Attack, Story
from tetraodon.attacks.picture import lines, rounded
from tetraodon.policy.load import load_policy
from tetraodon.pufferfish import (
    Additive,
    Definition,
    Laplace,
    Scenario,
    World,
    if_the_scenario_is_wrong,
    pairs,
    scenarios,
    verify,
)
from tetraodon.releasing.plan import plan

HOURS = 8
STAYS = tuple(Fraction(n, 100) for n in (50, 60, 70, 80, 90, 95, 99))
STAY = Fraction(9, 10)
GRID = 8
"""The defence tries scales in eighths."""


def day(stay: Fraction) -> Scenario:
    """A person is active or not in each hour, and goes on as before with probability `stay`."""
    leave = 1 - stay
    return scenarios.chain(transition=[[stay, leave], [leave, stay]], source="a made-up study")


def planned_scale(length: int | None) -> Fraction:
    """The scale that a plan takes where the policy file states the chain, for a series of a stated length or of any."""
    rows = [[str(STAY), str(1 - STAY)], [str(1 - STAY), str(STAY)]]
    chain = {"along": "hour", "states": 2, "transition": rows, "start": "stationary", "source": "a made-up study"}
    policy = load_policy(
        {
            "dataset": "day",
            "presence": "public",
            "attributes": {"active": {"integer": [0, 1]}},
            "attackers": [{"chain": chain | ({} if length is None else {"length": length})}],
            "budget": {"epsilon": 1},
            "release": [{"name": "hours", "total": "active"}],
        }
    )
    return plan(policy)["hours"].scale


def smallest_scale(world: World, promise: Definition) -> Fraction:
    """The least scale, in eighths, at which a noisy sum keeps a promise."""
    low, high = GRID, GRID * HOURS  # one hour's scale fails, that of the whole day holds
    while high - low > 1:
        middle = (low + high) // 2
        holds = verify(Additive(sum, Laplace(Fraction(middle, GRID)), world), promise).holds
        low, high = (low, middle) if holds else (middle, high)
    return Fraction(high, GRID)


def run() -> Story:
    world = World.product((0, 1), individuals=HOURS)
    promise = Definition(pairs.values(), day(STAY), epsilon=1)
    scale = smallest_scale(world, promise)
    loss = {}
    planned = planned_scale(HOURS)
    for size in (Fraction(1), scale, planned):
        name, noise = f"scale {float(size):g}", Laplace(size)
        found = if_the_scenario_is_wrong(Additive(sum, noise, world), promise, day, STAYS)
        loss[name] = {stay: verdict.epsilon for stay, verdict in found}
    rows = [
        {"chance to go on as before": float(stay), "epsilon": rounded(number), "noise": name}
        for name, each in loss.items()
        for stay, number in each.items()
    ]
    attacked, _, defended = (each[STAY] for each in loss.values())
    return Story(
        words=f"The number of active hours of a day of {HOURS} is published with Laplace noise of scale 1, which hides "
        "any one hour if hours are independent. A person goes on as before nine times in ten. An attacker who knows "
        f"that learns about each hour from all others: the loss is {attacked:.2f}, not 1.",
        defence=f"State the chain under `attackers:`. The plan then takes scale {float(planned):g} for a day, which is "
        f"that of all hours together, and {float(planned_scale(None)):.1f} for a series of any length. `verify` finds "
        f"that {float(scale):g} would do for a day. If the chain is stickier than was said, the picture shows what is "
        "lost.",
        measure="epsilon of an hour, chance to go on 0.9",
        attacked=attacked,
        allowed=1.0,
        defended=defended,
        numbers={
            "scale of the plan, a day": float(planned),
            "scale of the plan, any length": rounded(float(planned_scale(None))),
            "smallest scale that verifies, a day": float(scale),
            "odds move by at most": rounded(math.exp(attacked)),
        },
        chart=lines(rows, x="chance to go on as before", y="epsilon", colour="noise"),
    )


ATTACK = Attack("markov-chain", "Differential privacy on a Markov chain", "[KM12] Theorem 6.2", run)
