"""Requests of analysts: planned when made, decided by a curator, answered at the end of their slot."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row, insert, select, update

from tetraodon.errors import BudgetExhausted, TetraodonError
from tetraodon.exact.rational import decimal_text
from tetraodon.ledger import document_hash, shown_above, shown_below
from tetraodon.ledger.amount import amount_from_text
from tetraodon.web.auth import Person
from tetraodon.web.datasets import Datasets
from tetraodon.web.http_errors import HttpError, conflict, forbidden, not_found
from tetraodon.web.planner import Planner, RelayedError
from tetraodon.web.response_timing import APPROVED, DONE, REFUSED, REJECTED, RUNNING, WAITING, Standing, public_state
from tetraodon.web.state import OPEN, STOPPED, State, requests

MAX_WAITING = 100


class Requests:
    """The requests of a server."""

    def __init__(self, state: State, datasets: Datasets, planner: Planner) -> None:
        self._state, self._datasets, self._planner = state, datasets, planner

    def plan(self, person: Person, name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The plan of a request, its charge, and whether it fits. It is free and reads no data."""
        standing, found = self._planned(person, name, asked)
        plan: dict[str, Any] = dict(found["plan"])
        refusal = _refused(standing, found)
        why_not = None if refusal is None else str(refusal)
        left = {"left": decimal_text(standing.left), "fits": refusal is None, "why_not": why_not}
        return plan | {
            "ledger": plan["ledger"] | left,
            "charge": plan["ledger"]["charge"],
            "fits": refusal is None,
            "allotment_left": None if standing.mine is None else decimal_text(standing.mine),
            "slot": found["slot"],
        }

    def _planned(self, person: Person, name: str, asked: Mapping[str, Any]) -> tuple[Standing, dict[str, Any]]:
        row = self._datasets.seen(person, name)
        if row.state != OPEN:
            raise conflict(f"the data set is {row.state}", "ask its curators")
        standing = self._datasets.standing(person, name)
        return standing, self._planner.plan(person.name, json.loads(row.policy), asked, row.rows, standing.upto)

    def make(self, person: Person, name: str, asked: Mapping[str, Any], purpose: str, key: str) -> dict[str, Any]:
        """A request that waits for a curator. Sending the same key and body again gives the same request."""
        digest = document_hash({"dataset": name, "asked": dict(asked), "purpose": purpose})
        if (before := self._before(person, key, digest)) is not None:
            return self._document(before, person)
        standing, found = self._planned(person, name, asked)
        if (refusal := _refused(standing, found)) is not None:
            raise refusal
        made = {
            "id": secrets.token_hex(16),
            "dataset": name,
            "person": person.name,
            "key": key,
            "asked": digest,
            "policy": json.dumps(found["policy"]),
            "charge": found["charge"],
            "purpose": purpose,
            "made": self._state.clock(),
            "slot": found["slot"],
            "state": WAITING,
        }
        with self._state.writing() as connection:
            mine_too = select(requests).where(requests.c.person == person.name)
            again = connection.execute(mine_too.where(requests.c.key == key)).one_or_none()
            if again is None:
                waiting = connection.execute(mine_too.where(requests.c.state == WAITING)).all()
                if len(waiting) >= MAX_WAITING:
                    raise HttpError(
                        429, "too many of your requests are waiting", fix="wait until some are decided", after=60
                    )
                connection.execute(insert(requests).values(**made))
                self._state.note(connection, person.name, "requested", name, made["id"])
        row = self._before(person, key, digest)
        assert row is not None
        return self._document(row, person)

    def _before(self, person: Person, key: str, digest: str) -> Row[Any] | None:
        row = self._state.one(requests, requests.c.person == person.name, requests.c.key == key)
        if row is not None and row.asked != digest:
            raise conflict("this Idempotency-Key was used for another request", "use a new key")
        return row

    def decide(self, person: Person, key: str, *, approve: bool) -> dict[str, Any]:
        """Approve or reject a waiting request, which starts its slot."""
        row = self._seen(person, key)
        if person.role != "curator":
            raise forbidden()
        dataset = self._datasets.governed(person, row.dataset)
        if approve and dataset.state != OPEN:
            raise conflict(f"the data set is {dataset.state}", "open it first")
        values = {"state": APPROVED if approve else REJECTED, "decided_by": person.name}
        with self._state.writing() as connection:
            mine = update(requests).where(requests.c.id == key, requests.c.state == WAITING)
            if connection.execute(mine.values(**values, decided=self._state.clock())).rowcount == 0:
                raise conflict("this request does not wait any more", "look at its state")
            self._state.note(connection, person.name, "approved" if approve else "rejected", row.dataset, key)
        return self.shown(person, key)

    # -- what is shown --------------------------------------------------------------------------------

    def _seen(self, person: Person, key: str) -> Row[Any]:
        row = self._state.one(requests, requests.c.id == key)
        if row is None or person.role == "admin" or (person.role == "analyst" and row.person != person.name):
            raise not_found("request")
        if person.role == "curator" and row.dataset not in self._datasets.curated(person):
            raise not_found("request")
        return row

    def shown(self, person: Person, key: str) -> dict[str, Any]:
        """A request in its public state: how it ended is shown no earlier than the end of its slot."""
        return self._document(self._seen(person, key), person)

    def released(self, person: Person, key: str) -> Row[Any]:
        """The request of a published release."""
        row = self._seen(person, key)
        if public_state(row, self._state.clock())[0] != DONE:
            raise not_found("release")
        return row

    def listed(self, person: Person) -> list[dict[str, Any]]:
        """The requests that a person may see, newest first."""
        conditions: tuple[Any, ...] = ()
        if person.role == "analyst":
            conditions = (requests.c.person == person.name,)
        elif person.role == "curator":
            conditions = (requests.c.dataset.in_(self._datasets.curated(person)),)
        elif person.role != "auditor":
            return []
        rows = sorted(self._state.all(requests, *conditions), key=lambda row: -float(row.made))
        return [self._document(row, person) for row in rows[:500]]

    def _document(self, row: Row[Any], person: Person) -> dict[str, Any]:
        state, at = public_state(row, self._state.clock())
        held = state == RUNNING and self._datasets.state_of(row.dataset) == STOPPED  # begun or not
        found: dict[str, Any] = {
            "id": row.id,
            "dataset": row.dataset,
            "user": row.person,
            "purpose": row.purpose,
            "items": json.loads(row.policy)["release"],
            "charge": decimal_text(amount_from_text(row.charge)),
            "made": moment(row.made),
            "decided_by": row.decided_by or None,
            "state": APPROVED if held else state,
            "ready_at": None if at is None else moment(at),
            "release": row.id if state == DONE else None,
            "error": None,
            "note": None,
        }
        if state == REFUSED:
            found["error"] = json.loads(row.told) if row.told else _rejected().document()
        if person.role == "curator" and row.note and (state == REFUSED or row.state == RUNNING):
            found["note"] = json.loads(row.note)
        return found


def moment(seconds: float) -> str:
    """A time in ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _refused(standing: Standing, found: Mapping[str, Any]) -> TetraodonError | None:
    """Why a plan does not fit the public budget; None if it does."""
    if found["refusal"] is not None and not (standing.taken and found["refusal"]["type"] == BudgetExhausted.__name__):
        return RelayedError(found["refusal"])
    cost, account = amount_from_text(found["added"] or found["charge"]), standing.account
    if found["refusal"] is not None or cost > standing.left:
        return BudgetExhausted(
            f"this release costs epsilon {shown_above(cost)}, and data set {account.dataset!r} has "
            f"{shown_below(standing.left)} left of {shown_below(account.total)}",
            fix="ask for at most what is left, or wait until approved requests are answered, because until "
            "then the most that they can cost counts as spent",
        )
    return _beyond() if standing.mine is not None and cost > standing.mine else None


def _beyond() -> HttpError:
    return HttpError(
        409, "this costs more than is left of your allotment", fix="ask for less, or ask a curator for more"
    )


def _rejected() -> HttpError:
    return HttpError(409, "a curator rejected this request", fix="ask your curator why")
