"""A charge: how accounts stand, the bill of a release, and the transaction that writes it.

And that it was settled, in another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, Select, bindparam, select, update

from tetraodon.certificate.certificate import Certificate
from tetraodon.errors import BudgetExhausted, ConcurrentCharge, LedgerError, did_you_mean
from tetraodon.ledger.account import DOCUMENT_PARTS, RHO, Account, Entry, Reservation, Spent, dataset_name, kept_name
from tetraodon.ledger.allotment import check_allotment, check_wave, join, population_in, standing_for
from tetraodon.ledger.amount import (
    amount,
    amount_from_text,
    amount_text,
    canonical_text,
    document_from_text,
    shown_above,
    shown_below,
)
from tetraodon.ledger.entries import SAME_ENTRY, append, named_by, note, record, spent_of, terms_in, text_in, unknown
from tetraodon.ledger.schema import accounts, entries

# -- standing ---------------------------------------------------------------------------------------
# How accounts stand: what may be spent of each, and what is spent.

_ACCOUNT = select(accounts).where(accounts.c.dataset == bindparam("account"))


def locked(name: str) -> Select[Any]:
    """The row of an account, kept from other writers until the end of the transaction.

    Why  every charge waits here, whatever other locks a server's settings leave out. SQLite has no such clause and
         needs none: the whole file is already ours.
    """
    return select(accounts).where(accounts.c.dataset == name).with_for_update()


def account_of(connection: Connection, name: str, *, lock: bool = False, upto: int | None = None) -> Account:
    """An account with what is spent of it, of a data set or of the population that it is a wave of; with `lock`,
    nothing is added to that meanwhile; with `upto`, as it was after the entry of that number.
    """
    name = standing_for(connection, name)
    found = connection.execute(locked(name)) if lock else connection.execute(_ACCOUNT, {"account": name})
    row = found.one_or_none()
    if row is None:
        known = names(connection)
        hint = f", or {did_you_mean(name, known)}" if known else " first"
        raise LedgerError(f"data set {name!r} was never opened", fix=f"run `tetraodon ledger open POLICY`{hint}")
    policy, (total, delta) = document_from_text(row.policy), terms_in(connection, row)
    spent = spent_of(connection, name, upto)
    hashed, opened = text_in(row.policy_hash), text_in(row.opened)
    return Account(name, total, spent.epsilon(delta, total), policy, hashed, opened, delta, spent)


def taken_by(connection: Connection, entry: Entry) -> Fraction:
    """By how much an entry raised what is spent of its account: with Gaussian noise losses compose, and that is not
    what it is charged by itself.
    """
    if entry.loss.rho is None:
        return entry.charged
    before, after = (account_of(connection, entry.dataset, upto=number).charged for number in (entry.id - 1, entry.id))
    return after - before


def names(connection: Connection) -> list[str]:
    """Every data set, by name."""
    return [text_in(name) for name in connection.execute(select(accounts.c.dataset).order_by("dataset")).scalars()]


# -- bill -------------------------------------------------------------------------------------------
# What is to be charged for a release: its bill, the entry that it becomes, and whether its account covers it.


@dataclass(frozen=True, slots=True)
class Bill:
    """What the ledger is asked to charge.

    Attributes
    ----------
    asked:   what the release's own policy asked for.
    charged: what is taken from the total: at least the certified loss.
    item:    the policy and plan of the release as documents, and its `Certificate` under the governing policy.
    after:   the charge was computed together with everything up to the entry of this number, 0 if there is none, and is
             refused after any other; None where losses add up.
    rho:     with Gaussian noise, what of its rho is charged where that is less, since others have paid for the rest.
    owner:   for whom it is charged, out of their allotment; empty for the curator, who needs none.
    """

    asked: Fraction | int
    charged: Fraction | int
    item: Mapping[str, Any] = field(hash=False)
    after: int | None = None
    owner: str = ""
    rho: Fraction | None = None

    def entry(self, dataset: str, when: str) -> Entry:
        """The entry as it would be kept, checked as far as that goes without the others."""
        certificate = certified(self.item)
        asked, charged = amount(self.asked, name="the amount asked"), amount(self.charged, name="the charge")
        if self.after is None and charged < certificate.epsilon:
            raise _too_little()
        document = {**self.item, "certificate": certificate_document(certificate)}
        if self.rho is not None:
            if self.after is None or certificate.rho is None:
                raise _too_little()
            document[RHO] = amount_text(amount(self.rho, name="the rho that is charged"))
        if self.owner:
            document["owner"] = kept_name(self.owner, "the owner")
        return Entry(0, dataset_name(dataset), asked, charged, "reserved", when, document, delta=certificate.delta)


def _too_little() -> LedgerError:
    return LedgerError(
        "the charge is below the loss that was certified", fix="charge what the certificate says, or more"
    )


def certified(item: Mapping[str, Any]) -> Certificate:
    """The certificate of an item that has all its parts. A document that looks like one is not one.

    Why  only the kernel makes certificates, so nothing can be charged whose loss was not computed.
    """
    missing = [part for part in DOCUMENT_PARTS if part not in item]
    if missing:
        raise LedgerError(
            f"the item to be charged has no {', '.join(missing)}",
            fix="give the policy, the plan and the certificate of the release",
        )
    found = item["certificate"]
    if not isinstance(found, Certificate):
        raise LedgerError(
            "what was given as a certificate is none", fix="give the certificate that the kernel computed"
        )
    if not isinstance(found.epsilon, Fraction):
        raise LedgerError("the loss is infinite, and no total covers it", fix="release what the policy allows")
    return found


def certificate_document(certificate: Certificate) -> dict[str, Any]:
    """A certificate as it is kept: its loss as exact text, and how it was found."""
    found: dict[str, Any] = {
        "epsilon_exact": str(certificate.epsilon),
        "method": certificate.method,
        "exact": certificate.exact,
    }
    if certificate.delta or certificate.rho is not None:
        found["delta"] = str(certificate.delta)
    if certificate.rho is not None:
        found["rho_exact"] = str(certificate.rho)
    return found


def _check_delta(account: Account, new: Entry) -> None:
    """Refuse a release with a delta of its own where what is left of the delta does not cover it.

    Why   the first release with Gaussian noise takes all of the delta that is left. Were some of it spent afterwards,
          after answers were seen, the same part could be used twice.
    """
    if account.spent.rho:
        raise BudgetExhausted(
            f"data set {new.dataset!r} has releases with Gaussian noise, which took all of its delta",
            fix="tell names, or write `once` in a budget, before any such release; another data set needs new data",
        )
    left = account.delta - account.spent.delta
    if new.loss.delta > left:
        raise BudgetExhausted(
            f"this release needs a delta of {float(new.loss.delta):.3g}, and data set {new.dataset!r} has "
            f"{float(left):.3g} left",
            fix="leave delta out of the policy's budget, or tell names with a smaller one; --delta opens a total of it",
        )


def check_affordable(account: Account, new: Entry, *, after: int | None) -> Spent:
    """What is spent of an account with a new entry. Refused where that does not fit it.

    Pre   with `after`, the charge was computed together with everything up to the entry of that number.
    """
    if after is not None:
        if account.spent.last != after:
            raise ConcurrentCharge(
                f"another release of {new.dataset!r} was charged while this one was priced together with earlier ones",
                fix="run the same command again",
            )
        alone, lost = new.document["certificate"], new.loss.rho
        paid = account.charged + new.charged if lost is None else account.spent.rho + lost
        if paid < amount_from_text(alone["epsilon_exact" if lost is None else "rho_exact"]):
            raise _too_little()  # together with others it loses no less than alone
    if new.loss.delta:
        _check_delta(account, new)
    elif new.loss.rho is not None and account.delta and account.spent.delta >= account.delta:
        raise BudgetExhausted("earlier releases took all of the delta", fix="leave delta out of the policy's budget")
    elif new.delta != (account.delta if new.delta else 0):
        opened = f"for a delta of {shown_below(account.delta)}" if account.delta else "without a delta"
        raise BudgetExhausted(
            f"this release does not fit a data set that was opened {opened}",
            fix="leave delta out of the policy's budget, or write the delta of the data set",
        )
    spent = account.spent.plus(new.loss)
    together = spent.epsilon(account.delta, account.total)
    if together > account.total:
        costs = f"this release costs epsilon {shown_above(new.charged)}"
        if account.delta:
            costs += f" by itself and {shown_above(together - account.charged)} beside the earlier ones"
        raise BudgetExhausted(
            f"{costs}, and data set {new.dataset!r} has "
            f"{shown_below(account.left)} left of {shown_below(account.total)}",
            fix="ask for at most what is left, or open a new data set, which needs new data",
        )
    return spent


# -- charging ---------------------------------------------------------------------------------------

_STATE = select(entries.c.state).where(SAME_ENTRY).with_for_update()
_SETTLED = update(entries).where(SAME_ENTRY)
_SETTLED = _SETTLED.values(state="settled", settled_at=bindparam("at"), manifest_hash=bindparam("digest"))


@dataclass(frozen=True, slots=True)
class Fitting:
    """An entry that fits: what is spent of its account with it, what it adds to that, and what its owner has spent."""

    entry: Entry
    spent: Spent
    added: Fraction
    owned: Fraction


def fitting(
    connection: Connection, dataset: str, bill: Bill, when: str, *, lock: bool, upto: int | None = None
) -> Fitting:
    """The entry that a bill becomes, now or after an entry. Refused where account or owner's allotment do not cover it.

    Post  with `lock`, no one spends of either before the transaction ends.
    """
    new = bill.entry(dataset, when)
    account = account_of(connection, new.dataset, lock=lock, upto=upto)
    if account.dataset != new.dataset or population_in(new.document["policy"]):
        check_wave(connection, new.dataset, new.document["policy"])
    new = replace(new, dataset=account.dataset)
    spent = check_affordable(account, new, after=bill.after)
    added = spent.epsilon(account.delta, account.total) - account.charged
    return Fitting(new, spent, added, check_allotment(connection, account, new, spent, lock=lock))


def charge(connection: Connection, dataset: str, bill: Bill, when: str) -> tuple[Entry, str]:
    """Write the entry of a bill, if it fits; the entry, and its hash in the chain.

    Pre   this transaction is the only writer.
    """
    found = fitting(connection, dataset, bill, when, lock=True)
    new, document = found.entry, canonical_text(found.entry.document)
    if population_in(new.document["policy"]):
        join(connection, new.dataset, new.document["policy"], new.when)
    key, head = record(
        connection,
        "reserved",
        dataset=new.dataset,
        asked=amount_text(new.asked),
        charged=amount_text(new.charged),
        delta=amount_text(new.delta),
        state=new.state,
        reserved_at=new.when,
        document=document,
    )
    note(connection, new.dataset, replace(found.spent, last=key), owner=new.owner, owned=found.owned)
    return replace(new, id=key, document=document_from_text(document)), head


def settle(connection: Connection, reservation: Reservation, digest: str, when: str) -> None:
    """Note that what a reservation pays for has been written. Pre: this transaction is the only writer."""
    same = named_by(reservation)
    state = connection.execute(_STATE, same).scalar_one_or_none()
    if state is None:
        raise unknown()
    if state != "reserved":
        raise LedgerError("this reservation is already settled", fix="make a reservation for each release")
    connection.execute(_SETTLED, {**same, "at": when, "digest": digest})
    append(connection, "settled", reservation.id)
