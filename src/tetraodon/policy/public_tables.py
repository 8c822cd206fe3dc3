"""Public tables that travel with a view: files in the policy's folder, named by it, and what their columns are."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tetraodon.errors import PolicyError
from tetraodon.policy.policy import Policy
from tetraodon.policy.source import sibling_file
from tetraodon.wording import listing

KINDS = (".csv", ".parquet")


@dataclass(frozen=True, slots=True)
class SideTable:
    """A file that is copied into a view folder as it is, for conditions to read."""

    name: str
    path: Path
    columns: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What will be copied, in words."""
        return (
            f"The public table {self.name} ({self.path.name}) is copied into the folder as it is, with its columns "
            f"{listing(self.columns)}."
        )


def side_tables(policy: Policy) -> dict[str, SideTable]:
    """The policy's public tables, looked for in the folder of its file.

    Refuses what is no plain CSV or Parquet file, and any path that leads out of the policy's folder: a view copies
    these files, and a policy from another author must not make it copy others.
    """
    return {name: _side_table(policy, name, file) for name, file in policy.public}


def _side_table(policy: Policy, name: str, file: str) -> SideTable:
    where = f"public {name}"
    if name == policy.dataset:
        raise PolicyError("a public table is called like the data set", fix="rename it", where=where)
    try:
        path = sibling_file(policy.folder, file)
    except PolicyError as error:
        raise error.at(where) from None
    columns: tuple[str, ...] = ()
    if path.suffix.lower() in KINDS and path.is_file():
        columns = _columns(path)
    if not columns:
        raise PolicyError(f"the public table {name} is not a CSV or Parquet file", fix="check its path", where=where)
    return SideTable(name, path, columns)


def _columns(path: Path) -> tuple[str, ...]:
    import duckdb  # a plan needs no database

    from tetraodon.engine.duckdb_source import text

    reader = "read_parquet" if path.suffix.lower() == ".parquet" else "read_csv"
    with suppress(duckdb.Error), duckdb.connect() as connection:  # DuckDB's words may quote the file
        rows = connection.execute(f"DESCRIBE SELECT * FROM {reader}({text(str(path))})").fetchall()
        return tuple(str(row[0]) for row in rows)
    return ()
