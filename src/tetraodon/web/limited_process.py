"""Functions run in processes with limits on time and memory. They return JSON."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.forkserver import ensure_running
from typing import Any

from tetraodon.errors import TetraodonError

Work = Callable[..., Any]
"""A function of a module, of values that can be pickled, that gives what JSON can hold."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds on the clock for each run, megabytes of address space, and by how much it gives way to other processes
    (`nice`).
    """

    seconds: float
    megabytes: int
    nice: int = 0

    def __post_init__(self) -> None:
        if self.seconds <= 0 or self.megabytes < 256:
            raise ValueError("a process needs some time, and 256 MB")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A `value`; or the documents of a TetraodonError and of its `cause`, which may depend on the data; or neither, if
    the process was killed or broke.
    """

    value: Any = None
    error: dict[str, Any] | None = None
    cause: dict[str, Any] | None = None
    died: bool = False


def forkserver(*modules: str) -> ForkServerContext:
    """A fork server that has imported the modules, so that forking is cheap."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(modules))
    ensure_running()  # it imports while the server starts
    return context


class LimitedProcess:
    """A process that runs one function after another and keeps its caches. A dead one is replaced."""

    def __init__(self, context: ForkServerContext, limits: Limits) -> None:
        self._context, self._limits = context, limits
        self._process: ForkServerProcess | None = None
        self._runs = 0

    def run(self, work: Work, *arguments: Any, beat: Callable[[], object] = lambda: None) -> Outcome:
        """Run a function, and kill the process when its time is up. `beat` is called every few seconds."""
        outcome = Outcome(died=True)
        try:
            if self._process is None or not self._process.is_alive():
                self.close()
                self._start()
            self._runs += 1
            self._pipe.send((work, arguments))
            left = self._limits.seconds
            while not self._pipe.poll(min(left, BEAT)):
                left -= BEAT
                if left <= 0:
                    return outcome
                beat()
            outcome = Outcome(**json.loads(self._pipe.recv_bytes()))
        except (EOFError, OSError, ValueError):  # killed or broken, it or the process that others are forked from
            pass
        finally:
            if outcome.died or self._runs == MOST_RUNS:
                self.close()
        return outcome

    def _start(self) -> None:
        self._pipe, theirs = self._context.Pipe()
        self._runs = 0
        process = self._context.Process(target=_child, args=(theirs, self._limits), daemon=True)
        try:
            process.start()
        except BaseException:
            self._pipe.close()
            raise
        finally:
            theirs.close()
        self._process = process

    def close(self) -> None:
        """Kill the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
            self._pipe.close()
            self._process = None


BEAT, MOST_RUNS = 3.0, 200


def _child(pipe: Pipe, limits: Limits) -> None:
    """The loop of the new process. Its output is discarded, and its bugs are not passed on: both may hold data."""
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    os.nice(limits.nice)
    size = limits.megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    with suppress(EOFError):  # the pipe was closed
        while True:
            work, arguments = pipe.recv()
            processor = int(time.process_time() + limits.seconds * (os.cpu_count() or 1)) + 1
            if most == resource.RLIM_INFINITY or processor < most:  # in case its parent dies before killing it
                resource.setrlimit(resource.RLIMIT_CPU, (processor, most))
            pipe.send_bytes(json.dumps(_found(work, arguments), allow_nan=False).encode())


def _found(work: Work, arguments: tuple[Any, ...]) -> dict[str, Any]:
    try:
        return {"value": work(*arguments)}
    except TetraodonError as error:
        why = error.__cause__
        return {"error": error.document(), "cause": why.document() if isinstance(why, TetraodonError) else None}
