"""Several releases at once: what they cost together, and never a sum that nobody has proved ([KM12] section 8)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from tetraodon.errors import PolicyError, Refused
from tetraodon.exponent import display
from tetraodon.pufferfish.additive import Additive
from tetraodon.pufferfish.channel import Channel
from tetraodon.pufferfish.definition import Definition
from tetraodon.pufferfish.scenario import Composable
from tetraodon.pufferfish.verdict import Verdict
from tetraodon.pufferfish.verification import verify
from tetraodon.rational import rational

Relation = Callable[[Any], Mapping[Any, Any]]
Kind = Literal["adds up", "verified jointly"]


@dataclass(frozen=True)
class Composition:
    """What two releases cost together, and how that is known.

    `adds up`: the losses may be summed, for these and for any later releases. `verified jointly`: they may not; the
    joint loss of these two was computed. `charge` is what a ledger must book, an upper bound on the joint epsilon.
    """

    kind: Kind
    charge: Fraction | float
    joint: Verdict
    parts: tuple[Verdict, ...]
    why: Composable
    mechanism: Channel | Additive

    @property
    def text(self) -> str:
        total = sum(display(part.upper) for part in self.parts)
        parts = " and ".join(f"{display(part.upper):.6g}" for part in self.parts)
        if self.kind == "adds up":
            return f"The losses {parts} add up to {total:.6g}, because {self.why.reason}."
        beyond = "more than" if self.joint.lower > sum(part.upper for part in self.parts) else "not proved to be"
        return (
            f"The losses {parts} do not add up ({self.why.reason}). Together the releases cost "
            f"{display(self.charge):.6g}, which is {beyond} their sum {total:.6g}."
        )


def compose(
    first: Channel | Additive,
    second: Channel | Additive,
    definition: Definition,
    *,
    relation: Relation | Sequence[Relation] | None = None,
) -> Composition:
    """Two releases with independent coins: of one dataset, or of two related ones ([KM12] Eq. 14).

    `relation` gives the law of the other party's dataset for each of ours; of a list of them any may be true, and
    the worst counts. Without it both look at the same data.
    Refuses what it can neither sum nor verify: nothing is ever just added.
    """
    if relation is not None and not callable(relation):
        if not relation:
            raise PolicyError("no relation is listed", fix="list at least one, or leave it out")
        each = [compose(first, second, definition, relation=one) for one in relation]
        return max(each, key=lambda found: found.charge)
    if definition.delta:
        raise Refused(
            "(epsilon, delta) is not composed here",
            fix="compose at delta = 0, or verify the joint channel at its own epsilon and delta",
        )
    other = second if relation is None else averaged(second, relation, first)
    if isinstance(first, Channel) and isinstance(other, Channel):
        joint: Channel | Additive = first.with_(other)
    elif isinstance(first, Additive) and isinstance(other, Additive):
        joint = first.with_(other)
    else:
        raise Refused(
            "a channel and added noise cannot be verified together exactly",
            fix="write both as channels, or both as added noise",
        )
    why = definition.scenarios.composability(definition.pairs, joint.world)
    parts = (verify(first, definition), verify(other, definition))
    together = verify(joint, definition)
    total = sum((part.upper for part in parts), Fraction(0))
    if why.adds_up and relation is None and math.isfinite(total):
        return Composition("adds up", total, together, parts, why, joint)
    if math.isinf(together.upper) and not together.exact:
        raise Refused("the joint loss is not known", fix="list the attackers, or release only one of the two")
    return Composition("verified jointly", together.upper, together, parts, why, joint)


def averaged(second: Channel | Additive, relation: Relation, first: Channel | Additive) -> Channel:
    """The other party's release as a function of our data: E[P(A(Bob) = w) | Alice] ([KM12] Eq. 14)."""
    if not isinstance(second, Channel):
        raise Refused("a related release must be a finite channel", fix="write it as a Channel")
    rows = []
    for dataset in first.world.datasets:
        law = {other: rational(chance, name="a probability") for other, chance in relation(dataset).items()}
        if sum(law.values()) != 1 or any(chance < 0 for chance in law.values()):
            raise PolicyError(f"the relation does not sum to 1 on {dataset!r}", fix="write exact fractions")
        row = [Fraction(0)] * len(second.outputs)
        for other, chance in law.items():
            if other not in second.world.index:
                raise PolicyError("the relation leads to a dataset that the other channel does not know", fix="list it")
            for n, number in enumerate(second.matrix[second.world.index[other]]):
                row[n] += chance * number
        rows.append(row)
    return Channel(rows, first.world.datasets, second.outputs, first.world.names)
