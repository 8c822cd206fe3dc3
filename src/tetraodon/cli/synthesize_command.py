"""`tetraodon synthesize`: made-up records with the counts of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tetraodon.cli.command_boundary import Edge, WrongUse, existing
from tetraodon.cli.output import Json, emit, say, table, working

ENDINGS = (".csv", ".parquet")


def synthesize(
    folder: Annotated[str, typer.Argument(metavar="RELEASE", help="A release folder.", show_default=False)],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="Where to: .csv or .parquet.")] = "synthetic.csv",
    records: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="How many records.", show_default="as many as the release tells of"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    as_json: Json = False,
) -> None:
    """Write a table of made-up records whose counts are about those of a release. It costs nothing.

    Only what was released is used. What no table of it tells, such as how attributes go together that were never
    released together, is made up and means nothing. Attributes without any table are left out.

    \b
    Examples:
      tetraodon synthesize release/
      tetraodon synthesize release/ --records 1000 --out people.parquet

    \b
    --json gives {"file", "records", "columns": [NAME], "left_out": [NAME], "distance": {ITEM: SHARE}}.
    """
    with Edge(as_json):
        existing(folder, option="RELEASE", folder=True)
        target = Path(out)
        if target.suffix.lower() not in ENDINGS:
            raise WrongUse("the file is neither .csv nor .parquet", fix="write --out synthetic.csv", where=out)
        if target.exists() and not force:
            raise WrongUse("the file exists", fix="pass --force to replace it, or another --out", where=out)
        from tetraodon.releasing.folder import load_release
        from tetraodon.releasing.synthetic import synthesize as made_up
        from tetraodon.releasing.synthetic import write_table

        with working("reading the release") as progress:
            release = load_release(folder)
            found = made_up(release, records, progress=progress)
            write_table(found, target)
        if as_json:
            told = {"records": len(found), "columns": [*found.codes], "left_out": list(found.left_out)}
            emit({"file": str(target)} | told | {"distance": dict(found.distance)})
            return
        say(f"{target} has {len(found):,} made-up records.")
        rows = [[name, f"{100 * share:.1f}%"] for name, share in found.distance.items()]
        table(["item", "records off"], rows, right=["records off"])
        say("So many records would have to move for the counts of that item to be those released.")
        if found.left_out:
            say(f"Left out, because no table of the release is about them: {', '.join(found.left_out)}.")
