"""A process of its own: what it gives, what it refuses, and that time and memory are limited."""

from __future__ import annotations

import os
import time

import pytest

from tetraodon.errors import DataRefusal, QueryError
from tetraodon.server.limited import Limits, Outcome, forkserver, run_limited

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


def test_what_comes_of_it() -> None:
    context = forkserver()
    assert run_limited(context, ENOUGH, double, 21) == Outcome(value=42)
    refused = run_limited(context, ENOUGH, refuse)
    assert refused.error is not None
    assert refused.cause is not None
    assert (refused.error["type"], refused.cause["depends_on_data"]) == ("QueryError", True)
    assert run_limited(context, ENOUGH, grow) == Outcome(died=True)
    assert run_limited(context, ENOUGH, die) == Outcome(died=True)


def test_it_is_killed_when_its_time_is_up_and_says_meanwhile_that_it_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tetraodon.server.limited.BEAT", 0.1)
    beats: list[int] = []
    begun = time.monotonic()
    found = run_limited(forkserver(), Limits(0.5, 2048), sleep, beat=lambda: beats.append(1))
    assert found == Outcome(died=True)
    assert beats
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize(("seconds", "megabytes"), [(0, 1000), (1, 255)])
def test_limits_that_leave_nothing(seconds: float, megabytes: int) -> None:
    with pytest.raises(ValueError, match="needs some time"):
        Limits(seconds, megabytes)
