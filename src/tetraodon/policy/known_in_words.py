"""What is known already, in words."""

from __future__ import annotations

from typing import assert_never

from tetraodon.domain import Domain
from tetraodon.policy.known import Fact, Rectangle
from tetraodon.policy.words import listing
from tetraodon.workload.query import Count, Histogram


def fact_in_words(fact: Fact, domain: Domain) -> str:
    """A fact as the end of the sentence "it is known ..."."""
    match fact:
        case Count():
            return f"how many records satisfy {fact.where}" if fact.where else "how many records there are"
        case Histogram():
            grouped = {name for name, _ in fact.bins}
            names = [f"groups of {name}" if name in grouped else name for name in fact.attributes]
            return f"the exact table by {listing(names)}"
        case Rectangle():
            sides = [
                f"{name} {domain[name].text(domain[name].code(low))} to {domain[name].text(domain[name].code(high))}"
                for name, low, high in fact.sides
            ]
            return f"how many records have {listing(sides)}"
        case _:
            assert_never(fact)
