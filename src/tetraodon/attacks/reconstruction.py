"""Too many answers, each with a little noise: the whole table by least squares."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
import pyarrow

from tetraodon.attacks.attack import Attack, Story
from tetraodon.attacks.picture import lines, rounded
from tetraodon.errors import BudgetExhausted
from tetraodon.ledger import Ledger
from tetraodon.noise.dice import Dice
from tetraodon.policy.load import load_policy
from tetraodon.releasing.plan import plan
from tetraodon.releasing.run import release

PEOPLE = 100
QUESTIONS = (25, 50, 100, 200, 400, 800)
TURNS = 2
EACH = 2
"""The scale of the noise on one answer at epsilon 1/2."""


def recovered(secret: np.ndarray, questions: int, scale: int, dice: Dice) -> float:
    """The share of secret bits that least squares finds from noisy counts of random groups ([DN03])."""
    groups = dice.random.integers(0, 2, (questions, len(secret)))
    answers = groups @ secret + dice.laplace(scale, (questions,))
    centred = answers - groups.sum(axis=1) / 2  # without an answer, a bit is as likely 0 as 1
    found = np.linalg.solve(groups.T @ groups + np.eye(len(secret)), groups.T @ centred)
    return float(np.mean((found > 0) == secret))


def answers_before_the_ledger_refuses() -> int:
    """How many counts at epsilon 1/2 a real ledger with a total of 1 pays for."""
    policy = load_policy(
        {
            "dataset": "bits",
            "attributes": {"bit": ["no", "yes"]},
            "budget": {"epsilon": "1/2"},
            "release": [{"name": "yes", "count": "bit = 'yes'"}],
        }
    )
    table = pyarrow.table({"bit": ["no", "yes"] * (PEOPLE // 2)})
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger.db") as ledger:
        ledger.open(policy.dataset, 1, policy.document)
        for made in range(max(QUESTIONS)):
            try:
                release(plan(policy), table, ledger=ledger)
            except BudgetExhausted:
                return made
    return max(QUESTIONS)


def run() -> Story:
    dice = Dice(4)
    secret = dice.random.integers(0, 2, PEOPLE)
    rows, last = [], {}
    for name in ("epsilon 1/2 for every answer", "epsilon 1 for all answers"):
        for number in QUESTIONS:
            scale = EACH if name.endswith("every answer") else number
            last[name] = float(np.mean([recovered(secret, number, scale, dice) for _ in range(TURNS)]))
            rows.append({"answers": number, "share of records read": rounded(last[name]), "noise": name})
    paid = answers_before_the_ledger_refuses()
    every, together = last.values()
    return Story(
        words=f"{PEOPLE} people have a secret bit. Counts of random groups are answered with Laplace noise, epsilon "
        f"1/2 each, and nobody adds up. From {QUESTIONS[-1]:,} answers least squares reads {every:.0%} of the bits.",
        defence=f"The ledger adds up. With a total of 1 it pays for {paid} such answers and refuses the next; or all "
        f"{QUESTIONS[-1]:,} share it, and the same attacker reads {together:.0%}, hardly better than guessing.",
        measure="share of records read",
        attacked=every,
        allowed=math.e / (1 + math.e),
        defended=together,
        numbers={"people": PEOPLE, "answers": QUESTIONS[-1], "answers that a ledger of 1 pays for": paid},
        chart=lines(rows, x="answers", y="share of records read", colour="noise", log="x"),
    )


ATTACK = Attack("reconstruction", "Reconstruction from too many answers", "[DN03]; [RS07] section 2.4", run)
