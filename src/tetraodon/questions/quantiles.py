"""`quantiles`: the values below which given shares of the records lie."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.questions.answered import Answered, Columns, CountTable, attribute_values, column_name, labels
from tetraodon.questions.cdf import running_counts
from tetraodon.questions.query import (
    BY,
    WHOLE,
    Declared,
    Drawing,
    Json,
    Key,
    Places,
    Query,
    Reading,
    RunningCounts,
    for_each,
    names_of,
    plain,
    splits_of,
    titled,
    with_unit,
)
from tetraodon.rational import Number, rational
from tetraodon.wording import listing
from tetraodon.workload.linear import LinearQuery, Split

QUARTILES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
MEDIAN = (Fraction(1, 2),)


@dataclass(frozen=True, slots=True)
class Quantiles(Query):
    """The values below which given shares of the records lie."""

    attribute: str
    at: tuple[Fraction, ...]
    by: tuple[str, ...] = ()
    bounds: bool = True
    """Whether intervals are to be short: then they are read off counts. Otherwise ranks may be right instead."""

    words: ClassVar = ("quantiles", "median")
    keys: ClassVar = {
        "quantiles": Key("text", ""),
        "median": Key("text", ""),
        "at": Key("numbers", QUARTILES),
        "by": BY,
        "bounds": Key("truth", True),
        "whole": WHOLE,
    }
    column: ClassVar = "quantile"
    numbers: ClassVar = False

    @classmethod
    def read(cls, written: Mapping[str, Any], declared: Declared) -> Quantiles:  # noqa: ARG003
        if written["median"]:
            if written["at"] != QUARTILES:
                raise QueryError("a median is the quantile at 0.5", fix="leave `at` out, or write `quantiles`")
            return median(written["median"], by=written["by"], bounds=written["bounds"])
        if not written["at"]:
            raise QueryError("the list of quantiles is empty", fix="list shares, or leave `at` out for quartiles")
        return quantiles(written["quantiles"], at=written["at"], by=written["by"], bounds=written["bounds"])

    def document(self) -> Json:
        bounds = {} if self.bounds else {"bounds": False}
        return {"quantiles": self.attribute, "at": [plain(share) for share in self.at], **bounds}

    def needs(self) -> tuple[str, ...]:
        return (self.attribute,)

    def linear(self, domain: Domain) -> LinearQuery:
        return running_counts(self.attribute, self.by, domain)

    def table(self, domain: Domain) -> tuple[Split, ...]:
        return splits_of((*self.by, self.attribute), domain)

    def reading(self, domain: Domain) -> Reading:  # noqa: ARG002
        return RunningCounts(() if self.bounds else tuple(sorted(set(self.at))))

    def columns(self, answered: Answered) -> Columns:
        attribute, domain = answered.domain[self.attribute], answered.domain
        codes = self._chosen(answered, attribute.size) if answered.table is None else self._read(answered.table)
        values = attribute_values(attribute)
        found, lower, upper = (values[[code[end] for code in codes]] for end in range(3))
        shares = np.tile(np.array([float(share) for share in self.at]), len(codes) // len(self.at))
        named = labels(splits_of(self.by, domain), domain, extra=len(self.at))
        return named | {"quantile": shares, column_name(self.attribute): found, "lower": lower, "upper": upper}

    def _read(self, table: CountTable) -> list[tuple[int, int, int]]:
        """Codes of the quantiles and of the ends of their intervals, from running counts."""
        lines = (part.reshape(-1, part.shape[-1]) for part in table.running(table.quantile_confidence))
        return [
            read_quantile(mid, low, high, share) for mid, low, high in zip(*lines, strict=True) for share in self.at
        ]

    def _chosen(self, answered: Answered, size: int) -> list[tuple[int, int, int]]:
        """The same, where codes were chosen by their ranks: an interval ends where another one surely lies beyond."""
        chosen, *totals = answered.sums
        shares = sorted(set(self.at))
        lines = np.asarray(chosen.numbers, np.int64).reshape(-1, len(shares)).tolist()
        records = np.asarray(totals[0].numbers, np.int64).ravel().tolist() if totals else [0] * len(lines)
        off = float(np.max(chosen.reach(1)))
        found = [
            dict(zip(shares, between_chosen(line, shares, total, off, size), strict=True))
            for line, total in zip(lines, records, strict=True)
        ]
        return [by_share[share] for by_share in found for share in self.at]

    def asked(self) -> str:
        return f"{'median' if self.at == MEDIAN else 'quantiles'} of {self.attribute}"

    def sentence(self, domain: Domain) -> str:
        least = f"The least {with_unit(domain[self.attribute])} that {listing(map(_percent, self.at))}"
        return f"{least} of the records do not exceed{for_each(self.by)}."

    def off_by(self, off: str, each: str, domain: Domain) -> str:  # noqa: ARG002
        return f"The ranks of these values are typically off by {off} records."

    def drawing(self, domain: Domain, table: tuple[Split, ...]) -> Drawing:  # noqa: ARG002
        attribute = domain[self.attribute]
        shares = Places("share of the records", tuple(map(_percent, self.at)))
        return Drawing(
            (*splits_of(self.by, domain), shares), titled(attribute), self.asked().capitalize(), of=attribute
        )


def quantiles(attribute: str, *, at: Sequence[Number] = (), by: Sequence[str] = (), bounds: bool = True) -> Quantiles:
    """Quantiles of an ordered attribute, by default the median and the quartiles; without `bounds`, by their ranks."""
    shares = tuple(rational(q, name="`at`") for q in at) or QUARTILES
    if any(not 0 <= q <= 1 for q in shares):
        raise QueryError("a quantile is not between 0 and 1", fix="write shares such as 0.1, 0.5, 0.9")
    return Quantiles(attribute, shares, names_of(by), bounds)


def median(attribute: str, *, by: Sequence[str] = (), bounds: bool = True) -> Quantiles:
    """The median of an ordered attribute: its quantile at one half."""
    return quantiles(attribute, at=MEDIAN, by=by, bounds=bounds)


def between_chosen(
    codes: Sequence[int], shares: Sequence[Fraction], records: int, off: float, size: int
) -> list[tuple[int, int, int]]:
    """Each code that was chosen for a share, with the ends of an interval around the quantile of that share.

    Pre   the rank of every code is within `off` of its share of the records, all at once with 95% probability; 0
          records where their number is not told.
    Post  with that probability every interval holds its quantile.
    Why   a code whose rank is below that of a quantile, even if it is off by so much, lies at it or below; one above.

    >>> between_chosen([10, 50, 90], [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)], 1000, 100.0, 101)
    [(10, 0, 50), (50, 10, 90), (90, 50, 100)]
    """
    ranks = [float(share) * records for share in shares]
    found = []
    for code, rank in zip(codes, ranks, strict=True):
        below = [c for c, r in zip(codes, ranks, strict=True) if r + off < rank]
        above = [c for c, r in zip(codes, ranks, strict=True) if r - off >= max(rank, 1.0)]
        found.append((code, max(below, default=0), min(above, default=size - 1)))
    return found


def read_quantile(running: Floats, lower: Floats, upper: Floats, share: Fraction) -> tuple[int, int, int]:
    """The first code whose running count reaches the share, and the codes that cannot be ruled out.

    Why   the true quantile x has S(x) >= q n > S(x - 1). It is left out only if the interval of S(x) lies below q n or
          that of S(x - 1) not below it: each happens with half of 5%, since the intervals are symmetric. The total n is
          taken from the last interval: its lower end for the first test, its upper end for the second.
    """
    size = len(running)
    target = _ceiling(float(share) * max(running[-1], 0.0))
    code = min(int(np.searchsorted(np.maximum.accumulate(running), target)), size - 1)
    low_target = _ceiling(float(share) * max(lower[-1], 0.0))
    high_target = _ceiling(float(share) * max(upper[-1], 0.0))
    possible = upper >= low_target
    first = int(np.argmax(possible)) if possible.any() else size - 1
    before = np.concatenate([[-np.inf], lower[:-1]])
    still = np.flatnonzero(before < high_target)
    final = int(still[-1]) if len(still) else 0
    return code, min(first, code), max(final, code)


def _ceiling(target: float) -> float:
    return max(1.0, math.ceil(target - 1e-9))


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):.6g}%"
