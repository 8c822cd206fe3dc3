"""No public table of a view is the protected one: neither the same file, nor the same bytes, nor the same rows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tetraodon.domain import Domain
from tetraodon.engine import Counts, DataRefusal, open_table
from tetraodon.errors import PolicyError, TableError
from tetraodon.policy.side_table import SideTable
from tetraodon.releasing.manifest import file_hash


def refuse_the_table(side: Mapping[str, SideTable], table: Any) -> None:
    """Refuse a public table that is the protected table's own file, or a copy of it byte by byte."""
    protected = _file(table)
    if protected is None:
        return
    for name, one in side.items():
        same = os.path.samefile(one.path, protected)
        if same or (_size(one.path) == _size(protected) and file_hash(one.path) == file_hash(protected)):
            raise PolicyError(
                f"the public table {name} is the table that is to be protected, and a view would copy it",
                fix="take it out of `public`",
                where=f"public {name}",
            )


def check_side_tables(domain: Domain, side: Mapping[str, SideTable], counted: Mapping[tuple[str, ...], Counts]) -> None:
    """Refuse a public table whose rows, on the attributes that it has, are those of the protected table.

    Why  another format, another order of rows or columns, or columns left out make other bytes of the same records.
    """
    for name, one in side.items():
        names = shared_names(domain, one)
        if names and _same(counted[names], _counts(domain.project(names), one.path)):
            raise DataRefusal(
                f"the public table {name} has the rows of the table that is to be protected",
                fix="take it out of `public`",
                where=f"public {name}",
            )


def shared_names(domain: Domain, table: SideTable) -> tuple[str, ...]:
    """The attributes that a public table has too, in the order of the domain."""
    return tuple(name for name in domain.names if name in table.columns)


def _counts(domain: Domain, path: Path) -> Counts | None:
    try:
        with open_table(path, domain) as engine:
            return engine.counts([domain.names])[0]
    except (DataRefusal, TableError):
        return None  # it is no table of these attributes


def _same(one: Counts, other: Counts | None) -> bool:
    return (
        other is not None
        and one.total == other.total
        and np.array_equal(one.codes, other.codes)
        and np.array_equal(one.counts, other.counts)
    )


def _file(table: Any) -> Path | None:
    """The file that a table is in, where it is in one."""
    if not isinstance(table, str | os.PathLike):
        return None
    path = Path(str(table).split("#", 1)[0].removeprefix("duckdb:///"))
    return path if path.is_file() else None


def _size(path: Path) -> int:
    return path.stat().st_size
