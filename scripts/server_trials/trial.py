"""A server to be tried: two data sets that differ in one person, curators, analysts, and a clock set by hand."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tetraodon.web.app_context import AppContext
from tetraodon.web.auth import SCOPES, Person
from tetraodon.web.limited_process import Limits
from tetraodon.web.response_timing import record_overruns
from tetraodon.web.state import STOPPED
from tetraodon.web.worker import Worker

POLICY: dict[str, Any] = {
    "presence": "public",
    "attributes": {"age": {"integer": [20, 59]}, "sex": ["Female", "Male"]},
    "secrets": {"age": {"within": 5}, "sex": "public"},
    "budget": {"epsilon": 1},
}
ASKED = {"items": [{"name": "ages", "histogram": "age"}], "epsilon": "1/1000"}
ANALYSTS = 50
WIDE = 15
"""How many more attributes the data set has about which long plans are."""


class Hand:
    """A clock that is moved by hand, on top of the real one."""

    ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


class Trial:
    """An context with two data sets that differ in one person's age by a secret step, two curators and analysts."""

    def __init__(self, folder: Path, analysts: int, ledger: str = "") -> None:
        self.clock, self.ledger, self.sources = Hand(), ledger or str(folder / "ledger.db"), folder / "sources.yaml"
        (folder / "releases").mkdir()
        self.context = AppContext.at(self.ledger, folder / "releases", self.clock)
        rows = [(20 + i % 40, ("Female", "Male")[i % 2]) for i in range(2000)]
        lines = []
        for name, first in (("one", 22), ("other", 27)):
            table = folder / f"{name}.csv"
            text = "\n".join(f"{age},{sex}" for age, sex in [(first, "Male"), *rows])
            table.write_text(f"age,sex\n{text}\n")
            lines.append(f"{name}: {table}")
        self.sources.write_text("\n".join([*lines, ""]))
        for name, role in (("carl", "curator"), ("cora", "curator"), *((f"a{i}", "analyst") for i in range(analysts))):
            self.context.accounts.add("trial", name, role, "")
        wide = {f"c{i}": {"integer": [0, 9]} for i in range(WIDE)} if analysts > 1 else {}
        for name in ("one", "other", *(["wide"] if wide else [])):
            attributes = POLICY["attributes"] | (wide if name == "wide" else {})
            policy = POLICY | {"dataset": name, "attributes": attributes}
            self.context.datasets.propose(self.person("carl", "curator"), policy, 1000, 0, 2001, ["cora"])
            self.context.datasets.open(self.person("cora", "curator"), name)
            for i in range(analysts):
                self.context.datasets.allot(self.person("carl", "curator"), name, f"a{i}", 1000, None)

    @staticmethod
    def person(name: str, role: str = "analyst") -> Person:
        return Person(name, role, frozenset(SCOPES))

    def request(self, name: str, key: str) -> str:
        """A request that is approved; its id."""
        made = self.context.requests.make(self.person("a0"), name, ASKED, "a trial", key)
        self.context.requests.decide(self.person("carl", "curator"), made["id"], approve=True)
        return str(made["id"])

    def shown(self, key: str) -> dict[str, Any]:
        return self.context.requests.shown(self.person("a0"), key)

    def go_on(self, name: str) -> None:
        """Open a data set again that was stopped because answers were late."""
        record_overruns(self.context.state)
        if self.context.datasets.state_of(name) == STOPPED:
            self.context.datasets.open(self.person("cora", "curator"), name)

    def worker(self, seconds: float) -> Worker:
        return Worker(self.context.state, self.ledger, self.context.releases, self.sources, Limits(seconds, 4096))
