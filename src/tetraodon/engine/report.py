"""What a dry run tells the curator about one column."""

from __future__ import annotations

from dataclasses import dataclass

from tetraodon.errors import TableError


@dataclass(frozen=True, slots=True)
class ColumnReport:
    """How a column fits its attribute. Exact, hence for the curator's eyes only; never published.

    Attributes
    ----------
    rows:       rows of the table.
    missing:    rows without a value (or with NaN), counted as the attribute's `missing`.
    unreadable: rows whose text is no number or date, counted as the attribute's `missing`.
    outside:    rows whose value is outside the domain, clamped or counted as `other`.

    The column that tells individuals apart has a report of its own, the last one: `missing` are rows
    without a key, `outside` are rows that are not counted because their individual has more than allowed.
    """

    name: str
    rows: int
    missing: int
    unreadable: int
    outside: int

    def __post_init__(self) -> None:
        parts = (self.missing, self.unreadable, self.outside)
        if min(parts) < 0 or sum(parts) > self.rows:
            raise TableError("the report of a column does not add up", fix="report this as a bug", where=self.name)

    @property
    def another_type(self) -> bool:
        """Whether there are values, and none of them can be read: the column is not what the policy takes it for."""
        return 0 < self.rows - self.missing == self.unreadable

    @property
    def fits(self) -> bool:
        """Whether every value is there and inside the domain."""
        return not (self.missing or self.unreadable or self.outside)
