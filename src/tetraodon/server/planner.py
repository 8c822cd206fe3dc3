"""Plans for whoever asks: each worked out in a process of its own, a few at a time, and remembered."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from tetraodon.ledger import document_hash
from tetraodon.server.jobs import ask_job, made_up_job, plan_job, read_job
from tetraodon.server.limited import Limits, Outcome, Work, forkserver, run_limited
from tetraodon.server.refusal import Turned

LIMITS = Limits(seconds=60, megabytes=4096)
AT_ONCE = 2
WAITING_SECONDS = 60
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


class Planner:
    """Reads policies, plans, and asks releases, under limits. Nothing here reads a table."""

    def __init__(self, ledger: str, limits: Limits = LIMITS) -> None:
        self._ledger, self._limits = ledger, limits
        self._context = forkserver(*PRELOADED)
        self._places = threading.BoundedSemaphore(AT_ONCE)
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Any] = OrderedDict()

    def read(self, policy: str | Mapping[str, Any]) -> dict[str, Any]:
        """A policy in normal form, and its promise."""
        return self._remembered("read", read_job, policy)

    def plan(self, policy: Mapping[str, Any], asked: Mapping[str, Any], rows: int, spent: str) -> dict[str, Any]:
        """A plan; `spent` is what was charged so far, on which the charge may depend."""
        return self._remembered(f"plan {spent}", plan_job, policy, asked, self._ledger, rows)

    def ask(self, folder: str, question: str, confidence: str | None) -> dict[str, Any]:
        """An answer from a release."""
        return self._remembered("ask", ask_job, folder, question, confidence)

    def made_up(self, policy: Mapping[str, Any], rows: int) -> list[dict[str, Any]]:
        """Made-up rows: of a wide policy there may be too many values for one call."""
        found: list[dict[str, Any]] = self._run(made_up_job, policy, rows)
        return found

    def _remembered(self, name: str, work: Work, *arguments: Any) -> dict[str, Any]:
        key = document_hash({"name": name, "arguments": arguments})
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return dict(self._known[key])
        found = self._run(work, *arguments)
        with self._lock:
            self._known[key] = found
            while len(self._known) > MOST_REMEMBERED:
                self._known.popitem(last=False)
        return dict(found)

    def _run(self, work: Work, *arguments: Any) -> Any:
        if not self._places.acquire(timeout=WAITING_SECONDS):
            raise Turned(429, "too many plans are being worked out", fix="ask again in a minute")
        try:
            outcome: Outcome = run_limited(self._context, self._limits, work, *arguments)
        finally:
            self._places.release()
        if outcome.error is not None:
            raise Relayed(outcome.error)
        if outcome.died:
            raise Turned(422, "this takes more time or memory than the server gives", fix="ask for less at once")
        return outcome.value
