"""Who the promise is kept against, in sentences."""

from __future__ import annotations

from typing import assert_never

from tetraodon.policy.attackers import Attackers, Chain, Groups, Independent
from tetraodon.policy.words import number_of

LESS_THAN_IT_SAYS = (
    "It takes people to be independent, so against the attackers of this policy it would promise less than it says."
)


def against_whom(attackers: Attackers) -> str:
    """Whom the promise is kept against, and what is not covered."""
    match attackers:
        case Independent():
            return (
                "The promise is kept against anybody to whom the records of different people are independent, "
                "whatever else they believe. If one person's record says something about another's, as in a family or "
                "an outbreak, what is learnt that way is not covered."
            )
        case Groups(column, rows):
            return (
                f"The promise is kept against anybody to whom rows with different {column} are independent, whatever "
                f"they believe about rows that share it: those may depend on each other in any way. Of a {column} with "
                f"more than {number_of(rows, 'row')} only that many are counted. Rows without a {column} are not "
                f"counted. What one {column} says about another is not covered."
            )
        case Chain():
            which = "a Markov chain" if len(attackers.transitions) == 1 else "one of several Markov chains"
            start = "started long ago" if not attackers.starts else "starts as stated"
            return (
                f"The promise is kept against anybody to whom the rows, in the order of {attackers.along}, are states "
                f"of {which} with the transition probabilities of this file (source: {attackers.source}), which "
                f"{start}, and against anybody to whom they are independent. If rows depend on each other more than "
                f"that, what is learnt that way is not covered. Of rows with the same {attackers.along} one is counted."
            )
        case _:
            assert_never(attackers)


def cost_of_dependence(attackers: Attackers) -> tuple[str, ...]:
    """What it costs that rows may depend on each other."""
    match attackers:
        case Independent():
            return ()
        case Groups(column, rows):
            return (
                f"All rows of a {column}, up to {rows:,}, may change together with one person's secret, and each of "
                f"them in any way, whatever `secrets` says: the loss, and with it the noise, is that of "
                f"{number_of(rows, 'row')} of which any two values must not be told apart.",
            )
        case Chain():
            return (
                "What a row says shows in its neighbours. Noise hides all rows nearby, each of which may change in any "
                "way; how many those are, and how much the rows beyond still tell, follows from the chain.",
            )
        case _:
            assert_never(attackers)


def how_releases_add_up(attackers: Attackers) -> str:
    """What several releases from the same data cost together."""
    if isinstance(attackers, Chain):
        return (
            "The epsilons of several releases from the same data do not simply add up; the ledger computes the loss of "
            "all of them together, and keeps the total."
        )
    return "The epsilons of all releases from the same data add up; the ledger keeps the total."
