"""Every law of noise: the privacy loss that it states, against its own probabilities and its own draws.

A law enters certificates through `currency` and `rate` alone, so that a law which understates its loss passes every
other test. Here the loss is worked out anew from `pmf`, for shifts and scales of every size. A law of the table needs
no line here; a currency without a check fails.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import assert_never

import numpy as np
import pytest

from tetraodon.certificate.kernel import certify_measurements
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.exact.zcdp import epsilon_at
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, LAWS, Currency, NoiseLaw
from tetraodon.policy.attribute_graph import Everything
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.query.linear import LinearQuery, Measurement
from tetraodon.query.number import Number

SCALES = [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(12)]
SHIFTS = [1, 2, 3, 10]
ORDERS = [1.001, 1.5, 2.0, 3.0, 8.0, 32.0]
DELTAS = [Fraction(1, 10), Fraction(1, 10**3), Fraction(1, 10**6), Fraction(1, 10**9)]
FAR = 40
"""In scales: beyond, laws that fall as fast as e^(-|k| / scale) leave less than 1e-17 out."""
DRAWN, ALARM = 4000, 1e-12
"""Values drawn, and the chance that an honest sampler fails."""


@cache
def probabilities(law: NoiseLaw, scale: Fraction) -> np.ndarray:
    """P(k) from far below zero to far above it."""
    far = math.ceil(FAR * scale) + max(SHIFTS)
    return np.array([law.pmf(scale, k) for k in range(-far, far + 1)])


def logarithms(law: NoiseLaw, scale: Fraction, shift: int) -> tuple[np.ndarray, np.ndarray]:
    """log P(k) and log P(k - shift) wherever floats tell both from zero."""
    chance = probabilities(law, scale)
    here, there = chance[shift:], chance[:-shift]
    both = (here > 1e-280) & (there > 1e-280)
    return np.log(here[both]), np.log(there[both])


def check_probabilities(law: NoiseLaw, scale: Fraction) -> None:
    """`pmf` is a symmetric probability law that never rises, and draws follow it.

    Why   Dvoretzky, Kiefer and Wolfowitz: the empirical distribution is farther off than t with a chance of
          2 e^(-2 n t^2) at most.
    """
    chance = probabilities(law, scale)
    far = len(chance) // 2
    assert math.isclose(math.fsum(chance), 1, rel_tol=1e-12)
    assert (chance == chance[::-1]).all()
    assert (np.diff(chance[far:]) <= 0).all()
    drawn = np.clip(np.asarray(law.draw(scale, DRAWN), np.int64), -far, far) + far
    empirical = np.cumsum(np.bincount(drawn, minlength=2 * far + 1)) / DRAWN
    assert np.abs(empirical - np.cumsum(chance)).max() <= math.sqrt(math.log(2 / ALARM) / (2 * DRAWN))


def renyi(here: np.ndarray, there: np.ndarray, order: float) -> float:
    """The divergence of an order, or a little less: all terms are positive, and the farthest are left out."""
    powers = order * here + (1 - order) * there
    return float(powers.max() + math.log(math.fsum(np.exp(powers - powers.max())))) / (order - 1)


def check_loss(law: NoiseLaw, scale: Fraction, shift: int) -> None:
    """What the law states for a shift is not below what its probabilities give away, nor needlessly above it."""
    here, there = logarithms(law, scale, shift)
    stated = float(shift * law.rate(scale))
    match law.currency:
        case Currency.PURE:
            attained = float(np.abs(here - there).max())
            assert attained <= stated * (1 + 1e-9) + 1e-12, "the law understates its loss"
            assert attained >= stated * (1 - 1e-9), "no output attains the loss that the law states"
        case Currency.ZCDP:
            for order in ORDERS:
                assert renyi(here, there, order) <= order * stated**2 / 2 * (1 + 1e-6) + 1e-9, (
                    "the law understates its loss"
                )
            if 2 * shift <= 20 * scale:  # where the sum is near its peak inside the stretch
                assert renyi(here, there, 2.0) >= stated**2 * (1 - 1e-6), (
                    "no output attains the loss that the law states"
                )
            for delta in DELTAS:
                epsilon = float(epsilon_at(shift**2 * law.rate(scale) ** 2 / 2, delta))
                beyond = math.fsum(np.maximum(0, np.exp(here) - np.exp(np.minimum(epsilon + there, 0))))
                assert beyond <= float(delta) * (1 + 1e-9), "delta does not cover what lies beyond epsilon"
        case _:
            assert_never(law.currency)


def check_certificate(law: NoiseLaw, scale: Fraction, shift: int) -> None:
    """The kernel certifies a number that a secret moves by `shift` at what the law states."""
    attribute = Attribute("x", Integers(0, shift))
    graph = SecretGraph(Domain((attribute,)), (Factor(("x",), Everything(shift + 1)),), 1)
    made = certify_measurements(graph, [Measurement(LinearQuery(Number(attribute)), scale, law)], delta=DELTAS[2])
    stated = shift * law.rate(scale)
    assert (made.epsilon if law.currency is Currency.PURE else made.rho) == (
        stated if law.currency is Currency.PURE else stated**2 / 2
    )


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("law", list(LAWS.values()), ids=list(LAWS))
def test_every_law_states_the_loss_of_its_probabilities(law: NoiseLaw, scale: Fraction) -> None:
    check_probabilities(law, scale)
    for shift in SHIFTS:
        check_loss(law, scale, shift)
        check_certificate(law, scale, shift)


@pytest.mark.parametrize("law", list(LAWS.values()), ids=list(LAWS))
def test_rates_fall_as_scales_grow(law: NoiseLaw) -> None:
    """Plans scale noise to a budget by this."""
    assert len({law.rate(scale) * scale for scale in (*SCALES, Fraction(10**9), Fraction(1, 10**6))}) == 1


def wrong_by(law: NoiseLaw, times: Fraction) -> NoiseLaw:
    """The same law, stating so many times its loss."""

    class Wrong(type(law)):  # type: ignore[misc]
        __slots__ = ()

        def rate(self, scale: Fraction) -> Fraction:
            return law.rate(scale) * times

    return Wrong(law.name, law.words, law.width, law.field)


def with_draws_of(law: NoiseLaw, times: Fraction) -> NoiseLaw:
    """The same law, drawing at another scale than its probabilities say."""

    class Other(type(law)):  # type: ignore[misc]
        __slots__ = ()

        def draw(self, scale: Fraction, size: int | tuple[int, ...]) -> np.ndarray:
            return law.draw(scale * times, size)

    return Other(law.name, law.words, law.width, law.field)


def wrong() -> Iterator[tuple[NoiseLaw, str]]:
    for law in (LAPLACE, GAUSSIAN):
        yield wrong_by(law, Fraction(1, 4)), "understates"
        yield wrong_by(law, Fraction(99, 100)), "understates"
        yield wrong_by(law, Fraction(4)), "attains"


@pytest.mark.parametrize("scale", SCALES[:3], ids=str)
@pytest.mark.parametrize(("law", "words"), list(wrong()), ids=lambda one: getattr(one, "name", one))
def test_a_law_that_states_another_loss_fails(law: NoiseLaw, words: str, scale: Fraction) -> None:
    with pytest.raises(AssertionError, match=words):
        check_loss(law, scale, 1)


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_a_law_that_draws_less_noise_than_it_states_fails(law: NoiseLaw) -> None:
    with pytest.raises(AssertionError):
        check_probabilities(with_draws_of(law, Fraction(1, 4)), Fraction(12))
