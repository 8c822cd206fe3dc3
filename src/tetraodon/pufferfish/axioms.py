"""Two tests every proposed definition should pass: closure under post-processing, and convexity ([KM12] section 5)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from tetraodon.errors import Refused
from tetraodon.pufferfish.channel import Channel, mixture
from tetraodon.pufferfish.world import World

Proposal = Callable[[Channel], bool]
SEARCH_LIMIT = 200_000


@dataclass(frozen=True)
class Counterexample:
    """Mechanisms that a proposal accepts, and what is made of them that it does not."""

    axiom: Literal["post-processing", "convexity"]
    accepted: tuple[Channel, ...]
    rejected: Channel
    how: str

    @property
    def text(self) -> str:
        return f"not closed under {self.axiom}: {self.how}"


def channels(world: World, outputs: Sequence[Any], grain: int = 1) -> Iterator[Channel]:
    """Every channel whose probabilities are multiples of 1/grain; 1 gives the deterministic ones."""
    rows = [
        tuple(Fraction(part, grain) for part in parts)
        for parts in itertools.product(range(grain + 1), repeat=len(outputs))
        if sum(parts) == grain
    ]
    if len(rows) ** world.size > SEARCH_LIMIT:
        raise Refused(
            "there are too many channels to try them all", fix="take fewer datasets, outputs or a smaller grain"
        )
    for matrix in itertools.product(rows, repeat=world.size):
        yield Channel(matrix, world.datasets, outputs, world.names)


def post_processing_counterexample(
    proposal: Proposal, world: World, outputs: Sequence[Any], *, grain: int = 1
) -> Counterexample | None:
    """An accepted channel and a map of its outputs whose result is not accepted, by exact search; None if all pass."""
    maps = [dict(zip(outputs, images, strict=True)) for images in itertools.product(outputs, repeat=len(outputs))]
    for channel in channels(world, outputs, grain):
        if not proposal(channel):
            continue
        for post in maps:
            after = channel.then(post.__getitem__)
            if not proposal(after):
                used = [w for n, w in enumerate(outputs) if any(row[n] for row in channel.matrix)]
                how = ", ".join(f"{w!r} becomes {post[w]!r}" for w in used if post[w] != w)
                return Counterexample("post-processing", (channel,), after, how)
    return None


def convexity_counterexample(
    proposal: Proposal, world: World, outputs: Sequence[Any], *, grain: int = 1, weight: Fraction = Fraction(1, 2)
) -> Counterexample | None:
    """Two accepted channels whose mixture is not accepted, by exact search; None if all pass."""
    accepted = [channel for channel in channels(world, outputs, grain) if proposal(channel)]
    if len(accepted) ** 2 > SEARCH_LIMIT:
        raise Refused("there are too many pairs of channels to try them all", fix="take a smaller world or grain")
    for one, other in itertools.combinations(accepted, 2):
        both = mixture([(weight, one), (1 - weight, other)])
        if not proposal(both):
            how = f"one of two accepted mechanisms, the first with probability {weight}"
            return Counterexample("convexity", (one, other), both, how)
    return None


def k_anonymity(k: int, quasi_identifier: Callable[[Any], Any] = lambda record: record) -> Proposal:
    """Accepts what publishes only tables where k records share each quasi-identifier ([MK15] Def. 2)."""

    def anonymous(table: Any) -> bool:
        keys = [quasi_identifier(record) for record in table]
        return all(keys.count(key) >= k for key in keys)

    def accepts(channel: Channel) -> bool:
        used = [w for n, w in enumerate(channel.outputs) if any(row[n] for row in channel.matrix)]
        return all(anonymous(table) for table in used)

    return accepts
