"""The `tetraodon` command: what it can do, in the order in which a curator does it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from copy import copy
from typing import Annotated

import typer

from tetraodon import __version__
from tetraodon.cli import attack as attack_command
from tetraodon.cli import demo as demo_command
from tetraodon.cli import ledger as allot_command
from tetraodon.cli import ledger as audit_command
from tetraodon.cli import ledger as correct_command
from tetraodon.cli import ledger as key_command
from tetraodon.cli import ledger as ledger_commands
from tetraodon.cli import ledger as reprice_command
from tetraodon.cli import plan as compare_command
from tetraodon.cli import plan as plan_command
from tetraodon.cli import policy as init_command
from tetraodon.cli import policy as policy_commands
from tetraodon.cli import release as ask_command
from tetraodon.cli import release as publish_command
from tetraodon.cli import release as release_commands
from tetraodon.cli import release as synthesize_command
from tetraodon.cli import remote as remote_commands
from tetraodon.cli import serve as serve_command
from tetraodon.cli import serve as studio_command
from tetraodon.cli.console import INTERRUPTED

app = typer.Typer(
    name="tetraodon",
    help="Say what is secret, then publish statistics with a certified privacy loss.",
    epilog="Exit codes: 0 done, 1 refused, 2 wrong use, 70 internal error, 130 stopped by Ctrl-C.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
ledger = typer.Typer(
    help="Open a data set's budget, and see what is left of it.", no_args_is_help=True, rich_markup_mode=None
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tetraodon {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    server: Annotated[
        str | None, typer.Option(metavar="URL", help="Ask a server: for plan, release and ask.", show_default=False)
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Say what is secret, then publish statistics with a certified privacy loss."""
    del version
    remote_commands.choose(server, context.invoked_subcommand)


_COMMANDS: tuple[tuple[typer.Typer, str, str, Callable[..., None]], ...] = (
    (app, "init", "Write the first draft of a policy file.", init_command.init),
    (app, "check", "Check a policy file, or how a table fits it.", policy_commands.check),
    (app, "explain", "Say in words what a policy promises.", policy_commands.explain),
    (app, "plan", "Mechanisms, expected errors and certificate; no data.", plan_command.plan),
    (app, "studio", "A local page that shows what a policy promises and costs.", studio_command.studio),
    (app, "compare", "What weaker and stronger promises would buy; no data.", compare_command.compare),
    (ledger, "open", "Set a data set's total and governing policy, once.", ledger_commands.open_),
    (ledger, "show", "What was asked, charged and is left.", ledger_commands.show),
    (ledger, "allot", "How much of a total somebody may spend.", allot_command.allot),
    (ledger, "grant", "Let a role of a database charge.", allot_command.grant),
    (ledger, "correct", "Correct a mistyped total while nothing is spent.", correct_command.correct),
    (ledger, "audit", "Whether the ledger is still what it was.", audit_command.audit),
    (ledger, "key", "The public key that releases are signed with.", key_command.key),
    (ledger, "reprice", "What past releases have cost under another policy.", reprice_command.reprice),
    (app, "release", "Count, charge the ledger, add noise, write the folder.", release_commands.release),
    (app, "publish", "Publish a view of a whole table: records among noise.", publish_command.publish),
    (app, "show", "A release: its promise and its answers.", release_commands.show),
    (app, "verify", "Recompute every certificate and hash, without the data.", release_commands.verify),
    (app, "ask", "Ask a release or a view how many records satisfy a condition.", ask_command.ask),
    (app, "synthesize", "Made-up records with the counts of a release.", synthesize_command.synthesize),
    (app, "serve", "Serve data sets to analysts within their budgets.", serve_command.serve),
    (app, "work", "Run what curators approved on a server.", serve_command.work),
    (app, "account", "Make an account on a server.", serve_command.account),
    (app, "attack", "Run an attack of the gallery, and what defends.", attack_command.attack),
    (app, "schema", "Print the JSON Schema of policy files.", policy_commands.schema),
    (app, "demo", "Release the bundled example from end to end.", demo_command.demo),
)
OBJECTS_BETWEEN_COLLECTIONS = 50_000
for _app, _name, _short, _function in _COMMANDS:
    _app.command(_name, short_help=_short)(_function)
app.add_typer(ledger, name="ledger")


def needed(words: Sequence[str]) -> typer.Typer:
    """What a command line needs of the app: where its first word is a command, the options of no other are made."""
    found = copy(app)
    asked = [command for command in app.registered_commands if words and command.name == words[0]]
    if asked:
        found.registered_commands, found.registered_groups = asked, []
    return found


def main() -> None:
    """The console script.

    Why  what a command imports is about a hundred thousand objects that stay. Looking for garbage among them after
         every few hundred took a few hundredths of a small release's processor time.
    """
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")  # a terminal that lacks a character gets a question mark
    try:
        needed(sys.argv[1:])()
    except KeyboardInterrupt:
        typer.echo("Stopped by Ctrl-C. Nothing was changed.", err=True)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
