"""Workers: each takes approved requests and runs one release at a time, in a process with limits.

Only workers read where the tables are.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import or_, select, update

from tetraodon.engine.open_table import is_query
from tetraodon.errors import ConcurrentCharge, LedgerError, TableError
from tetraodon.policy.source import read_source
from tetraodon.web.http_errors import HttpError
from tetraodon.web.jobs import release_job, was_charged
from tetraodon.web.limited_process import LimitedProcess, Limits, Outcome, forkserver
from tetraodon.web.planner import PRELOADED, RelayedError
from tetraodon.web.response_timing import APPROVED, DONE, FAILED, REFUSED, RUNNING, record_overruns
from tetraodon.web.state import OPEN, State, datasets, requests

# -- queue -----------------------------------------------------------------------------------------
# A job belongs to one worker while that renews its lease. After a crash another worker finishes the same release: the
# gate keeps its charge and its noise.


LEASE_SECONDS, SKEW_SECONDS = 15, 60
MAX_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Job:
    """A release to be made, or finished."""

    id: str
    dataset: str
    owner: str
    policy: Mapping[str, Any]
    slot: int
    attempts: int


class JobQueue:
    """Approved requests, in the order of their approval."""

    def __init__(self, state: State) -> None:
        self._state = state

    def take(self) -> Job | None:
        """The next job of an open data set without a live worker, now leased; None if there is none.

        Why  SKIP LOCKED: on Postgres, workers who take at once do not wait for each other. A lease that ends later than
             any made now was made before the clock was set back, perhaps by a worker that is gone; clocks of several
             machines may differ by a minute.
        """
        now = self._state.clock()
        over = or_(requests.c.leased < now, requests.c.leased > now + LEASE_SECONDS + SKEW_SECONDS)
        free = or_(requests.c.state == APPROVED, (requests.c.state == RUNNING) & over)
        opened = select(datasets.c.name).where(datasets.c.state == OPEN)
        waiting = select(requests).where(free, requests.c.dataset.in_(opened))
        first = waiting.order_by(requests.c.decided, requests.c.id).limit(1)
        with self._state.reading() as connection:  # most looks find nothing, and need not wait for a writer
            if connection.execute(first).first() is None:
                return None
        with self._state.writing() as connection:
            row = connection.execute(first.with_for_update(skip_locked=True)).one_or_none()
            if row is None:
                return None
            mine = update(requests).where(requests.c.id == row.id)
            attempts = row.attempts + 1
            connection.execute(mine.values(state=RUNNING, leased=now + LEASE_SECONDS, attempts=attempts))
        return Job(row.id, row.dataset, row.person, json.loads(row.policy), row.slot, attempts)

    def renew(self, job: Job, note: Mapping[str, Any] | None = None, *, counted: bool = True) -> None:
        """Say that the worker lives; or, with a note for curators, why the job is left for another attempt. This one is
        not `counted` where it only waited.
        """
        values: dict[str, Any] = {"leased": self._state.clock() + LEASE_SECONDS}
        if note is not None:
            values |= {"note": json.dumps(note), "attempts": job.attempts if counted else job.attempts - 1}
        with self._state.writing() as connection:
            mine = update(requests).where(requests.c.id == job.id, requests.c.state == RUNNING)
            connection.execute(mine.values(**values))

    def finish(
        self, job: Job, state: str, *, shown: Mapping[str, Any] | None = None, note: Mapping[str, Any] | None = None
    ) -> None:
        """Record the end of a job: the error `shown` to its analyst, and the `note` for curators."""
        values = {
            "state": state,
            "finished": self._state.clock(),
            "told": "" if shown is None else json.dumps(shown),
            "note": "" if note is None else json.dumps(note),
        }
        with self._state.writing() as connection:
            mine = update(requests).where(requests.c.id == job.id, requests.c.state == RUNNING)
            if connection.execute(mine.values(**values)).rowcount:
                self._state.note(
                    connection, "worker", "released" if state == DONE else "not-released", job.dataset, job.id
                )


# -- worker ----------------------------------------------------------------------------------------

PAUSE = 0.5
MAX_TAKEN = 3 * MAX_ATTEMPTS
"""How often a job is taken up again by workers that die before they can say what became of it."""
LIMITS = Limits(seconds=3600, megabytes=8192)
BEFORE_DATA = ("BudgetExhausted", "LedgerError", "Refused", "PolicyError", "QueryError", "DomainError", "NoiseError")
"""Errors that say nothing of the data if nothing was charged: then no table was opened yet."""
BUSY, FULL = "another process is writing to this folder", "the disk is full"
BROKEN = HttpError(
    500, "the process was killed or broke", fix="look for memory, time or room that it lacked"
).document()
NO_ROOM = HttpError(
    503, FULL, fix="make room: the worker goes on by itself then, and nothing is charged twice"
).document()


class SourcesError(TableError):
    """The file that says where the tables are cannot be used."""


def read_sources(path: Path) -> dict[str, str]:
    """Where the table of each data set is: a file with lines `dataset: address`.

    Read anew for each job, so that a table can be added without a new start.
    """
    try:
        found = read_source(path).data
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(address, str) for address in found.values()):
        raise SourcesError("the file of sources cannot be read", fix="write lines such as `people: people.parquet`")
    return {str(name): str(address) for name, address in found.items()}


def source_of(path: Path, dataset: str) -> str:
    """Where the table of a data set is. Refused where another data set has the same: its total would be spent twice."""
    found = read_sources(path)
    if dataset not in found:
        raise SourcesError("the worker does not know where this table is", fix="name it in the file of sources")
    if is_query(found[dataset]):  # it could hide that two data sets have a table
        raise SourcesError("the source of this data set is a query", fix="name the table that it reads")
    mine = os.path.realpath(found[dataset])
    if sum(os.path.realpath(address) == mine for address in found.values()) > 1:
        raise SourcesError("two data sets have this table, each with a total", fix="name it for one of them")
    return found[dataset]


class Worker:
    """Runs approved requests, one after the other."""

    def __init__(self, state: State, ledger: str, releases: Path, sources: Path, limits: Limits = LIMITS) -> None:
        self._state, self._queue, self._ledger, self._limits = state, JobQueue(state), ledger, limits
        self._releases, self._sources = releases, sources
        self._context = forkserver(*PRELOADED)

    def serve(self, going_on: Callable[[], bool] = lambda: True) -> None:
        """Take jobs while `going_on` is true. An unreachable database is waited for."""
        while going_on():
            busy = False
            with suppress(LedgerError):
                busy = self.step()
            if not busy:
                time.sleep(PAUSE)

    def step(self) -> bool:
        """One job, if there is one; whether there was."""
        record_overruns(self._state)
        job = self._queue.take()
        if job is None:
            return False
        self._run(job)
        return True

    def _run(self, job: Job) -> None:
        out = self._releases / job.id
        if job.attempts > MAX_TAKEN:
            self._end(job, out, Outcome(died=True))
            return
        try:
            source = source_of(self._sources, job.dataset)
        except SourcesError as error:
            self._end(job, out, Outcome(error=error.document()))
            return
        arguments = (job.policy, source, self._ledger, str(out), job.owner)
        with closing(LimitedProcess(self._context, self._limits)) as process:  # each release in a process of its own
            outcome = process.run(release_job, *arguments, beat=lambda: self._queue.renew(job))
        if outcome.value:
            self._queue.finish(job, DONE)
        elif _may_end_otherwise(outcome, job):
            waits = str(_why(outcome)["what"]).startswith((BUSY, FULL))
            self._queue.renew(job, _why(outcome), counted=not waits)  # taken up when the lease ends
        else:
            self._end(job, out, outcome)

    def _end(self, job: Job, out: Path, outcome: Outcome) -> None:
        """Record that there is no answer.

        Why  analysts see an error only if it came before the charge, after which data is read. All others are reported
             in the same words, because they may depend on the data.
        """
        error = _why(outcome)
        if was_charged(self._ledger, job.dataset, out):
            error_shown = HttpError(409, "it was charged, and there is no answer", fix="charged; ask your curator")
            self._queue.finish(job, FAILED, shown=error_shown.document(), note=error)
        elif error["type"] in BEFORE_DATA:
            self._queue.finish(job, REFUSED, shown=RelayedError(error).document(), note=error)
        else:
            error_shown = HttpError(409, "nothing was charged, and there is no answer", fix="ask your curator")
            self._queue.finish(job, FAILED, shown=error_shown.document(), note=error)


def _why(outcome: Outcome) -> Mapping[str, Any]:
    """What went wrong, as a curator may see it."""
    error = outcome.cause or outcome.error or BROKEN
    return NO_ROOM if str(error["what"]).startswith(FULL) else error


def _may_end_otherwise(outcome: Outcome, job: Job) -> bool:
    """Whether it is worth another attempt: one that we lost is still at it, there was no room, the ledger could not be
    reached, or this was killed or overtaken.

    Why  what is paid for is owed. Where there is no room it is tried until there is: it is late meanwhile, which the
         audit shows, and the third that is late stops the data set.
    """
    why = _why(outcome)
    if str(why["what"]).startswith((BUSY, FULL)):
        return True
    passing = outcome.error is None or why["type"] in (ConcurrentCharge.__name__, LedgerError.__name__)
    return job.attempts < MAX_ATTEMPTS and passing
