"""What every engine must find, in plain Python, one record after the other."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.domain.values import label_text
from tetraodon.exact.rational import rational

Record = Sequence[object]
NOTHING = ("", "na", "n/a", "nan", "null", "none", "nil", "-", ".", "?", "#n/a")
"""What people write where they have no answer."""


def encoded(attribute: Attribute, value: object) -> int:
    """The code of a raw, typed value: clamped, `other` or `missing` where the domain says so."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return attribute.missing
    match attribute.values:
        case Integers(low, high):
            return nearest(attribute, math.floor(exact(value) + Fraction(1, 2)), low, high)
        case Grid(low, high):
            return nearest(attribute, exact(value), low, high)
        case Dates(first, last):
            if isinstance(value, dt.datetime):
                value = value.astimezone(dt.UTC).date() if value.tzinfo else value.date()
            return nearest(attribute, value, first, last)
        case Categories():
            number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
            label = label_text(exact(value) if number else value)
            assert attribute.other is not None
            if label in attribute.values.labels:
                return attribute.code(label)
            listed = {one.strip().lower() for one in attribute.values.labels}
            nothing = isinstance(value, str) and (word := label.strip().lower()) in NOTHING and word not in listed
            return attribute.missing if attribute.separate and nothing else attribute.other
        case Booleans():
            assert attribute.other is not None
            truths = {"true": 1, "t": 1, "yes": 1, "1": 1, "false": 0, "f": 0, "no": 0, "0": 0}
            word = str(value).lower() if isinstance(value, bool | str) else label_text(exact(value))
            if attribute.separate and isinstance(value, str) and word.strip() in NOTHING:
                return attribute.missing
            return truths.get(word, attribute.other)


def nearest(attribute: Attribute, value: object, low: object, high: object) -> int:
    if value < low:  # type: ignore[operator]
        return 0 if attribute.other is None else attribute.other
    if value > high:  # type: ignore[operator]
        return attribute.values.size - 1 if attribute.other is None else attribute.other
    return attribute.code(value)


def exact(value: object) -> Fraction:
    if isinstance(value, float) and math.isinf(value):
        return Fraction(10**400 if value > 0 else -(10**400))
    return rational(value)  # type: ignore[arg-type]


def tally(
    records: Sequence[Record],
    domain: Domain,
    by: Sequence[str],
    at_most: int = 0,
    keys: Sequence[object] = (),
    cut: bool = False,
) -> dict[tuple[int, ...], int]:
    """Counts by some attributes; with keys, of individuals with at most so many rows, or of the first ones of each."""
    rows = [tuple(map(encoded, domain, record)) for record in records]
    if at_most:
        owned: dict[object, list[tuple[int, ...]]] = defaultdict(list)
        for key, row in zip(keys, rows, strict=True):
            if key is not None:
                owned[key].append(row)
        rows = [row for mine in owned.values() if cut or len(mine) <= at_most for row in sorted(mine)[:at_most]]
    places = [domain.position(name) for name in by]
    return dict(Counter(tuple(row[place] for place in places) for row in rows))
