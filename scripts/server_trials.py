"""Trials of the server that take longer than tests may.

    python -m scripts.server_trials kills --number 300   kill jobs (SIGKILL) at any time, resume, and look what stands
    python -m scripts.server_trials times --number 500   when answers are told about two neighbouring tables
    python -m scripts.server_trials load --seconds 60    fifty analysts plan at once, at a steady rate

Everything happens on this machine, in a temporary folder, and ends with a line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
from scipy.stats import ks_2samp

import tetraodon as td
from tetraodon.server.accounts import SCOPES, Person
from tetraodon.server.holdings import STOPPED
from tetraodon.server.limited import Limits
from tetraodon.server.office import Office
from tetraodon.server.queue import LEASE_SECONDS, Queue
from tetraodon.server.worker import Worker

POLICY: dict[str, Any] = {
    "presence": "public",
    "attributes": {"age": {"integer": [20, 59]}, "sex": ["Female", "Male"]},
    "secrets": {"age": {"within": 5}, "sex": "public"},
    "budget": {"epsilon": 1},
}
ASKED = {"items": [{"name": "ages", "histogram": "age"}], "epsilon": "1/1000"}
ANALYSTS = 50
SLOT = 10


class Hand:
    """A clock that is moved by hand, on top of the real one."""

    ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


class Trial:
    """An office with two data sets that differ in one person's age by a secret step, two curators and analysts."""

    def __init__(self, folder: Path, analysts: int) -> None:
        self.clock, self.ledger, self.sources = Hand(), str(folder / "ledger.db"), folder / "sources.yaml"
        (folder / "releases").mkdir()
        self.office = Office.at(self.ledger, folder / "releases", self.clock)
        rows = [(20 + i % 40, ("Female", "Male")[i % 2]) for i in range(2000)]
        lines = []
        for name, first in (("one", 22), ("other", 27)):
            table = folder / f"{name}.csv"
            text = "\n".join(f"{age},{sex}" for age, sex in [(first, "Male"), *rows])
            table.write_text(f"age,sex\n{text}\n")
            lines.append(f"{name}: {table}")
        self.sources.write_text("\n".join([*lines, ""]))
        for name, role in (("carl", "curator"), ("cora", "curator"), *((f"a{i}", "analyst") for i in range(analysts))):
            self.office.accounts.add("trial", name, role, "")
        for name in ("one", "other"):
            policy = POLICY | {"dataset": name}
            self.office.holdings.propose(self.person("carl", "curator"), policy, 1000, 0, 2001, ["cora"])
            self.office.holdings.open(self.person("cora", "curator"), name)
            for i in range(analysts):
                self.office.holdings.allot(self.person("carl", "curator"), name, f"a{i}", 1000, None)

    @staticmethod
    def person(name: str, role: str = "analyst") -> Person:
        return Person(name, role, frozenset(SCOPES))

    def request(self, name: str, key: str) -> str:
        """A request that is approved; its id."""
        made = self.office.petitions.make(self.person("a0"), name, ASKED, "a trial", key)
        self.office.petitions.decide(self.person("carl", "curator"), made["id"], approve=True)
        return str(made["id"])

    def shown(self, key: str) -> dict[str, Any]:
        return self.office.petitions.shown(self.person("a0"), key)

    def go_on(self, name: str) -> None:
        """Open a data set again that was stopped because answers were late."""
        Queue(self.office.state).note_overruns()
        if self.office.holdings.state_of(name) == STOPPED:
            self.office.holdings.open(self.person("cora", "curator"), name)

    def worker(self, seconds: float) -> Worker:
        return Worker(self.office.state, self.ledger, self.office.releases, self.sources, Limits(seconds, 4096))


def kills(trial: Trial, number: int) -> dict[str, Any]:
    """Jobs are killed at times spread over their whole course, until each is done; then the ledger is looked at."""
    dice, killed, done, made = random.Random(1), 0, 0, 0
    trial.worker(60).step()  # starts the process that others are forked from
    while killed < number:
        key, made = trial.request("one", f"k{made}"), made + 1
        out = trial.office.releases / key
        for _ in range(4):
            trial.worker(dice.uniform(0.01, 1.5)).step()
            entries = trial.office.ledger.entries("one")
            mine = len(entries) - done
            assert mine in (0, 1), "charged twice"
            assert not out.exists() or mine == 1, "released and not charged"
            if trial.office.state.events(after=0, most=10**6)[-1].what == "released":
                break
            killed += 1
            trial.clock.ahead += LEASE_SECONDS + 1
            trial.go_on("one")
        else:
            trial.worker(600).step()
        done += 1
        entries = trial.office.ledger.entries("one")
        assert [entry.state for entry in entries] == ["settled"] * done, "not settled"
        assert all(check.passed for check in td.verify(out)), "does not verify"
    return {"kills": killed, "requests": made, "charged": len(entries), "released_and_not_charged": 0}


def times(trial: Trial, number: int) -> dict[str, Any]:
    """When it is told that a job is done, from its approval on, for two neighbouring tables in turn."""
    told: dict[str, list[float]] = {"one": [], "other": []}
    took: dict[str, list[float]] = {"one": [], "other": []}
    worker = trial.worker(600)
    for turn in range(number):
        name = ("one", "other")[turn % 2]
        begun = time.perf_counter()
        key = trial.request(name, f"t{turn}")
        approved = trial.clock()
        worker.step()
        took[name].append(time.perf_counter() - begun)
        step = 0.0
        while trial.shown(key)["state"] == "running":  # move the clock on until it is told
            step = max(step, approved + SLOT - trial.clock() - 0.05) if step == 0 else 0.01
            trial.clock.ahead += max(step, 0.01)
        told[name].append(round(trial.clock() - approved, 1))
    compared, raw = ks_2samp(told["one"], told["other"]), ks_2samp(took["one"], took["other"])
    return {
        "jobs": number,
        "told": {name: dict(Counter(found)) for name, found in told.items()},
        "p_told": float(compared.pvalue),
        "p_before_slots": float(raw.pvalue),
        "passes_at_0.001": bool(compared.pvalue > 0.001),
    }


async def _plans(address: str, tokens: list[str], seconds: float, rate: float) -> dict[str, Any]:
    waits: list[float] = []
    ends: Counter[int] = Counter()

    async def one(client: httpx.AsyncClient, turn: int) -> None:
        asked = ASKED | {"epsilon": f"{1 + turn % 20}/1000"}
        begun = time.perf_counter()
        answer = await client.post(
            f"{address}/v1/datasets/one/plan",
            json=asked,
            headers={"Authorization": f"Bearer {tokens[turn % len(tokens)]}"},
        )
        waits.append(time.perf_counter() - begun)
        ends[answer.status_code] += 1

    async with httpx.AsyncClient(timeout=120, limits=httpx.Limits(max_connections=len(tokens))) as client:
        for turn in range(20):  # warm: each of the plans once
            await one(client, turn)
        waits.clear()
        begun, running = time.perf_counter(), []
        for turn in range(int(seconds * rate)):
            await asyncio.sleep(max(0.0, begun + turn / rate - time.perf_counter()))
            running.append(asyncio.create_task(one(client, turn)))
        await asyncio.gather(*running)
        spent = time.perf_counter() - begun
    cuts = statistics.quantiles(waits, n=20)
    return {
        "plans": len(waits),
        "a_second": round(len(waits) / spent, 1),
        "p50_ms": round(1000 * cuts[9]),
        "p95_ms": round(1000 * cuts[18]),
        "statuses": dict(ends),
    }


def load(trial: Trial, seconds: float, rate: float, folder: Path) -> dict[str, Any]:
    """Analysts plan at a steady rate, against a server in a process of its own."""
    tokens = []
    for i in range(ANALYSTS):
        made = trial.office.accounts.new_token(trial.person(f"a{i}"), "trial", ["plan", "read"], 1)
        tokens.append(str(made["token"]))
    words = ["serve", "--workers", "0", "--port", "0", "--ledger", trial.ledger, "--json"]
    command = [sys.executable, "-m", "tetraodon.cli.main", *words, "--releases", str(folder / "releases")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        told = ""
        while not told.rstrip().endswith("}"):
            told += process.stdout.readline()
        return asyncio.run(_plans(json.loads(told)["address"], tokens, seconds, rate)) | {"analysts": ANALYSTS}
    finally:
        os.kill(process.pid, signal.SIGINT)
        process.wait(30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trial", choices=["kills", "times", "load"])
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=float, default=20)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        trial = Trial(Path(place), ANALYSTS if chosen.trial == "load" else 1)
        match chosen.trial:
            case "kills":
                found = kills(trial, chosen.number)
            case "times":
                found = times(trial, chosen.number)
            case _:
                found = load(trial, chosen.seconds, chosen.rate, Path(place))
        trial.office.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
