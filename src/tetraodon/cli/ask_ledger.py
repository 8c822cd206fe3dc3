"""Whether the ledger covers what is planned, in words and in JSON."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tetraodon.cli.ledger_commands import ledger_name

if TYPE_CHECKING:
    from tetraodon.ledger import Ledger
    from tetraodon.releasing.pricing import Quote


def ask_ledger(url: str, own: Fraction, quoting: Callable[[Ledger], Quote]) -> tuple[dict[str, Any], str]:
    """What the ledger at `url` says to something that loses `own` under its own policy. Nothing is charged."""
    from tetraodon.errors import LedgerError
    from tetraodon.ledger.account import no_ledger

    try:
        path = url.removeprefix("sqlite:///")
        if re.fullmatch(r"[\w./-]+", path) and not os.path.exists(path):
            raise no_ledger(path)
        from tetraodon.ledger import Ledger  # SQLAlchemy comes with it, which takes longer than many a plan

        with Ledger(url) as book:
            found = quoting(book)
        return found.document(ledger_name(url)), quote_in_words(found, ledger_name(url), own)
    except LedgerError as error:
        empty = dict.fromkeys(("ledger", "total", "left", "charge", "fits"))
        return empty | {"why_not": str(error)}, f"Whether the ledger covers it is not known yet. {error}"


def quote_in_words(quote: Quote, name: str, own: Fraction) -> str:
    """A quote as a sentence or two."""
    from tetraodon.ledger import shown_above, shown_below

    account = quote.account
    if quote.refusal is not None:
        told = f"The ledger {name} would refuse this: {quote.refusal.what}. Fix: {quote.refusal.fix}."
    else:
        assert quote.charge is not None
        told = (
            f"It fits the ledger {name}: {account.dataset} has epsilon {shown_below(account.left)} left of "
            f"{shown_below(account.total)}, and this would be charged {shown_above(quote.charge)}."
        )
    if quote.charge in (None, own):
        return told
    return (
        f"{told} By itself, under this file, it loses {shown_above(own)}; what counts is what it adds to earlier "
        f"releases under the policy that governs the data, which `tetraodon ledger show {account.dataset}` prints."
    )
