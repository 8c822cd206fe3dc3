"""What is allotted of a data set to whom, in words and in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tetraodon.cli.output import heading, say, table, wrapped

if TYPE_CHECKING:
    from tetraodon.ledger import Ledger


def allotments_document(book: Ledger, dataset: str) -> list[dict[str, Any]]:
    """What is allotted of a data set, as JSON; `left` is what allotment and total both cover."""
    from tetraodon.rational import decimal_text

    return [
        {
            "owner": one.owner,
            "amount": decimal_text(one.amount),
            "spent": decimal_text(one.spent),
            "left": decimal_text(book.left(dataset, one.owner)),
            "expires": one.expires or None,
            "when": one.when,
        }
        for one in book.allotments(dataset)
    ]


def show_allotments(book: Ledger, dataset: str) -> None:
    """What is allotted of a data set, if anything is."""
    from tetraodon.ledger import shown_above, shown_below

    found = book.allotments(dataset)
    if not found:
        return
    say()
    heading(f"Allotments of {dataset}")
    rows = []
    for one in found:
        left = shown_below(book.left(dataset, one.owner))
        rows.append(
            [one.owner, shown_below(one.amount), shown_above(one.spent), left, day_and_hour(one.expires) or "no end"]
        )
    table(["owner", "allotted", "spent", "left", "until (UTC)"], rows, right=["allotted", "spent", "left"])
    wrapped("What is left is what the allotment and the total both cover.")


def day_and_hour(moment: str) -> str:
    """A moment as a ledger keeps it, without its seconds.

    >>> day_and_hour("2027-01-01T00:00:00.000000+00:00")
    '2027-01-01 00:00'
    """
    return moment[:16].replace("T", " ")
