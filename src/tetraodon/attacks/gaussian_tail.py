"""A Gaussian release that is 13,000 times as likely for one value as for the other."""

from __future__ import annotations

import math

from scipy.special import ndtr

from tetraodon.attacks.attack import Attack, Story
from tetraodon.attacks.picture import lines, rounded
from tetraodon.pufferfish import Additive, Gaussian, Laplace, World, named, verify

SEEN = 10


def run() -> Story:
    world = World.product((0, 1), individuals=1)
    normal = Additive(sum, Gaussian(1), world)
    pure = verify(normal, named.indistinguishability(epsilon=1))
    forgiven = verify(normal, named.indistinguishability(epsilon=1, delta="0.127"))
    double = verify(Additive(sum, Laplace(1), world), named.indistinguishability(epsilon=1))
    ratio = "times as likely for 1 as for 0"
    outputs = [n / 2 for n in range(-4, 2 * SEEN + 1)]
    rows = [{"published": y, ratio: rounded(math.exp(y - 0.5)), "noise": "Gaussian, deviation 1"} for y in outputs]
    rows += [
        {"published": y, ratio: rounded(math.exp(abs(y) - abs(y - 1))), "noise": "Laplace, scale 1"} for y in outputs
    ]
    odds = math.exp(SEEN - 0.5)
    assert forgiven.delta is not None
    return Story(
        words=f"Bob's bit is published with standard Gaussian noise, and the result happens to be {SEEN}. That is "
        f"{odds:,.0f} times as likely if the bit is 1 as if it is 0. The odds grow without bound: at delta = 0 no "
        "epsilon holds.",
        defence=f"Laplace noise of scale 1 never moves the odds by more than e = {math.exp(double.epsilon):.3f}, "
        "whatever is published. Or state delta: at epsilon 1 this Gaussian noise needs "
        f"{float(forgiven.delta[1]):.4f}, the part of such outputs that e^epsilon does not cover.",
        measure="belief that the bit is 1, from one half",
        attacked=odds / (1 + odds) if math.isinf(pure.epsilon) else 0.5,
        allowed=math.e / (1 + math.e),
        defended=math.exp(double.epsilon) / (1 + math.exp(double.epsilon)),
        numbers={
            "published": SEEN,
            "times as likely for 1 as for 0": rounded(odds),
            "chance of that or more, bit 1": rounded(float(ndtr(1 - SEEN))),
            "smallest delta at epsilon 1": rounded(float(forgiven.delta[1])),
        },
        chart=lines(rows, x="published", y=ratio, colour="noise", log="y", points=False),
    )


ATTACK = Attack("gaussian-tail", "A Gaussian release far out", "[MK15] Minimizing probabilistic failure", run)
