"""A view alone, and how common values are: most of what it shows where people are many is no noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.attacks.attack import Attack, Story
from tetraodon.attacks.picture import bars, rounded
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.noise.dice import Dice
from tetraodon.policy.adversary import Adversary
from tetraodon.publishing.channel import ViewChannel
from tetraodon.publishing.channel_choice import best_channel
from tetraodon.publishing.columns import cells_of
from tetraodon.publishing.distinct_tuples import shown
from tetraodon.publishing.exposure import BEFORE, BELIEF, suspect
from tetraodon.publishing.sampling import Cells, view_cells

PEOPLE = 3000
SPARSE, DENSE = (30, 30, 30, 30), (30, 30)
GAMMA = Fraction(9, 10)


def town(sizes: tuple[int, ...], dice: Dice) -> tuple[Domain, Ints]:
    """People who have the lower half of every attribute's values, as people have."""
    domain = Domain(tuple(Attribute(f"a{n}", Integers(0, size - 1)) for n, size in enumerate(sizes)))
    return domain, np.stack([dice.random.integers(0, size // 2, PEOPLE) for size in sizes], axis=1)


def played(sizes: tuple[int, ...], adversary: Adversary, dice: Dice) -> tuple[float, float, float]:
    """The share of people whose tuple is newly exposed, of tuples named that are right, and as the attacker thinks."""
    domain, people = town(sizes, dice)
    prior = adversary.prior(domain.size)
    channel: ViewChannel = best_channel(adversary, prior, Fraction(PEOPLE, domain.size))
    cells, counts = np.unique(cells_of(domain, people), return_counts=True)
    view: Cells = np.concatenate(list(view_cells(channel, domain.size, cells, counts, coins=dice)))
    seen = shown([view])
    found = suspect(domain, channel, seen, records=PEOPLE)
    named = (found.after >= BELIEF) & (found.before <= BEFORE)
    right = np.isin(seen.cells[named], cells)
    exposed = counts[np.searchsorted(cells, seen.cells[named][right])].sum() / PEOPLE
    thinks = float(found.after[named].mean()) if named.any() else 0.0
    return float(exposed), float(right.mean()) if named.any() else 0.0, thinks


def run() -> Story:
    dice = Dice(7)
    sparse, right, thinks = played(SPARSE, Adversary(k=10, gamma=GAMMA, records=PEOPLE), dice)
    dense, _, _ = played(DENSE, Adversary(d="0.05", gamma="0.2", records=PEOPLE), dice)
    rows = [
        {"share of people": rounded(share), "view": view}
        for view, share in (("sparse: 810,000 tuples", sparse), ("dense: 900 tuples", dense))
    ]
    return Story(
        words=f"{PEOPLE:,} people live in the lower half of each of four attributes. A view over all 810,000 tuples "
        f"withstands everybody who believes in no tuple with more than {30 / 810:.1%} before. But the view itself "
        f"shows where people live. Whoever looks names {sparse:.0%} of them with a belief of {BELIEF:.0%} or more, "
        f"and is right about {right:.1%} of the tuples named, as they know: they expect {thinks:.1%}.",
        defence="Publish views of dense domains only. Over two of the attributes, with 900 tuples, the same attacker "
        f"newly names {dense:.1%} of the people. `publish` plays this attack on every view and holds it back where "
        "more than 1% are exposed.",
        measure="share of people newly named by the view alone",
        attacked=sparse,
        allowed=0.01,
        defended=dense,
        numbers={"named rightly": rounded(right), "expected to be right": rounded(thinks)},
        chart=bars(rows, x="view", y="share of people", colour="view"),
    )


ATTACK = Attack("from-the-view", "A view that tells how common values are", "[RS07] section 2; [CL68]", run)
