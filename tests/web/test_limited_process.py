"""Processes with limits: results, errors, time and memory."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing, suppress

import pytest

from tetraodon.errors import DataRefusal, QueryError
from tetraodon.web.limited_process import LimitedProcess, Limits, Outcome, forkserver

ENOUGH = Limits(seconds=60, megabytes=2048)


def double(number: int) -> int:
    return 2 * number


def refuse() -> None:
    try:
        raise DataRefusal("a column does not fit", fix="look at it")
    except DataRefusal as why:
        raise QueryError("nothing to tell", fix="ask your curator") from why


def grow() -> int:
    return len(bytes(3 * 2**30))


def die() -> None:
    os._exit(3)


def sleep() -> None:
    time.sleep(600)


def process() -> int:
    return os.getpid()


def test_the_outcome_of_a_run() -> None:
    with closing(LimitedProcess(forkserver(), ENOUGH)) as helper:
        assert helper.run(double, 21) == Outcome(value=42)
        refused = helper.run(refuse)
        assert refused.error is not None
        assert refused.cause is not None
        assert (refused.error["type"], refused.cause["depends_on_data"]) == ("QueryError", True)
        assert helper.run(grow) == Outcome(died=True)
        assert helper.run(die) == Outcome(died=True)
        assert helper.run(double, 21) == Outcome(value=42)


def until_gone(process: int) -> None:
    end = time.monotonic() + 60
    with suppress(ProcessLookupError):
        while time.monotonic() < end:
            os.kill(process, 0)
            time.sleep(0.01)


def test_a_process_is_used_again_some_times_and_one_that_was_killed_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tetraodon.web.limited_process.MOST_RUNS", 2)
    with closing(LimitedProcess(forkserver(), ENOUGH)) as helper:
        first, second, third = (helper.run(process).value for _ in range(3))
        assert first == second != third
        os.kill(third, signal.SIGKILL)
        until_gone(third)
        assert helper.run(double, 21) == Outcome(value=42)
    for one in (first, third):
        with pytest.raises(ProcessLookupError):
            os.kill(one, 0)


def test_it_is_killed_when_its_time_is_up_and_says_meanwhile_that_it_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tetraodon.web.limited_process.BEAT", 0.1)
    beats: list[int] = []
    begun = time.monotonic()
    with closing(LimitedProcess(forkserver(), Limits(0.5, 2048))) as helper:
        assert helper.run(sleep, beat=lambda: beats.append(1)) == Outcome(died=True)
    assert beats
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize(("seconds", "megabytes"), [(0, 1000), (1, 255)])
def test_limits_that_leave_nothing(seconds: float, megabytes: int) -> None:
    with pytest.raises(ValueError, match="needs some time"):
        Limits(seconds, megabytes)
