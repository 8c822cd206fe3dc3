"""How days are written in a column of text: `DD.MM.YYYY`, `M/D/YYYY` and the like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product

from tetraodon.errors import DomainError

_TOKENS = {"YYYY": (4,), "MM": (2,), "DD": (2,), "M": (1, 2), "D": (1, 2)}
_SPLIT = re.compile("YYYY|MM|DD|M|D|[./ -]")
EXAMPLES = "DD.MM.YYYY, D.M.YYYY, DD/MM/YYYY, MM/DD/YYYY or YYYYMMDD"


@dataclass(frozen=True, slots=True)
class WrittenDay:
    """One way a day can look: how wide each part is, and where year, month and day stand, from 1, and how long."""

    pattern: str
    year: tuple[int, int]
    month: tuple[int, int]
    day: tuple[int, int]


def written_days(form: str) -> tuple[WrittenDay, ...]:
    """Every way a day can look in a format; `D` and `M` stand for one digit or two, `DD` and `MM` for two.

    Raises DomainError for what is no format. Years have four digits: of two nobody knows the century.

    >>> [way.pattern for way in written_days("DD.MM.YYYY")]
    ['[0-9]{2}[.][0-9]{2}[.][0-9]{4}']
    >>> len(written_days("D/M/YYYY"))
    4
    """
    parts = _SPLIT.findall(form)
    letters = [part[0] for part in parts if part in _TOKENS]
    if "".join(parts) != form or sorted(letters) != ["D", "M", "Y"]:
        raise DomainError("the format of a date is not understood", fix=f"write {EXAMPLES}")
    joined = any(one in _TOKENS and two in _TOKENS for one, two in pairwise(parts))
    if joined and {"D", "M"} & set(parts):
        raise DomainError(
            "nothing separates parts of the date that may have one digit or two",
            fix="write DD and MM, or separate them",
        )
    return tuple(_ways(parts))


def _ways(parts: list[str]) -> Iterator[WrittenDay]:
    for widths in product(*(_TOKENS.get(part, (1,)) for part in parts)):
        places: dict[str, tuple[int, int]] = {}
        pattern, start = "", 1
        for part, width in zip(parts, widths, strict=True):
            pattern += f"[0-9]{{{width}}}" if part in _TOKENS else f"[{part}]"
            places[part[0]] = (start, width)
            start += width
        yield WrittenDay(pattern, places["Y"], places["M"], places["D"])
