"""`python -m scripts.server_trials outages`: workers are killed and Postgres is stopped while requests are worked on.

A server with two workers runs in processes of its own. In the end every request is finished, charged once, and
verifies; the result says how long that took after Postgres was back for the last time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import tetraodon as td
from scripts.server_trials.trial import Trial
from scripts.services import Postgres
from tetraodon.errors import LedgerError
from tetraodon.web.response_timing import APPROVED, RUNNING
from tetraodon.web.state import requests
from tetraodon.web.worker import LEASE_SECONDS

DOWN_SECONDS, UP_SECONDS = 4.0, 6.0
BOUND_SECONDS, JOB_SECONDS = 60.0, 5.0
"""What may pass in the end, besides some seconds for each request: leases that run out, and workers that start."""


def outages(folder: Path, number: int, rounds: int) -> dict[str, Any]:
    database = Postgres(durable=True)
    try:
        trial = Trial(folder, 1, database.address("owner").replace("postgresql:", "postgresql+psycopg:"))
        keys = [trial.request("one", f"o{turn}") for turn in range(number)]
        server = _server(trial)
        try:
            for _ in range(rounds):
                time.sleep(UP_SECONDS)
                for worker in _workers(server.pid)[:1]:
                    os.kill(worker, signal.SIGKILL)
                database.stop()
                time.sleep(DOWN_SECONDS)
                database.start()
            begun = time.monotonic()
            while left := _unfinished(trial):
                spent = time.monotonic() - begun
                assert server.poll() is None, "the server has ended"
                assert spent < BOUND_SECONDS + JOB_SECONDS * number, f"{left} requests are running after {spent:.0f} s"
                time.sleep(0.5)
            spent = time.monotonic() - begun
        finally:
            server.terminate()
            server.wait(60)
        ends = Counter(row.state for row in trial.context.state.all(requests))
        entries = trial.context.ledger.entries("one")
        out = [trial.context.releases / key for key in keys if (trial.context.releases / key).exists()]
        assert len(entries) == len(out) == ends["done"], "an answer without a charge, or a charge without an answer"
        assert all(check.passed for made in out for check in td.verify(made)), "an answer does not verify"
        trial.context.close()
    finally:
        database.close()
    return {
        "requests": number,
        "outages": rounds,
        "lease_seconds": LEASE_SECONDS,
        "finished_after_seconds": round(spent),
        "ends": dict(ends),
    }


def _server(trial: Trial) -> subprocess.Popen[str]:
    """A server that serves: one that cannot reach the database when it begins says so, and ends."""
    words = ["serve", "--workers", "2", "--port", "0", "--releases", str(trial.context.releases)]
    command = [sys.executable, "-m", "tetraodon.cli.main", *words, "--sources", str(trial.sources)]
    said = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    server = subprocess.Popen(command, env=os.environ | {"TETRAODON_LEDGER": trial.ledger}, **said)  # type: ignore[call-overload]
    assert server.stdout.readline().startswith("Serving at"), "the server did not begin"
    return server  # type: ignore[no-any-return]


def _workers(server: int) -> list[int]:
    """The workers that the server has started and that live."""
    tasks = Path(f"/proc/{server}/task").iterdir()
    children = {int(child) for task in tasks for child in (task / "children").read_text().split()}
    return [one for one in children if b"work\0" in _command(one)]


def _command(process: int) -> bytes:
    with suppress(OSError):  # it has ended
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""


def _unfinished(trial: Trial) -> int:
    """How many requests are approved and have no end; a data set that was stopped because of them is opened again."""
    with suppress(LedgerError):
        trial.go_on("one")
        return len(trial.context.state.all(requests, requests.c.state.in_((APPROVED, RUNNING))))
    return -1
