"""Linking: all attributes of a person but one are known, and the view shows the last."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tetraodon.attacks.attack import Attack, Story
from tetraodon.attacks.from_the_view import PEOPLE, SPARSE, town
from tetraodon.attacks.picture import bars, rounded
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.noise.dice import Dice
from tetraodon.policy.adversary import Adversary
from tetraodon.publishing.channel_choice import best_channel
from tetraodon.publishing.columns import cells_of
from tetraodon.publishing.sampling import view_cells


def read(adversary: Adversary, prior: Fraction, dice: Dice) -> tuple[float, float]:
    """Of people who are alone with what is known of them: the share whose secret bit is read, and read wrongly."""
    _, known = town(SPARSE, dice)
    domain = Domain((*(Attribute(f"a{n}", Integers(0, size - 1)) for n, size in enumerate(SPARSE)), BIT))
    people = np.column_stack([known, dice.random.integers(0, 2, PEOPLE)])
    channel = best_channel(adversary, prior, Fraction(PEOPLE, domain.size))
    cells, counts = np.unique(cells_of(domain, people), return_counts=True)
    view = np.unique(np.concatenate(list(view_cells(channel, domain.size, cells, counts, coins=dice))))
    _, which, many = np.unique(known, axis=0, return_inverse=True, return_counts=True)
    own = cells_of(domain, people[many[which.ravel()] == 1])
    true, other = np.isin(own, view), np.isin(own ^ np.uint64(1), view)  # the bit is the last digit of a cell
    return float(np.mean(true & ~other)), float(np.mean(other & ~true))


BIT = Attribute("bit", Integers(0, 1))


def run() -> Story:
    dice = Dice(11)
    size = 2 * int(np.prod(SPARSE))
    strangers = Adversary(k=10, gamma="0.9", records=PEOPLE)
    right, wrong = read(strangers, strangers.prior(size), dice)
    linkers = Adversary(d="0.5", gamma="0.6", kind="exclusive", records=PEOPLE)
    safe, mistaken = read(linkers, Fraction(1, 2), dice)
    allowed = 0.6
    defended = safe / (safe + mistaken)
    rows = [
        {"read": what, "share of people": rounded(share), "view": view}
        for view, pair in (("made for strangers", (right, wrong)), ("made for those who link", (safe, mistaken)))
        for what, share in zip(("rightly", "wrongly"), pair, strict=True)
    ]
    return Story(
        words=f"{PEOPLE:,} people have four attributes that a neighbour knows, and a secret bit. A view withstands "
        "strangers. The neighbour looks up the two tuples that a person can have: where one of them is shown it is "
        f"theirs. The bit is read rightly for {right:.0%} of those who are alone with what is known of them, and "
        f"wrongly for {wrong:.1%}.",
        defence="Name the attacker who links: `kind: exclusive`, with a prior of one half and a posterior of 0.6. "
        f"There is then so much noise that of the bits which are read {defended:.0%} are right.",
        measure="share of the bits read that are right",
        attacked=right / (right + wrong),
        allowed=allowed,
        defended=defended,
        numbers={"read rightly": rounded(right), "read wrongly": rounded(wrong)},
        chart=bars(rows, x="view", y="share of people", colour="read"),
    )


ATTACK = Attack("linking", "All attributes known but one, which the view shows", "[RS07] section 6.2", run)
