"""Running many made-up cases, each with little time and memory: what every fuzzer shares.

A case is fine if it ends in an answer, or in a refusal of ours that says what to do. Anything else is a finding:
another exception, too much time, too much memory. Cases are made from a seed and their number, so a finding is made
again by its number alone. They run in a child process, whose memory is bounded; where it dies, the case it was at is
the finding and another child goes on after it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

from tetraodon.errors import TetraodonError

SECONDS, MEGABYTES = 5, 500
"""What one case may take: seconds of this process, and memory beyond what the process has when it begins."""
PATIENCE = 12 * SECONDS
"""Seconds by the clock after which a case that does nothing is given up."""
ROOM = 8 * 2**30
"""Addresses that a child may take: libraries reserve many that they never use. What is used is measured."""


class TooSlow(BaseException):
    """A case that is not done in time; not an Exception, so that no handler takes it for one."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A case that ended in neither an answer nor a refusal."""

    number: int
    what: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many cases were answered, how many refused, and what was found."""

    answered: int
    refused: int
    findings: tuple[Finding, ...]


Case = Callable[[random.Random, Path], Any]
"""Makes one case from its dice and runs it; the folder is empty and may be filled."""


def run_cases(case: Case, cases: int, *, seed: int = 0) -> Outcome:
    """Run the cases of a seed, in children that are replaced when they die.

    Pre   no other threads run here: a child that is forked beside them may wait for a lock that nobody holds.
    """
    context = multiprocessing.get_context("fork")
    answered, refused, found, number = 0, 0, list[Finding](), 0
    while number < cases:
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=_child, args=(case, seed, number, cases, there))
        child.start()
        there.close()
        try:
            while number < cases:
                if not here.poll(PATIENCE):
                    child.kill()
                kind, what = here.recv()
                answered, refused = answered + (kind == "answered"), refused + (kind == "refused")
                if kind == "found":
                    found.append(Finding(number, what))
                number += 1
        except EOFError:
            child.join()
            found.append(Finding(number, f"the process died with {child.exitcode}"))
            number += 1
        child.join()
    return Outcome(answered, refused, tuple(found))


def _child(case: Case, seed: int, first: int, cases: int, out: Connection) -> None:
    signal.signal(signal.SIGVTALRM, _late)
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    _bound()
    for number in range(first, cases):
        out.send(one_case(case, seed, number))
    out.close()


def _late(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise TooSlow


def _bound() -> None:
    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + ROOM, resource.RLIM_INFINITY))


def one_case(case: Case, seed: int, number: int) -> tuple[str, str]:
    """Run one case; how it ended."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as place:
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            case(random.Random(f"{seed}:{number}"), Path(place))
            ended = ("answered", "")
        except TetraodonError as error:
            ended = ("refused", "") if "Fix: " in str(error) else ("found", f"no fix: {type(error).__name__}")
        except TooSlow:
            ended = ("found", f"more than {SECONDS} s")
        except BaseException as error:  # noqa: BLE001
            [*_, last] = traceback.extract_tb(error.__traceback__)
            ended = ("found", f"{type(error).__name__} in {Path(last.filename).name} line {last.lineno}")
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    return ended if grown <= MEGABYTES else ("found", f"{grown} MB")


def main(case: Case, words: str, *, seconds: float = SECONDS, megabytes: int = MEGABYTES) -> None:
    """The command line of a fuzzer, of which a case may take so much."""
    global SECONDS, MEGABYTES, PATIENCE
    SECONDS, MEGABYTES, PATIENCE = seconds, megabytes, 12 * seconds
    parser = argparse.ArgumentParser(description=words)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="run this case alone, and show its traceback")
    wanted = parser.parse_args()
    if wanted.only is not None:
        with tempfile.TemporaryDirectory() as place:
            print(case(random.Random(f"{wanted.seed}:{wanted.only}"), Path(place)))
        return
    outcome = run_cases(case, wanted.cases, seed=wanted.seed)
    print(
        f"{wanted.cases} cases: {outcome.answered} answered, {outcome.refused} refused, {len(outcome.findings)} found"
    )
    for finding in outcome.findings:
        print(f"  --seed {wanted.seed} --only {finding.number}: {finding.what}")
    sys.exit(bool(outcome.findings))
