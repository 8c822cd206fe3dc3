"""What jobs leave behind: killed at any time, on a full disk, and in the times that are told of them."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from scipy.stats import ks_2samp

import tetraodon as td
from scripts.server_trials.trial import Trial
from tetraodon.errors import LedgerError
from tetraodon.web.worker import LEASE_SECONDS

INSIDE = "TETRAODON_TRIAL_FOLDER"
"""Names the small disk to the process that is started on it."""


def kills(trial: Trial, number: int) -> dict[str, Any]:
    """Jobs are killed at times spread over their whole course, until each is done; then the ledger is looked at."""
    dice, killed, done, made = random.Random(1), 0, 0, 0
    trial.worker(60).step()  # starts the process that others are forked from
    while killed < number:
        key, made = trial.request("one", f"k{made}"), made + 1
        out = trial.context.releases / key
        for _ in range(4):
            trial.worker(dice.uniform(0.01, 1.5)).step()
            entries = trial.context.ledger.entries("one")
            mine = len(entries) - done
            assert mine in (0, 1), "charged twice"
            assert not out.exists() or mine == 1, "released and not charged"
            if trial.context.state.events(after=0, most=10**6)[-1].what == "released":
                break
            killed += 1
            trial.clock.ahead += LEASE_SECONDS + 1
            trial.go_on("one")
        else:
            trial.worker(600).step()
        done += 1
        entries = trial.context.ledger.entries("one")
        assert [entry.state for entry in entries] == ["settled"] * done, "not settled"
        assert all(check.passed for check in td.verify(out)), "does not verify"
    return {"kills": killed, "requests": made, "charged": len(entries), "released_and_not_charged": 0}


def times(number: int, processes: int) -> dict[str, Any]:
    """When it is told that a job is done, from its approval on, for two neighbouring tables in turn; in several
    processes, each with a server of its own.
    """
    shares = [len(range(part, number, processes)) for part in range(processes)]
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(_told_after, shares))
    told, took = ({name: [t for one in found for t in one[i][name]] for name in found[0][i]} for i in range(2))
    compared, raw = ks_2samp(told["one"], told["other"]), ks_2samp(took["one"], took["other"])
    return {
        "jobs": number,
        "processes": processes,
        "told": {name: dict(Counter(seen)) for name, seen in told.items()},
        "p_told": float(compared.pvalue),
        "p_before_slots": float(raw.pvalue),
        "passes_at_0.001": bool(compared.pvalue > 0.001),
    }


def _told_after(number: int) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Seconds from the approval until it was told, and those that the job took, by table."""
    told: dict[str, list[float]] = {"one": [], "other": []}
    took: dict[str, list[float]] = {"one": [], "other": []}
    with tempfile.TemporaryDirectory() as place:
        trial = Trial(Path(place), 1)
        worker = trial.worker(600)
        for turn in range(number):
            name = ("one", "other")[turn % 2]
            trial.go_on(name)
            key = trial.request(name, f"t{turn}")
            begun, approved = time.perf_counter(), trial.clock()
            worker.step()
            took[name].append(time.perf_counter() - begun)
            while trial.shown(key)["state"] == "running":  # move the clock on until it is told
                left = datetime.fromisoformat(trial.shown(key)["ready_at"]).timestamp() - trial.clock()
                trial.clock.ahead += max(left - 0.05, 0.01)
            told[name].append(round(trial.clock() - approved, 1))
        trial.context.close()
    return told, took


def full(number: int) -> dict[str, Any]:
    """Jobs on a small disk (tmpfs, in a name space of our own) that leaves a little room, more each time; then all."""
    with tempfile.TemporaryDirectory() as place:
        again = f'exec "$0" -m scripts.server_trials full --number {number}'
        command = f"mount -t tmpfs -o size=8m trial {place} && {again}"
        inside = os.environ | {INSIDE: place}
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", command, sys.executable], env=inside, stdout=subprocess.PIPE, check=True
        )
    return dict(json.loads(done.stdout))


def on_a_full_disk(folder: Path, number: int) -> dict[str, Any]:
    trial, seen = Trial(folder, 1), Counter[str]()
    ballast = folder / "ballast"
    for turn in range(number):
        key = trial.request("one", f"f{turn}")
        out, before = trial.context.releases / key, len(trial.context.ledger.entries("one"))
        with ballast.open("wb", buffering=0) as file, suppress(OSError):  # all but some pages
            while file.write(bytes(4096)):
                pass
        os.truncate(ballast, max(ballast.stat().st_size - 4096 * turn * turn // 2, 0))
        with suppress(LedgerError):
            trial.worker(60).step()
        charged = len(trial.context.ledger.entries("one")) - before
        assert not out.exists() or charged == 1, "released and not charged"
        seen["charged" if charged else "nothing charged"] += 1
        ballast.unlink()
        while trial.shown(key)["state"] in ("running", "approved"):
            trial.clock.ahead += LEASE_SECONDS + 1
            trial.go_on("one")
            trial.worker(60).step()
        entries = trial.context.ledger.entries("one")
        end = trial.shown(key)["state"]
        assert (end == "done") == out.exists() == (len(entries) - before == 1), "an answer without a charge, or none"
        seen[f"in the end {end}"] += 1
        if out.exists():
            assert all(check.passed for check in td.verify(out)), "does not verify"
            shutil.rmtree(out)
    trial.context.close()
    return {"jobs": number, "released_and_not_charged": 0} | dict(seen)
