"""A function in a process of its own, with limits on time and memory. Nothing but JSON comes back."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from multiprocessing.context import ForkServerContext
from typing import Any

from tetraodon.errors import TetraodonError

Work = Callable[..., Any]
"""A function of a module, of values that can be pickled, that gives what JSON can hold."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds on the clock, megabytes of address space, and by how much it gives way to other processes (`nice`)."""

    seconds: float
    megabytes: int
    nice: int = 0

    def __post_init__(self) -> None:
        if self.seconds <= 0 or self.megabytes < 256:
            raise ValueError("a process needs some time, and 256 MB")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it: `value`; or the document of an `error` of ours, and of its `cause`, which may depend on the
    data; or neither, if it was killed or broke.
    """

    value: Any = None
    error: dict[str, Any] | None = None
    cause: dict[str, Any] | None = None
    died: bool = False


def forkserver(*modules: str) -> ForkServerContext:
    """Where processes come from: one that has imported the modules and does nothing else; forking it is cheap."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(modules))
    return context


def run_limited(
    context: ForkServerContext, limits: Limits, work: Work, *arguments: Any, beat: Callable[[], object] = lambda: None
) -> Outcome:
    """Run it, and wait; it is killed when its time is up. `beat` is called every few seconds meanwhile."""
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(theirs, limits, work, arguments), daemon=True)
    try:
        process.start()
    except (EOFError, OSError):  # the process that others are forked from was killed; there is a new one next time
        ours.close()
        return Outcome(died=True)
    finally:
        theirs.close()
    try:
        left = limits.seconds
        while not ours.poll(min(left, BEAT)):
            left -= BEAT
            if left <= 0:
                return Outcome(died=True)
            beat()
        return Outcome(**json.loads(ours.recv_bytes()))
    except (EOFError, OSError, ValueError):
        return Outcome(died=True)
    finally:
        process.kill()
        process.join()
        process.close()
        ours.close()


BEAT = 3.0


def _child(pipe: Pipe, limits: Limits, work: Work, arguments: tuple[Any, ...]) -> None:
    """In the new process: what it prints is nobody's business, and what it raises may hold data."""
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    os.nice(limits.nice)
    size = limits.megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    processor = int(limits.seconds * (os.cpu_count() or 1)) + 1  # if nobody is left to kill it
    resource.setrlimit(resource.RLIMIT_CPU, (processor, processor))
    try:
        found = {"value": work(*arguments)}
    except TetraodonError as error:
        why = error.__cause__
        found = {"error": error.document(), "cause": why.document() if isinstance(why, TetraodonError) else None}
    pipe.send_bytes(json.dumps(found, allow_nan=False).encode())
