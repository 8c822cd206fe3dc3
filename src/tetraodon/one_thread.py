"""Linear algebra on one thread, for work whose matrices are so small that threads only wait for each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def on_one_thread(work: Callable[P, T]) -> Callable[P, T]:
    """A function that does its linear algebra on one thread, and leaves the threads as they were.

    Why   a plan solves many small systems. Threads that spin between them took as much processor time again.
    """

    @wraps(work)
    def limited(*args: P.args, **more: P.kwargs) -> T:
        import scipy.linalg  # noqa: F401  it brings a library of its own, which can only be limited once it is there
        from threadpoolctl import threadpool_limits

        with threadpool_limits(limits=1, user_api="blas"):
            return work(*args, **more)

    return limited
