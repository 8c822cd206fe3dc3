"""`tetraodon studio`: a local page on which a policy file is made by looking at what it promises and costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tetraodon.cli.command_boundary import Edge, WrongUse, existing_table
from tetraodon.cli.ledger_commands import DEFAULT, LedgerUrl
from tetraodon.cli.output import Json, emit, say


def studio(
    policy: Annotated[str, typer.Argument(metavar="POLICY", help="The policy file; drafted if it is not there.")],
    data: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="The table to release from.", show_default=False)
    ] = None,
    ledger: LedgerUrl = DEFAULT,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on 127.0.0.1; 0 takes a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, and open nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Open a page on this machine that shows what a policy promises and costs while you make it.

    It writes the policy file that all other commands read. Of the table it reads the names and types of its columns,
    when it drafts the file, and nothing else before you release. It ends with Ctrl-C.

    \b
    Examples:
      tetraodon studio people.policy.yaml
      tetraodon studio people.policy.yaml people.csv

    \b
    --json gives {"address", "file"}, once, before it serves; the address works for one browser, once.
    """
    with Edge(as_json):
        path = Path(policy)
        table = "" if data is None else existing_table(data)
        if not path.exists():
            if not table:
                raise WrongUse(
                    "there is no such file", fix="give a TABLE too, to draft it from its columns", where=policy
                )
            from tetraodon.policy.draft import init

            init(table).write(path)
        from tetraodon.studio.server import Studio
        from tetraodon.studio.workbench import Workbench

        opened = Studio(Workbench(path, table, ledger), port)
        if as_json:
            emit({"address": opened.address, "file": str(path)})
        else:
            say(f"The studio is at {opened.address}")
            say("Ctrl-C ends it. What you change is in the file at once.")
        if not no_browser:
            import webbrowser

            webbrowser.open(opened.address)
        try:
            opened.serve()
        finally:
            opened.close()
