"""`tetraodon init`: the first draft of a policy file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from tetraodon.cli.command_boundary import Edge, existing_table
from tetraodon.cli.output import Json, emit, say, working, wrapped
from tetraodon.server_address import may_hold_password, table_of


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
    --json gives {"policy", "dataset", "columns": [{"name", "kind"}], "left_out": [NAME], "placeholders",
      "notes": [TEXT]}.
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
            columns, left_out, header = table_columns(table)
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
                    "notes": list(_odd(header, left_out)),
                }
            )
            return
        found = number_of(len(dict(columns)), "column")
        says = "1 place that says" if places == 1 else f"{places} places that say"
        wrapped(f"Wrote {target}: {found}, {says} {PLACEHOLDER}.")
        for told in _odd(header, left_out):
            wrapped(told)
        say("Put what is publicly known in those places, never what the data show. Then:")
        say(f"  tetraodon check {_quoted(target)}")


def _odd(header: Sequence[str], left_out: Sequence[str]) -> Iterator[str]:
    """What is strange about the columns, by their names alone."""
    from tetraodon.policy.words import listing
    from tetraodon.rational import READABLE

    named = [name for name in header if name]
    for name in sorted({name for name in named if named.count(name) > 1}):
        places = listing(str(place) for place, other in enumerate(header, 1) if other == name)
        yield f"Columns {places} have the same name, {name}. Rename them, or the table will be refused."
    if nameless := [str(place) for place, name in enumerate(header, 1) if not name]:
        which = f"column {nameless[0]} has" if len(nameless) == 1 else f"columns {listing(nameless)} have"
        yield f"Left out: {which} no name. Write one into the first line of the table to use what is there."
    if blank := [name for name in dict.fromkeys(named) if name != name.strip()]:
        yield f"Blanks at an end are part of a name: {listing(map(repr, blank))}. The policy file must have them too."
    if named and all(READABLE.fullmatch(name) for name in named):
        yield (
            "All names are numbers. If the first line is somebody's record and not a header, write a header above it "
            "and delete this draft, which has the record in it."
        )
    if others := [name for name in left_out if name]:
        yield f"Left out, for their type cannot be released: {', '.join(map(repr, others))}."


def _dataset(table: str) -> str:
    """A name for the data: that of the table in a database, else that of the file."""
    if may_hold_password(table):
        file, inner = "", table_of(table)[1]
    else:
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
