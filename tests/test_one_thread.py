"""Planning does its linear algebra on one thread, and leaves the threads as they were."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg
from threadpoolctl import threadpool_info, threadpool_limits

import tetraodon as td
from tetraodon.exact.one_thread import on_one_thread, searching
from tetraodon.releases import plan as room


def threads() -> list[int]:
    np.ones((2, 2)) @ scipy.linalg.inv(np.eye(2))  # both libraries are there
    return [int(library["num_threads"]) for library in threadpool_info() if library["user_api"] == "blas"]


def test_one_thread_while_it_works_and_as_many_as_before_afterwards() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        before = threads()
        assert set(on_one_thread(threads)()) == {1}
        assert set(searching(threads)()) == {1}
        assert threads() == before


ALONE = """
import sys
import numpy as np
from tetraodon.exact.one_thread import on_one_thread, searching
from threadpoolctl import threadpool_info
def threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]
assert set(on_one_thread(threads)()) == {1}
assert "scipy" not in sys.modules
assert len(searching(threads)()) == 2 and set(searching(threads)()) == {1}
"""


def test_scipy_is_imported_by_searches_only_and_limited_there_from_the_start() -> None:
    free = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    subprocess.run([sys.executable, "-c", ALONE], check=True, env=free)


def test_planning_works_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    settle = room.settle
    monkeypatch.setattr(room, "settle", lambda *given: seen.extend(threads()) or settle(*given))
    with threadpool_limits(limits=2, user_api="blas"):
        td.plan(
            {
                "tetraodon": 1,
                "dataset": "small",
                "attributes": {"age": {"integer": [0, 9]}},
                "budget": {"epsilon": 1},
                "release": [{"name": "ages", "histogram": ["age"]}],
            }
        )
    assert set(seen) == {1}
