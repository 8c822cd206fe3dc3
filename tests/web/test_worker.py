"""Workers: a release that is killed anywhere is charged once or not at all; failures read the same; leases."""

from __future__ import annotations

import json
import multiprocessing.forkserver
import os
import random
import resource
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import insert
from tests.services import needs_postgres, postgres
from tests.web.conftest import Hand, World

import tetraodon as td
from tetraodon.web.limited_process import Limits
from tetraodon.web.response_timing import record_overruns
from tetraodon.web.state import STOPPED, State, datasets, requests
from tetraodon.web.worker import LEASE_SECONDS, MAX_TAKEN, JobQueue, SourcesError, Worker, read_sources, source_of

CHARGED = {"what": "it was charged, and there is no answer", "fix": "charged; ask your curator"}


def words(error: dict[str, object]) -> dict[str, object]:
    return {name: error[name] for name in ("what", "fix")}


def test_a_table_that_does_not_fit_is_charged_and_reported_like_any_failure(open_world: World) -> None:
    """The analyst cannot tell a refusal because of the records from a table that is gone; the curator can."""
    world, told, notes = open_world, [], []
    tables = ["age,sex\n", "age\n20\n", None]
    for number, text in enumerate(tables):
        if text is None:
            world.table.unlink()
        else:
            world.table.write_text(text)
        key = world.asked(key=str(number), epsilon="0.1")
        assert world.worker().step()
        world.clock.ahead += 10
        found = world.state_of(key)
        assert found["state"] == "refused"
        told.append(words(found["error"]))
        assert found["note"] is None
        notes.append(world.state_of(key, "carl")["note"]["type"])
        assert not (world.context.releases / key).exists()
    assert told == [CHARGED] * 3
    assert notes[0] == "DataRefusal"
    assert world.context.ledger.account("people").charged == td.Ledger(world.ledger).account("people").charged
    assert len(world.context.ledger.entries("people")) == 3


def test_a_source_that_the_worker_does_not_know_costs_nothing(open_world: World) -> None:
    open_world.sources.write_text("others: x.csv\n")
    key = open_world.asked()
    assert open_world.worker().step()
    open_world.clock.ahead += 10
    assert open_world.state_of(key)["error"]["fix"] == "ask your curator"
    assert open_world.context.ledger.entries("people") == ()


def test_a_request_is_not_refused_because_the_ledger_was_away(open_world: World) -> None:
    world = open_world
    key, away = world.asked(), f"sqlite:///{world.folder / 'away' / 'ledger.db'}"
    worker = Worker(world.context.state, away, world.context.releases, world.sources, Limits(60, 4096))
    assert worker.step()
    world.clock.ahead += LEASE_SECONDS + 1
    assert world.worker().step()
    world.clock.ahead += 60
    assert world.state_of(key)["state"] == "done"
    assert len(world.context.ledger.entries("people")) == 1


def open_again(world: World) -> None:
    """Open a data set that late jobs have stopped."""
    record_overruns(world.context.state)
    if world.context.datasets.state_of("people") == STOPPED:
        world.call("cora", "POST", "/v1/datasets/people/open")


def test_a_job_whose_workers_die_is_ended_and_one_that_waits_is_not(open_world: World) -> None:
    """A worker that is killed says nothing of its job; one that finds no room says that it waits."""
    world, queue = open_world, JobQueue(open_world.context.state)
    key = world.asked()
    for _ in range(MAX_TAKEN):
        job = queue.take()
        assert job is not None
        world.clock.ahead += LEASE_SECONDS + 1
    queue.renew(job, counted=False, note={"what": "the disk is full", "fix": "make room"})
    world.clock.ahead += LEASE_SECONDS + 1
    again = queue.take()
    assert again is not None
    assert again.attempts == MAX_TAKEN
    world.clock.ahead += LEASE_SECONDS + 1
    open_again(world)
    assert world.worker().step()
    world.clock.ahead += 1200
    told = world.state_of(key)
    assert (told["state"], told["error"]["what"]) == ("refused", "nothing was charged, and there is no answer")
    assert world.context.ledger.entries("people") == ()


def test_the_file_of_sources(tmp_path: Path) -> None:
    path = tmp_path / "sources.yaml"
    for text in ("- a\n", "a: [b]\n", "a: b: c\n"):
        path.write_text(text)
        with pytest.raises(td.errors.TetraodonError):
            read_sources(path)
    path.write_text("a: postgresql://u:p@h/d#t\n")
    assert read_sources(path) == {"a": "postgresql://u:p@h/d#t"}
    (tmp_path / "link.csv").symlink_to(tmp_path / "t.csv")
    query = f"select * from '{tmp_path}/t.csv'"
    path.write_text(f'a: {tmp_path}/t.csv\nb: {tmp_path}/link.csv\nc: {tmp_path}/c.csv\nq: "{query}"\n')
    assert source_of(path, "c") == f"{tmp_path}/c.csv"
    for name, told in (("a", "two data sets"), ("b", "two data sets"), ("d", "does not know"), ("q", "is a query")):
        with pytest.raises(SourcesError, match=told):
            source_of(path, name)
    assert issubclass(SourcesError, td.errors.TableError)


def test_killed_at_any_time_it_is_charged_once_or_nothing_is_out(open_world: World) -> None:
    """A worker is killed with its children, and another finishes; `scripts.server_trials` kills 300 jobs."""
    world = open_world
    key = world.asked()
    out = world.context.releases / key
    words = [
        "work",
        "--releases",
        str(world.context.releases),
        "--sources",
        str(world.sources),
        "--ledger",
        world.ledger,
    ]
    process = subprocess.Popen([sys.executable, "-m", "tetraodon.cli.main", *words], start_new_session=True)
    while not (world.context.releases / f".{key}.pending").exists() and process.poll() is None and not out.exists():
        time.sleep(0.01)
    time.sleep(random.Random(1).uniform(0, 0.3))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    entries = world.context.ledger.entries("people")
    assert len(entries) <= 1
    assert not out.exists() or len(entries) == 1
    # The killed worker set its lease by the real clock, which a busy machine may find far ahead of the test's.
    world.clock.ahead = time.time() - world.clock.begun + LEASE_SECONDS + 1
    while world.worker().step():
        world.clock.ahead += 20
    assert [entry.state for entry in world.context.ledger.entries("people")] == ["settled"]
    assert all(check.passed for check in td.verify(out))


@contextmanager
def little_room(size: int) -> Iterator[None]:
    """No process that is begun meanwhile can make a file longer than this: RLIMIT_FSIZE, of which they are told as of a
    full disk. `scripts.server_trials full` fills a real one.
    """
    server: int = multiprocessing.forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
    _, most = resource.prlimit(server, resource.RLIMIT_FSIZE)
    resource.prlimit(server, resource.RLIMIT_FSIZE, (size, most))
    try:
        yield
    finally:
        resource.prlimit(server, resource.RLIMIT_FSIZE, (most, most))


def test_a_full_disk_leaves_a_charge_or_nothing_and_paid_releases_are_finished(open_world: World) -> None:
    """There is no room for a note of what is asked, for the charge, and for the report that was paid for."""
    world, seen = open_world, []
    ledger = (world.folder / "ledger.db").stat().st_size
    for number, size in enumerate((60, 400, ledger + 100_000)):
        before = len(world.context.ledger.entries("people"))
        key = world.asked(key=str(number), epsilon="0.1")
        out = world.context.releases / key
        with little_room(size):
            assert world.worker().step()
        assert not out.exists()
        charged = len(world.context.ledger.entries("people")) - before
        assert world.state_of(key)["note"] is None
        note = world.state_of(key, "carl")["note"]
        world.clock.ahead += 16  # the lease has run out, and there is room again
        open_again(world)
        again = world.worker().step()
        world.clock.ahead += 60
        found = world.state_of(key)
        fix = (found["error"] or note)["fix"]
        seen.append((charged, again, found["state"], len(world.context.ledger.entries("people")) - before, fix))
        assert out.exists() == (found["state"] == "done")
    room = "make room: the worker goes on by itself then, and nothing is charged twice"
    assert seen == [
        (0, True, "done", 1, room),
        (0, True, "done", 1, "check that the disk works and has room, then ask again"),
        (1, True, "done", 1, room),
    ]
    assert all(check.passed for check in td.verify(out))
    assert {entry.state for entry in world.context.ledger.entries("people")} == {"settled"}


# -- queue -----------------------------------------------------------------------------------------


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
