"""How many steps one plan may compare: a count, not a clock, so that a refusal never depends on the machine.

Certificates list steps of the secret graph where no closed form is known. Each list is bounded by itself, but a plan
asks for dozens of certificates and errors; `bounded_effort` bounds them together, and whatever lists steps, or the
variances of long sums, calls `spend` first.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

from tetraodon.errors import TooMuchWork

P = ParamSpec("P")
T = TypeVar("T")

EFFORT = 200_000_000
"""Comparisons of one query on one step: about twenty seconds on one core."""

_left: ContextVar[list[int] | None] = ContextVar("effort", default=None)


def bounded_effort(work: Callable[P, T]) -> Callable[P, T]:
    """Bound a function, with all that it calls, to `EFFORT` comparisons. Nested calls share one budget.

    Why  a refusal inside ends the outermost call, so that no result depends on how much was left.
    """

    @wraps(work)
    def bounded(*args: P.args, **more: P.kwargs) -> T:
        if _left.get() is not None:
            return work(*args, **more)
        token = _left.set([EFFORT])
        try:
            return work(*args, **more)
        finally:
            _left.reset(token)

    return bounded


def spend(steps: int) -> None:
    """Count comparisons about to be made; raise `TooMuchWork` if they exceed what is left."""
    left = _left.get()
    if left is None:
        return
    left[0] -= steps
    if left[0] < 0:
        raise TooMuchWork(
            f"more than {EFFORT:,} steps between records would have to be compared",
            fix="ask for fewer items at once, use coarser attributes (`step`, `bins`), or change `together`, `within`",
        )
