"""A worker: takes jobs and runs each in a process of its own. It alone reads where the tables are."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from tetraodon.engine.open_table import is_query
from tetraodon.errors import LedgerError, TableError
from tetraodon.policy.source import read_source
from tetraodon.server.jobs import release_job, was_charged
from tetraodon.server.limited import Helper, Limits, Outcome, forkserver
from tetraodon.server.planner import PRELOADED, Relayed
from tetraodon.server.queue import MOST_ATTEMPTS, Job, Queue
from tetraodon.server.refusal import Turned
from tetraodon.server.state import State
from tetraodon.server.told import DONE, FAILED, REFUSED, note_overruns

PAUSE = 0.5
MOST_TAKEN = 3 * MOST_ATTEMPTS
"""How often a job is taken up again by workers that die before they can say what became of it."""
LIMITS = Limits(seconds=3600, megabytes=8192)
BEFORE_DATA = ("BudgetExhausted", "LedgerError", "Refused", "PolicyError", "QueryError", "DomainError", "NoiseError")
"""Errors that say nothing of the data if nothing was charged: then no table was opened yet."""
BUSY, FULL = "another process is writing to this folder", "the disk is full"
BROKEN = Turned(500, "the process was killed or broke", fix="look for memory, time or room that it lacked").document()
NO_ROOM = Turned(503, FULL, fix="make room: the worker goes on by itself then, and nothing is charged twice").document()


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
        self._state, self._queue, self._ledger, self._limits = state, Queue(state), ledger, limits
        self._releases, self._sources = releases, sources
        self._context = forkserver(*PRELOADED)

    def serve(self, going_on: Callable[[], bool] = lambda: True) -> None:
        """Until it is told to stop. A database that is gone for a while is waited for."""
        while going_on():
            busy = False
            with suppress(LedgerError):
                busy = self.step()
            if not busy:
                time.sleep(PAUSE)

    def step(self) -> bool:
        """One job, if there is one; whether there was."""
        note_overruns(self._state)
        job = self._queue.take()
        if job is None:
            return False
        self._run(job)
        return True

    def _run(self, job: Job) -> None:
        out = self._releases / job.id
        if job.attempts > MOST_TAKEN:
            self._end(job, out, Outcome(died=True))
            return
        try:
            source = source_of(self._sources, job.dataset)
        except SourcesError as error:
            self._end(job, out, Outcome(error=error.document()))
            return
        arguments = (job.policy, source, self._ledger, str(out), job.owner)
        with closing(Helper(self._context, self._limits)) as helper:  # each release in a process of its own
            outcome = helper.run(release_job, *arguments, beat=lambda: self._queue.renew(job))
        if outcome.value:
            self._queue.finish(job, DONE)
        elif _may_end_otherwise(outcome, job):
            waits = str(_why(outcome)["what"]).startswith((BUSY, FULL))
            self._queue.renew(job, _why(outcome), counted=not waits)  # whoever comes after the lease takes it up
        else:
            self._end(job, out, outcome)

    def _end(self, job: Job, out: Path, outcome: Outcome) -> None:
        """Write down that there is no answer.

        Why  whoever asked sees an error only if no data had a say in it: it came before the charge, and data is read
             after that. Everything else is told in the same words, whatever happened.
        """
        error = _why(outcome)
        if was_charged(self._ledger, job.dataset, out):
            told = Turned(409, "it was charged, and there is no answer", fix="charged; ask your curator")
            self._queue.finish(job, FAILED, told=told.document(), note=error)
        elif error["type"] in BEFORE_DATA:
            self._queue.finish(job, REFUSED, told=Relayed(error).document(), note=error)
        else:
            told = Turned(409, "nothing was charged, and there is no answer", fix="ask your curator")
            self._queue.finish(job, FAILED, told=told.document(), note=error)


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
    passing = outcome.error is None or why["type"] in ("ConcurrentCharge", "LedgerError")
    return job.attempts < MOST_ATTEMPTS and passing
