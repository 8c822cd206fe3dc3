"""What is made of mechanisms that cannot be written out: post-processed, or chosen at random.

Both axioms of [KM12] Thm 5.1 give an upper bound; the loss may well be smaller, so the verdict is a bracket.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tetraodon.errors import PolicyError
from tetraodon.pufferfish.additive import Additive
from tetraodon.pufferfish.verdict import Verdict
from tetraodon.pufferfish.world import World
from tetraodon.rational import rational


@dataclass(frozen=True)
class Processed:
    """Added noise followed by a function of the noisy answers alone. Channels have `.then`, which is exact."""

    mechanism: Additive
    post: Callable[[Any], Any]

    @property
    def world(self) -> World:
        return self.mechanism.world

    @property
    def parts(self) -> tuple[Additive, ...]:
        return (self.mechanism,)


@dataclass(frozen=True)
class Mixed:
    """One of several noisy answers, chosen by coins that do not look at the data. Channels have `mixture`, exact."""

    weights: tuple[Fraction, ...]
    parts: tuple[Additive, ...]

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.parts) or sum(self.weights) != 1 or min(self.weights) < 0:
            raise PolicyError("the weights of a mixture do not sum to 1", fix="write one exact fraction for each part")
        if len({part.world for part in self.parts}) != 1:
            raise PolicyError("two mechanisms are about different worlds", fix="use the same world")

    @classmethod
    def of(cls, parts: Sequence[tuple[Any, Additive]]) -> Mixed:
        """A mixture from (weight, mechanism)."""
        return cls(tuple(rational(w, name="a weight") for w, _ in parts), tuple(part for _, part in parts))

    @property
    def world(self) -> World:
        return self.parts[0].world


def no_more_than(verdicts: Sequence[Verdict], how: str) -> Verdict:
    """The largest of some verdicts as an upper bound, with nothing claimed from below."""
    worst = max(verdicts, key=lambda verdict: verdict.upper)
    if worst.delta is not None:
        raise PolicyError("delta is not carried through derived mechanisms", fix="ask at delta = 0")
    holds = True if all(verdict.holds for verdict in verdicts) else None
    return Verdict(
        worst.definition,
        Fraction(0),
        worst.upper,
        False,
        holds,
        None,
        f"{how}; before that, {worst.method}",
        skipped=worst.skipped,
    )
