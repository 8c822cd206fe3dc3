"""What every engine can do: count, and report to the curator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

from tetraodon.engine.counts import Counts
from tetraodon.engine.passes import NOTHING, Adding
from tetraodon.engine.report import ColumnReport


class Engine(Protocol):
    """A table that can be counted. Engines only count: noise, floats and randomness stay out of them."""

    def counts(self, groups: Sequence[tuple[str, ...]], add: Adding = NOTHING) -> list[Counts]:
        """Exact counts by each group of attributes; where `add` lists attributes for a group, their codes' sums too.

        Pre   attributes to add up have at most `passes.LONGEST_SUM` values.

        Post  one `Counts` per group, in the order asked, its cells non-empty and sorted; equal on every
              engine. What a row counts as depends on that row and, for keyed tables, on the other rows
              of the same individual; on nothing else.
        Raises DataRefusal if the table cannot be read. A table without rows is counted like any other.
        """
        ...

    def dry_run(self) -> list[ColumnReport]:
        """Per attribute, how many rows are missing, unreadable or outside. For the curator only."""
        ...

    def close(self) -> None:
        """Let go of the table. Nothing of it stays behind on disk."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...
