"""What an attacker believes on seeing an output, exactly; and a noisy count written out."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

from tetraodon.pufferfish import Channel, Prior, Secret


def belief(prior: Prior, channel: Channel, secret: Secret, output: Hashable) -> Fraction:
    """The probability of a secret for somebody with this prior who has seen the output.

    >>> from tetraodon.pufferfish import World
    >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], datasets=[(0,), (1,)], outputs=[0, 1])
    >>> belief(Prior.uniform(coin.world), coin, Secret.value(0, 1), 1)
    Fraction(3, 4)
    """
    weights = [(dataset, weight * channel.probability(dataset, output)) for dataset, weight in prior.weights]
    total = sum((weight for _, weight in weights), Fraction(0))
    return sum((weight for dataset, weight in weights if secret.holds(dataset)), Fraction(0)) / total


def strongest_belief(prior: Prior, channel: Channel, secret: Secret) -> Fraction:
    """The largest belief in a secret that any output leads to."""
    seen = [output for n, output in enumerate(channel.outputs) if any(row[n] for row in channel.matrix)]
    return max(belief(prior, channel, secret, output) for output in seen)


def noisy_count(count: int, top: int, ratio: Fraction) -> dict[int, Fraction]:
    """The law of a count with two-sided geometric noise, moved into 0..top: its loss is -ln(ratio) at most.

    >>> noisy_count(0, 1, Fraction(1, 3))
    {0: Fraction(3, 4), 1: Fraction(1, 4)}
    """
    law = {}
    for output in range(top + 1):
        power = ratio ** abs(output - count)
        law[output] = power / (1 + ratio) if output in (0, top) else power * (1 - ratio) / (1 + ratio)
    return law
