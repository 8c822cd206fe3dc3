"""Whether a table can be read as its policy says, before anything is charged: what becomes what, and how much may.

What a value becomes that is missing, unreadable or not listed is part of the policy. Where nobody wrote it down, or
where a text is no number or day at all, the statistics would be wrong in silence: such values are counted here, and too
many of them are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tetraodon.domain import Attribute, Dates, Grid, Integers
from tetraodon.domain.date_format import EXAMPLES
from tetraodon.engine import ColumnReport, DataRefusal
from tetraodon.policy.policy import Policy
from tetraodon.wording import listing


@dataclass(frozen=True, slots=True)
class Fitness:
    """How a column fits its attribute. Exact, hence for the curator's eyes only; never published."""

    attribute: Attribute
    report: ColumnReport

    @property
    def amiss(self) -> int:
        """Rows that cannot be read, and those that become a value although nobody wrote down which."""
        found = self.report.unreadable
        if "missing" not in self.attribute.declared:
            found += self.report.missing
        if "other" not in self.attribute.declared and self.attribute.other is not None:
            found += self.report.outside
        return found

    def sentences(self) -> Iterator[str]:
        """What share becomes what."""
        attribute, report = self.attribute, self.report
        absent = "a value of its own" if attribute.separate else attribute.text(attribute.missing)
        for rows, what in ((report.missing, "are missing"), (report.unreadable, "cannot be read")):
            if rows:
                yield f"{attribute.name}: {self._share(rows)} {what} and count as {absent}."
        if report.fractional:
            share = self._share(report.fractional)
            yield f"{attribute.name}: {share} have decimals and count as the nearest whole number."
        if report.outside and attribute.other is None:
            yield f"{attribute.name}: {self._share(report.outside)} are beyond the ends and count as the nearer end."
        elif report.outside:
            assert attribute.other is not None
            other = attribute.text(attribute.other)
            yield f"{attribute.name}: {self._share(report.outside)} are not listed and count as {other}."

    def refusal(self, most: Fraction) -> DataRefusal | None:
        """Why the table is refused where at most such a share of a column may be amiss."""
        if self.amiss <= most * self.report.rows:
            return None
        return DataRefusal(
            "more values than the policy allows cannot be read, or become another value that nobody wrote down",
            fix=self._fix(),
            where=self.attribute.name,
        )

    def _share(self, rows: int) -> str:
        share = 100 * rows / self.report.rows
        return f"{share:.1f}% of the rows" if share >= 0.1 else "less than 0.1% of the rows"

    def _fix(self) -> str:
        attribute, report = self.attribute, self.report
        allow = "or allow more with `table: {unreadable: 5%}`"
        if report.unreadable >= max(1, self.amiss - report.unreadable):
            match attribute.values:
                case Dates():
                    return f"say how days are written, with `format:` {EXAMPLES}; {allow}"
                case Integers() | Grid():
                    return f"say under `table` how numbers are written, or declare it as what it holds; {allow}"
        unlisted = report.outside and "other" not in attribute.declared and attribute.other is not None
        roles = ["`missing:`"] * bool(report.missing and "missing" not in attribute.declared) + ["`other:`"] * bool(
            unlisted
        )
        trim = ", add `trim: true` if blanks stand around words" if unlisted and not attribute.trim else ""
        told = f"write down what they count as, with {listing(roles)}" if roles else "correct the column"
        return f"{told}{trim}; {allow}"


def fitness(policy: Policy, reports: Iterable[ColumnReport]) -> list[Fitness]:
    """How the columns of attributes fit them; the column that tells people apart is left out. For the curator only."""
    return [Fitness(policy.domain[report.name], report) for report in reports if report.name in policy.domain.names]


def check_readable(policy: Policy, found: Sequence[Fitness]) -> None:
    """Refuse a table of which too much would be wrong in silence; nothing has been spent yet.

    Why  the refusal depends on the records, so it is the curator's, as every DataRefusal is; it names columns and no
         figure. With `unreadable: 100%` nothing is refused, and whether a release is made depends on no record.
    """
    refused = [refusal for one in found if (refusal := one.refusal(policy.unreadable))]
    if refused:
        first = refused[0]
        where = listing([refusal.where for refusal in refused])
        raise DataRefusal(first.what, fix=first.fix, where=where)
