"""`tetraodon publish`: a view of a whole table, records among tuples that nobody has."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tetraodon.cli.command_boundary import Edge, existing_policy, existing_table
from tetraodon.cli.ledger_commands import DEFAULT, LedgerUrl, ledger_name
from tetraodon.cli.output import Json, emit, say, working
from tetraodon.cli.policy_commands import PolicyPath
from tetraodon.cli.release_commands import STATES, AllowDearer, charged_in_words, follow, note_unsigned


def publish(
    policy: PolicyPath,
    data: Annotated[
        str, typer.Argument(metavar="TABLE", help="CSV or Parquet file, or file.duckdb#table.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="The view folder to write.")] = Path("view"),
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier view folder.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Finish a view that was charged and interrupted.")] = False,
    accept_exposure: Annotated[
        bool, typer.Option("--accept-exposure", help="Publish it however many records it gives away by itself.")
    ] = False,
    allow_dearer: AllowDearer = False,
    ledger: LedgerUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Publish a view of a whole table: its records, some left out, among tuples that nobody has.

    The policy's `adversary` says whom it must withstand. The view's exact loss is charged before a tuple is drawn,
    large as it is, and never taken back; --resume finishes what was interrupted after it, at no further charge.
    `tetraodon plan` tells everything beforehand, without data.

    The view is then attacked with what it tells by itself about how common values are. If that newly exposes more than
    1% of the records it is held back; --resume --accept-exposure publishes it under the same charge.

    \b
    Example:
      tetraodon publish people.policy.yaml people.csv --out view/

    \b
    --json gives {"dataset", "folder", "report", "ledger", "keep", "noise", "rows", "tuples", "charged", "left",
      "exposure": {"belief", "before", "named", "right", "records", "new", "new_records"}};
    "keep" and "noise" are exact fractions, "rows" the rows of the view, "tuples" those of the domain.
    """
    with Edge(as_json) as edge:
        edge.state = STATES["counting"]
        existing_policy(policy, data)
        source = existing_table(data)
        from tetraodon.ledger import Ledger, shown_below
        from tetraodon.policy.load import load_policy
        from tetraodon.policy.side_table import side_tables
        from tetraodon.publishing.exposure import Exposure
        from tetraodon.publishing.publish import publish
        from tetraodon.publishing.words import exposed
        from tetraodon.releasing.manifest import read_manifest

        read = load_policy(policy)
        with working("planning") as progress, Ledger(ledger) as book:
            made = publish(
                read,
                source,
                ledger=book,
                out=out,
                force=force,
                resume=resume,
                allow_dearer=allow_dearer,
                accept_exposure=accept_exposure,
                progress=follow(edge, progress),
            )
            left = shown_below(book.account(read.account).left)
        folder = made.rows.parent if made.seen is None else made.rows.parent.parent
        manifest = read_manifest(folder, "view")
        note_unsigned(folder)
        if as_json:
            emit(
                {
                    "dataset": read.dataset,
                    "folder": str(folder),
                    "report": str(folder / "report.html"),
                    "ledger": ledger_name(ledger),
                    "keep": str(made.channel.keep),
                    "noise": str(made.channel.noise),
                    "rows": manifest["tuples"],
                    "tuples": made.domain.size,
                    "charged": manifest["charged"],
                    "left": left,
                    "exposure": manifest["exposure"],
                }
            )
            return
        say(f"Published {manifest['tuples']:,} rows to {folder}, records among tuples that nobody has.")
        say(exposed(Exposure.of(manifest["exposure"])))
        for table in side_tables(read).values():
            say(table.sentence.replace("is copied", "was copied"))
        say(charged_in_words(edge, manifest["charged"], read.account, left))
        say(f"The report: {folder / 'report.html'}")
