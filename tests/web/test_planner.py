"""The planner: caching, limits, and fair use by accounts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.web.conftest import ITEMS, POLICY

import tetraodon as td
from tetraodon.ledger import document_hash
from tetraodon.web.http_errors import HttpError
from tetraodon.web.limited_process import Limits
from tetraodon.web.planner import (
    HALF_LIFE_SECONDS,
    MOST_OF_ONE,
    MOST_REMEMBERED,
    FairQueue,
    Planner,
    RecentUse,
    RelayedError,
)


def test_a_known_plan_is_not_computed_again(tmp_path: Path) -> None:
    planner = Planner(str(tmp_path / "ledger.db"))
    first = planner.read("ann", POLICY)
    planner.close()
    planner._lanes.clear()  # nothing can be worked out any more
    assert planner.read("ann", POLICY) == first
    with pytest.raises(HttpError, match="more time or memory"):
        planner.read("ann", POLICY | {"dataset": "other"})
    with pytest.raises(HttpError, match="more time or memory"):  # made-up rows are made under the same limits
        planner.synthetic_rows("ann", POLICY, 10)
    for number in range(MOST_REMEMBERED + 3):
        planner._known[str(number)] = {}
    assert len(planner._known) > MOST_REMEMBERED


def test_a_refusal_keeps_its_document(tmp_path: Path) -> None:
    with pytest.raises(RelayedError) as refused:
        Planner(str(tmp_path / "ledger.db")).read("ann", {"dataset": "d"})
    assert refused.value.status == 422
    assert refused.value.document()["type"] == "PolicyError"


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.001)


class Crowd:
    """Threads that want a place each, and let go of it when they are told to."""

    def __init__(self) -> None:
        self.used = RecentUse()
        self.turns, self.has, self.threads = FairQueue(2, self.used), list[str](), list[threading.Thread]()
        self.leave = {name: threading.Semaphore(0) for name in ("ann", "amy", "bob")}

    def wants(self, who: str) -> None:
        def hold() -> None:
            with self.turns.taken(who):
                self.has.append(who)
                self.leave[who].acquire()

        self.threads.append(threading.Thread(target=hold, daemon=True))
        before = len(self.turns._waiting) + len(self.has)
        self.threads[-1].start()
        until(lambda: len(self.turns._waiting) + len(self.has) > before)


def test_an_account_has_one_place_and_those_who_used_less_time_come_first() -> None:
    crowd = Crowd()
    for _ in range(MOST_OF_ONE):
        crowd.wants("ann")
    with pytest.raises(HttpError, match="being computed") as refused, crowd.turns.taken("ann"):
        pass
    assert (refused.value.status, refused.value.after > 0) == (429, True)
    until(lambda: crowd.has == ["ann"])
    crowd.wants("amy")
    until(lambda: crowd.has == ["ann", "amy"])  # with three of ann's before it
    crowd.wants("amy")
    crowd.wants("bob")
    crowd.leave["ann"].release()
    until(lambda: len(crowd.has) == 3)
    assert crowd.has[2] == "bob"  # came last, and had none yet
    crowd.used.add("amy", 100)
    crowd.leave["amy"].release()
    until(lambda: len(crowd.has) == 4)
    assert crowd.has[3] == "ann"  # asked before, and used less
    for name in crowd.leave:
        crowd.leave[name].release(9)
    for thread in crowd.threads:
        thread.join(60)
    assert sorted(crowd.has) == ["amy"] * 2 + ["ann"] * 4 + ["bob"]


def test_a_call_that_waits_too_long_gets_a_retry_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tetraodon.web.planner.WAITING_SECONDS", 0.01)
    turns = FairQueue(2, RecentUse())
    with turns.taken("ann"), turns.taken("amy"):
        with pytest.raises(HttpError, match="too many plans") as refused, turns.taken("bob"):
            pass
        assert (refused.value.status, refused.value.after) == (429, 60)
    with turns.taken("bob"):
        pass


def test_the_time_that_was_used_is_forgotten() -> None:
    now = [1000.0]
    used = RecentUse(lambda: now[0])
    used.add("ann", 8)
    now[0] += HALF_LIFE_SECONDS
    used.add("ann", 1)
    assert (used.of("ann"), used.of("bob")) == (5, 0)


def test_long_work_leaves_places_for_quick_work(tmp_path: Path) -> None:
    """Five accounts whose work takes four seconds, one at a time: no other account waits for two of them."""
    lanes = [(Limits(0.5, 4096), 2), (Limits(60, 4096), 1)]
    planner, ended = Planner(str(tmp_path / "ledger.db"), lanes), list[str]()

    def long(who: str) -> None:
        planner._computed(who, time.sleep, 4)
        ended.append(who)

    threads = [threading.Thread(target=long, args=(f"a{number}",), daemon=True) for number in range(5)]
    for thread in threads:
        thread.start()
    for number in range(5):
        assert planner._computed("bob", len, "x" * number) == number
    assert len(ended) < 2
    for thread in threads:
        thread.join(60)
    assert len(ended) == len(threads)


def test_long_work_skips_the_quick_lane_the_next_time(tmp_path: Path) -> None:
    """Neither for another account, nor with another budget."""
    planner = Planner(str(tmp_path / "ledger.db"), [(Limits(0.5, 4096), 2), (Limits(60, 4096), 1)])
    policy = planner.read("ann", POLICY)["document"]
    with td.Ledger(planner._ledger) as book:
        book.open("people", 1, policy)
    kind = document_hash({"name": "plan_job", "alike": [policy, ITEMS]})
    assert planner._computed("ann", time.sleep, 2, kind=kind) is None
    planner._lanes[0].processes.clear()  # whatever is tried there fails now
    found = planner.plan("bob", policy, {"items": ITEMS, "epsilon": "1/3"}, 1000, 0)
    assert found["plan"]["epsilon"] == pytest.approx(1 / 3)
    planner.close()
