"""Two brothers, and a view that protects one tuple at a time."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tetraodon.attacks.attack import Attack, Story
from tetraodon.attacks.exact_bayes import belief
from tetraodon.attacks.noisy_view import IN, OUT, keeping_half, view
from tetraodon.attacks.picture import lines, rounded
from tetraodon.pufferfish import Additive, Definition, DiscreteLaplace, Prior, Secret, named, pairs, scenarios, verify
from tetraodon.releasing.plan import plan

D, GAMMA = Fraction(1, 20), Fraction(3, 10)
ALONE, TOGETHER = keeping_half(Fraction(1, 16)), keeping_half(Fraction(9, 50))
STEPS = 10
LOSS = Fraction(209, 100)
"""The epsilon that takes a belief of d to gamma at most."""
POLICY = {
    "dataset": "clinic",
    "presence": "public",
    "attributes": {"ill": "boolean"},
    "attackers": [{"groups": "family", "at most": 2}],
    "budget": {"epsilon": LOSS},
    "release": [{"name": "ill", "count": "ill"}],
}


def _ill(dataset: Any) -> int:
    return sum(record == IN for record in dataset)


def family(correlation: Fraction) -> Prior:
    """Each of two brothers has diabetes with probability d, and their records are correlated."""
    both = D * (D + correlation * (1 - D))
    weights = {(IN, IN): both, (IN, OUT): D - both, (OUT, IN): D - both, (OUT, OUT): 1 - 2 * D + both}
    return Prior.of(weights, "the attacker who knows the family")


def run() -> Story:
    rows, last = [], {}
    joe, both = Secret.present(0), (True, True)
    alone, together = (view(channel, people=2) for channel in (ALONE, TOGETHER))
    for written, name in ((alone, "one tuple at a time"), (together, "the two together")):
        for step in range(STEPS + 1):
            correlation = Fraction(step, STEPS)
            last[name] = float(belief(family(correlation), written, joe, both))
            rows.append(
                {
                    "correlation of the brothers": float(correlation),
                    "belief that Joe has diabetes": rounded(last[name]),
                    "parameters for": name,
                }
            )
    promise = named.dgamma(d=D, gamma=GAMMA)
    family_promise = promise.against(scenarios.groups([[0, 1]]))
    broken, safe = verify(alone, family_promise), verify(together, family_promise)
    scale = plan(POLICY)["ill"].scale
    count = Additive(_ill, DiscreteLaplace(scale), alone.world)
    kept = verify(count, Definition(pairs.presence(), scenarios.groups([[0, 1]]), epsilon=LOSS))
    odds = math.exp(float(kept.upper))
    counted = float(D) * odds / (1 - float(D) + float(D) * odds)
    return Story(
        words="A view keeps half of the tuples and invents 1 in 16. It is (d, gamma)-private against attackers to whom "
        "tuples are independent. Joe and Jim are brothers: if one has diabetes, so has the other, the attacker thinks. "
        "Both tuples are in the view. That both were invented is so unlikely that a belief of "
        f"{float(D):.0%} becomes {last['one tuple at a time']:.0%}.",
        defence="Say in the policy who may be correlated, `attackers: [{groups: family, at most: 2}]`, and release the "
        f"number of those who have it: at epsilon {float(LOSS):g} the belief stays at {counted:.1%}, whatever the "
        "family. Views are refused beside that key. `verify` finds this one broken, and one that invents 9 in 50 good "
        "for every correlation inside the family.",
        measure="belief that Joe has diabetes, both tuples shown",
        attacked=last["one tuple at a time"],
        allowed=float(GAMMA),
        defended=counted if kept.holds else 1.0,
        numbers={
            "promise kept against independent tuples": bool(verify(alone, promise)),
            "odds against the family": float(broken.odds or 0),
            "odds with more noise": float(safe.odds or 0),
            "belief with more noise": rounded(last["the two together"]),
            "scale of the noise of a count": float(scale),
            "odds allowed": rounded(float(promise.high)),
        },
        chart=lines(rows, x="correlation of the brothers", y="belief that Joe has diabetes", colour="parameters for"),
    )


ATTACK = Attack("brothers", "Two brothers in one view", "[RS07] section 6.1", run)
