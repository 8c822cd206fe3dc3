"""One release transaction: charge, permit, draw, write, settle; resumed after a crash.

Whoever releases goes through here in this order, and may choose whether to count or to spend first:

    with ReleaseTransaction(ledger, dataset, request=..., place=..., resume=...) as way:
        if way.complete: ...           # it was written and settled before
        if way.drawn is None:          # nothing is drawn yet
            with way.counting(): ...   # a refusal because of the data is recorded
            permit = way.spend(terms)  # charged, unless that was done before
            ...                        # noise, drawn with the permit
            way.keep(write)            # on the disk before any of it is published
        way.finish(fill)               # filled, moved to its place, settled
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

import tetraodon_verify

from tetraodon.certificate.certificate import Certificate
from tetraodon.errors import (
    BudgetExhausted,
    ConcurrentCharge,
    DataRefusal,
    FailedAfterCharge,
    Refused,
    ReleaseError,
    TetraodonError,
)
from tetraodon.gate.output_folder import OLD, OutputFolder, Pending
from tetraodon.ledger.account import ADDS_UP, Entry
from tetraodon.ledger.amount import document_hash, shown_above
from tetraodon.ledger.charging import Bill
from tetraodon.ledger.signing import stamp
from tetraodon.noise.coins import Coins, system_coins
from tetraodon.noise.discrete import Size
from tetraodon.noise.guide_table import Integers
from tetraodon.noise.laws import NoiseLaw

if TYPE_CHECKING:
    from tetraodon.ledger import Ledger


# -- permit -----------------------------------------------------------------------------------------
# What is charged for, and the permit to draw noise for it: only the gate makes one, after the charge.


@dataclass(frozen=True, slots=True)
class Charge:
    """What is taken from the total, and how releases compose. `after` is the number of the entry that must be the last
    one before it; `rho` is what of a rho is charged, where that is not all of it.
    """

    amount: Fraction
    composition: str = ADDS_UP
    after: int | None = None
    rho: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """What the ledger records of a release.

    Attributes
    ----------
    certificate: its loss under the governing policy, computed by the kernel.
    asked:       the epsilon that its own policy asked for.
    policy:      its policy, and `plan` what it measures, as documents: enough to price it again.
    witness:     the worst pair of records, as a document.
    price:       where the charge is not the certified loss, how it is computed; called with whether it was
                 computed before and something else was charged since.
    """

    certificate: Certificate
    asked: Fraction
    policy: Mapping[str, Any]
    plan: Mapping[str, Any]
    witness: Any = None
    price: Callable[[bool], Charge] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.certificate, Certificate):
            raise TypeError("only what the kernel certified is charged")

    def bill(self, owner: str = "", *, again: bool = False, **more: Any) -> Bill:
        """What the ledger is asked to charge, for an owner; `more` is kept in the entry too.

        With `again`, something else was charged since the last time.
        """
        charge = Charge(Fraction(self.certificate.epsilon)) if self.price is None else self.price(again)
        item = {
            "composition": charge.composition,
            "policy": self.policy,
            "plan": self.plan,
            "certificate": self.certificate,
            "witness": self.witness,
        }
        return Bill(self.asked, charge.amount, item | more, charge.after, owner, charge.rho)

    def charged_in(self, entry: Entry) -> bool:
        """Whether a charge was made for the same policy and plan."""
        try:
            kept = {"policy": _drawn_for(entry.document["policy"]), "plan": entry.document["plan"]}
        except KeyError:
            return False
        return document_hash(kept) == document_hash({"policy": _drawn_for(self.policy), "plan": self.plan})


def _drawn_for(policy: Mapping[str, Any]) -> dict[str, Any]:
    """A policy without `whole`, which says how answers are written and not what is drawn: its default has changed."""
    listed = [{key: value for key, value in item.items() if key != "whole"} for item in policy.get("release", [])]
    return {**policy, "release": listed}


def require_not_dearer(bill: Bill, account: str) -> None:
    """Refuse a release that is charged more than its own file asked for, so that it is never paid by accident."""
    charged, asked = Fraction(bill.charged), Fraction(bill.asked)
    if charged > asked:
        raise Refused(
            f"under the policy that governs {account!r} this costs epsilon {shown_above(charged)}, and its own file "
            f"asks for {shown_above(asked)}",
            fix="pass --allow-dearer (in Python allow_dearer=True) to be charged that, or write `secrets`, `together` "
            "and `presence` as the governing policy does",
        )


TRIED = 4_000
"""How many steps the independent check tries one by one; of larger plans it computes a bound, or nothing."""


def require_agreement(policy: Mapping[str, Any], plan: Mapping[str, Any]) -> None:
    """Refuse a plan whose certificate is below what an independent computation from the same documents finds.

    What that does not cover, by its own word, is left to the kernel alone: views, known counts, some laws.
    """
    if "queries" not in plan:
        return
    try:
        found = tetraodon_verify.loss(dict(policy), dict(plan), tried=TRIED)
    except (tetraodon_verify.Unsupported, tetraodon_verify.Malformed):
        return
    certificate = plan["certificate"]
    stated = certificate["rho_exact" if found.gaussian else "epsilon_exact"]
    if stated == "infinite" or found.lower > Fraction(stated):
        raise Refused(
            "an independent computation finds that this plan loses more than its certificate states",
            fix="do not release it; report the policy file to the maintainers, for one of two computations is wrong",
        )


_SEAL: Final = object()


class Permit:
    """Leave to draw what a certificate covers, once.

    `entry` is the charge in the ledger that pays for it; None where no ledger is kept.
    """

    def __init__(self, certificate: Certificate, entry: Entry | None, seal: object) -> None:
        if seal is not _SEAL:
            raise TypeError("a permit is given by the gate, after the charge, and by nothing else")
        self.certificate = certificate
        self.entry = entry
        self._open = True

    @property
    def coins(self) -> Coins:
        """Fresh coins, for noise that is not a sum."""
        self._check()
        return system_coins()

    def noise(self, law: NoiseLaw, scale: Fraction, size: Size) -> Integers:
        """Fresh noise of a law and a scale."""
        self._check()
        return law.draw(scale, size)

    def close(self) -> None:
        """What was drawn is kept: nothing more is drawn under this charge."""
        self._open = False

    def _check(self) -> None:
        if not self._open:
            raise ReleaseError(
                "the numbers of this charge have been drawn already", fix="make a release of its own for more"
            )


def permit_for(certificate: Certificate, entry: Entry) -> Permit:
    """For the gate only: a permit that a charge pays for."""
    return Permit(certificate, entry, _SEAL)


def without_ledger(certificate: Certificate) -> Permit:
    """A permit where no ledger is kept: for made-up data, and for callers who account for themselves."""
    return Permit(certificate, None, _SEAL)


# -- passage ----------------------------------------------------------------------------------------

Fill = Callable[[Path, Entry], object]
"""Fills an empty folder, given the ledger's entry that pays for it. Its manifest is JSON."""

TRIES = 10
"""How often a release that others overtake is priced again."""
COMPLETE = "nothing to do"
"""The stage reported to `progress` when a resumed release was finished already."""


class ReleaseTransaction:
    """A release on its way out.

    Pre   `request` is a hash of what is asked, known before any data: a release is resumed for the same one only. With
          a `place`, the output folder is there to be taken and can be written: tried before anything is charged.
          Without `allow_dearer`, nothing is charged more than its own file asks for.
    Post  one charge for one request and place, however often it is interrupted and resumed; numbers drawn once for it.

    Attributes
    ----------
    entry:    the charge, once it is made.
    drawn:    the folder with the numbers that were drawn for it, once they are.
    complete: with `resume`, whether it was written and settled before; then nothing is to be done.
    """

    def __init__(
        self,
        ledger: Ledger,
        dataset: str,
        *,
        request: str,
        place: OutputFolder | None = None,
        force: bool = False,
        resume: bool = False,
        allow_dearer: bool = False,
    ) -> None:
        self._ledger, self._dataset, self._request = ledger, dataset, request
        self._place, self._force, self._resume = place, force, resume
        self._allow_dearer = allow_dearer
        self._pending: Pending | None = None
        self._permit: Permit | None = None
        self._begun, self._replaces, self._chained = False, False, ""
        self.entry: Entry | None = None
        self.drawn: Path | None = None
        self.complete = False

    def __enter__(self) -> ReleaseTransaction:
        if self._place is None:
            return self
        self._pending = Pending.enter(self._place)
        try:
            self._look(self._place, self._pending)
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._permit is not None:
            self._permit.close()
        if self._begun and self.entry is None and isinstance(error, BudgetExhausted | ConcurrentCharge):
            self._begun = False  # refused, so for certain not charged
        self._leave()

    def _leave(self) -> None:
        """Let go; what was not charged leaves nothing behind. Where we cannot know, the next run asks the ledger."""
        if self._pending is None:
            return
        try:
            if self.entry is None and not self._begun:
                self._pending.undo()
        finally:
            self._pending.leave()
            self._pending = None

    # -- what is left of an earlier attempt ------------------------------------------------------

    def _look(self, place: OutputFolder, pending: Pending) -> None:
        self._begun = True  # until it is known that nothing here was charged
        intent = pending.intent()
        if intent is not None and intent.get("place", place.real) != place.real:
            raise ReleaseError(
                "this interrupted release was begun at another place: a copy could be drawn a second time",
                fix=f"resume it where it was begun, as {intent['place']}, and remove the copy",
                where=str(pending.folder),
            )
        entry = None if intent is None else self._entry_of(intent, pending)
        if entry is None:
            pending.forget()
        else:
            self._found(entry, pending, intent or {})
        self._begun = False
        if self.complete:
            return
        if self.entry is None and self._resume and self._written(place):
            self.complete = True
            return
        place.check(force=self._force)
        self._replaces = os.path.lexists(place.path)

    def _entry_of(self, intent: dict[str, Any], pending: Pending) -> Entry | None:
        """The charge that an intent led to; None if it was never made."""
        try:
            if "token" in intent:
                if intent["account"] != self._ledger.account(self._dataset).opened:
                    raise self._unknown(pending)
                entry = self._ledger.find(self._dataset, token=str(intent["token"]))
                if entry is None and pending.drawn is not None:
                    raise self._unknown(pending)
                return entry
            kept = (int(intent["id"]), str(intent["when"]), str(intent["charged"]))
        except (KeyError, TypeError, ValueError):
            raise pending.unreadable() from None
        mine = [e for e in self._ledger.entries(self._dataset) if (e.id, e.when, str(e.charged)) == kept]
        if not mine:
            raise self._unknown(pending)
        return mine[0]

    def _found(self, entry: Entry, pending: Pending, intent: Mapping[str, Any]) -> None:
        """Take up a charge that was made before."""
        if entry.state == "settled":
            if pending.place.hash() != entry.manifest_hash:
                raise ReleaseError(
                    "the ledger has this release as written, and its folder is not there any more",
                    fix="put the folder back, or remove what is left beside it and release again, which is charged",
                    where=str(pending.folder),
                )
            pending.forget()
            self.complete = self._resume
            return
        if not self._resume:
            raise ReleaseError(
                "an earlier release to this folder was charged and not finished",
                fix="pass --resume to finish it at no further charge, or choose another folder",
                where=pending.place.name,
            )
        if intent.get("request", intent.get("plan_sha256")) != self._request:
            raise _another(pending)
        pending.tidy()
        self.entry, self.drawn = entry, pending.drawn
        ours = pending.noted() if "token" in intent else pending.place.hash()  # version 0.1 noted none
        self._force = self._force or bool(intent.get("force")) or ours == pending.place.hash() != ""

    def _written(self, place: OutputFolder) -> bool:
        """Whether the folder is one that this request led to, written and settled."""
        for entry in self._ledger.entries(self._dataset):
            if entry.state == "settled" and entry.manifest_hash == place.hash():
                return bool(entry.document.get("gate", {}).get("request", self._request) == self._request)
        return False

    def _unknown(self, pending: Pending) -> ReleaseError:
        return ReleaseError(
            "the ledger does not have this interrupted release as charged and not written",
            fix="name the ledger that was charged; if the release is there already, remove what is left of this one",
            where=str(pending.folder),
        )

    # -- the way ---------------------------------------------------------------------------------

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Around whatever looks at the data: a refusal that depends on it is recorded, without detail."""
        try:
            yield
        except DataRefusal:
            self._ledger.record_refusal(self._dataset, "table-refused")
            raise

    @contextmanager
    def charged_first(self) -> Iterator[None]:
        """Around a release that is charged before it is counted: whatever goes wrong, its owner sees the same."""
        try:
            yield
        except (TetraodonError, OSError, MemoryError, ArithmeticError, ValueError, RuntimeError) as error:
            if self.entry is None:
                raise
            raise FailedAfterCharge(
                "this release is charged, and could not be finished", fix="ask your curator, who can finish it"
            ) from error

    def check_price(self, terms: Terms) -> None:
        """Refuse what is dearer than asked; `spend` does too. What was charged before is not asked again."""
        if self.entry is None and not self._allow_dearer:
            require_not_dearer(terms.bill(), self._dataset)

    def spend(self, terms: Terms, *, owner: str = "") -> Permit:
        """Charge for what the terms say, unless that was done before, and give leave to draw it. An owner pays it, too.

        Post  the charge is on the disk. Any error means: nothing may be drawn.
        """
        if self.drawn is not None or self._permit is not None:
            raise ReleaseError("the numbers of this charge have been drawn already", fix="publish those")
        if self.entry is None:
            require_agreement(terms.policy, terms.plan)
            self.entry, self._chained = self._charged(terms, owner)
        elif self.entry.owner != owner or not terms.charged_in(self.entry):
            assert self._pending is not None
            raise _another(self._pending)
        self._permit = permit_for(terms.certificate, self.entry)
        return self._permit

    def _charged(self, terms: Terms, owner: str) -> tuple[Entry, str]:
        """Charge; where another release comes in between, at what the price is after it."""
        token = secrets.token_hex(16)
        bill = self._bill(terms, owner, token)
        if self._pending is not None:
            mark = {"token": token, "request": self._request, "account": self._ledger.account(self._dataset).opened}
            self._begun = True
            place = self._pending.place.real
            self._pending.begin(mark | {"force": self._force, "dataset": self._dataset, "place": place})
        for _ in range(TRIES):
            try:
                return self._ledger.charge(self._dataset, bill)
            except ConcurrentCharge:
                bill = self._bill(terms, owner, token, again=True)
        return self._ledger.charge(self._dataset, bill)

    def _bill(self, terms: Terms, owner: str, token: str, *, again: bool = False) -> Bill:
        folder = "" if self._place is None else self._place.path.name
        bill = terms.bill(owner, again=again, gate={"token": token, "request": self._request, "folder": folder})
        if not self._allow_dearer:
            require_not_dearer(bill, self._dataset)
        return bill

    def keep(self, write: Callable[[Path], object]) -> Path | None:
        """Put what was drawn on the disk, before any of it is published; nothing more is drawn after this.

        `write` fills an empty folder, which is then `drawn`. Without a place there is nothing to be resumed.
        """
        if self._permit is None:
            raise ReleaseError("nothing was charged for what is to be kept", fix="spend first")
        if self._pending is not None:
            self.drawn = self._pending.keep(write)
        self._permit.close()
        return self.drawn

    def finish(self, fill: Fill) -> None:
        """Write what is paid for into its place, signed, and settle. `fill` is called again if that is interrupted."""
        if self._pending is None or self._place is None or self.entry is None:
            raise ReleaseError("nothing was charged for what is to be written", fix="spend first, with a place")
        try:
            draft = self._pending.draft()
            fill(draft, self.entry)
            digest = stamp(draft, self._place.manifest, self._ledger, self.entry.reservation)
            self._pending.note(digest)
            self._place.take(draft, self._pending.folder / OLD, replace=self._replaces)
        except OSError as error:
            raise self._place.unwritable(error, charged=True) from None
        self.settle(digest)
        self._pending.end()

    @property
    def chained(self) -> str:
        """The hash of the charge in the ledger's chain, once it is made: for the report."""
        if self._chained or self.entry is None:
            return self._chained
        return str(self._ledger.statement(self.entry.reservation)["chain"])

    def settle(self, digest: str) -> None:
        """Note in the ledger that what is paid for is out, with a hash of it. For what goes to no folder."""
        if self.entry is None:
            raise ReleaseError("nothing was charged that could be settled", fix="spend first")
        self._ledger.settle(self.entry.reservation, manifest_hash=digest)


def _another(pending: Pending) -> ReleaseError:
    return ReleaseError(
        "the interrupted release had another policy, plan or owner",
        fix="resume it with the policy and the options it was begun with, or choose another folder",
        where=str(pending.folder),
    )
