"""`tetraodon init`: the first draft of a policy file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from tetraodon.cli.command_boundary import Edge, WrongUse, existing, existing_table
from tetraodon.cli.output import Json, emit, say, working, wrapped


def init(
    table: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="A file, or the address of a table.", show_default=False)
    ] = None,
    metadata: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="Metadata of SmartNoise or OpenDP.", show_default=False),
    ] = None,
    promise: Annotated[
        str, typer.Option(metavar="NAME", help="What is secret to begin with: everything, or presence alone.")
    ] = "everything",
    out: Annotated[Path | None, typer.Option(help="Where to write it.", show_default="NAME.policy.yaml, here")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    as_json: Json = False,
) -> None:
    """Write the first draft of a policy file, from the names and types of a table's columns.

    No bound and no category is read from the data: each is a placeholder that `check` refuses until you have put
    in its place what is publicly known.

    With --from, the columns are those that a file of metadata describes: SmartNoise's YAML, or columns and margins as
    OpenDP has them. What it says stands in comments; every placeholder stays.

    \b
    Examples:
      tetraodon init people.csv
      tetraodon init --from smartnoise.yaml
      tetraodon init people.csv --promise presence

    \b
    --json gives {"policy", "dataset", "columns": [{"name", "kind"}], "left_out": [NAME], "placeholders",
      "notes": [TEXT]}.
    """
    with Edge(as_json) as edge:
        edge.state = "The policy file is as it was, or whole."
        from tetraodon.errors import PolicyError
        from tetraodon.policy.draft import init
        from tetraodon.policy.load import PLACEHOLDER
        from tetraodon.policy.starter import Promise
        from tetraodon.wording import number_of

        if (table is None) == (metadata is None):
            raise WrongUse("there is not one source of a draft", fix="give TABLE, or --from FILE")
        if promise not in get_args(Promise):
            raise WrongUse("--promise is not one that a draft begins with", fix=f"use {' or '.join(get_args(Promise))}")
        source = None if table is None else existing_table(table)
        given = None if metadata is None else existing(metadata, option="--from")
        with working("reading the names of the columns"):
            draft = init(source, metadata=given, promise=cast(Promise, promise))
        target = out or Path(f"{draft.dataset}.policy.yaml")
        if target.exists() and not force:
            raise PolicyError("the policy file exists", fix="pass --force to replace it, or --out", where=str(target))
        draft.write(target, force=force)
        if as_json:
            emit(
                {
                    "policy": str(target),
                    "dataset": draft.dataset,
                    "columns": [{"name": column, "kind": kind} for column, kind in draft.columns],
                    "left_out": list(draft.left_out),
                    "placeholders": draft.placeholders,
                    "notes": list(draft.notes),
                }
            )
            return
        found, places = number_of(len(dict(draft.columns)), "column"), draft.placeholders
        says = "1 place that says" if places == 1 else f"{places} places that say"
        wrapped(f"Wrote {target}: {found}, {says} {PLACEHOLDER}.")
        for told in draft.notes:
            wrapped(told)
        say("Put what is publicly known in those places, never what the data show. Then:")
        say(f"  tetraodon check {_quoted(target)}")


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))
