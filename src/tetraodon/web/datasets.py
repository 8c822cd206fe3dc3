"""Data sets of the server: proposed by one curator, opened by another, allotted to analysts; who may see which."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from tetraodon.errors import LedgerError
from tetraodon.exact.rational import Number, decimal_text
from tetraodon.ledger import Ledger
from tetraodon.ledger.allotment import KEY as POPULATION
from tetraodon.ledger.allotment import Allotment, allotment_of
from tetraodon.ledger.amount import amount_from_text, amount_text, exact_amount
from tetraodon.ledger.charging import account_of
from tetraodon.web.auth import Accounts, Person
from tetraodon.web.http_errors import HttpError, conflict, forbidden, not_found
from tetraodon.web.planner import Planner
from tetraodon.web.response_timing import Standing, record_overruns, standing_of
from tetraodon.web.state import OPEN, PROPOSED, State, curators, datasets

_NAME = re.compile(r"\w[\w.-]{0,63}", re.ASCII)
_OTHER_TERMS = ("already open", "wave of", "total of its own")
"""Words of the ledger for a data set or population that exists on other terms."""


class Datasets:
    """The data sets of a server."""

    def __init__(self, state: State, ledger: Ledger, accounts: Accounts, planner: Planner) -> None:
        self._state, self.ledger, self._accounts, self._planner = state, ledger, accounts, planner

    # -- who may see which ----------------------------------------------------------------------------

    def curated(self, person: Person) -> list[str]:
        """The data sets that a person curates."""
        if person.role != "curator":
            return []
        return [row.dataset for row in self._state.all(curators, curators.c.person == person.name)]

    def seen(self, person: Person, name: str) -> Row[Any]:
        """A data set, if the person may see it: curators of it, auditors, and analysts with an allotment."""
        record_overruns(self._state)
        return self._seen(person, name)

    def _seen(self, person: Person, name: str) -> Row[Any]:
        row = self._state.one(datasets, datasets.c.name == name)
        if row is None or person.role == "admin":
            raise not_found("data set")
        if person.role == "curator" and name not in self.curated(person):
            raise not_found("data set")
        if person.role == "analyst" and (row.state == PROPOSED or not self._allotted(name, person.name)):
            raise not_found("data set")
        return row

    def state_of(self, name: str) -> str:
        """Whether a data set is proposed, open or stopped."""
        record_overruns(self._state)
        row = self._state.one(datasets, datasets.c.name == name)
        return "" if row is None else str(row.state)

    def governed(self, person: Person, name: str) -> Row[Any]:
        """A data set, if the person is one of its curators."""
        row = self.seen(person, name)
        if person.role != "curator":
            raise forbidden()
        return row

    def _allotted(self, name: str, owner: str) -> bool:
        with self._state.reading() as connection:
            return allotment_of(connection, account_of(connection, name), owner) is not None

    def standing(self, person: Person, name: str) -> Standing:
        """The budget of an open data set, as far as analysts may know it."""
        with self._state.reading() as connection:
            return standing_of(connection, name, person.name, self._state.clock())

    def listed(self, person: Person) -> list[dict[str, Any]]:
        """The data sets that a person may see."""
        record_overruns(self._state)
        found = []
        for row in self._state.all(datasets):
            try:
                self._seen(person, row.name)
            except HttpError:
                continue
            found.append({"name": row.name, "state": row.state})
        return found

    # -- proposing and opening ------------------------------------------------------------------------

    def propose(
        self,
        person: Person,
        policy: str | Mapping[str, Any],
        total: Number,
        delta: Number,
        rows: int,
        others: list[str],
    ) -> dict[str, Any]:
        """Propose a data set, for another curator to open."""
        read = self._planner.read(person.name, policy)
        name, population = read["dataset"], read["document"].get(POPULATION, "")
        if not _NAME.fullmatch(name) or (population and not _NAME.fullmatch(population)):
            raise HttpError(422, "the server cannot take this name", fix="use 1 to 64 letters, digits, dots, dashes")
        chosen = sorted({person.name, *others})
        if len(chosen) < 2 or any(self._accounts.role_of(one) != "curator" for one in chosen):
            raise HttpError(422, "a data set has two curators at least", fix="name accounts that are curators")
        try:
            terms = {"total": amount_text(exact_amount(total, "the total"))}
            terms["delta"] = amount_text(exact_amount(delta, "delta"))
        except LedgerError as error:
            raise HttpError(422, error.what, fix=error.fix) from None
        text = json.dumps(read["document"])
        with self._state.writing() as connection:
            if connection.execute(select(datasets.c.name).where(datasets.c.name == name)).one_or_none():
                raise conflict("there is a data set of that name", "choose another name")
            _check_account(connection, name, population, chosen)
            made = {"name": name, "policy": text, "rows": rows, "state": PROPOSED, "proposed_by": person.name}
            connection.execute(insert(datasets).values(**made, **terms))
            connection.execute(insert(curators), [{"dataset": name, "person": one} for one in chosen])
            self._state.note(connection, person.name, "proposed", name)
        return {"name": name, "state": PROPOSED, "curators": chosen, "promise": read["promise"]}

    def open(self, person: Person, name: str) -> dict[str, Any]:
        """Open a data set that another curator proposed, or reopen a stopped one."""
        row = self.governed(person, name)
        if row.state == OPEN:
            raise conflict("the data set is open already", "ask of it")
        if row.proposed_by == person.name:
            raise HttpError(403, "a data set is opened by another curator than proposed it", fix="ask the other one")
        total, delta = amount_from_text(row.total), amount_from_text(row.delta)
        try:
            self.ledger.open(name, total, json.loads(row.policy), delta=delta)
        except LedgerError as error:
            if any(words in error.what for words in _OTHER_TERMS):
                raise conflict(error.what, error.fix) from None
            raise
        with self._state.writing() as connection:
            now_open = update(datasets).where(datasets.c.name == name).values(state=OPEN, overruns=0)
            connection.execute(now_open)
            self._state.note(connection, person.name, "opened", name)
        return {"name": name, "state": OPEN}

    # -- one data set ---------------------------------------------------------------------------------

    def shown(self, person: Person, name: str) -> dict[str, Any]:
        """A data set as a person may see it: policy, promise, remaining budget, and their allotment."""
        row = self.seen(person, name)
        policy = json.loads(row.policy)
        found = {
            "name": name,
            "state": row.state,
            "rows": row.rows,
            "policy": policy,
            "promise": self._planner.read(person.name, policy)["promise"],
            "total": decimal_text(amount_from_text(row.total)),
            "delta": decimal_text(amount_from_text(row.delta)),
            "left": None,
            "taken": None,
            "allotment": None,
        }
        if person.role != "analyst":
            found["curators"] = [one.person for one in self._state.all(curators, curators.c.dataset == name)]
            found["proposed_by"] = row.proposed_by
        if row.state == PROPOSED:
            return found
        account = self.ledger.account(name)  # its terms are those that count
        found |= {"total": decimal_text(account.total), "delta": decimal_text(account.delta)}
        found["left"] = decimal_text(account.left)
        if person.role == "analyst":
            standing = self.standing(person, name)
            found |= {"left": decimal_text(standing.left), "taken": decimal_text(standing.taken)}
            if standing.allotment is not None and standing.mine is not None:
                found["allotment"] = _allotment_document(standing.allotment, standing.mine)
        return found

    def allotments_of(self, name: str) -> list[dict[str, Any]]:
        """Allotments with owner, expiry and remainder. The data set's total limits them all."""
        return [_allotment_document(one, self.ledger.left(name, one.owner)) for one in self.ledger.allotments(name)]

    def allotments(self, person: Person, name: str) -> list[dict[str, Any]]:
        row = self.seen(person, name)
        if person.role == "analyst":
            raise forbidden()
        return [] if row.state == PROPOSED else self.allotments_of(name)

    def allot(self, person: Person, name: str, owner: str, amount: Number, expires: datetime | None) -> dict[str, Any]:
        """Set how much of the total an analyst may use, and until when."""
        row = self.governed(person, name)
        if row.state == PROPOSED:
            raise conflict("the data set is not open", "have another curator open it first")
        if self._accounts.role_of(owner) != "analyst":
            raise not_found("analyst")
        try:
            made = self.ledger.allot(name, owner, amount, expires)
        except LedgerError as error:
            raise HttpError(422, error.what, fix=error.fix) from None
        with self._state.writing() as connection:
            self._state.note(connection, person.name, "allotted", name, owner)
        return _allotment_document(made, self.ledger.left(name, owner))


def _allotment_document(one: Allotment, left: Fraction) -> dict[str, Any]:
    amounts = {"amount": decimal_text(one.amount), "expires": one.expires or None, "left": decimal_text(left)}
    return {"user": one.owner, **amounts}


def _check_account(connection: Connection, name: str, population: str, chosen: list[str]) -> None:
    """Refuse a data set that would give others a say in the account of data sets that are there.

    Why   the waves of a population have one total and one allotment for each analyst, and so the same curators. A data
          set that is called like a population would be another name for its account.
    """
    for row in connection.execute(select(datasets)):
        theirs = json.loads(row.policy).get(POPULATION, "")
        if name == theirs or (population and population == row.name):
            raise conflict("a population and a data set have the same name", "choose another name")
        if population and population == theirs:
            mine = select(curators.c.person).where(curators.c.dataset == row.name)
            if sorted(connection.execute(mine).scalars()) != chosen:
                raise conflict("this population has other curators", "name those of its other waves, and no more")
