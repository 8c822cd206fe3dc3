"""`tetraodon ledger correct`: a total that was mistyped, while nothing is spent."""

from __future__ import annotations

from typing import Annotated

import typer

from tetraodon.cli.command_boundary import Edge, WrongUse, typed_number
from tetraodon.cli.ledger_commands import DEFAULT, LedgerUrl, account_document, corrections_document, ledger_name
from tetraodon.cli.output import Json, emit, wrapped


def correct(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="A data set, or a population.", show_default=False)],
    total: Annotated[
        str | None, typer.Option(metavar="EPSILON", help="The right total.", show_default="as it is")
    ] = None,
    delta: Annotated[str | None, typer.Option(metavar="D", help="The right delta.", show_default="as it is")] = None,
    confirm: Annotated[
        str | None, typer.Option(metavar="DATASET", help="Its name once more: do it.", show_default=False)
    ] = None,
    ledger: LedgerUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Correct a total, or a delta, that was mistyped. Only while nothing is released; it leaves a trace.

    Without --confirm it is told what would change, and nothing is.

    \b
    Examples:
      tetraodon ledger correct people-2026 --total 3
      tetraodon ledger correct people-2026 --total 3 --confirm people-2026

    \b
    --json gives {"ledger", "dataset", "total", "delta", "charged", "left", "policy_sha256", "opened",
      "corrections": [{"when", "total", "delta"}]}.
    """
    with Edge(as_json):
        amount = typed_number(total, option="--total", least=0)
        given = typed_number(delta, option="--delta", least=0, below=1)
        if amount is None and given is None:
            raise WrongUse("nothing is to be corrected", fix="give --total, or --delta")
        from tetraodon.errors import Refused
        from tetraodon.ledger import Ledger, shown_below

        with Ledger(ledger) as book:
            before = book.account(dataset)
            right = before.total if amount is None else amount
            if confirm != dataset:
                now, then = shown_below(before.total), shown_below(right)
                what = f"the total of {before.dataset} would become {then}, and is {now}"
                if given is not None:
                    what += f"; its delta would become {float(given):g}, and is {float(before.delta):g}"
                raise Refused(what, fix=f"if that is right, add --confirm {dataset}; nothing was changed")
            after = book.correct(dataset, right, delta=given)
            trace = book.corrections(dataset)
        if as_json:
            emit(
                {"ledger": ledger_name(ledger)} | account_document(after) | {"corrections": corrections_document(trace)}
            )
            return
        wrapped(
            f"The total of {after.dataset} is {shown_below(after.total)} now; it was {shown_below(before.total)}. "
            "`tetraodon ledger show` keeps both."
        )
