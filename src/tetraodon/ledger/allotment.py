"""Allotments of a total to owners, and populations whose waves share one account.

An allotment is leave to spend and sets nothing aside. Those of a data set may add up to more than its total, which is
what counts: charges are served in order, and all owners together spend no more than one could.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from tetraodon.errors import BudgetExhausted, LedgerError
from tetraodon.ledger.account import Account, Entry, Spent, dataset_name, kept_name
from tetraodon.ledger.amount import amount, amount_from_text, amount_text, shown_above, shown_below
from tetraodon.ledger.entries import owned_by, record, text_in
from tetraodon.ledger.schema import accounts, allotments, holds, waves

# -- population -------------------------------------------------------------------------------------
# Populations: people who stay, and the data sets about them, the waves, which have one account together.
#
# A person may be in every wave, and what they hide may show in each. So whatever is lost in any wave is taken from one
# total, under one governing policy: losses of waves are added up, as those of releases of one table are.

_POPULATION = select(waves.c.population).where(waves.c.dataset == bindparam("wave"))
KEY = "population"
"""What a policy calls it by."""


def population_in(document: Mapping[str, Any]) -> str:
    """The population that a policy names; empty if its data set has an account of its own."""
    named = document.get(KEY) if isinstance(document, Mapping) else None
    return dataset_name(named) if named else ""


def governing_document(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The policy that governs every wave, from the file of one: about the population, whichever wave came first."""
    named = population_in(document)
    return {name: part for name, part in document.items() if name != KEY} | {"dataset": named} if named else document


def standing_for(connection: Connection, name: str) -> str:
    """The account that a name means: a wave means its population."""
    if not holds(connection, waves):
        return name
    found = connection.execute(_POPULATION, {"wave": name}).scalar_one_or_none()
    return name if found is None else str(found)


def waves_of(connection: Connection, population: str) -> tuple[str, ...]:
    """The waves of a population, in the order in which they joined."""
    if not holds(connection, waves):
        return ()
    mine = select(waves.c.dataset).where(waves.c.population == population)
    return tuple(str(name) for name in connection.execute(mine.order_by(waves.c.joined_at, waves.c.dataset)).scalars())


def check_wave(connection: Connection, charged: str, document: Mapping[str, Any]) -> str:
    """The wave that a policy is about, empty where it names no population. `charged` is the name to be charged.

    Raises LedgerError where it belongs elsewhere: the data set has an account of its own or is a wave of another
           population, or its release is to be charged to another account. What is lost there is not counted here.
    """
    named = population_in(document)
    if not named:
        if (population := standing_for(connection, charged)) != charged:
            raise LedgerError(
                f"data set {charged!r} is a wave of the population {population!r}, and the policy does not say so",
                fix=f"write `{KEY}: {population}` in it",
            )
        return ""
    wave = dataset_name(document["dataset"])
    if (above := standing_for(connection, named)) != named:
        raise LedgerError(f"{named!r} is itself a wave of {above!r}", fix=f"write `{KEY}: {above}`")
    if named != standing_for(connection, charged):
        raise LedgerError(f"{wave!r} is a wave of {named!r}, and not of {charged!r}", fix=f"charge {named!r}")
    if wave in connection.execute(select(accounts.c.dataset)).scalars().all():
        raise LedgerError(
            f"data set {wave!r} has a total of its own here, so it cannot be a wave of {named!r} as well",
            fix="leave `population` out: what was lost under its own total is not counted in that of the population",
        )
    if standing_for(connection, wave) not in (wave, named):
        raise LedgerError(
            f"data set {wave!r} is a wave of another population than {named!r}",
            fix=f"write `{KEY}: {standing_for(connection, wave)}`, as before",
        )
    return wave


def join(connection: Connection, charged: str, document: Mapping[str, Any], when: str) -> None:
    """Record the wave that a policy is about, if it is a new one. Pre: this transaction is the only writer."""
    wave = check_wave(connection, charged, document)
    if wave and standing_for(connection, wave) == wave:
        record(connection, "joined", dataset=wave, population=population_in(document), joined_at=when)


# -- allotment --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Allotment:
    """What an owner may spend of a data set.

    Attributes
    ----------
    amount:  in all, with what was spent before it was set.
    spent:   what their releases have added to what is spent of the data set.
    expires: when it ends, in UTC; empty if it does not.
    when:    when it was set.
    """

    dataset: str
    owner: str
    amount: Fraction
    spent: Fraction
    expires: str
    when: str

    def __post_init__(self) -> None:
        amount(self.amount, name="the allotment")
        kept_name(self.owner, "the owner")

    def left(self, now: str) -> Fraction:
        """What its owner may still spend, as far as the data set's total covers it; nothing once it has expired."""
        if self.expires and self.expires <= now:
            return Fraction(0)
        return max(self.amount - self.spent, Fraction(0))


def expiry_text(expires: datetime | None) -> str:
    """When an allotment ends, as it is kept.

    >>> expiry_text(datetime(2027, 1, 1, tzinfo=UTC)), expiry_text(None)
    ('2027-01-01T00:00:00.000000+00:00', '')
    """
    if expires is None:
        return ""
    if not isinstance(expires, datetime) or expires.tzinfo is None:
        raise LedgerError(
            "when the allotment expires is no moment", fix="give a datetime with a time zone, or None for no end"
        )
    try:
        return expires.astimezone(UTC).isoformat(timespec="microseconds")
    except OverflowError:  # a moment of the first or last day that there is, elsewhere
        raise LedgerError("the end of the allotment is out of range in UTC", fix="give a nearer moment") from None


def allot(connection: Connection, account: Account, owner: str, most: Fraction, expires: str, when: str) -> Allotment:
    """Set what an owner may spend, in place of what was set before. Pre: this transaction is the only writer."""
    spent = owned_by(connection, account.dataset, owner)
    made = Allotment(account.dataset, owner, most, spent, expires, when)
    kept = {"dataset": made.dataset, "owner": made.owner, "amount": amount_text(made.amount), "expires": made.expires}
    record(connection, "allotted", **kept, allotted_at=when)
    return made


def allotments_of(connection: Connection, account: Account) -> tuple[Allotment, ...]:
    """What everybody may spend of a data set, by owner."""
    if not holds(connection, allotments):
        return ()
    mine = select(allotments).where(allotments.c.dataset == account.dataset).order_by(allotments.c.id)
    newest = {text_in(row.owner): row for row in connection.execute(mine)}
    return tuple(_allotment_in(connection, newest[owner]) for owner in sorted(newest))


def allotment_of(connection: Connection, account: Account, owner: str, *, lock: bool = False) -> Allotment | None:
    """What an owner may spend, None if nothing was ever allotted; with `lock`, its row is kept from other writers."""
    if not holds(connection, allotments):
        return None
    mine = select(allotments).where(allotments.c.dataset == account.dataset, allotments.c.owner == owner)
    newest = mine.order_by(allotments.c.id.desc()).limit(1)
    row = connection.execute(newest.with_for_update() if lock else newest).one_or_none()
    return None if row is None else _allotment_in(connection, row)


def check_allotment(connection: Connection, account: Account, new: Entry, spent: Spent, *, lock: bool) -> Fraction:
    """What the owner of a new entry has spent with it. Refused where their allotment does not cover that.

    Pre   `spent` is what is spent of the account with the new entry.
    Post  0 for a curator, who needs no allotment.
    """
    if not new.owner:
        return Fraction(0)
    found = allotment_of(connection, account, new.owner, lock=lock)
    if found is None:
        raise BudgetExhausted(
            f"nothing of data set {account.dataset!r} is allotted to {new.owner!r}",
            fix="ask a curator of the data set for an allotment",
        )
    added, left = spent.epsilon(account.delta, account.total) - account.charged, found.left(new.when)
    if added > left:
        raise BudgetExhausted(
            f"this release costs epsilon {shown_above(added)}, and the allotment of {new.owner!r} for data set "
            f"{account.dataset!r} has {shown_below(left)} left",
            fix="ask for at most what is left, or ask a curator of the data set for more",
        )
    return found.spent + added


def _allotment_in(connection: Connection, row: Row[tuple[object, ...]]) -> Allotment:
    dataset, owner = text_in(row.dataset), text_in(row.owner)
    spent = owned_by(connection, dataset, owner)
    return Allotment(
        dataset, owner, amount_from_text(row.amount), spent, text_in(row.expires), text_in(row.allotted_at)
    )
