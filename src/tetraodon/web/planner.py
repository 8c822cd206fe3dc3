"""Plans for accounts: computed in processes with limits, shared fairly, and cached."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.context import ForkServerContext
from typing import Any

from tetraodon.errors import BudgetExhausted, ConcurrentCharge, LedgerError
from tetraodon.ledger import document_hash
from tetraodon.web.http_errors import HttpError
from tetraodon.web.jobs import ask_job, plan_job, read_job, synthetic_rows_job
from tetraodon.web.limited_process import LimitedProcess, Limits, Work, forkserver

LANES = (
    (Limits(seconds=0.5, megabytes=4096), 2),
    (Limits(seconds=5, megabytes=4096, nice=5), 1),
    (Limits(seconds=60, megabytes=4096, nice=10), 1),
)
"""Limits and number of processes. What takes longer than a lane allows starts again in the next one."""
MOST_OF_ONE = 4
"""Calls of an account that may work or wait in a lane, where one of them works at a time."""
WAITING_SECONDS = 90
HALF_LIFE_SECONDS = 60
"""After this time half of an account's use is forgotten."""
MOST_REMEMBERED = 512
PRELOADED = ("tetraodon.web.warm_up", "tetraodon.cli.main")

LEDGERS = tuple(kind.__name__ for kind in (LedgerError, BudgetExhausted, ConcurrentCharge))
"""Errors whose `where` is the address of the ledger, which callers must not see."""


class RelayedError(HttpError):
    """A TetraodonError of another process, as its document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        status = {"BudgetExhausted": 409, "LedgerError": 503}.get(document["type"], 422)
        super().__init__(status, document["what"], fix=document["fix"])
        if document["type"] in LEDGERS:
            document = {**document, "where": "", "all": str(self).splitlines()}
        self.where, self._document = document["where"], dict(document)

    def document(self) -> dict[str, Any]:
        return self._document


class RecentUse:
    """The seconds of work that each account has used recently."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._used: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def of(self, who: str) -> float:
        with self._lock:
            return self._left(who)

    def add(self, who: str, seconds: float) -> None:
        with self._lock:
            _note(self._used, who, (self._left(who) + seconds, self._clock()))

    def _left(self, who: str) -> float:
        seconds, since = self._used.get(who, (0.0, 0.0))
        return float(seconds * 0.5 ** ((self._clock() - since) / HALF_LIFE_SECONDS))


class FairQueue:
    """A fair queue for some places: one at most for each account, the account with the least recent use first.

    Why  an account with many long plans would otherwise hold all places most of the time.
    """

    def __init__(self, places: int, used: RecentUse) -> None:
        self._places, self._used, self._lock = places, used, threading.Lock()
        self._waiting: dict[threading.Event, str] = {}
        self._busy: set[str] = set()

    @contextmanager
    def taken(self, who: str) -> Iterator[None]:
        """Hold a place. Refused if an account waits for too many, or none becomes free in time."""
        turn = threading.Event()
        with self._lock:
            if list(self._waiting.values()).count(who) + (who in self._busy) >= MOST_OF_ONE:
                raise HttpError(
                    429, "too many of your calls are being computed", fix="wait until some are answered", after=5
                )
            self._waiting[turn] = who
            self._give()
        turn.wait(WAITING_SECONDS)
        with self._lock:
            if self._waiting.pop(turn, None) is not None:
                raise HttpError(429, "too many plans are being worked out", fix="ask again in a minute", after=60)
        begun = time.monotonic()
        try:
            yield
        finally:
            self._used.add(who, time.monotonic() - begun)
            with self._lock:
                self._busy.discard(who)
                self._give()

    def _give(self) -> None:
        """Hand out free places; calls of one account keep their order."""
        while len(self._busy) < self._places:
            free = [turn for turn, who in self._waiting.items() if who not in self._busy]
            if not free:
                return
            turn = min(free, key=lambda turn: self._used.of(self._waiting[turn]))
            self._busy.add(self._waiting.pop(turn))
            turn.set()


class Lane:
    """Processes with the same limits, each one place."""

    def __init__(self, context: ForkServerContext, limits: Limits, places: int, used: RecentUse) -> None:
        self.turns, self.processes = FairQueue(places, used), [LimitedProcess(context, limits) for _ in range(places)]

    @contextmanager
    def process(self, who: str) -> Iterator[LimitedProcess]:
        """A process for an account in its turn: the one that worked last, because its caches are warm."""
        with self.turns.taken(who):
            process = self.processes.pop()
            try:
                yield process
            finally:
                self.processes.append(process)


class Planner:
    """Reads policies, plans and asks releases under limits, for one account each. Reads no table."""

    def __init__(self, ledger: str, lanes: Sequence[tuple[Limits, int]] = LANES) -> None:
        self._ledger, self._lock = ledger, threading.Lock()
        context, used = forkserver(*PRELOADED), RecentUse()
        self._lanes = [Lane(context, limits, places, used) for limits, places in lanes]
        self._known: OrderedDict[str, Any] = OrderedDict()
        self._first: OrderedDict[str, int] = OrderedDict()  # the lane to begin in, where that is not the first one

    def close(self) -> None:
        """End the processes."""
        for lane in self._lanes:
            for process in lane.processes:
                process.close()

    def read(self, who: str, policy: str | Mapping[str, Any]) -> dict[str, Any]:
        """A policy in normal form, and its promise."""
        return self._cached(who, read_job, policy)

    def plan(
        self, who: str, policy: Mapping[str, Any], asked: Mapping[str, Any], rows: int, upto: int
    ) -> dict[str, Any]:
        """A plan, priced with the ledger's entries up to `upto`."""
        arguments = policy, asked, self._ledger, rows, upto
        return self._cached(who, plan_job, *arguments, alike=[policy, asked.get("items")])

    def ask(self, who: str, folder: str, question: str, confidence: str | None) -> dict[str, Any]:
        """An answer from a release."""
        return self._cached(who, ask_job, folder, question, confidence)

    def synthetic_rows(self, who: str, policy: Mapping[str, Any], rows: int) -> list[dict[str, Any]]:
        """Synthetic rows. A wide policy may have too many values for one call."""
        found: list[dict[str, Any]] = self._computed(who, synthetic_rows_job, policy, rows)
        return found

    def _cached(self, who: str, work: Work, *arguments: Any, alike: Any = None) -> dict[str, Any]:
        """The cached result; computed once, because a call that waited for a process looks again. Work with an equal
        `alike` is expected to take equally long.
        """
        key = document_hash({"name": work.__name__, "arguments": arguments})
        kind = key if alike is None else document_hash({"name": work.__name__, "alike": alike})
        found = self._lookup(key) or self._computed(who, work, *arguments, key=key, kind=kind)
        with self._lock:
            _note(self._known, key, found)
        return dict(found)

    def _lookup(self, key: str) -> dict[str, Any] | None:
        with self._lock:
            if key not in self._known:
                return None
            self._known.move_to_end(key)
            return dict(self._known[key])

    def _computed(self, who: str, work: Work, *arguments: Any, key: str = "", kind: str = "") -> Any:
        """The result, from a process with limits. What takes too long starts again in the next lane."""
        for place, lane in enumerate(self._lanes):
            if place < self._first.get(kind, 0):
                continue
            with lane.process(who) as process:
                if key and (known := self._lookup(key)) is not None:
                    return known
                if place < self._first.get(kind, 0):  # that was found out while this call waited
                    continue
                outcome = process.run(work, *arguments)
            if outcome.error is not None:
                raise RelayedError(outcome.error)
            if not outcome.died:
                return outcome.value
            if kind and place + 1 < len(self._lanes):
                with self._lock:
                    _note(self._first, kind, place + 1)
        raise HttpError(422, "this takes more time or memory than the server gives", fix="ask for less at once")


def _note(known: OrderedDict[str, Any], key: str, value: Any) -> None:
    """Cache a value, and drop the oldest beyond the limit."""
    known[key] = value
    known.move_to_end(key)
    while len(known) > MOST_REMEMBERED:
        known.popitem(last=False)
