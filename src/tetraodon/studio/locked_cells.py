"""What is known already, as tables of locked cells; who depends on whom; and attacks on those who leave it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tetraodon.attacks.attack import Attack
from tetraodon.attacks.gallery import find
from tetraodon.display import listing, shown_number
from tetraodon.domain import Domain
from tetraodon.policy.attackers import Chain, DependentGroups
from tetraodon.policy.known import Known, known_query
from tetraodon.policy.policy import Policy
from tetraodon.policy.promise_words import fact_in_words
from tetraodon.query.linear import Split

MOST_ROWS, MOST_COLUMNS = 12, 8
"""How much of a known table is drawn."""


@dataclass(frozen=True, slots=True)
class LockedCells:
    """A known figure, or a table of them: what is drawn, and how many cells there are in all.

    A cell holds its figure where the file says it, and is empty where it does not.
    """

    sentence: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    cells: int

    @property
    def left(self) -> int:
        """How many cells are not drawn."""
        return self.cells - sum(len(cells) for _, cells in self.rows)


def locked_cells(known: Known, domain: Domain) -> LockedCells:
    """The cells of a known figure. Tables by several columns have the last one along the top."""
    splits = known_query(known, domain).by
    sizes = [split.size(domain) for split in splits] or [1]
    total, across = int(np.prod(sizes, dtype=object)), sizes[-1]
    heads = [_label(splits[-1], code, domain) for code in range(min(across, MOST_COLUMNS))] if splits else [""]
    rows = []
    for row in range(min(total // across, MOST_ROWS)):
        places = np.unravel_index(row, sizes[:-1]) if len(sizes) > 1 else ()
        name = [_label(split, int(code), domain) for split, code in zip(splits[:-1], places, strict=True)]
        figures = [
            "" if known.answers is None else f"{known.answers[row * across + column]:,}" for column in range(len(heads))
        ]
        rows.append((listing(name) if name else "records", tuple(figures)))
    return LockedCells(fact_in_words(known.fact, domain), tuple(heads), tuple(rows), total)


def _label(split: Split, code: int, domain: Domain) -> str:
    return split.labels[code] if split.labels else domain[split.name].text(code)


def fitting_attacks(policy: Policy | None) -> list[Attack]:
    """The attacks of the gallery that show what happens where a policy leaves out what it can say.

    Why  each is about a question of this page: what is known, and who depends on whom; which one also depends on what
         the file says so far.
    """
    dependent = "markov-chain" if policy is not None and isinstance(policy.attackers, Chain) else "all-or-none"
    return [find("known-sums"), find(dependent)]


def household(policy: Policy | None) -> int:
    """How many rows change together where people depend on each other; 1 where they do not."""
    if policy is not None and isinstance(policy.attackers, DependentGroups):
        return policy.attackers.at_most
    return 1


def played(name: str) -> dict[str, Any]:
    """An attack of the gallery, run: its story, and three bars on one scale."""
    attack = find(name)
    story = attack.run()
    bars = {
        "got by the attack": story.attacked,
        "allowed by the promise": story.allowed,
        "left with the defence": story.defended,
    }
    most = max(bars.values())
    return {
        "attack": attack,
        "story": story,
        "bars": [(word, shown_number(value), 100 * value / most) for word, value in bars.items()],
    }
