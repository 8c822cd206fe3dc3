"""Exact numbers at the door: a typed `0.1` means one tenth, not the nearest double."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Integral, Real
from typing import TypeAlias

from tetraodon.errors import PolicyError
from tetraodon.exact.exponent import log_above

READABLE = re.compile(r"[+-]?(\d{1,400}(/\d{1,400})?|(\d{1,400}\.?\d{0,400}|\.\d{1,400})([eE][+-]?\d{1,3})?)", re.ASCII)
"""Texts that are numbers of a sane length: `1e999999999` would take all memory there is."""

LONGEST, MAGNITUDE = 2_000, 1_000
"""Characters of a text, and decimal places before or after the point of a Decimal, that are read at all."""

STATED = re.compile(r"-?\d{1,4000}(/\d{1,4000}|\.\d{1,4000})?", re.ASCII)
"""How our own files write exact numbers: without an exponent, and no longer than Python reads."""

ROUNDING = Fraction(1, 10**12)
"""How far from one floats may sum that are taken for probabilities all the same."""

Number: TypeAlias = int | float | str | Decimal | Fraction | Real
"""Whatever means a number: those of NumPy too."""


class Exact(Fraction):
    """A fraction that is shown as a decimal, with its exact value in brackets where six digits round it.

    >>> Exact(1, 10), Exact(81039, 18328)
    (0.1, 4.4216 (81039/18328))
    >>> f"{Exact(1, 3):.2f}", str(Exact(1, 3)), Exact(1, 3) + 1
    ('0.33', '1/3', Fraction(4, 3))
    """

    __slots__ = ()

    def __repr__(self) -> str:
        short = f"{float(self):.6g}"
        return short if Fraction(short) == self else f"{short} ({self})"

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)


def exact_or_infinite(number: Fraction | float) -> Fraction | float:
    """A loss as it is shown: an `Exact` fraction, or infinity."""
    return Exact(number) if isinstance(number, Fraction) else number


def rational(number: Number, *, name: str = "number") -> Fraction:
    """The exact value of a number as its writer meant it.

    Post  ints, Fractions and Decimals keep their value; a float means its shortest decimal form;
          a string may be `0.1`, `1e-6` or `1/3`.
    Raises PolicyError for anything that is not a finite number; bools are not numbers here.

    >>> rational(0.1), rational("1e-3"), rational("2/6")
    (Fraction(1, 10), Fraction(1, 1000), Fraction(1, 3))
    """
    if type(number) is Fraction:
        return number
    if isinstance(number, float) and math.isfinite(number):
        return Fraction(Decimal(repr(float(number))))  # Decimal reads a text much faster than Fraction does
    fix = "write a finite number such as 3, 0.1, 1e-6 or 1/3"
    if isinstance(number, Integral) and not isinstance(number, bool):
        return Fraction(int(number))
    if isinstance(number, bool) or not isinstance(number, (float, str, Decimal, Fraction, Real)):
        raise PolicyError(f"{name} is not a number", fix=fix)
    if not isinstance(number, (float, str, Decimal, Fraction)):  # a float of NumPy's, by its shortest decimal form too
        number = str(number)
    try:
        if isinstance(number, str):
            text = number.strip().replace("_", "") if len(number) <= LONGEST else ""
            if not READABLE.fullmatch(text):
                raise ValueError
            return Fraction(text)
        if isinstance(number, Decimal) and number.is_finite() and abs(number.adjusted()) > MAGNITUDE:
            raise ValueError
        return Fraction(number)
    except (ValueError, ZeroDivisionError, OverflowError, InvalidOperation):
        raise PolicyError(f"{name} is not a finite number", fix=fix) from None


def stated_number(text: object) -> Fraction:
    """The exact number that a file of ours states. Raises ValueError for anything that we would not have written.

    Why  `Fraction` itself reads `1e999999999`, which takes all the memory there is.

    >>> stated_number("1/3"), stated_number("0.25")
    (Fraction(1, 3), Fraction(1, 4))
    """
    if isinstance(text, str) and len(text) <= 8_001 and STATED.fullmatch(text):
        return Fraction(text)
    raise ValueError("this is not an exact number as text")


def probabilities(numbers: Iterable[Number], *, name: str = "a probability") -> tuple[Fraction, ...]:
    """Exact probabilities. Of floats that sum to one but for their last digits the largest takes up the difference.

    Why  a row of floats seldom sums to one to the last digit, whatever was meant. Whether the sum is one is for the
         caller to check: anything else comes back as it was written.

    >>> probabilities([1 / 3, 2 / 3])[1] == 1 - rational(1 / 3), sum(probabilities(["1/3", 0.5]))
    (True, Fraction(5, 6))
    """
    written = tuple(numbers)
    exact = [rational(number, name=name) for number in written]
    missing = 1 - exact_sum(exact)
    if 0 < abs(missing) <= ROUNDING and any(isinstance(number, float) for number in written):
        exact[max(range(len(exact)), key=lambda place: float(exact[place]))] += missing
    return tuple(exact)


def exact_sum(numbers: Sequence[Fraction]) -> Fraction:
    """The exact sum of many fractions, over one common denominator.

    >>> exact_sum([Fraction(1, 2), Fraction(1, 3)])
    Fraction(5, 6)
    """
    common = math.lcm(*{number.denominator for number in numbers})
    return Fraction(sum(number.numerator * (common // number.denominator) for number in numbers), common)


def decimal_text(number: Fraction) -> str:
    """The shortest text that reads back as exactly this number: `0.1`, `3` or `1/3`.

    >>> decimal_text(Fraction(1, 10)), decimal_text(Fraction(6, 2)), decimal_text(Fraction(1, 3))
    ('0.1', '3', '1/3')
    """
    rest = number.denominator
    twos = fives = 0
    while rest % 2 == 0:
        rest //= 2
        twos += 1
    while rest % 5 == 0:
        rest //= 5
        fives += 1
    places = max(twos, fives)
    if rest != 1 or places > 15:
        return str(number)
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    sign = "-" if number < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def rounded_up(number: Fraction, *, digits: int = 12) -> Fraction:
    """The least number of `digits` decimals that is not below `number`."""
    unit = 10**digits
    return Fraction(-((-number.numerator * unit) // number.denominator), unit)


def log_rounded_up(ratio: Fraction, *, digits: int = 12) -> Fraction:
    """The natural logarithm of a number of at least 1, rounded up to `digits` decimals.

    >>> log_rounded_up(Fraction(1)), float(log_rounded_up(Fraction(2)))
    (Fraction(0, 1), 0.69314718056)
    """
    if ratio < 1:
        raise PolicyError("a ratio is below 1", fix="give the larger likelihood first")
    return rounded_up(log_above(ratio), digits=digits)


def confidence_level(number: Number) -> Fraction:
    """A confidence, however people write it: 95, 95% and 0.95 are the same.

    >>> confidence_level(95) == confidence_level("95%") == confidence_level(0.95)
    True
    """
    percent = isinstance(number, str) and number.rstrip().endswith("%")
    given = rational(number.rstrip()[:-1] if percent and isinstance(number, str) else number, name="the confidence")
    sure = given / 100 if percent or given > 1 else given
    if not 0 < sure < 1 or given == 1 != percent:
        raise PolicyError("the confidence is not between 0 and 100%", fix="write 95, 95% or 0.95")
    return sure


def row_reduced(matrix: Sequence[Sequence[Fraction]], columns: int) -> tuple[list[list[Fraction]], list[int]]:
    """The rows after exact elimination in the first `columns`, and the columns that lead a row, in order.

    >>> rows, leading = row_reduced([[Fraction(2), Fraction(4)], [Fraction(1), Fraction(2)]], 2)
    >>> rows[0], leading
    ([Fraction(1, 1), Fraction(2, 1)], [0])
    """
    rows, leading = [list(row) for row in matrix], list[int]()
    for column in range(columns):
        at = len(leading)
        found = next((k for k in range(at, len(rows)) if rows[k][column]), None)
        if found is None:
            continue
        rows[at], rows[found] = rows[found], rows[at]
        lead = rows[at][column]
        rows[at] = [entry / lead for entry in rows[at]]
        for k, row in enumerate(rows):
            if k != at and row[column]:
                factor = row[column]
                rows[k] = [a - factor * b if b else a for a, b in zip(row, rows[at], strict=True)]
        leading.append(column)
    return rows, leading
