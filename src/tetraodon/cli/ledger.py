"""`tetraodon ledger`: open, show, allot, grant, audit, correct, key, reprice."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tetraodon.cli.console import (
    CliErrorHandler,
    Json,
    WrongUse,
    emit,
    existing,
    existing_policy,
    fail,
    heading,
    listed,
    say,
    table,
    typed_number,
    working,
    wrapped,
)
from tetraodon.cli.policy import PolicyPath

if TYPE_CHECKING:
    from fractions import Fraction

    from tetraodon.certificate.certificate import Certificate
    from tetraodon.ledger import Account, Correction, Entry, Ledger
    from tetraodon.ledger.audit import Audit
    from tetraodon.releases.pricing import Repricing


# -- allotments in words ----------------------------------------------------------------------------
# What is allotted of a data set to whom, in words and in JSON.


def allotments_document(book: Ledger, dataset: str) -> list[dict[str, Any]]:
    """What is allotted of a data set, as JSON; `left` is what allotment and total both cover."""
    from tetraodon.exact.rational import decimal_text

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


# -- ledger commands --------------------------------------------------------------------------------
# `tetraodon ledger open` and `ledger show`: one total per data set, or per population.

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
    with CliErrorHandler(as_json) as handler:
        existing_policy(policy)
        amount = typed_number(total, option="--total", least=0)
        given = typed_number(delta, option="--delta", least=0, below=1)
        from tetraodon.ledger import Ledger, shown_below
        from tetraodon.policy.load import load_policy

        read = load_policy(policy)
        handler.state = "The data set may be open by now (`tetraodon ledger show` tells)."
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
    with CliErrorHandler(as_json):
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
    from tetraodon.ledger.database import ledger_address

    return ledger_address(url).name


def account_document(account: Account) -> dict[str, Any]:
    """An account as JSON."""
    from tetraodon.exact.rational import decimal_text

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

    from tetraodon.exact.rational import decimal_text

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
    from tetraodon.exact.rational import decimal_text

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
    from tetraodon.exact.rational import decimal_text

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


# -- allot command ----------------------------------------------------------------------------------
# `tetraodon ledger allot` and `ledger grant`: who may spend how much of a total, and which role may charge at all.


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
    with CliErrorHandler(as_json):
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
    with CliErrorHandler(as_json):
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


# -- audit command ----------------------------------------------------------------------------------
# `tetraodon ledger audit`: whether the ledger is still what it was.

MANIFESTS = ("release.json", "view.json")
LARGEST = 100_000_000
"""Bytes of a manifest that is compared."""


def audit(
    after: Annotated[
        list[str] | None, typer.Option(metavar="HASH", help="A hash that was noted earlier.", show_default=False)
    ] = None,
    release: Annotated[
        list[str] | None, typer.Option(metavar="FOLDER", help="A release or view it paid for.", show_default=False)
    ] = None,
    ledger: LedgerUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Recompute the chain of hashes over everything the ledger has recorded, and say what does not fit it.

    By itself this finds entries that were changed, added, deleted or put in another order. An old copy of the ledger,
    put back, is found by a hash from outside: one that you noted, or that of a release. Both options may be repeated.
    Exit code 0 if everything holds, 1 if anything does not.

    \b
    Examples:
      tetraodon ledger audit
      tetraodon ledger audit --release release/

    \b
    --json gives {"ledger", "holds", "records", "last_hash", "problems": [TEXT]}.
    """
    with CliErrorHandler(as_json, holds=False):
        for folder in release or ():
            existing(folder, option="--release", folder=True)
        from tetraodon.ledger import Ledger

        with working("auditing"), Ledger(ledger) as book:
            found = book.audit()
            problems = [*found.problems, *(problem for noted in after or () if (problem := found.compared(noted)))]
            for folder in release or ():
                problems += _compared(Path(folder), found, book)
        if as_json:
            emit(
                {
                    "ledger": ledger_name(ledger),
                    "holds": not problems,
                    "records": found.records,
                    "last_hash": found.head,
                    "problems": problems,
                }
            )
        else:
            kept = "is what its chain says" if not problems else "is NOT what it was"
            wrapped(f"{ledger_name(ledger)} {kept}: {found.records} records. The last hash, to be noted elsewhere:")
            say(found.head)
            if problems:
                listed(problems)
        if problems:
            fail()


def _compared(folder: Path, found: Audit, book: Ledger) -> list[str]:
    """What does not fit between a folder and the ledger that is said to have paid for it."""
    content, entry = _stated(folder)
    number, chained = entry.get("entry"), entry.get("chain")
    if not isinstance(number, int) or found.charges.get(number) != chained:
        return [
            f"the charge that {folder} states is not in the chain: the ledger is older than that release, its past was "
            "rewritten, or another ledger paid"
        ]
    settled = next((one.manifest_hash for one in book.entries() if one.id == number), "")
    if settled and settled != hashlib.sha256(content).hexdigest():
        return [f"{folder} is not the folder that entry {number} was settled with"]
    return []


def _stated(folder: Path) -> tuple[bytes, dict[str, Any]]:
    path = next((folder / name for name in MANIFESTS if (folder / name).is_file()), None)
    if path is None:
        raise WrongUse("this is no release or view", fix="name its folder", where=str(folder))
    try:
        content = path.read_bytes() if path.stat().st_size <= LARGEST else b""
        entry = json.loads(content)["ledger"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        entry = None
    if not isinstance(entry, dict):
        raise WrongUse("it does not state the ledger's entry", fix="name a newer release", where=str(folder))
    return content, entry


# -- correct command --------------------------------------------------------------------------------
# `tetraodon ledger correct`: a total that was mistyped, while nothing is spent.


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

    Without --confirm it prints what would change, and changes nothing.

    \b
    Examples:
      tetraodon ledger correct people-2026 --total 3
      tetraodon ledger correct people-2026 --total 3 --confirm people-2026

    \b
    --json gives {"ledger", "dataset", "total", "delta", "charged", "left", "policy_sha256", "opened",
      "corrections": [{"when", "total", "delta"}]}.
    """
    with CliErrorHandler(as_json):
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


# -- key command ------------------------------------------------------------------------------------
# `tetraodon ledger key`: the public key that strangers check releases with.


def key(
    new: Annotated[bool, typer.Option("--new", help="Make a new key, which signs from now on.")] = False,
    ledger: LedgerUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Print the public key of the ledger, which releases are signed with, and its fingerprint.

    Publish both where people trust you, on the web site of your office for instance. The private key is in a file
    beside the ledger (tetraodon.key beside tetraodon.db), or where the environment variable TETRAODON_KEY says.

    \b
    Examples:
      tetraodon ledger key
      tetraodon ledger key > office.pem

    \b
    --json gives {"ledger", "fingerprint", "public_key", "pem", "signs", "why_not", "earlier": [FINGERPRINT]}; "signs"
    is whether the private key is at hand.
    """
    with CliErrorHandler(as_json):
        from tetraodon.errors import LedgerError
        from tetraodon.ledger import Ledger

        with Ledger(ledger) as book:
            if new:
                book.new_key()
            *earlier, found = book.keys() or (None,)
            try:
                book.signer()
                why_not = None
            except LedgerError as error:
                why_not = str(error)
                if found is None:
                    raise
        assert found is not None
        if as_json:
            emit(
                {
                    "ledger": ledger_name(ledger),
                    "fingerprint": found.fingerprint,
                    "public_key": found.text,
                    "pem": found.pem,
                    "signs": why_not is None,
                    "why_not": why_not,
                    "earlier": [one.fingerprint for one in earlier if one is not None],
                }
            )
            return
        say(found.pem.rstrip())
        note_fingerprint(found.fingerprint)
        if why_not is not None:
            wrapped(f"Releases are NOT signed: {why_not}")


def note_fingerprint(fingerprint: str) -> None:
    """Print a fingerprint in groups that can be read aloud, apart from the key, which may go to a file."""
    from tetraodon.cli.console import note

    groups = " ".join(fingerprint[place : place + 4] for place in range(0, 64, 4))
    note(f"Fingerprint: {groups}")


# -- reprice command --------------------------------------------------------------------------------


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
    with CliErrorHandler(as_json):
        existing(policy, option="--policy")
        from tetraodon.ledger import Ledger
        from tetraodon.policy.load import load_policy
        from tetraodon.releases import pricing

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

    from tetraodon.exact.rational import decimal_text

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
