"""Calibration: the least noise that a definition accepts, by search; staircase and Rényi forms.

The Wasserstein mechanism pays for the farthest that any mass must travel; most of it travels less, and what is
published is the mixture. Where the law of the answer under each secret is known, the loss of every scale is too, and
it falls as the scale grows: noise of a larger scale is noise of a smaller one with more noise added to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.table_secret_loss import AnswerLaw, LawPair, certify_laws, largest_loss
from tetraodon.errors import NoiseError, Refused
from tetraodon.exact.exponent import exp_above
from tetraodon.exact.rational import Number, rational, rounded_up
from tetraodon.exact.zcdp import delta_of_normal, epsilon_at_order
from tetraodon.noise.laws import LAPLACE
from tetraodon.pufferfish.additive import Additive, Gaussian, Noise
from tetraodon.pufferfish.calibrated import AnswerGrid, Calibrated
from tetraodon.pufferfish.channel import Channel
from tetraodon.pufferfish.definition import Definition
from tetraodon.pufferfish.pairs import masks_of
from tetraodon.pufferfish.scenarios import Composable
from tetraodon.pufferfish.verification import verify
from tetraodon.pufferfish.wasserstein import Coupled, coupled_laws, wasserstein
from tetraodon.pufferfish.world import World

# -- least noise ------------------------------------------------------------------------------------

FINENESS = Fraction(1, 2000)
"""How much above the least scale a found one may be, relatively."""
LARGEST = Fraction(1 << 40)
UNKNOWN = Composable(False, None, "nothing is proved about a second release under the same laws of an answer")


@dataclass(frozen=True)
class LeastNoise(Calibrated):
    """One number with noise whose scale was searched for; `pairs` are the laws of the answer under the secrets."""

    pairs: tuple[LawPair, ...] = field(default=(), repr=False)
    searched: Fraction = Fraction(0)

    @property
    def scale(self) -> Fraction:
        return self.searched

    @property
    def certificate(self) -> Certificate:
        if not self.searched:
            return super().certificate
        return certify_laws(self.pairs, LAPLACE, self.searched, method=self.method)


def least_scale(accepts: Callable[[Fraction], bool], *, most: Fraction | None = None) -> Fraction:
    """The least scale that is accepted, to within a two-thousandth above it; `most` is known to be accepted.

    Pre   whatever is accepted is so at every larger scale.

    >>> float(least_scale(lambda scale: scale * scale >= 2))
    1.41455078125
    """
    high = most or Fraction(1)
    while most is None and not accepts(high):
        high *= 2
        if high > LARGEST:
            raise Refused("no noise that can be drawn is enough", fix="use a larger epsilon, or a coarser answer")
    low = Fraction(0) if most is not None or high == 1 else high / 2
    while high - low > FINENESS * high:
        middle = _short((low + high) / 2, high)
        if not low < middle < high:
            break
        if accepts(middle):
            high = middle
        else:
            low = middle
    return high


def _short(number: Fraction, near: Fraction) -> Fraction:
    """A number with few digits that is no more than a part of `FINENESS` away."""
    unit = Fraction(2) ** (math.floor(math.log2(near)) - 13)
    return round(number / unit) * unit


def least_noise_on(
    pairs: Sequence[LawPair],
    *,
    epsilon: Number,
    promise: str,
    answer: Callable[[Any], int] = sum,
    composable: Composable = UNKNOWN,
    most: Fraction | None = None,
) -> LeastNoise:
    """Discrete Laplace noise of the least scale that keeps epsilon, from the laws of an answer under each secret.

    Pre   the answer is a whole number, and the pairs are all that the definition protects, for all its attackers.

    >>> one, other = AnswerLaw.of({0: Fraction(1)}), AnswerLaw.of({0: Fraction(1, 2), 1: Fraction(1, 2)})
    >>> found = least_noise_on([LawPair(one, other, "a coin")], epsilon=1, promise="a coin")
    >>> 0.67 < found.scale < 0.68, found.certificate.epsilon <= 1
    (True, True)
    """
    budget = rational(epsilon, name="epsilon")
    moves = any(not math.isclose(pair.loss(Fraction(1))[1], 0, abs_tol=1e-9) for pair in pairs)
    scale = (
        least_scale(lambda scale: largest_loss(pairs, LAPLACE.rate(scale))[1] <= budget, most=most)
        if moves
        else Fraction(0)
    )
    return LeastNoise(
        "answer",
        promise,
        budget,
        int(moves),
        AnswerGrid(Fraction(1), exact=True),
        answer,
        composable,
        "largest odds over the laws of the answer under each secret, by search",
        False,
        tuple(pairs),
        scale,
    )


def least_noise(query: Callable[[Any], Any], definition: Definition, world: World) -> Calibrated:
    """Discrete Laplace noise of the least scale that keeps a definition, for finitely many attackers.

    Post  never more than `wasserstein` adds.
    """
    known, _ = wasserstein(query, definition, world)
    if not known.steps:
        return known
    pairs = laws_in(known.answer, definition, world)
    assert definition.epsilon is not None
    found = least_noise_on(
        pairs,
        epsilon=definition.epsilon,
        promise=definition.text,
        answer=known.answer,
        composable=known.composable,
        most=known.scale,
    )
    return replace(found, grid=known.grid) if found.scale < known.scale else known


def laws_in(answer: Callable[[Any], int], definition: Definition, world: World) -> tuple[LawPair, ...]:
    """The laws of a whole-numbered answer under the secrets of every pair, for every attacker of a finite list.

    Pre   `definition.scenarios` lists its attackers.
    """
    answers = np.array([answer(dataset) for dataset in world.datasets], np.int64)
    masks = masks_of(definition.pairs.on(world), world)
    first = int(answers.min())
    error = (world.size + 2) * 2.0**-52
    found = []
    for prior in definition.scenarios.priors(world) or ():
        weights = np.array([float(weight) for weight in prior.on(world)])
        sums = [np.bincount(answers[mask] - first, weights[mask], int(np.ptp(answers)) + 1) for mask in masks.masks]
        for pair, one, other in zip(masks.pairs, masks.first.tolist(), masks.second.tolist(), strict=True):
            if sums[one].any() and sums[other].any():
                laws = [AnswerLaw(first, sums[side], error) for side in (one, other)]
                found.append(LawPair(laws[0], laws[1], f"{pair.text}, for {prior.name}"))
    return tuple(found)


def least_accepted(
    noise: Callable[[Fraction], Noise], query: Callable[[Any], Any], definition: Definition, world: World
) -> Additive:
    """A query with the least noise of a family that `verify` accepts: any definition, one number or several, any kind.

    Pre   `noise` makes noise of a scale, and more of it is accepted wherever less is.

    >>> from tetraodon.pufferfish import Definition, Laplace, pairs, scenarios
    >>> coin = World.product((0, 1), individuals=1)
    >>> level = Definition(pairs.values(), scenarios.independent(), epsilon=2)
    >>> float(least_accepted(Laplace, sum, level, coin).noise.scale)
    0.5
    """

    def made(scale: Fraction) -> Additive:
        return Additive(query, noise(scale), world)

    return made(least_scale(lambda scale: verify(made(scale), definition).holds is True))


# -- staircase --------------------------------------------------------------------------------------
# Staircase noise: whole numbers whose probability falls by steps, and the first of a list that a definition accepts.
#
# Where an answer moves by at most `width`, noise that falls once in `width` numbers loses what geometric noise of that
# scale loses, and at large epsilon errs far less ([GV14]). Against attackers who hold a prior nothing of the kind is
# proved: `verify` decides.

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


# -- renyi ------------------------------------------------------------------------------------------
# Rényi Pufferfish: Gaussian noise for how far a secret moves the law of an answer ([PBTB24]).
#
# The two laws of an answer are coupled in their order, which on the line is best. Between two coupled answers d
# apart, Gaussian noise has a Rényi divergence of order a of a d^2 / (2 sigma^2), and a delta that is known exactly.
# What is published is a mixture of coupled answers, and both are convex. So the delta is at most that of the farthest
# two, W apart; and e^((a - 1) divergence) is at most the average of e^(a (a - 1) d^2 / (2 sigma^2)) over the
# coupling, which for low orders pays for what most of the mass travels, and not for W.

ORDERS = tuple(1 + Fraction(round(10**6 * 1.25**place), 10**6) for place in range(-20, 40))
"""Those at which a delta is looked for."""
ROUNDING = 1e-12
"""More than the relative error of a sum of exponentials in floats."""


@dataclass(frozen=True)
class GaussianAnswer:
    """One number with Gaussian noise of standard deviation `sigma`, and how far secrets move the law of the number.

    `sigma` is 0 where no secret moves it.
    """

    query: Callable[[Any], Any]
    sigma: Fraction
    definition: Definition
    moved: tuple[Coupled, ...] = field(repr=False)
    composable: Composable

    @property
    def farthest(self) -> Fraction:
        """The infinity-Wasserstein distance W: the farthest that any mass must travel."""
        return max((one.farthest for one in self.moved), default=Fraction(0))

    @property
    def rho(self) -> Fraction:
        """What divergences of every order are bounded by, times the order: W^2 / (2 sigma^2)."""
        return self.farthest**2 / (2 * self.sigma**2) if self.farthest else Fraction(0)

    def renyi(self, order: Number) -> Fraction:
        """A bound on the Rényi divergence of an order between the noisy answers under two secrets, for any attacker."""
        return _divergence(self.moved, self.sigma, rational(order, name="the order"))

    def on(self, world: World) -> Additive:
        """The mechanism in a small world, to be verified."""
        if not self.sigma:
            raise NoiseError("an exact answer has no noise to verify", fix="verify it as a Channel")
        return Additive(self.query, Gaussian(self.sigma), world)


def gaussian_wasserstein(
    query: Callable[[Any], Any], definition: Definition, world: World, *, order: Number | None = None
) -> GaussianAnswer:
    """Gaussian noise on one number that keeps a definition: (epsilon, delta), or with an `order` a Rényi divergence of
    that order of at most epsilon.

    Pre   finitely many attackers; the answer is one number.
    Post  sigma is to a two-thousandth the least that the coupling proves: for (epsilon, delta) by the normal law at the
          infinity-Wasserstein distance, or at the best order, whichever needs less noise.
    """
    if definition.epsilon is None or bool(definition.delta) == (order is not None):
        raise Refused(
            "Gaussian noise keeps an epsilon with a delta, or a divergence of an order",
            fix="write the definition with epsilon=... and delta=..., or leave delta out and give order=...",
        )
    epsilon, delta = definition.epsilon, definition.delta
    moved = tuple(one for one in coupled_laws(query, definition, world).found if one.farthest)
    composable = definition.scenarios.composability(definition.pairs, world)
    if not moved:
        return GaussianAnswer(query, Fraction(0), definition, (), composable)
    far = max(one.farthest for one in moved) ** 2
    if order is not None:
        exact = _checked(rational(order, name="the order"))
        sigma = least_scale(lambda sigma: _divergence(moved, sigma, exact) <= epsilon)
        return GaussianAnswer(query, sigma, definition, moved, composable)
    plain = least_scale(lambda sigma: delta_of_normal(far / sigma**2, epsilon) <= delta)
    sigma = least_scale(lambda sigma: sigma >= plain or _epsilon(moved, sigma, delta) <= epsilon, most=plain)
    return GaussianAnswer(query, sigma, definition, moved, composable)


def renyi_together(answers: Sequence[GaussianAnswer], *, delta: Number) -> Fraction:
    """The epsilon, at a delta, of several answers that are released together with independent noise.

    Pre   all keep one definition, and were chosen before any of them was seen.
    Why   where a secret leaves one dataset, or the definition compares datasets two at a time, noisy answers are
          independent under each secret, and divergences of one order add up. Elsewhere they need not: an answer that
          tells nothing alone may tell everything together with another. That is refused; `verify` looks at small
          worlds.
    """
    if any(one.definition != answers[0].definition for one in answers):
        raise Refused("answers that keep different definitions are not added up", fix="calibrate them to one of them")
    for one in answers:
        if not one.composable.adds_up:
            raise Refused(
                f"divergences are not known to add up: {one.composable.reason}",
                fix="release one number, or verify both together on a small world: first.with_(second)",
            )
    chance = rational(delta, name="delta")
    return min(
        epsilon_at_order(order, sum((one.renyi(order) for one in answers), Fraction(0)) / order, chance)
        for order in ORDERS
    )


def _epsilon(moved: Sequence[Coupled], sigma: Fraction, delta: Fraction) -> Fraction:
    """What divergences give at a delta, at the best order ([CKS20] Cor. 13)."""
    return min(epsilon_at_order(order, _divergence(moved, sigma, order) / order, delta) for order in ORDERS)


def _divergence(moved: Sequence[Coupled], sigma: Fraction, order: Fraction) -> Fraction:
    """The largest bound over couplings, rounded up; never above order W^2 / (2 sigma^2)."""
    if not moved:
        return Fraction(0)
    times = float(order * (order - 1) / (2 * sigma**2))
    found = max(one.log_average(times) for one in moved) / float(order - 1)
    most = order * max(one.farthest for one in moved) ** 2 / (2 * sigma**2)
    return min(most, rounded_up(Fraction(found * (1 + ROUNDING))))


def _checked(order: Fraction) -> Fraction:
    if order <= 1:
        raise Refused("a Rényi divergence is of an order above 1", fix="write order=2, for instance")
    return order
