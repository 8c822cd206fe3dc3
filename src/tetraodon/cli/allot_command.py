"""`tetraodon ledger allot` and `ledger grant`: who may spend how much of a total, and which role may charge at all."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from tetraodon.cli.allotments_in_words import allotments_document, day_and_hour
from tetraodon.cli.command_boundary import Edge, WrongUse, typed_number
from tetraodon.cli.ledger_commands import DEFAULT, LedgerUrl, ledger_name
from tetraodon.cli.output import Json, emit, wrapped


def allot(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="A data set, or a population.", show_default=False)],
    owner: Annotated[str, typer.Argument(metavar="OWNER", help="Who may spend it.", show_default=False)],
    amount: Annotated[str, typer.Argument(metavar="EPSILON", help="In all; 0 ends it.", show_default=False)],
    until: Annotated[
        str | None, typer.Option(metavar="DAY", help="It ends when this day begins, in UTC.", show_default="no end")
    ] = None,
    ledger: LedgerUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Set how much of a data set's total somebody may spend in all, in place of what was set before.

    Nothing is set aside: allotments may add up to more than the total, and the total wins. Releases with `--owner` are
    charged to both, and so is what analysts ask of a server. `ledger show` lists them.

    \b
    Examples:
      tetraodon ledger allot people-2026 ann 0.5
      tetraodon ledger allot people-2026 ann 1 --until 2027-01-01

    \b
    --json gives {"ledger", "dataset", "owner", "amount", "spent", "left", "expires", "when"}; amounts are exact texts.
    """
    with Edge(as_json):
        exact, ends = typed_number(amount, option="EPSILON", least=0), _moment(until)
        from tetraodon.ledger import Ledger, shown_below

        with Ledger(ledger) as book:
            account = book.account(dataset).dataset
            book.allot(account, owner, exact, ends)
            (made,) = (one for one in allotments_document(book, account) if one["owner"] == owner)
            left = book.left(account, owner)
        if as_json:
            emit({"ledger": ledger_name(ledger), "dataset": account} | made)
            return
        end = f", until {day_and_hour(made['expires'])}" if made["expires"] else ""
        wrapped(f"{owner} may spend epsilon {shown_below(exact)} of {account} in all{end}; {shown_below(left)} now.")


def grant(
    role: Annotated[str, typer.Argument(metavar="ROLE", help="A role of the Postgres server.", show_default=False)],
    ledger: LedgerUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Let a role of a Postgres server charge this ledger: it may read and add, and change or delete nothing.

    Run it as the owner of the ledger's tables. What else the role was granted is taken away, and one that has more from
    elsewhere is refused. Releases by such a role are charged as any other.

    \b
    Example:
      tetraodon ledger grant analysts --ledger postgresql://owner@db/ledger

    \b
    --json gives {"ledger", "role"}.
    """
    with Edge(as_json):
        from tetraodon.ledger import Ledger

        with Ledger(ledger) as book:
            book.grant(role)
        if as_json:
            emit({"ledger": ledger_name(ledger), "role": role})
            return
        wrapped(f"{role} may charge {ledger_name(ledger)}, and change or delete nothing of it.")


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise WrongUse("--until is not a day", fix="write one such as 2027-01-01") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
