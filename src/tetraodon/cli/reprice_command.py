"""`tetraodon ledger reprice`: what past releases have cost under another policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tetraodon.cli.command_boundary import Edge, existing
from tetraodon.cli.ledger_commands import DEFAULT, LedgerUrl, ledger_name
from tetraodon.cli.output import Json, emit, heading, say, table, wrapped

if TYPE_CHECKING:
    from fractions import Fraction

    from tetraodon.certificate.certificate import Certificate
    from tetraodon.releasing.reprice import Repricing


def reprice(
    policy: Annotated[str, typer.Option("--policy", metavar="POLICY", help="The other policy file.")],
    ledger: LedgerUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Show what the releases of a data set have cost under another policy. Nothing is changed.

    What was measured is certified again, exactly: under a stricter graph, or with one more table that has become known.
    An exact answer that the other policy would not allow costs infinity.

    \b
    Example:
      tetraodon ledger reprice --policy stricter.policy.yaml

    \b
    --json gives {"ledger", "dataset", "charged", "repriced", "added_up", "exact", "releases": [{"id", "when",
      "items": [NAME], "charged", "repriced", "exact", "method"}]}; amounts are exact texts, or "infinite".
    """
    with Edge(as_json):
        existing(policy, option="--policy")
        from tetraodon.ledger import Ledger
        from tetraodon.policy.load import load_policy
        from tetraodon.releasing import reprice as pricing

        read = load_policy(policy)
        with Ledger(ledger) as book:
            book.account(read.dataset)
            found = pricing.reprice(book, read)
        if as_json:
            emit({"ledger": ledger_name(ledger)} | _repricing_document(found))
            return
        _show_repricing(found)


def _repricing_document(found: Repricing) -> dict[str, Any]:
    return {
        "dataset": found.dataset,
        "charged": _exactly(found.charged),
        "repriced": _exactly(found.together.epsilon),
        "added_up": _exactly(found.added_up),
        "exact": found.together.exact,
        "releases": [
            {
                "id": release.id,
                "when": release.when,
                "items": list(release.items),
                "charged": _exactly(release.charged),
                "repriced": _exactly(release.certificate.epsilon),
                "exact": release.certificate.exact,
                "method": release.certificate.method,
            }
            for release in found.releases
        ],
    }


def _exactly(amount: Fraction | float) -> str:
    from fractions import Fraction

    from tetraodon.rational import decimal_text

    return decimal_text(amount) if isinstance(amount, Fraction) else "infinite"


def _show_repricing(found: Repricing) -> None:
    from tetraodon.ledger import shown_above

    if not found.releases:
        say(f"Nothing has been released from {found.dataset}.")
        return
    heading(f"Releases of {found.dataset} under this policy")
    names = ["no.", "when (UTC)", "charged", "repriced", "items"]
    rows = [
        [
            str(release.id),
            release.when[:16].replace("T", " "),
            shown_above(release.charged),
            _above(release.certificate),
            ", ".join(release.items),
        ]
        for release in found.releases
    ]
    table(names, rows, right=["no.", "charged", "repriced"])
    say()
    wrapped(
        f"All of it together was charged {shown_above(found.charged)}, and under this policy it has lost "
        f"{_above(found.together)} ({found.together.method})."
    )


def _above(certificate: Certificate) -> str:
    from fractions import Fraction

    from tetraodon.ledger import shown_above

    return shown_above(Fraction(certificate.epsilon)) if certificate.finite else "infinite"
