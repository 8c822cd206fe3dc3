"""What is made of mechanisms that cannot be written out: post-processed, or chosen at random.

Both axioms of [KM12] Thm 5.1 give an upper bound; the loss may well be smaller. For mixtures an attacker gives a lower
one, and with one kind of noise the two meet: likelihoods are sums of e^(-|w - a| / b) still, so the worst output is a
combination of true answers, as for one such noise. What a function makes of noisy answers is bounded from above only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.errors import PolicyError
from tetraodon.exact.exponent import DIGITS, exp_below
from tetraodon.exact.rational import rational
from tetraodon.pufferfish.additive import Additive, Gaussian, Laplace
from tetraodon.pufferfish.definition import Verdict, log_range, witness_of
from tetraodon.pufferfish.largest_odds import Likelihoods, Peaks
from tetraodon.pufferfish.pairs import Masks
from tetraodon.pufferfish.world import World

MIXTURE_LIMIT = 1_000_000


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


def likelihoods(mixed: Mixed) -> Likelihoods | None:
    """Likelihoods of a mixture at all combinations of its parts' true answers; None where there are too many, or where
    the answer itself says which part it came from.
    """
    kinds = [tuple(map(type, part.noises)) for part in mixed.parts]
    if len(set(kinds)) > 1 or Gaussian in kinds[0]:
        return None
    every = [answer for part in mixed.parts for answer in part.answers]
    axes = [sorted({answer[n] for answer in every}) for n in range(len(kinds[0]))]
    if math.prod(map(len, axes)) * mixed.world.size * len(mixed.parts) > MIXTURE_LIMIT:
        return None
    outputs = tuple(itertools.product(*axes))
    heights = [weight * _height(part) for weight, part in zip(mixed.weights, mixed.parts, strict=True)]
    values, places = [Fraction(0)], np.zeros((mixed.world.size, len(outputs)), np.int64)
    for part, height in zip(mixed.parts, heights, strict=True):
        powers, more = part.exponents(outputs).distinct
        both, places = np.unique(places * len(powers) + more, return_inverse=True)
        places = places.reshape(more.shape)
        chances = [height * exp_below(-power) for power in powers]
        values = [values[n // len(powers)] + chances[n % len(powers)] for n in both.tolist()]
    seen = tuple(output[0] if len(output) == 1 else output for output in outputs)
    return Likelihoods(mixed.world, seen, values, places, Fraction(1, 10 ** (DIGITS // 2)))


def _height(part: Additive) -> Fraction:
    """The likelihood of the true answers themselves: the constant of the noise, far more exact than is said."""
    height = Fraction(1)
    for noise in part.noises:
        assert not isinstance(noise, Gaussian)
        if isinstance(noise, Laplace):
            height /= 2 * noise.scale
        else:
            ratio = exp_below(-1 / noise.scale)
            height *= (1 - ratio) / (1 + ratio)
    return height


def attacked(above: Verdict, table: Likelihoods, masks: Masks, peaks: Peaks, *, sharp: bool) -> Verdict:
    """An upper bound together with the best attacker among those who see one of the table's outputs.

    `sharp` says that no other output is worse, so that the two ends are the same.
    """
    if peaks.forward is None or peaks.backward is None:
        return above
    slack = 1 + 4 * table.error
    ends = [Fraction(peak.odds) for peak in (peaks.forward, peaks.backward)]
    best = peaks.forward if ends[0] >= ends[1] else peaks.backward
    low, high = log_range(max(ends) / slack)[0], log_range(max(ends) * slack)[1]
    holds = above.holds
    if not above.definition.allows(ends[0] / slack, ends[1] / slack):
        holds = False
    elif sharp and above.definition.allows(ends[0] * slack, ends[1] * slack):
        holds = True
    return replace(
        above,
        lower=min(low, above.upper),
        upper=min(high, above.upper) if sharp else above.upper,
        exact=sharp,
        holds=holds,
        witness=witness_of(table, masks, best, above.definition),
        method="all outputs at which a mixture of one kind of noise is worst" if sharp else above.method,
    )


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
