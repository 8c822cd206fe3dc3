"""Numbers and values in words. What is said to be 'at most' is rounded up, never down."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from tetraodon.domain import Attribute, Categories, Dates
from tetraodon.exact.rational import decimal_text
from tetraodon.wording import listing as listing
from tetraodon.wording import number_of as number_of

WORTHLESS, HOPELESS = Decimal(1000), Decimal("1e+100")
"""Odds beyond which a bound is no protection worth the name, and beyond which there is no sense in writing it out."""
_EXACT = Context(prec=40)


def odds(epsilon: Fraction, steps: int) -> Decimal:
    """e^(epsilon * steps), to forty digits: how many times the odds between two values can grow ([HMD14] Eq. 9).

    Post  infinite beyond e^1000, where there is nothing left to tell.
    """
    loss = epsilon * steps
    if loss > 1000:
        return Decimal("Infinity")
    return _EXACT.exp(_EXACT.divide(Decimal(loss.numerator), Decimal(loss.denominator)))


def chance(epsilon: Fraction, steps: int) -> Decimal:
    """e^(epsilon * steps) / (1 + e^(epsilon * steps)): how often a direct question would get a truthful answer."""
    factor = odds(epsilon, steps)
    if factor.is_infinite():
        return Decimal(1)
    return _EXACT.divide(factor, _EXACT.add(factor, Decimal(1)))


def times(factor: Decimal) -> str:
    """A factor below e^1000, rounded up: `1.65`, `22,027` or `1.3e+9`.

    >>> times(odds(Fraction(1, 2), 1)), times(odds(Fraction(1), 10)), times(odds(Fraction(1), 21))
    ('1.65', '22,027', '1.4e+9')
    """
    if factor < 100:
        return str(factor.quantize(Decimal("0.01"), ROUND_CEILING))
    if factor < 1_000_000:
        return f"{int(factor.to_integral_value(ROUND_CEILING)):,}"
    return str(Context(prec=2, rounding=ROUND_CEILING).plus(factor)).replace("E", "e")


def moves(factor: Decimal) -> str:
    """How far odds move: `at most 1.65 times`, or `more than 1e+100 times` where that is all there is to say."""
    return f"at most {times(factor)} times" if factor <= HOPELESS else "more than 1e+100 times"


def one_in(delta: Fraction) -> str:
    """A small probability, rounded up: `1 in 1,000,000`.

    >>> one_in(Fraction(1, 10**6)), one_in(Fraction(3, 10**7))
    ('1 in 1,000,000', '1 in 3,333,333')
    """
    return f"1 in {delta.denominator // delta.numerator:,}"


def percent(share: Decimal) -> str:
    """A share rounded up to a tenth of a percent, or to as many digits as keep it from looking like all.

    >>> percent(chance(Fraction(1), 1)), percent(chance(Fraction(1), 9)), percent(chance(Fraction(1), 90))
    ('73.2%', '99.99%', '100%')
    """
    for digits in range(1, 7):
        shown = (share * 100).quantize(Decimal(1).scaleb(-digits), ROUND_CEILING)
        if shown < 100:
            return f"{shown}%"
    return "100%"


def as_if(epsilon: Fraction) -> str:
    """What the odds of one step come to, in a picture."""
    if odds(epsilon, 1) > WORTHLESS:
        return (
            "It is no protection worth the name: somebody to whom both values were equally likely may be more than "
            "99.9% sure of the right one after. With epsilon 1 the odds would move at most 2.72 times."
        )
    share = percent(chance(epsilon, 1))
    return (
        f"It is as if the person were asked 'this or that?' and answered truthfully with a chance of at most {share}, "
        f"where 50% would say nothing at all: '{share} truthful', for short."
    )


def length(attribute: Attribute, positions: int) -> str:
    """How far apart two values are that lie some positions apart: `5`, `100 USD`, `3 days`, `1 rank`."""
    if isinstance(attribute.values, Dates):
        return number_of(positions, "day")
    if isinstance(attribute.values, Categories):
        return number_of(positions, "rank")
    far = positions * attribute.step
    return f"{decimal_text(far)} {attribute.unit_of(far)}".strip()


def valued(attributes: Sequence[Attribute], codes: Sequence[int], *, most: int = 6) -> str:
    """Values with their units, and with their names if there are several: `age 34, loss 100 USD`."""
    texts = [attribute.measured(code) for attribute, code in zip(attributes, codes, strict=True)]
    if len(texts) == 1:
        return texts[0]
    words = [f"{attribute.name} {text}" for attribute, text in zip(attributes, texts, strict=True)]
    return ", ".join(words[:most]) + (", ..." if len(words) > most else "")
