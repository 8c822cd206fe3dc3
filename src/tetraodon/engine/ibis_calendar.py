"""Dates and instants written as text, as days since 1970, in whole numbers only.

Engines' own casts disagree: one refuses the 30th of February with an error, another reads it as March, a third asks
the session for a time zone. Counting days by hand is the same everywhere.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, TypeAlias

import ibis

Expression: TypeAlias = Any

EPOCH = dt.date(1970, 1, 1)
BEFORE_1970 = 719_468
"""Days from 1 March of the year 0."""
LEAST_YEAR, HOURS, SIXTY = 1, 24, 60


def calendar_day(text: Expression) -> Expression:
    """The day of a text that matches `written.DAY`; NULL if there is no such day or time of day."""
    return _if(_exists(text), _days(text) - BEFORE_1970)


def calendar_instant(text: Expression) -> Expression:
    """The day in UTC of a text that matches `written.INSTANT`; NULL if there is no such instant."""
    zone = text.re_extract("([+-][0-9:]+)$", 1)  # at the end, so that no hyphen of the date is meant
    zoned = text.re_search(":[0-9]{2}([.][0-9]+)?[+-][0-9:]+$")
    hours, minutes = _number(zone.substr(1, 2)), _number(zone.substr(4, 2))
    away = (zone.substr(0, 1) == "-").ifelse(-1, 1) * (hours * 60 + minutes)
    local = _part(text, 11, 2) * 60 + _part(text, 14, 2)
    minute = _days(text) * 1440 + local - zoned.ifelse(away, 0)
    possible = ~zoned | ((hours < HOURS) & (minutes < SIXTY))
    return _if(_exists(text) & possible, _floor(minute, 1440) - BEFORE_1970)


def _exists(text: Expression) -> Expression:
    year, month, day = _part(text, 0, 4), _part(text, 5, 2), _part(text, 8, 2)
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    last = month.cases((2, leap.ifelse(29, 28)), (4, 30), (6, 30), (9, 30), (11, 30), else_=31)
    clock = (_part(text, 11, 2) < HOURS) & (_part(text, 14, 2) < SIXTY) & (_part(text, 17, 2) < SIXTY)
    return (year >= LEAST_YEAR) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= last) & clock


def _days(text: Expression) -> Expression:
    """Days since 1 March of the year 0, for years that begin in March have their leap day last."""
    month, day = _part(text, 5, 2), _part(text, 8, 2)
    year = _part(text, 0, 4) - (month <= 2).ifelse(1, 0)
    since_march = (month + 9) % 12
    of_year = _floor(since_march * 153 + 2, 5) + day - 1
    return year * 365 + _floor(year, 4) - _floor(year, 100) + _floor(year, 400) + of_year


def _part(text: Expression, start: int, length: int) -> Expression:
    return _number(text.substr(start, length))


def _number(digits: Expression) -> Expression:
    """Digits as a number; nothing, or what is cut short, as 0."""
    return digits.re_search("^[0-9]+$").ifelse(digits, "0").cast("int64")


def _floor(number: Expression, by: int) -> Expression:
    """The quotient, rounded down, of a number from 0 upwards; engines divide whole numbers in several ways."""
    return ((number - number % by) / by).round().cast("int64")


def _if(condition: Expression, value: Expression) -> Expression:
    return condition.ifelse(value, ibis.null("int64"))
