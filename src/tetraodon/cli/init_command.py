"""`tetraodon init`: the first draft of a policy file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from tetraodon.cli.edge import Edge, existing_table
from tetraodon.cli.output import Json, emit, say, working, wrapped


def init(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="CSV or Parquet file, or file.duckdb#table.", show_default=False)
    ],
    out: Annotated[Path | None, typer.Option(help="Where to write it.", show_default="NAME.policy.yaml, here")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    as_json: Json = False,
) -> None:
    """Write the first draft of a policy file, from the names and types of a table's columns.

    No bound and no category is read from the data: each is a placeholder that `check` refuses until you have put
    in its place what is publicly known.

    \b
    Example:
      tetraodon init people.csv

    \b
    --json gives {"policy", "dataset", "columns": [{"name", "kind"}], "left_out": [NAME], "placeholders"}.
    """
    with Edge(as_json) as edge:
        edge.state = "The policy file is as it was, or whole."
        from tetraodon.cli.columns import table_columns
        from tetraodon.errors import PolicyError
        from tetraodon.policy.load import PLACEHOLDER
        from tetraodon.policy.starter import starter
        from tetraodon.policy.words import number_of

        name = _dataset(existing_table(table))
        target = out or Path(f"{name}.policy.yaml")
        if target.exists() and not force:
            raise PolicyError("the policy file exists", fix="pass --force to replace it, or --out", where=str(target))
        with working("reading the names of the columns"):
            columns, left_out = table_columns(table)
        text = starter(columns, name)
        _write(target, text, force=force)
        places = sum(line.partition("#")[0].count(PLACEHOLDER) for line in text.splitlines())
        if as_json:
            kinds = [{"name": column, "kind": kind} for column, kind in columns]
            emit(
                {
                    "policy": str(target),
                    "dataset": name,
                    "columns": kinds,
                    "left_out": left_out,
                    "placeholders": places,
                }
            )
            return
        found = number_of(len(dict(columns)), "column")
        says = "1 place that says" if places == 1 else f"{places} places that say"
        wrapped(f"Wrote {target}: {found}, {says} {PLACEHOLDER}.")
        for told in _odd(columns, left_out):
            wrapped(told)
        say("Put what is publicly known in those places, never what the data show. Then:")
        say(f"  tetraodon check {_quoted(target)}")


def _odd(columns: Sequence[tuple[str, str]], left_out: Sequence[str]) -> Iterator[str]:
    """What is strange about the columns."""
    from tetraodon.policy.words import number_of

    names = [name for name, _ in columns]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        yield f"Several columns have the same name: {', '.join(twice)}. Rename them, or the table will be refused."
    if nameless := left_out.count(""):
        yield f"Left out, for they have no name: {number_of(nameless, 'column')}. Name them in the table to use them."
    if others := [name for name in left_out if name]:
        yield f"Left out, for their type cannot be released: {', '.join(map(repr, others))}."


def _dataset(table: str) -> str:
    """A name for the data: that of the table in a database, else that of the file."""
    file, _, inner = table.partition("#")
    name = inner or re.sub(r"(\.(csv|tsv|txt))?\.\w+$", "", Path(file).name)
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "data"


def _write(target: Path, text: str, *, force: bool) -> None:
    """All of it or nothing; never over a file that came to be meanwhile."""
    import os
    import tempfile

    from tetraodon.errors import PolicyError

    try:
        handle, draft = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
        try:
            with open(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(draft, 0o644)
            if force:
                os.replace(draft, target)
            else:
                os.link(draft, target)
        finally:
            if os.path.exists(draft):
                os.unlink(draft)
    except FileExistsError:
        raise PolicyError("the policy file exists", fix="pass --force to replace it", where=str(target)) from None
    except OSError as error:
        raise PolicyError(
            f"the policy file cannot be written ({error.strerror})",
            fix="name a file in a folder that exists, is writable and has room",
            where=str(target),
        ) from None


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))
