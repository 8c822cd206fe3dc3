"""Linear algebra on one thread, for work whose matrices are so small that threads only wait for each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def on_one_thread(work: Callable[P, T], *, with_scipy: bool = False) -> Callable[P, T]:
    """A function that does its linear algebra on one thread, and leaves the threads as they were.

    `with_scipy` is for work that needs SciPy, which brings a library of its own: only what is there can be limited. It
    is slow to import, and most plans do not need it.

    Why   a plan solves many small systems. Threads that spin between them took as much processor time again.
    """

    @wraps(work)
    def limited(*args: P.args, **more: P.kwargs) -> T:
        if with_scipy:
            import scipy.linalg  # noqa: F401
        from threadpoolctl import threadpool_limits

        with threadpool_limits(limits=1, user_api="blas"):
            return work(*args, **more)

    return limited


def searching(work: Callable[P, T]) -> Callable[P, T]:
    """A search that does its linear algebra, SciPy's too, on one thread."""
    return on_one_thread(work, with_scipy=True)
