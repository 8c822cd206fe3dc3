"""A table of made-up records whose counts are those of a release: nothing is measured anew, so it costs no privacy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Ints
from tetraodon.domain import Attribute, Domain
from tetraodon.errors import QueryError, Refused, ReleaseError
from tetraodon.inference.made_up_records import TargetTable, make_up
from tetraodon.releasing.answer import frame_of
from tetraodon.releasing.column_files import harmless_cell
from tetraodon.releasing.release import Release
from tetraodon.wording import listing

if TYPE_CHECKING:
    import polars

MOST_VALUES = 200_000_000


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Made-up records.

    Attributes
    ----------
    codes:    the place of each record's value, by attribute.
    distance: by item of the release, the share of records that would have to move for its released counts.
    left_out: attributes of the policy that no table of the release is about.
    """

    domain: Domain
    codes: Mapping[str, Ints]
    distance: Mapping[str, float]
    left_out: tuple[str, ...]

    def __len__(self) -> int:
        return len(next(iter(self.codes.values())))

    def __repr__(self) -> str:
        return f"<Synthetic table of {len(self):,} made-up records: {listing([*self.codes])}>"

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The values, missing ones empty."""
        return {name: _values(self.domain[name])[codes] for name, codes in self.codes.items()}

    def to_polars(self) -> polars.DataFrame:
        """The records as a polars frame."""
        frame: polars.DataFrame = frame_of("polars", self.columns)
        return frame


def synthesize(
    release: Release, records: int | None = None, *, progress: Callable[[str], None] = lambda _: None
) -> Synthetic:
    """Made-up records that have about the counts of all tables of a release.

    records: how many; about as many as the release says that there are, if not given.

    Post  the same release gives the same records. What no table tells, such as how three attributes go together that
          were only released two by two, is made up and means nothing.
    Raises QueryError where the release has no table of all records.
    """
    tables = [
        TargetTable(answer.name, answer.item.strategy.table, np.maximum(answer.table.values, 0.0))
        for answer in release
        if answer.values is not None and not answer.item.strategy.among
    ]
    if not tables:
        raise QueryError("the release has no table of counts", fix="release a histogram, a cdf or ranges as well")
    domain = release.plan.policy.domain
    names = [name for name in domain.names if any(name in table.names for table in tables)]
    n = _number(tables) if records is None else records
    if not 1 <= n <= MOST_VALUES // len(names):
        most = MOST_VALUES // len(names)
        raise Refused(f"a table of so many records cannot be made up ({n:,})", fix=f"ask for 1 to {most:,} records")
    codes = make_up(tables, domain, n, progress=progress)
    distance = {table.name: table.distance(codes, n) for table in tables}
    left_out = tuple(name for name in domain.names if name not in names)
    return Synthetic(domain, codes, distance, left_out)


def _number(tables: Sequence[TargetTable]) -> int:
    """About how many records there are: the middle of what the tables add up to."""
    return max(1, round(float(np.median([table.counts.sum() for table in tables]))))


def _values(attribute: Attribute) -> NDArray[Any]:
    """All values of an attribute as a column; None where it is missing."""
    there = [attribute.value(code) for code in range(attribute.size - attribute.separate)]
    plain = [float(value) if isinstance(value, Fraction) else value for value in there]
    return np.array([*plain, *([None] if attribute.separate else [])], object)


def write_table(synthetic: Synthetic, path: Path) -> None:
    """Write made-up records as a CSV or Parquet file. Raises ReleaseError when the disk does not take it."""
    import pyarrow
    from pyarrow import csv, parquet

    columns = {name: pyarrow.array(column) for name, column in synthetic.columns.items()}
    try:
        if path.suffix.lower() == ".parquet":
            parquet.write_table(pyarrow.table(columns), path, compression="zstd")
            return
        spelt = {
            harmless_cell(name): pyarrow.array(
                [None if one is None else harmless_cell(one) for one in cells.to_pylist()]
            )
            if pyarrow.types.is_string(cells.type)
            else cells
            for name, cells in columns.items()
        }
        csv.write_csv(pyarrow.table(spelt), path)
    except OSError:
        raise ReleaseError("the file cannot be written", fix="check the folder and the disk", where=str(path)) from None
