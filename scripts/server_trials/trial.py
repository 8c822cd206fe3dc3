"""An office to be tried: two data sets that differ in one person, curators, analysts, a clock that is moved by hand."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tetraodon.server.accounts import SCOPES, Person
from tetraodon.server.limited import Limits
from tetraodon.server.office import Office
from tetraodon.server.state import STOPPED
from tetraodon.server.told import note_overruns
from tetraodon.server.worker import Worker

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
    """An office with two data sets that differ in one person's age by a secret step, two curators and analysts."""

    def __init__(self, folder: Path, analysts: int, ledger: str = "") -> None:
        self.clock, self.ledger, self.sources = Hand(), ledger or str(folder / "ledger.db"), folder / "sources.yaml"
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
        wide = {f"c{i}": {"integer": [0, 9]} for i in range(WIDE)} if analysts > 1 else {}
        for name in ("one", "other", *(["wide"] if wide else [])):
            attributes = POLICY["attributes"] | (wide if name == "wide" else {})
            policy = POLICY | {"dataset": name, "attributes": attributes}
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
        note_overruns(self.office.state)
        if self.office.holdings.state_of(name) == STOPPED:
            self.office.holdings.open(self.person("cora", "curator"), name)

    def worker(self, seconds: float) -> Worker:
        return Worker(self.office.state, self.ledger, self.office.releases, self.sources, Limits(seconds, 4096))
