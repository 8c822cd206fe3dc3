"""`python -m scripts.server_trials load`: analysts plan at a steady rate and ask for more than there is, all at once.

With `--fresh` no plan is asked twice; with `--heavy N` there are N more analysts who send one long plan after another.

A server and a worker run in processes of their own. In the end no more is charged than the total, every request is told
as done or refused, and every answer is there, charged once, and verifies.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx

import tetraodon as td
from scripts.server_trials.trial import WIDE, Trial

ASKED: dict[str, Any] = {"items": [{"name": "ages", "histogram": "age"}]}
ASKING_SECONDS = 10.0
"""From one request to the next: a worker has two cores with everybody else."""
PATIENCE = 1200.0
UNTOLD = ("running", "approved")


def long_items(account: int) -> list[dict[str, Any]]:
    """Items that take long to plan; those of two accounts have other names."""
    pairs = [(i, j) for i in range(WIDE) for j in range(i)][:100]
    return [{"name": f"h{account}_{i}_{j}", "histogram": ["age", f"c{i}", f"c{j}"]} for i, j in pairs]


def fresh(turn: int) -> dict[str, Any]:
    """What nobody has asked before: some items of several kinds, and an epsilon of its own."""
    dice = random.Random(turn)
    low, high = sorted(dice.sample(range(20, 60), 2))
    kinds = [
        {"histogram": "age", "by": "sex"},
        {"histogram": "age", "where": f"age < {high}"},
        {"count": f"age between {low} and {high} and sex = 'Male'"},
        {"cdf": "age"},
        {"mean": "age", "by": "sex"},
        {"quantiles": "age", "at": [0.25, 0.5]},
    ]
    items = [{"name": f"i{place}"} | kind for place, kind in enumerate(dice.sample(kinds, dice.randint(1, 3)))]
    return {"items": items, "epsilon": f"{1 + turn}/100003"}


class Crowd:
    """Analysts, a curator who approves whatever is asked, and what came of it."""

    def __init__(
        self, client: httpx.AsyncClient, tokens: list[str], curators: list[str], each: Fraction, *, fresh: bool
    ) -> None:
        self._client, self._tokens, self._curators, self._each = client, tokens, curators, each
        self._fresh = fresh
        self.waits: list[float] = []
        self.long: list[float] = []
        self.long_ends: Counter[int] = Counter()
        self.ends: Counter[int] = Counter()
        self.asked: list[tuple[str, str]] = []

    async def call(self, token: str, method: str, path: str, body: Any = None, key: str = "") -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"} | ({"Idempotency-Key": key} if key else {})
        answer = await self._client.request(method, path, json=body, headers=headers)
        self.ends[answer.status_code] += 1
        return answer

    async def plan(self, turn: int) -> None:
        token = self._tokens[turn % len(self._tokens)]
        asked = fresh(turn) if self._fresh else ASKED | {"epsilon": f"{1 + turn % 20}/1000"}
        begun = time.perf_counter()
        await self.call(token, "POST", "/v1/datasets/one/plan", asked)
        self.waits.append(time.perf_counter() - begun)

    async def long_plans(self, token: str, seconds: float, account: int) -> None:
        """One long plan after the other, each with another error; whoever is told to wait does."""
        begun, turn, items = time.perf_counter(), 0, long_items(account)
        while time.perf_counter() < begun + seconds:
            turn, since = turn + 1, time.perf_counter()
            headers = {"Authorization": f"Bearer {token}"}
            answer = await self._client.post(
                "/v1/datasets/wide/plan", json={"items": items, "error": str(5 + turn / 1000)}, headers=headers
            )
            self.long_ends[answer.status_code] += 1
            self.long.append(time.perf_counter() - since)
            await asyncio.sleep(float(answer.headers.get("Retry-After", 0)))

    async def plans(self, seconds: float, rate: float) -> None:
        begun, running = time.perf_counter(), []
        for turn in range(int(seconds * rate)):
            await asyncio.sleep(max(0.0, begun + turn / rate - time.perf_counter()))
            running.append(asyncio.create_task(self.plan(turn)))
        await asyncio.gather(*running)

    async def requests(self, number: int) -> None:
        """Each is sent twice, as by somebody who lost the first answer, and approved."""
        begun = time.perf_counter()
        for turn in range(number):
            await asyncio.sleep(max(0.0, begun + turn * ASKING_SECONDS - time.perf_counter()))
            token, body = (
                self._tokens[turn % len(self._tokens)],
                ASKED | {"epsilon": str(self._each), "purpose": "load"},
            )
            sent = [self.call(token, "POST", "/v1/datasets/other/requests", body, f"l{turn}") for _ in range(2)]
            first, second = await asyncio.gather(*sent)
            if first.status_code == 202:
                assert first.json()["id"] == second.json()["id"], "one request became two"
                self.asked.append((token, first.json()["id"]))
                await self.call(self._curators[0], "POST", f"/v1/requests/{self.asked[-1][1]}/approve")

    async def told(self) -> Counter[str]:
        """How every request ended, once all are told."""
        states: Counter[str] = Counter()
        begun = time.perf_counter()
        for token, key in self.asked:
            while (state := (await self.call(token, "GET", f"/v1/requests/{key}")).json()["state"]) in UNTOLD:
                assert time.perf_counter() < begun + PATIENCE, "a request was lost"
                if state == "approved":  # three were late, which stopped the data set
                    await self.call(self._curators[1], "POST", "/v1/datasets/other/open")
                await asyncio.sleep(1)
            states[state] += 1
        return states


async def _crowded(
    address: str,
    tokens: list[str],
    curators: list[str],
    seconds: float,
    rate: float,
    each: Fraction,
    fresh: bool,
    heavy: int,
) -> Any:
    tokens, long = tokens[: len(tokens) - heavy], tokens[len(tokens) - heavy :]
    limits = httpx.Limits(max_connections=len(tokens) + heavy)
    async with httpx.AsyncClient(base_url=address, timeout=240, limits=limits) as client:
        crowd = Crowd(client, tokens, curators, each, fresh=fresh)
        for turn in range(20):  # warm: each of the plans once
            await crowd.plan(turn)
        crowd.waits.clear()
        begun = time.perf_counter()
        await asyncio.gather(
            crowd.plans(seconds, rate),
            crowd.requests(max(int(seconds / ASKING_SECONDS), 4)),
            *(crowd.long_plans(token, seconds, account) for account, token in enumerate(long)),
        )
        spent = time.perf_counter() - begun
        return crowd, spent, await crowd.told()


def _long_rows(crowd: Crowd, heavy: int) -> dict[str, Any]:
    if not heavy:
        return {}
    ends = ", ".join(f"{status}: {count}" for status, count in sorted(crowd.long_ends.items()))
    median = round(statistics.median(crowd.long), 1)
    return {"analysts with long plans": heavy, "long plans by status": ends, "half of them within, s": median}


def load(trial: Trial, seconds: float, rate: float, folder: Path, *, fresh: bool, heavy: int) -> str:
    """A table of what was measured; fails where more was charged than there is, or something was lost."""
    people = [(f"a{i}", "analyst") for i in range(len(trial.context.ledger.allotments("one")))]
    made = [trial.context.accounts.new_token(trial.person(*one), "t", ["plan", "read", "request"], 1) for one in people]
    curators = [trial.person(name, "curator") for name in ("carl", "cora")]
    govern = [str(trial.context.accounts.new_token(one, "t", ["read", "govern"], 1)["token"]) for one in curators]
    number = max(int(seconds / ASKING_SECONDS), 4)
    total = trial.context.ledger.account("other").total
    each = total / Fraction(2 * number, 3)  # two thirds of what is asked can be had
    words = ["serve", "--workers", "1", "--port", "0", "--ledger", trial.ledger, "--sources", str(trial.sources)]
    command = [sys.executable, "-m", "tetraodon.cli.main", *words, "--json", "--releases", str(folder / "releases")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        said = ""
        while not said.rstrip().endswith("}"):
            said += process.stdout.readline()
        tokens = [str(one["token"]) for one in made]
        crowd, spent, states = asyncio.run(
            _crowded(json.loads(said)["address"], tokens, govern, seconds, rate, each, fresh, heavy)
        )
    finally:
        os.kill(process.pid, signal.SIGINT)
        process.wait(60)
    account, entries = trial.context.ledger.account("other"), trial.context.ledger.entries("other")
    out = [trial.context.releases / key for _, key in crowd.asked if (trial.context.releases / key).exists()]
    assert account.charged <= account.total, "more was charged than there is"
    assert len(entries) == len(out) == states["done"], "an answer without a charge, or a charge without an answer"
    assert all(check.passed for folder in out for check in td.verify(folder)), "an answer does not verify"
    cuts = statistics.quantiles(crowd.waits, n=20)
    rows = {
        "analysts at once": len(people) - heavy,
        "seconds": round(spent),
        "plans": len(crowd.waits),
        "plans a second": round(len(crowd.waits) / spent, 1),
        "half of them within, ms": round(1000 * cuts[9]),
        "95% of them within, ms": round(1000 * cuts[18]),
        **_long_rows(crowd, heavy),
        "requests, each sent twice": len(crowd.asked),
        "done, charged once and verified": states["done"],
        "refused": states["refused"],
        "refused when asked": number - len(crowd.asked),
        "charged of the total": f"{float(account.charged):.6g} of {float(account.total):.6g}",
        "calls by status": ", ".join(f"{status}: {count}" for status, count in sorted(crowd.ends.items())),
    }
    return "\n".join(
        ["| what | measured |", "| --- | ---: |", *(f"| {key} | {value} |" for key, value in rows.items())]
    )
