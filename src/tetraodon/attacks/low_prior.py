"""A diverse group, and an attacker who knows what is unlikely."""

from __future__ import annotations

import itertools
from fractions import Fraction

from tetraodon.attacks.attack import Attack, Story
from tetraodon.attacks.exact_bayes import belief
from tetraodon.attacks.noisy_view import IN, OUT, keeping_half, view
from tetraodon.attacks.picture import bars, rounded
from tetraodon.pufferfish import Prior, Secret, named, verify

SCORES = range(81, 101)
GROUP = (99, 97, 82)
"""The scores of those below 30 in the published table; one of them is Joe's."""
LIKELY, UNLIKELY = Fraction(33, 500), Fraction(1, 500)
GAMMA = Fraction(1, 5)


def of_joe(score: int) -> Fraction:
    """What the attacker believes of Joe before: scores above 95 are very unlikely, no other is likely."""
    return UNLIKELY if score > 95 else LIKELY


def after_the_table() -> dict[int, Fraction]:
    """Beliefs about Joe's score, who is one of three, the others being anybody."""
    anybody = Fraction(1, len(SCORES))
    weights = dict.fromkeys(GROUP, Fraction(0))
    for joe, *others in itertools.permutations(GROUP):
        weights[joe] += of_joe(joe) * anybody ** len(others)
    return {score: weight / sum(weights.values()) for score, weight in weights.items()}


def run() -> Story:
    after = after_the_table()
    channel = view(keeping_half(Fraction(3, 20)), people=1)
    promise = verify(channel, named.dgamma(d=LIKELY, gamma=GAMMA))
    thinks = Prior.of({(IN,): LIKELY, (OUT,): 1 - LIKELY}, "the attacker")
    seen = belief(thinks, channel, Secret.present(0), (True,))
    rows = []
    for score in GROUP:
        rows.append({"score of Joe": str(score), "belief": rounded(float(of_joe(score))), "stage": "before"})
        rows.append({"score of Joe": str(score), "belief": rounded(float(after[score])), "stage": "diverse table"})
    rows.append({"score of Joe": "82", "belief": rounded(float(seen)), "stage": "a view that keeps the promise"})
    return Story(
        words="A table is 3-anonymous and 2-diverse: Joe is one of three people below 30, whose scores are 99, 97 and "
        f"82. An attacker who only knows that Joe is no star gave 82 a probability of {float(LIKELY):.1%}, and now "
        f"gives it {float(after[82]):.1%}.",
        defence="Promise it for every such prior: (d, gamma)-privacy says that no belief of at most d passes gamma. A "
        f"view that keeps half of the records and invents 3 in 20 of all others holds it, by `verify`, and leaves "
        f"{float(seen):.1%}.",
        measure="belief in Joe's score",
        attacked=float(after[82]),
        allowed=float(GAMMA),
        defended=float(seen) if promise.holds else 1.0,
        numbers={"d": float(LIKELY), "gamma": float(GAMMA), "after the diverse table": rounded(float(after[82]))},
        chart=bars(rows, x="score of Joe", y="belief", colour="stage"),
    )


ATTACK = Attack("low-prior", "Diversity against somebody who knows what is unlikely", "[RS07] section 2.4", run)
