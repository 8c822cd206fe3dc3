"""The jobs that workers take: each by one worker at a time, for as long as it says that it lives.

A worker that is killed leaves its job with a lease that runs out. Whoever takes it then finishes the same release,
under the same charge and with the same numbers if they were drawn: the gate sees to that, and to two who work at once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import or_, select, update

from tetraodon.server.state import OPEN, State, datasets, requests
from tetraodon.server.told import APPROVED, DONE, RUNNING

LEASE_SECONDS, SKEW_SECONDS = 15, 60
MOST_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Job:
    """A release to be made, or finished."""

    id: str
    dataset: str
    owner: str
    policy: Mapping[str, Any]
    slot: int
    attempts: int


class Queue:
    """Approved requests, in the order of their approval."""

    def __init__(self, state: State) -> None:
        self._state = state

    def take(self) -> Job | None:
        """The next job of an open data set that nobody works on, with a lease; None if there is none.

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
        self, job: Job, state: str, *, told: Mapping[str, Any] | None = None, note: Mapping[str, Any] | None = None
    ) -> None:
        """Write down how a job ended: what is told to whoever asked, and what a curator may see."""
        values = {
            "state": state,
            "finished": self._state.clock(),
            "told": "" if told is None else json.dumps(told),
            "note": "" if note is None else json.dumps(note),
        }
        with self._state.writing() as connection:
            mine = update(requests).where(requests.c.id == job.id, requests.c.state == RUNNING)
            if connection.execute(mine.values(**values)).rowcount:
                self._state.note(
                    connection, "worker", "released" if state == DONE else "not-released", job.dataset, job.id
                )
