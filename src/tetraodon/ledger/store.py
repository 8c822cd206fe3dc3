"""The ledger: reserve before noise is drawn, settle after the release is written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

from sqlalchemy import Connection, select

from tetraodon.errors import LedgerError
from tetraodon.exact.rational import Number
from tetraodon.ledger.account import Account, Correction, Entry, RecordedRefusal, Reservation, dataset_name, kept_name
from tetraodon.ledger.allotment import (
    Allotment,
    allot,
    allotment_of,
    allotments_of,
    check_wave,
    expiry_text,
    governing_document,
    join,
    population_in,
    standing_for,
    waves_of,
)
from tetraodon.ledger.amount import amount_text, canonical_text, document_hash, exact_amount
from tetraodon.ledger.audit import Audit, audited
from tetraodon.ledger.charging import Bill, account_of, charge, fitting, names, settle, taken_by
from tetraodon.ledger.database import Database, ledger_address
from tetraodon.ledger.entries import corrections_of, entry_in, entry_of, record, refusal_in, statement_of, text_in
from tetraodon.ledger.migrate import grant
from tetraodon.ledger.schema import VERSION, entries, found_version, keys, refusals
from tetraodon.ledger.signing import PLACE, PublicKey, Signer, key_place, make_key, public_key, read_key
from tetraodon.policy.load import AnyPolicy, load_policy


class Ledger:
    """One total per data set, or per population that several are about, shared by everyone who asks.

    Post  the charges of a data set never sum to more than its total, whatever the number of processes
          and wherever they crash: a charge is on the disk before `reserve` returns, and nothing
          takes it back.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> from fractions import Fraction
    >>> import tetraodon as td
    >>> policy = {"dataset": "adult", "attributes": {"sex": ["f", "m"]}, "budget": {"epsilon": 1}}
    >>> item = {"policy": policy, "plan": {}, "certificate": td.certify(policy, [[1, 0]], 3)}
    >>> with folder as place, Ledger(f"{place}/budget.db") as ledger:
    ...     account = ledger.open("adult", Fraction(1), policy)
    ...     third = Fraction(1, 3)
    ...     reservation = ledger.reserve("adult", Bill(asked=third, charged=third, item=item))
    ...     ledger.settle(reservation, manifest_hash="0" * 64)
    ...     ledger.account("adult").left
    0.666667 (2/3)
    """

    def __init__(self, url: str | os.PathLike[str] = "sqlite:///tetraodon.db") -> None:
        address = ledger_address(url)
        self._database = Database(address)
        self._key = key_place(address.path)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def grant(self, role: str) -> None:
        """Let a role of the Postgres server charge, and no more: what else it was granted before is taken away."""
        with self._database.writing() as connection:
            grant(connection, role)

    def open(self, dataset: str, total: Number, policy: AnyPolicy, *, delta: Number | None = None) -> Account:
        """Set the total and the governing policy of a data set, once. Releases with Gaussian noise need a delta: left
        out, it is the policy's.

        Numbers are exact: 0.1 and "0.1" mean one tenth. The policy is one that was read, its file, or its document. If
        it names a population, that is what is opened, and the data set is its first wave; others join when released.

        Post  the ledger is made if it was not there, with a key that signs what is written. Opening again on the same
              terms changes nothing; on other terms it is refused, since earlier releases were priced on the first ones.
        """
        document = policy if isinstance(policy, Mapping) else load_policy(policy).document
        exact = exact_amount(total, "the total")
        forgiven = exact_amount(_delta_of(document) if delta is None else delta, "delta")
        name = population_in(document) or dataset_name(dataset)
        governing = governing_document(document)
        text, digest = canonical_text(governing), document_hash(governing)
        with self._database.writing(make=True) as connection:
            check_wave(connection, name, document)
            if name not in names(connection):
                terms = {"total": amount_text(exact), "delta": amount_text(forgiven), "opened": _now()}
                record(connection, "opened", dataset=name, **terms, policy=text, policy_hash=digest)
            account = account_of(connection, name)
            same_total = (account.total, account.delta) == (exact, forgiven)
            same_policy = account.policy_hash == digest
            if not (same_total and same_policy):
                differs = "policy" if same_total else "total" if same_policy else "total and policy"
                raise LedgerError(
                    f"data set {name!r} is already open with another {differs}",
                    fix="keep the first terms; other terms need new data and a new `dataset:`. A mistyped total can be "
                    "corrected while nothing is spent, and a further wave of a population needs no opening",
                )
            join(connection, name, document, _now())
            ensure_key(connection, self._key)
        return account

    def correct(self, dataset: str, total: Number, *, delta: Number | None = None) -> Account:
        """Correct a mistyped total, or delta, of a data set from which nothing was released yet. It leaves a trace.

        Why  releases were priced, and perhaps chosen, by what was left of the first total; so it is final from then on.
        """
        exact, given = exact_amount(total, "the total"), None if delta is None else exact_amount(delta, "delta")
        with self._database.writing() as connection:
            account = account_of(connection, dataset_name(dataset), lock=True)
            right = replace(account, total=exact, delta=account.delta if given is None else given)
            if account.spent.last:
                raise LedgerError(
                    f"{account.dataset!r} was released from already, so its total stands",
                    fix="keep it; ask for less, or for more in another release, as long as something is left",
                )
            if right != account:
                terms = {"total": amount_text(right.total), "delta": amount_text(right.delta), "corrected_at": _now()}
                record(connection, "corrected", dataset=account.dataset, **terms)
        return right

    def corrections(self, dataset: str) -> tuple[Correction, ...]:
        """Every correction of a data set's total, oldest first."""
        with self._database.reading() as connection:
            return corrections_of(connection, standing_for(connection, dataset_name(dataset)))

    def waves(self, population: str) -> tuple[str, ...]:
        """The data sets that a population's total was opened for or charged for, in the order in which they joined."""
        with self._database.reading() as connection:
            return waves_of(connection, dataset_name(population))

    def account(self, dataset: str, *, upto: int | None = None) -> Account:
        """What a data set, or the population that it is a wave of, may spend and has spent, now or up to an entry."""
        with self._database.reading() as connection:
            return account_of(connection, dataset_name(dataset), upto=upto)

    def accounts(self) -> tuple[Account, ...]:
        """Every data set ever opened here, by name."""
        with self._database.reading() as connection:
            return tuple(account_of(connection, name) for name in names(connection))

    def reserve(self, dataset: str, bill: Bill) -> Reservation:
        """Charge a data set for a release that is about to be made.

        Pre   no noise has been drawn yet.
        Post  the charge is on the disk. Any error means: not charged, so nothing may be released.
        Raises BudgetExhausted when the charge is more than what is left.
        """
        entry, _ = self.charge(dataset, bill)
        return entry.reservation

    def charge(self, dataset: str, bill: Bill) -> tuple[Entry, str]:
        """`reserve`, with the entry as it is kept and its hash in the chain, which need not be asked for then."""
        with self._database.writing() as connection:
            return charge(connection, dataset, bill, _now())

    def check(self, dataset: str, bill: Bill, *, upto: int | None = None) -> Fraction:
        """What a bill would add to what is spent, now or up to an entry; refused as by `reserve`. It is not charged."""
        with self._database.reading() as connection:
            return fitting(connection, dataset, bill, _now(), lock=False, upto=upto).added

    def allot(self, dataset: str, owner: str, amount: Number, expires: datetime | None = None) -> Allotment:
        """Set how much of a data set's total an owner may spend in all, and until when, in place of any earlier one.

        Post  nothing is set aside: allotments may add up to more than the total, and the total wins.
        """
        most, until = exact_amount(amount, "the allotment"), expiry_text(expires)
        name = kept_name(owner, "the owner")
        with self._database.writing() as connection:
            account = account_of(connection, dataset_name(dataset), lock=True)
            return allot(connection, account, name, most, until, _now())

    def allotments(self, dataset: str) -> tuple[Allotment, ...]:
        """What is allotted of a data set, and what of it is spent, by owner."""
        with self._database.reading() as connection:
            return allotments_of(connection, account_of(connection, dataset_name(dataset)))

    def left(self, dataset: str, owner: str | None = None) -> Fraction:
        """What the next release of a data set may cost; with an owner, theirs: what allotment and total both cover."""
        with self._database.reading() as connection:
            account = account_of(connection, dataset_name(dataset))
            if owner is None:
                return account.left
            found = allotment_of(connection, account, kept_name(owner, "the owner"))
            return Fraction(0) if found is None else min(account.left, found.left(_now()))

    def settle(self, reservation: Reservation, *, manifest_hash: str) -> None:
        """Note that the release of a reservation has been written. The charge stays as it is."""
        if not manifest_hash.isprintable() or not manifest_hash.strip():
            raise LedgerError("the manifest hash is empty", fix="give the hash of the manifest")
        with self._database.writing() as connection:
            settle(connection, reservation, manifest_hash, _now())

    def entries(
        self, dataset: str | None = None, *, up_to: int | None = None, newest: int | None = None
    ) -> tuple[Entry, ...]:
        """Every charge of one data set, or of all, oldest first; up to one number, and only so many of the newest."""
        query = select(entries).order_by(entries.c.id.desc()).limit(newest)
        query = query if up_to is None else query.where(entries.c.id <= up_to)
        with self._database.reading() as connection:
            name = None if dataset is None else standing_for(connection, dataset_name(dataset))
            found = connection.execute(query if name is None else query.where(entries.c.dataset == name)).all()
            if name is not None and not found:
                account_of(connection, name)  # refuses what was never opened
            return tuple(map(entry_in, reversed(found)))

    def entry(self, reservation: Reservation) -> Entry:
        """The entry of a reservation."""
        with self._database.reading() as connection:
            return entry_of(connection, reservation)

    def find(self, dataset: str, *, token: str) -> Entry | None:
        """The charge that was made with a token, if it was made."""
        query = select(entries).where(entries.c.document.contains(token))
        with self._database.reading() as connection:
            query = query.where(entries.c.dataset == standing_for(connection, dataset_name(dataset)))
            found = [entry_in(row) for row in connection.execute(query)]
        return next((entry for entry in found if entry.token == token), None)

    def record_refusal(self, dataset: str, kind: str) -> None:
        """Note that a release was refused because of the data: which kind and when, no detail."""
        refusal = RecordedRefusal(dataset_name(dataset), kind, _now())
        with self._database.writing() as connection:
            name = account_of(connection, refusal.dataset).dataset
            record(connection, "refused", dataset=name, kind=refusal.kind, refused_at=refusal.when)

    def refusals(self, dataset: str) -> tuple[RecordedRefusal, ...]:
        """Every recorded refusal of a data set, oldest first."""
        with self._database.reading() as connection:
            name = account_of(connection, dataset_name(dataset)).dataset
            query = select(refusals).where(refusals.c.dataset == name).order_by(refusals.c.id)
            rows = connection.execute(query).all()
            return tuple(refusal_in(row) for row in rows)

    def audit(self) -> Audit:
        """The chain of hashes over everything recorded here, computed anew, and what does not fit it."""
        self._bring_up_to_date()
        with self._database.reading() as connection:
            return audited(connection)

    def keys(self) -> tuple[PublicKey, ...]:
        """The public halves of the ledger's keys, oldest first; the last one signs."""
        self._bring_up_to_date()
        with self._database.reading() as connection:
            return known_keys(connection)

    def new_key(self) -> PublicKey:
        """Make a new key, which signs from now on. Its private half goes into a new file."""
        with self._database.writing() as connection:
            return replace_key(connection, self._key)

    def signer(self) -> Signer:
        """What signs for this ledger. Refused where the private half of its key cannot be used."""
        self._bring_up_to_date()
        with self._database.reading() as connection:
            return signer_of(connection, self._key)

    def statement(self, reservation: Reservation) -> dict[str, Any]:
        """What a manifest says of the charge that pays for it: the entry, and its hash in the chain."""
        self._bring_up_to_date()
        with self._database.reading() as connection:
            entry = entry_of(connection, reservation)
            return statement_of(connection, entry, taken_by(connection, entry))

    def taken(self, entry: Entry) -> Fraction:
        """By how much an entry raised what is spent of its account."""
        if entry.loss.rho is None:  # nothing is asked
            return entry.charged
        with self._database.reading() as connection:
            return taken_by(connection, entry)

    def _bring_up_to_date(self) -> None:
        with self._database.reading() as connection:
            old = found_version(connection) != VERSION
        if old:
            with self._database.writing():
                pass


def _delta_of(document: Mapping[str, Any]) -> Number:
    """The delta that a policy's budget states, as it is written there; 0 where it states none."""
    budget = document.get("budget")
    found: Number = budget.get("delta", 0) if isinstance(budget, Mapping) else 0
    return found


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


# -- keys -------------------------------------------------------------------------------------------
# The public keys among the ledger's tables; the newest one signs.


def known_keys(connection: Connection) -> tuple[PublicKey, ...]:
    """The public keys of a ledger, oldest first."""
    rows = connection.execute(select(keys.c.public_key).order_by(keys.c.id)).scalars()
    return tuple(public_key(text_in(text)) for text in rows)


def ensure_key(connection: Connection, place: Path | None) -> None:
    """Give a ledger a key if it has none and there is a place for its private half.

    Why  a key file that is there already was made by a process that did not finish; it is taken.
    """
    if place is not None and not known_keys(connection):
        _add(connection, read_key(place) if place.exists() else make_key(place))


def replace_key(connection: Connection, place: Path | None) -> PublicKey:
    """Make a new key, which signs from now on; what older ones signed can still be checked."""
    return _add(connection, make_key(_required(place)))


def signer_of(connection: Connection, place: Path | None) -> Signer:
    """The private half of the newest key; refused where it is missing, unreadable or another."""
    found = known_keys(connection)
    if not found:
        raise LedgerError("the ledger has no key", fix="make one with `tetraodon ledger key --new`")
    signer = read_key(_required(place))
    if signer.key != found[-1]:
        raise LedgerError(
            "the key file does not hold this ledger's key",
            fix=f"put it back, name the right file in {PLACE}, or move it away and run `tetraodon ledger key --new`",
            where=str(place),
        )
    return signer


def _required(place: Path | None) -> Path:
    if place is None:
        raise LedgerError(
            "the place of the ledger's key is not configured", fix=f"name its file in the environment: {PLACE}=FILE"
        )
    return place


def _add(connection: Connection, signer: Signer) -> PublicKey:
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    record(connection, "key", public_key=signer.key.text, made=now)
    return signer.key
