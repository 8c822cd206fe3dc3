"""Rényi Pufferfish: Gaussian noise for how far a secret moves the law of an answer ([PBTB24]).

The two laws of an answer are coupled in their order, which on the line is best. Between two coupled answers d apart,
Gaussian noise has a Rényi divergence of order a of a d^2 / (2 sigma^2), and a delta that is known exactly. What
is published is a mixture of coupled answers, and both are convex. So the delta is at most that of the farthest two, W
apart; and e^((a - 1) divergence) is at most the average of e^(a (a - 1) d^2 / (2 sigma^2)) over the coupling, which for
low orders pays for what most of the mass travels, and not for W.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tetraodon.errors import NoiseError, Refused
from tetraodon.one_release import delta_of_normal
from tetraodon.pufferfish.additive import Additive, Gaussian
from tetraodon.pufferfish.definition import Definition
from tetraodon.pufferfish.least_noise import least_scale
from tetraodon.pufferfish.scenario import Composable
from tetraodon.pufferfish.wasserstein import Coupled, coupled_laws
from tetraodon.pufferfish.world import World
from tetraodon.rational import Number, rational, rounded_up
from tetraodon.zcdp import epsilon_at_order

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
          tells nothing alone may tell everything beside another. So that is refused; `verify` looks at small worlds.
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
