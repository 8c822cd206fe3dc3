"""Lists and numbers of things in words."""

from __future__ import annotations

from collections.abc import Iterable

THINGS = ("record", "year", "month", "week", "day", "hour", "minute", "second")
"""What is counted often: words that lose their last letter where there is one."""


def of_one(unit: str) -> str:
    """A unit as it stands after the number one, where its first word is one that we know.

    >>> of_one("hours a week"), of_one("records"), of_one("USD")
    ('hour a week', 'record', 'USD')
    """
    first, blank, rest = unit.partition(" ")
    return f"{first.removesuffix('s')}{blank}{rest}" if first.removesuffix("s") in THINGS else unit


def number_of(count: int, thing: str) -> str:
    """`1 row`, `3 rows`."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def listing(parts: Iterable[str], *, most: int = 8, word: str = "and") -> str:
    """`a, b and c`, or the first few and how many more."""
    words = list(parts)
    if len(words) > most:
        return f"{', '.join(words[:most])} {word} {len(words) - most:,} more"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {word} {words[-1]}"


def shown_number(number: float) -> str:
    """A number with as many digits as matter: `12,965`, `0.35`, `1.2e-05`.

    >>> shown_number(12964.8), shown_number(3.14159), shown_number(0.0), shown_number(25.0)
    ('12,965', '3.14', '0', '25')
    """
    if number == 0 or abs(number) >= 100 or float(number).is_integer():
        return f"{number:,.0f}"
    return f"{number:.3g}"
