"""Losses over laws of an answer: the bounds enclose what exact arithmetic finds."""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from tetraodon.certificate.table_secret_loss import AnswerLaw, LawPair, certify_laws, largest_loss
from tetraodon.errors import NoiseError, Refused
from tetraodon.noise.laws import GAUSSIAN, LAPLACE


def exact_loss(laws: list[dict[int, Fraction]], rate: Fraction) -> Decimal:
    """The largest |log ratio| in fifty digits, over every output from the least answer to the largest."""
    numbers = [number for law in laws for number in law]
    with localcontext() as context:
        context.prec = 50
        step = -decimal(rate)
        worst = Decimal(0)
        for told in range(min(numbers) - 2, max(numbers) + 3):
            one, other = (
                sum(decimal(p) * (step * abs(told - a)).exp() for a, p in law.items()) / decimal(sum(law.values()))
                for law in laws
            )
            worst = max(worst, abs((one / other).ln()))
        return worst


def decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def test_the_bounds_enclose_the_loss_in_fifty_digits() -> None:
    chance = random.Random(5)
    for _ in range(60):
        laws = [
            {chance.randrange(-4, 12): Fraction(chance.randrange(1, 1000), 1000) for _ in range(chance.randrange(1, 6))}
            for _ in range(2)
        ]
        rate = Fraction(chance.randrange(1, 4000), 1000)
        low, high = LawPair(*map(AnswerLaw.of, laws), "test").loss(rate)
        truth = exact_loss(laws, rate)
        assert Decimal(low) <= truth <= Decimal(high)
        assert high - low < 1e-10


def test_what_is_lost_beside_the_answer_is_added() -> None:
    same = AnswerLaw.of({0: Fraction(1)})
    assert 0.5 <= LawPair(same, same, "test", 0.5).loss(Fraction(1))[1] < 0.5 + 1e-9


def test_what_doubles_cannot_hold_counts_as_infinite() -> None:
    far = AnswerLaw.of({0: Fraction(1)}), AnswerLaw.of({5000: Fraction(1)})
    assert LawPair(*far, "test").loss(Fraction(1))[1] == math.inf
    found = certify_laws([LawPair(*far, "test")], LAPLACE, Fraction(1), method="test")
    assert found.epsilon == math.inf
    assert largest_loss([], Fraction(1)) == (0.0, 0.0)


def test_refusals() -> None:
    for weights in ([], [-1.0], [math.nan], [0.0], [[1.0]]):  # the last has an axis too many
        with pytest.raises(Refused, match="no law"):
            AnswerLaw(0, np.array(weights))
    with pytest.raises(Refused, match="well enough"):
        AnswerLaw(0, np.ones(1), error=0.5)
    with pytest.raises(Refused, match="empty"):
        AnswerLaw.of({})
    with pytest.raises(Refused, match="too many"):
        AnswerLaw.of({0: Fraction(1), 1 << 40: Fraction(1)})
    with pytest.raises(Refused, match="too far"):
        LawPair(AnswerLaw.of({0: Fraction(1)}), AnswerLaw.of({1 << 30: Fraction(1)}), "test").loss(Fraction(1))
    with pytest.raises(NoiseError, match="without a delta"):
        certify_laws([], GAUSSIAN, Fraction(1), method="test")
