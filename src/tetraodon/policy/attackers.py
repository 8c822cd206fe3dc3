"""Who might attack, as a policy file can say it: what somebody may believe about how rows depend on each other."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.transition import Matrix, Vector, is_ergodic


@dataclass(frozen=True, slots=True)
class Independent:
    """The records of different people are independent ([KM12] Example 3.3)."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows with the same value of a column may depend on each other in any way; different groups are independent.

    At most `at_most` rows of a group are counted, so at most that many change together.
    """

    column: str
    at_most: int

    def __post_init__(self) -> None:
        if not 1 <= self.at_most <= 1_000_000:
            raise PolicyError("`at most` is not between 1 and 1,000,000", fix="write the largest group, such as 5")


@dataclass(frozen=True, slots=True)
class Chain:
    """The rows, in the order of a column, are successive states of a Markov chain: one of those listed.

    No `starts` means that each chain starts in the distribution it settles in. `length` is the public number of rows,
    0 where any number must be covered.
    """

    along: str
    transitions: tuple[Matrix, ...]
    starts: tuple[Vector, ...]
    source: str
    length: int = 0

    def __post_init__(self) -> None:
        checked_source(self.source)
        sizes = {len(matrix) for matrix in self.transitions} | {len(start) for start in self.starts}
        if len(sizes) != 1:
            raise PolicyError("the matrices and starts of a chain differ in size", fix="use one list of states")
        if not all(is_ergodic(matrix) for matrix in self.transitions):
            raise Refused(
                "the chain is not ergodic: it never forgets some state it was in, so that any two rows, however far "
                "apart, may tell each other",
                fix="write a small probability for every transition that is merely unlikely, or use `groups`",
            )

    @property
    def states(self) -> int:
        return len(self.transitions[0])

    @property
    def always_possible(self) -> bool:
        """Whether every state is possible at every moment: no start leaves one out, and an ergodic chain keeps all."""
        return all(min(start) > 0 for start in self.starts)


Attackers: TypeAlias = Independent | Groups | Chain
INDEPENDENT = Independent()
OWN_DATA = re.compile(
    r"\b(protected|secret|confidential|same|this|our|own|"
    r"(estimated|fitted|learned|learnt|computed|counted|derived) (from|to|on|in) the) "
    r"(table|data|data ?set|file|records)\b",
    re.IGNORECASE,
)
"""How people write that numbers come from the table that is to be protected."""


def checked_source(source: str) -> str:
    """Where a scenario's numbers come from. Refuses the protected table itself and an empty answer."""
    if not source.strip():
        raise Refused("a scenario does not say where its numbers come from", fix="name the study or the judgement")
    if OWN_DATA.search(source):
        raise Refused(
            "a scenario was estimated from the protected table, so publishing under it would leak",
            fix="take the numbers from another study, or protect against a whole set of scenarios",
        )
    return source
