"""What counts as a number, a date or a truth when it is written as text: the same on every engine.

Engines' own casts disagree (one reads `0x1F` or `1_000`, another does not), so text must match here first.
"""

from __future__ import annotations

WHOLE = "[ \\t]*[+-]?[0-9]{1,38}[ \\t]*"
"""A whole number that 128 bits hold, or nearly."""

YEAR = "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
DATE = f"{YEAR}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
HOUR = "([01][0-9]|2[0-3])"
DAY = f"{DATE}([T ]{HOUR}:[0-5][0-9](:[0-5][0-9]([.][0-9]{{1,6}})?)?)?"
"""An ISO date from the year 1; the time of day is ignored, if there is such a time. The month may be shorter."""

INSTANT = f"{DATE}[T ]{HOUR}:[0-5][0-9]:[0-5][0-9]([.][0-9]{{1,6}})?(Z|[+-]{HOUR}(:[0-5][0-9])?)"
"""An ISO date and time with its distance from UTC: it means the date in UTC."""

TRUE = ("true", "t", "yes", "1")
FALSE = ("false", "f", "no", "0")
"""In any case."""

ABSENT = ("", "na", "n/a", "nan", "null", "none", "nil", "-", ".", "?", "#n/a")
"""Words for nothing, in any case: a number or date so written is missing, rather than unreadable."""


def number_pattern(decimal: str) -> str:
    """A number whose decimal mark is one of the characters in `decimal`: `.`, `,` or `.,` for either."""
    mark = f"[{decimal}]"
    return f"[ \\t]*[+-]?([0-9]+{mark}?[0-9]*|{mark}[0-9]+)([eE][+-]?[0-9]+)?[ \\t]*"
