"""Staircase noise: whole numbers whose probability falls by steps, and the first of a list that a definition accepts.

Where an answer moves by at most `width`, noise that falls once in `width` numbers loses what geometric noise of that
scale loses, and at large epsilon errs far less ([GV14]). Against attackers who hold a prior nothing of the kind is
proved: `verify` decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tetraodon.errors import NoiseError, Refused
from tetraodon.exponent import exp_above
from tetraodon.pufferfish.channel import Channel
from tetraodon.pufferfish.definition import Definition
from tetraodon.pufferfish.verification import verify
from tetraodon.pufferfish.wasserstein import wasserstein
from tetraodon.pufferfish.world import World
from tetraodon.rational import rational

WIDEST = 1000
MOST_OUTPUTS = 100_000


@dataclass(frozen=True)
class Staircase:
    """Whole numbers k, `fall` times as likely with every step down: |k| below `top` first, then `width` numbers each.

    >>> Staircase("1/2", width=2, top=1).weight(0), Staircase("1/2", width=2, top=1).weight(-2)
    (Fraction(1, 1), Fraction(1, 2))
    >>> Staircase("1/2", width=1, top=1).variance  # the geometric law
    Fraction(4, 1)
    """

    fall: Any
    width: int
    top: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "fall", rational(self.fall, name="fall"))
        if not 0 < self.fall < 1:
            raise NoiseError("a staircase does not fall", fix="write a fall above 0 and below 1")
        if not 1 <= self.top <= self.width <= WIDEST:
            raise NoiseError("a staircase has no such steps", fix=f"write 1 <= top <= width <= {WIDEST}")

    def weight(self, k: int) -> Fraction:
        """The likelihood of k, where that of 0 is one."""
        weight: Fraction = self.fall ** ((abs(k) - self.top) // self.width + 1)
        return weight

    @property
    def mass(self) -> Fraction:
        """The sum of all weights."""
        fall: Fraction = self.fall
        return 2 * self.top - 1 + 2 * self.width * fall / (1 - fall)

    @property
    def variance(self) -> Fraction:
        """The sum of k^2 over steps, with sums of fall^n, n fall^n and n^2 fall^n in closed form."""
        f: Fraction = self.fall
        w, t = self.width, self.top
        steps, first, second = f / (1 - f), f / (1 - f) ** 2, f * (1 + f) / (1 - f) ** 3
        inside = Fraction(sum(k * k for k in range(t)))
        offsets = range(t - w, t)  # numbers of step n are n * width + one of these
        squares, singles = sum(k * k for k in offsets), sum(offsets)
        below = steps * squares + 2 * w * first * singles + w * w * w * second
        return 2 * (inside + below) / self.mass

    def on(self, query: Callable[[Any], int], world: World) -> Channel:
        """The query with this noise, written out; outputs beyond every answer stand for all that a step repeats.

        Why   `width` further out than all answers, all likelihoods have fallen by the same factor: such outputs tell
              the same, and one that stands for them all tells no less.
        """
        answers = [_whole(query(dataset)) for dataset in world.datasets]
        low, high = min(answers) - self.top, max(answers) + self.top
        if high - low > MOST_OUTPUTS:
            raise Refused("the answers are too far apart to write every output out", fix="take a smaller world")
        outer = [low - n for n in range(self.width)] + [high + n for n in range(self.width)]
        whole = 1 / (self.mass * (1 - self.fall))
        outputs = (*range(low + 1, high), *outer)
        rows = [
            [self.weight(k - answer) / self.mass for k in range(low + 1, high)]
            + [self.weight(k - answer) * whole for k in outer]
            for answer in answers
        ]
        return Channel(rows, world.datasets, outputs, world.names)


def first_accepted(mechanisms: Iterable[Any], definition: Definition) -> Any:
    """The first of a list of mechanisms that `verify` accepts: the best, where they are listed so.

    >>> from tetraodon.pufferfish import pairs, scenarios
    >>> coin = World.product((0, 1), individuals=1)
    >>> level = Definition(pairs.values(), scenarios.independent(), odds=("1/3", 3))
    >>> stairs = [Staircase(f"1/{n}", width=1, top=1) for n in (5, 4, 3, 2)]
    >>> first_accepted([one.on(sum, coin) for one in stairs], level) == stairs[2].on(sum, coin)
    True
    """
    for mechanism in mechanisms:
        if verify(mechanism, definition).holds is True:
            return mechanism
    raise Refused("none of these mechanisms keeps the definition", fix="list noisier ones")


def least_staircase(
    query: Callable[[Any], int], definition: Definition, world: World, *, falls: Sequence[Any] | None = None
) -> Staircase:
    """The staircase of the least variance that keeps a definition, among all widths that can matter and listed falls.

    Pre   the query gives whole numbers, the definition lists its attackers.
    Post  nothing of that list with less variance is accepted. Without `falls`: e^-epsilon just above, and all 256ths.
    """
    farthest = wasserstein(query, definition, world)[1].distance
    if definition.epsilon is None or farthest.denominator != 1:
        raise Refused("staircases are searched for whole numbers and an epsilon", fix="use `first_accepted`")
    listed = [rational(fall, name="a fall") for fall in falls or _falls(definition.epsilon)]
    widths = range(1, int(farthest) + 1)
    stairs = [Staircase(fall, width, top) for fall in listed for width in widths for top in range(1, width + 1)]
    stairs.sort(key=lambda one: one.variance)
    for one in stairs:
        if verify(one.on(query, world), definition).holds is True:
            return one
    raise Refused("none of the staircases keeps the definition", fix="list falls nearer to 1")


def _falls(epsilon: Fraction) -> list[Fraction]:
    """The fall of a staircase whose one step costs epsilon, just above it, and others on both sides."""
    near = Fraction(math.floor(exp_above(-epsilon) * 2**20) + 1, 2**20)
    return [near, *(Fraction(n, 256) for n in range(1, 256))]


def _whole(answer: Any) -> int:
    exact = rational(answer, name="an answer")
    if exact.denominator != 1:
        raise NoiseError("discrete noise is added to whole numbers", fix="round or rescale the query")
    return int(exact)
