"""Jobs: taken by one worker at a time, again when a lease has run out; late ones are counted and stop the data set."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import insert
from tests.services import needs_postgres, postgres
from tests.web.conftest import Hand, World

from tetraodon.web.response_timing import record_overruns
from tetraodon.web.state import State, datasets, requests
from tetraodon.web.worker import LEASE_SECONDS, JobQueue


def filled(url: str, jobs: int) -> State:
    state = State(url, Hand())
    now = state.clock()
    opened = {"name": "d", "policy": "{}", "total": "1", "delta": "0", "rows": 1, "state": "open", "proposed_by": "c"}
    asked = {"dataset": "d", "person": "a", "asked": "", "policy": "{}", "charge": "1", "purpose": "p", "made": now}
    with state.writing() as connection:
        connection.execute(insert(datasets).values(**opened))
        for number in range(jobs):
            own = {"id": f"{number:04}", "key": str(number), "slot": 10, "state": "approved", "decided": now + number}
            connection.execute(insert(requests).values(**asked, **own))
    return state


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=needs_postgres)])
def state(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[State]:
    if request.param == "sqlite":
        url = str(tmp_path / "ledger.db")
    else:
        url = fresh_database()
    made = filled(url, 24)
    yield made
    made.close()


def fresh_database() -> str:
    """A database of its own on the server of the tests."""
    name = f"server_{secrets.token_hex(4)}"
    with psycopg.connect(postgres().address("owner"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
    return postgres().address("owner", name).replace("postgresql://", "postgresql+psycopg://")


def test_no_job_is_taken_twice(state: State) -> None:
    queue = JobQueue(state)
    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(lambda _: queue.take(), range(26)))
    keys = [job.id for job in taken if job is not None]
    assert sorted(keys) == [f"{number:04}" for number in range(24)]
    assert queue.take() is None


def test_a_job_whose_worker_is_silent_is_taken_again(tmp_path: Path) -> None:
    state = filled(str(tmp_path / "ledger.db"), 1)
    queue, clock = JobQueue(state), state.clock
    assert isinstance(clock, Hand)
    first = queue.take()
    assert first is not None
    clock.ahead += LEASE_SECONDS - 1
    queue.renew(first)
    clock.ahead += LEASE_SECONDS - 1
    assert queue.take() is None
    clock.ahead += 2
    again = queue.take()
    assert again is not None
    assert (again.id, first.attempts, again.attempts) == (first.id, 1, 2)
    queue.finish(again, "done")
    clock.ahead += 3600
    assert queue.take() is None
    state.close()


def test_a_clock_that_is_set_back_does_not_keep_a_job_of_a_dead_worker(tmp_path: Path) -> None:
    """Nor does one that is set forward take a job from one that lives for longer than until it says so again."""
    state = filled(str(tmp_path / "ledger.db"), 1)
    queue, clock = JobQueue(state), state.clock
    assert isinstance(clock, Hand)
    clock.ahead = 86_400.0
    assert queue.take() is not None
    clock.ahead = 0.0
    again = queue.take()  # its lease would run for another day
    assert again is not None
    assert queue.take() is None
    clock.ahead = 86_400.0
    queue.renew(again)
    assert queue.take() is None
    state.close()


def test_three_overruns_stop_the_data_set_until_another_curator_opens_it_again(open_world: World) -> None:
    world, queue = open_world, JobQueue(open_world.context.state)
    keys = [world.asked(key=str(number), epsilon="0.1") for number in range(3)]
    assert queue.take() is not None
    assert queue.take() is not None
    world.clock.ahead += 11
    assert world.call("carl", "GET", "/v1/datasets/people")["state"] == "stopped"  # no worker had to come to it
    record_overruns(world.context.state)
    assert world.told().count("overrun") == 3
    assert world.told()[-1] == "stopped"
    assert world.call("carl", "GET", "/v1/datasets/people")["state"] == "stopped"
    world.call("ann", "POST", "/v1/datasets/people/plan", {"items": [{"name": "n", "count": "all"}]}, 409)
    told = [world.state_of(key) for key in keys]
    assert {one["state"] for one in told} == {"approved"}  # whether a worker had begun is nobody's business
    assert json.dumps(told).count("+00:00") == 6
    world.call("carl", "POST", "/v1/datasets/people/open", expect=403)
    assert world.call("cora", "POST", "/v1/datasets/people/open")["state"] == "open"
