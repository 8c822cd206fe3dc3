"""A view of a table in the way of the alpha-beta algorithm ([RS07] Algorithm 1), written out for a few tuples."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

from tetraodon.policy.secret_graph import ABSENT
from tetraodon.publishing.channel import SetChannel
from tetraodon.pufferfish import Channel, World

IN, OUT = "in", ABSENT
"""A tuple is in the table, or is not."""


def keeping_half(noise: Fraction) -> SetChannel:
    """Half of the table's tuples are shown, and of all others a share of `noise`."""
    return SetChannel(Fraction(1, 2) - noise, noise)


def view(channel: SetChannel, *, people: int) -> Channel:
    """A view as the verifier sees it: for each of some people, whether their tuple is shown.

    >>> view(keeping_half(Fraction(1, 16)), people=1).probability((OUT,), (True,))
    Fraction(1, 16)
    """
    world = World.product((IN,), individuals=people, absent=True)

    def law(dataset: Any) -> dict[tuple[bool, ...], Fraction]:
        chances = [channel.shown if record == IN else channel.noise for record in dataset]
        return {
            shown: math.prod((p if one else 1 - p) for one, p in zip(shown, chances, strict=True))  # type: ignore[misc]
            for shown in itertools.product((True, False), repeat=people)
        }

    return Channel.of(law, world)


def views(number: int, channel: SetChannel) -> Channel:
    """The same tuple in several views, each made afresh; the output says in how many it is shown."""
    one = view(channel, people=1)

    def law(dataset: Any) -> dict[int, Fraction]:
        p = one.probability(dataset, (True,))
        return {k: math.comb(number, k) * p**k * (1 - p) ** (number - k) for k in range(number + 1)}

    return Channel.of(law, one.world)
