"""`tetraodon ledger open` and `ledger show`: one total per data set, or per population."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tetraodon.cli.allotments_in_words import allotments_document, show_allotments
from tetraodon.cli.command_boundary import Edge, existing_policy, typed_number
from tetraodon.cli.output import Json, emit, heading, say, table, wrapped
from tetraodon.cli.policy_commands import PolicyPath

if TYPE_CHECKING:
    from fractions import Fraction

    from tetraodon.ledger import Account, Correction, Entry, Ledger

DEFAULT = "sqlite:///tetraodon.db"
LedgerUrl = Annotated[
    str,
    typer.Option(
        "--ledger", envvar="TETRAODON_LEDGER", metavar="FILE|URL", help="The ledger: a file, or the URL of a database."
    ),
]


def open_(
    policy: PolicyPath,
    total: Annotated[
        str | None, typer.Option(metavar="EPSILON", help="The total budget.", show_default="the policy's epsilon")
    ] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="D", help="Allow Gaussian noise.", show_default="the policy's delta")
    ] = None,
    ledger: LedgerUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Set a data set's total budget and the policy that governs it, once and for all.

    Every later release from the data, whatever policy file asks for it, is priced under this policy. Opening again
    on the same terms changes nothing; on other terms it is refused. If the policy names a population, that is what is
    opened: all data sets that name it, its waves, share the total and the policy.

    \b
    Example:
      tetraodon ledger open people.policy.yaml --total 3

    \b
    --json gives {"ledger", "key", "dataset", "total", "delta", "charged", "left", "policy_sha256", "opened"}; amounts
    are exact texts such as "0.1" or "1/3", "key" is the fingerprint of the key that signs.
    """
    with Edge(as_json) as edge:
        existing_policy(policy)
        amount = typed_number(total, option="--total", least=0)
        given = typed_number(delta, option="--delta", least=0, below=1)
        from tetraodon.ledger import Ledger, shown_below
        from tetraodon.policy.load import load_policy

        read = load_policy(policy)
        edge.state = "The data set may be open by now (`tetraodon ledger show` tells)."
        with Ledger(ledger) as book:
            account = book.open(
                read.dataset,
                read.epsilon if amount is None else amount,
                read.document,
                delta=read.delta if given is None else given,
            )
            key = next((one.fingerprint for one in reversed(book.keys())), None)
        if as_json:
            emit({"ledger": ledger_name(ledger), "key": key} | account_document(account))
            return
        wrapped(
            f"{account.dataset} is open in {ledger_name(ledger)}: total epsilon {_total(account)}, "
            f"{shown_below(account.left)} left. Its governing policy is fixed now, and its total with the first "
            "release."
        )
        if read.population:
            wrapped(f"It is a population: {read.dataset} and every other data set that names it share this total.")
        if key is None:
            wrapped("Releases will not be signed: the ledger has no key. Name a file for it in TETRAODON_KEY.")


def show(
    dataset: Annotated[
        str | None,
        typer.Argument(metavar="DATASET", help="One data set, with its governing policy.", show_default=False),
    ] = None,
    ledger: LedgerUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Show what was asked, what was charged and what is left, for every data set or for one.

    \b
    Examples:
      tetraodon ledger show
      tetraodon ledger show household-survey-2026

    \b
    --json gives {"ledger", "datasets": [{"dataset", "total", "delta", "asked", "charged", "left", "policy_sha256",
      "opened", "policy", "entries": [{"id", "wave", "owner", "when", "asked", "charged", "delta", "rho", "composition",
      "state", "settled", "release_sha256", "items": [NAME]}], "refusals": [{"kind", "when"}], "waves": [{"dataset",
      "releases", "asked", "charged"}], "corrections": [{"when", "total", "delta"}], "allotments": [{"owner", "amount",
      "spent", "left", "expires", "when"}]}]}; amounts are exact texts such as "0.1" or "1/3". `composition` is
      "adds up", "adds up alone" or "verified jointly". With Gaussian noise "charged" is at "delta": losses compose.
    """
    with Edge(as_json):
        from tetraodon.ledger import Ledger

        with Ledger(ledger) as book:
            accounts = book.accounts() if dataset is None else (book.account(dataset),)
            found = [_dataset_document(book, account) for account in accounts]
            if as_json:
                emit({"ledger": ledger_name(ledger), "datasets": found})
                return
            _show_accounts(book, accounts)
            for account in accounts:
                _show_entries(book, account)
                show_allotments(book, account.dataset)
            if dataset is not None:
                _show_policy(accounts[0])


def ledger_name(url: str) -> str:
    """The ledger in words, without a password."""
    from tetraodon.ledger.address import ledger_address

    return ledger_address(url).name


def account_document(account: Account) -> dict[str, Any]:
    """An account as JSON."""
    from tetraodon.rational import decimal_text

    return {
        "dataset": account.dataset,
        "total": decimal_text(account.total),
        "delta": decimal_text(account.delta),
        "charged": decimal_text(account.charged),
        "left": decimal_text(account.left),
        "policy_sha256": account.policy_hash,
        "opened": account.opened,
    }


def _dataset_document(book: Ledger, account: Account) -> dict[str, Any]:
    from fractions import Fraction

    from tetraodon.rational import decimal_text

    entries = book.entries(account.dataset)
    asked = sum((entry.asked for entry in entries), Fraction(0))
    refusals = [{"kind": refusal.kind, "when": refusal.when} for refusal in book.refusals(account.dataset)]
    return account_document(account) | {
        "asked": decimal_text(asked),
        "policy": dict(account.policy),
        "entries": [_entry_document(entry) for entry in entries],
        "refusals": refusals,
        "waves": [
            {"dataset": used.wave, "releases": used.releases}
            | {"asked": decimal_text(used.asked), "charged": decimal_text(used.charged)}
            for used in used_by_waves(book, account)
        ],
        "corrections": corrections_document(book.corrections(account.dataset)),
        "allotments": allotments_document(book, account.dataset),
    }


def _entry_document(entry: Entry) -> dict[str, Any]:
    from tetraodon.rational import decimal_text

    return {
        "id": entry.id,
        "wave": entry.wave,
        "owner": entry.owner or None,
        "when": entry.when,
        "asked": decimal_text(entry.asked),
        "charged": decimal_text(entry.charged),
        "composition": entry.composition,
        "delta": decimal_text(entry.delta),
        "rho": None if entry.loss.rho is None else decimal_text(entry.loss.rho),
        "state": entry.state,
        "settled": entry.settled or None,
        "release_sha256": entry.manifest_hash or None,
        "items": _items(entry),
    }


def corrections_document(corrections: tuple[Correction, ...]) -> list[dict[str, str]]:
    """How a total was corrected, as JSON."""
    from tetraodon.rational import decimal_text

    return [{"when": c.when, "total": decimal_text(c.total), "delta": decimal_text(c.delta)} for c in corrections]


@dataclass(frozen=True, slots=True)
class UsedByWave:
    """What one wave of a population has used. With Gaussian noise charges do not simply add up."""

    wave: str
    releases: int
    asked: Fraction
    charged: Fraction


def used_by_waves(book: Ledger, account: Account) -> list[UsedByWave]:
    """What each wave of a population has used; nothing for a data set that stands alone."""
    from fractions import Fraction

    found, waves = list[UsedByWave](), book.waves(account.dataset)
    entries = book.entries(account.dataset) if waves else ()
    for wave in waves:
        mine = [entry for entry in entries if entry.wave == wave]
        asked, charged = (sum((getattr(e, name) for e in mine), Fraction(0)) for name in ("asked", "charged"))
        found.append(UsedByWave(wave, len(mine), asked, charged))
    return found


def _total(account: Account) -> str:
    from tetraodon.ledger import shown_below

    at = f" at delta {float(account.delta):g}" if account.delta else ""
    return f"{shown_below(account.total)}{at}"


def _items(entry: Entry) -> list[str]:
    plan = entry.document["plan"]
    if "view" in plan:
        return ["a published view"]
    parts = [plan.get(part) for part in ("queries", "names")] if isinstance(plan, dict) else []
    named = [query for part in parts if isinstance(part, list) for query in part if isinstance(query, dict)]
    return [str(query.get("name", "")) for query in named]


def _show_accounts(book: Ledger, accounts: tuple[Account, ...]) -> None:
    from fractions import Fraction

    from tetraodon.ledger import shown_above, shown_below

    rows = []
    for account in accounts:
        asked = sum((entry.asked for entry in book.entries(account.dataset)), Fraction(0))
        amounts = [_total(account), shown_above(asked), shown_above(account.charged)]
        rows.append([account.dataset, *amounts, shown_below(account.left)])
    names = ["data set", "total", "asked", "charged", "left"]
    table(names, rows, right=names[1:])
    if not accounts:
        say("No data set is open here.")


def _show_entries(book: Ledger, account: Account) -> None:
    from tetraodon.ledger import shown_above

    entries, refusals = book.entries(account.dataset), book.refusals(account.dataset)
    waves, owned = used_by_waves(book, account), any(entry.owner for entry in entries)
    if waves:
        say()
        heading(f"Waves of the population {account.dataset}")
        used = [[one.wave, str(one.releases), shown_above(one.asked), shown_above(one.charged)] for one in waves]
        table(["wave", "releases", "asked", "charged"], used, right=["releases", "asked", "charged"])
    if entries:
        say()
        heading(f"Releases of {account.dataset}")
        more = [*(["wave"] if waves else []), *(["owner"] if owned else [])]
        names = ["no.", *more, "when (UTC)", "asked", "charged", "composes", "state", "items"]
        rows = [
            [
                str(entry.id),
                *([entry.wave] if waves else []),
                *([entry.owner] if owned else []),
                entry.when[:16].replace("T", " "),
                shown_above(entry.asked),
                shown_above(entry.charged)
                + (f" (rho {float(entry.loss.rho):.3g})" if entry.loss.rho else "")
                + (f" (delta {float(entry.loss.delta):.3g})" if entry.loss.delta else ""),
                entry.composition,
                "written" if entry.state == "settled" else "charged, not written",
                ", ".join(_items(entry)),
            ]
            for entry in entries
        ]
        table(names, rows, right=["no.", "asked", "charged"])
    for one in book.corrections(account.dataset):
        say()
        when, at = one.when[:16].replace("T", " "), f" at delta {float(one.delta):g}" if one.delta else ""
        right = f"{shown_above(one.total)}{at}"
        wrapped(f"{account.dataset}: its total was corrected to {right} on {when}, before any release.")
    if refusals:
        say()
        wrapped(f"{account.dataset}: {len(refusals)} refused because of the data (for the curator only).")


def _show_policy(account: Account) -> None:
    from tetraodon.policy.source import dump_policy

    say()
    heading(f"Governing policy of {account.dataset}")
    say(dump_policy(account.policy).rstrip("\n"))
