"""Plans for whoever asks: each worked out in a process of its own, a few at a time, and remembered."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tetraodon.ledger import document_hash
from tetraodon.server.jobs import ask_job, made_up_job, plan_job, read_job
from tetraodon.server.limited import Limits, Outcome, Work, forkserver, run_limited
from tetraodon.server.refusal import Turned

LIMITS = Limits(seconds=60, megabytes=4096)
AT_ONCE, MOST_OF_ONE = 2, 4
"""Processes at once, one for each account; and how many calls of an account may have one or wait for one."""
WAITING_SECONDS = 90
MOST_REMEMBERED = 512
PRELOADED = ("tetraodon.server.jobs", "tetraodon.cli.main")


LEDGERS = ("LedgerError", "BudgetExhausted", "Overtaken")
"""Errors whose place is that of the ledger, which callers are not told."""


class Relayed(Turned):
    """An error of ours that another process told as a document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        status = {"BudgetExhausted": 409, "LedgerError": 503}.get(document["type"], 422)
        super().__init__(status, document["what"], fix=document["fix"])
        if document["type"] in LEDGERS:
            document = {**document, "where": "", "all": str(self).splitlines()}
        self.where, self._document = document["where"], dict(document)

    def document(self) -> dict[str, Any]:
        return self._document


class Turns:
    """Whose turn it is: `AT_ONCE` have a place, each account one, and whoever had none for the longest time is next.

    Why  whoever asks for what takes a minute, over and over, would else have all places, and nobody else a plan.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[tuple[str, object]] = []
        self._busy: set[str] = set()
        self._served: OrderedDict[str, None] = OrderedDict()

    @contextmanager
    def taken(self, who: str) -> Iterator[None]:
        """A place, once there is one. Refused where one account wants too many, or none comes free in time."""
        ticket = (who, object())
        with self._changed:
            if sum(one == who for one, _ in self._waiting) + (who in self._busy) >= MOST_OF_ONE:
                raise Turned(429, "too much is being worked out for you", fix="wait until some of it is told", after=5)
            self._waiting.append(ticket)
            try:
                if not self._changed.wait_for(lambda: self._next() is ticket, WAITING_SECONDS):
                    raise Turned(429, "too many plans are being worked out", fix="ask again in a minute", after=60)
                self._busy.add(who)
                self._served[who] = None
                self._served.move_to_end(who)
            finally:
                self._waiting.remove(ticket)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._busy.discard(who)
                self._changed.notify_all()

    def _next(self) -> tuple[str, object] | None:
        if len(self._busy) >= AT_ONCE:
            return None
        order = {who: place for place, who in enumerate(self._served)}
        free = [ticket for ticket in self._waiting if ticket[0] not in self._busy]
        return min(free, key=lambda ticket: order.get(ticket[0], -1), default=None)


class Planner:
    """Reads policies, plans, and asks releases, under limits, for an account each. Nothing here reads a table."""

    def __init__(self, ledger: str, limits: Limits = LIMITS) -> None:
        self._ledger, self._limits = ledger, limits
        self._context = forkserver(*PRELOADED)
        self._turns, self._lock = Turns(), threading.Lock()
        self._known: OrderedDict[str, Any] = OrderedDict()

    def read(self, who: str, policy: str | Mapping[str, Any]) -> dict[str, Any]:
        """A policy in normal form, and its promise."""
        return self._remembered(who, read_job, policy)

    def plan(
        self, who: str, policy: Mapping[str, Any], asked: Mapping[str, Any], rows: int, upto: int
    ) -> dict[str, Any]:
        """A plan, priced beside what was charged up to an entry."""
        return self._remembered(who, plan_job, policy, asked, self._ledger, rows, upto)

    def ask(self, who: str, folder: str, question: str, confidence: str | None) -> dict[str, Any]:
        """An answer from a release."""
        return self._remembered(who, ask_job, folder, question, confidence)

    def made_up(self, who: str, policy: Mapping[str, Any], rows: int) -> list[dict[str, Any]]:
        """Made-up rows: of a wide policy there may be too many values for one call."""
        with self._turns.taken(who):
            found: list[dict[str, Any]] = self._run(made_up_job, policy, rows)
        return found

    def _remembered(self, who: str, work: Work, *arguments: Any) -> dict[str, Any]:
        """What comes of it, which is worked out once: whoever waited for a place looks again."""
        key = document_hash({"name": work.__name__, "arguments": arguments})
        if (known := self._recalled(key)) is not None:
            return known
        with self._turns.taken(who):
            if (known := self._recalled(key)) is not None:
                return known
            found = self._run(work, *arguments)
            with self._lock:
                self._known[key] = found
                while len(self._known) > MOST_REMEMBERED:
                    self._known.popitem(last=False)
        return dict(found)

    def _recalled(self, key: str) -> dict[str, Any] | None:
        with self._lock:
            if key not in self._known:
                return None
            self._known.move_to_end(key)
            return dict(self._known[key])

    def _run(self, work: Work, *arguments: Any) -> Any:
        outcome: Outcome = run_limited(self._context, self._limits, work, *arguments)
        if outcome.error is not None:
            raise Relayed(outcome.error)
        if outcome.died:
            raise Turned(422, "this takes more time or memory than the server gives", fix="ask for less at once")
        return outcome.value
