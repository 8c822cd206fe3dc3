"""The values of an attribute as a database holds them: one type, and the value at each code.

The tuples of a view and the tuples of the whole domain are made by the same expressions, so that a condition means
the same on both.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import assert_never

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Grid, Integers
from tetraodon.engine.duckdb_sql import text

WIDEST = 38
"""Digits of the widest exact decimal."""


def sql_type(attribute: Attribute) -> str:
    """The database's type for an attribute's values: exact whenever the values have finitely many decimals.

    >>> sql_type(Attribute("weight", Grid(Fraction(0), Fraction(100), Fraction(1, 2))))
    'DECIMAL(6, 1)'
    """
    match attribute.values:
        case Integers():
            return "BIGINT" if _fits(attribute, 62) else "HUGEINT"
        case Grid():
            places = decimals(attribute.values)
            if places is None:
                return "DOUBLE"
            digits = max(len(str(abs(_units(attribute.number(code), places)))) for code in (0, attribute.size - 1))
            return f"DECIMAL({max(digits, places) + 2}, {places})" if digits + 2 <= WIDEST else "DOUBLE"
        case Dates():
            return "DATE"
        case Booleans():
            return "BOOLEAN"
        case Categories():
            return "VARCHAR"
        case _:
            assert_never(attribute.values)


def sql_value(attribute: Attribute, code: str) -> str:
    """The value at a code, as an expression of the database over an expression for the code."""
    kind = sql_type(attribute)
    match attribute.values:
        case Integers():
            return f"CAST(CAST({code} AS {kind}) + ({attribute.values.low}) AS {kind})"
        case Grid():
            low, step = attribute.values.low, attribute.values.step
            if kind == "DOUBLE":
                top, below = _over(low, step)
                return f"((CAST({code} AS DOUBLE) * {top[1]} + {top[0]}) / {below})"
            places = decimals(attribute.values) or 0
            whole = f"CAST({code} AS HUGEINT) * {_units(step, places)} + ({_units(low, places)})"
            unit = f"CAST({_decimal(places)} AS DECIMAL({places + 1}, {places}))"
            return f"CAST(CAST({whole} AS DECIMAL({WIDEST - places - 1}, 0)) * {unit} AS {kind})"
        case Dates():
            return f"(DATE '{attribute.values.first.isoformat()}' + CAST({code} AS INTEGER))"
        case Booleans():
            return f"({code} = 1)"
        case Categories():
            return f"([{', '.join(map(text, attribute.values.labels))}])[{code} + 1]"
        case _:
            assert_never(attribute.values)


def sql_code(attribute: Attribute, column: str) -> str:
    """The code of a value that a view's file holds, as an expression of the database over its column."""
    values = attribute.values
    match values:
        case Integers():
            return f"(CAST({column} AS {sql_type(attribute)}) - ({values.low}))"
        case Grid():
            low, step = repr(float(values.low)), repr(float(values.step))
            return f"CAST(round((CAST({column} AS DOUBLE) - ({low})) / {step}) AS BIGINT)"
        case Dates():
            return f"CAST(CAST({column} AS DATE) - DATE '{values.first.isoformat()}' AS BIGINT)"
        case Booleans():
            return f"CAST({column} AS BIGINT)"
        case Categories():
            return f"CAST(enum_code(CAST({column} AS ENUM({', '.join(map(text, values.labels))}))) AS BIGINT)"
        case _:
            assert_never(values)


def decimals(values: Grid) -> int | None:
    """How many decimals the values of a grid need; None when no number of them is enough."""
    below = _over(values.low, values.step)[1]
    for places in range(WIDEST // 2):
        if 10**places % below == 0:
            return places
    return None


def _over(low: Fraction, step: Fraction) -> tuple[tuple[int, int], int]:
    """The two numbers over one denominator."""
    below = math.lcm(low.denominator, step.denominator)
    return (int(low * below), int(step * below)), below


def _units(number: Fraction, places: int) -> int:
    return int(number * 10**places)


def _decimal(places: int) -> str:
    return "1" if places == 0 else f"0.{'0' * (places - 1)}1"


def _fits(attribute: Attribute, bits: int) -> bool:
    return all(abs(attribute.number(code)) < 2**bits for code in (0, attribute.size - 1))
