"""A studio with a policy file, a table and an open ledger, and a client that sends what its forms send."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import polars as pl
import pytest

import tetraodon as td
from tetraodon.web.policy_editor import PolicyEditor
from tetraodon.web.studio import Studio

POLICY = """\
dataset: people
presence: public
attributes:
  age: {integer: [20, 59], unit: years}   # from the questionnaire
  sex: [Female, Male]
secrets:
  age: {within: 5}
  sex: public
together: one attribute at a time
budget: {epsilon: 1}
release:
- {name: ages, histogram: age}
- {name: sexes, histogram: sex}
"""
MAPPED = """\
dataset: people   # as in the ledger
presence: public
attributes:
  north: {integer: [0, 39], unit: km}
  east: {real: [0, 10], step: 0.5}
  area: [n, s, "e, far", w]   # "far" is a word of ours
  age: {integer: [20, 59], unit: years}
secrets:
  area: {blocks: [[n, s], ["e, far", w]]}
  # the law says so
  age:
    blocks:
    - [20, 29]   # the young
    - [30, 59]
together: {metric: l2, over: [north, east], within: 3}   # three kilometres
budget: {epsilon: 1}
release:
- {name: areas, histogram: area}
"""
GROUPED = """\
dataset: people
presence: public
attributes:
  age: {integer: [20, 59], unit: years}
  region: [north, abroad]
secrets:
  age: {within: 5}
  region: public
groups:   # as the clinics wished
  by: region
  rules:
    north: {secrets: {age: {within: 20}}}   # a small clinic
    abroad: none
budget: {epsilon: 1}
release:
- {name: ages, histogram: age, by: region}
"""
KNOWING = """\
dataset: people
presence: public
attributes:
  age: {integer: [20, 59]}
  sex: [Female, Male]
secrets: {age: {within: 5}}
known:
# from the yearbook
- {marginal: [sex], is: [90, 110]}
- {count: age < 30, is: 40}   # and from the press
budget: {epsilon: 1}
release:
- {name: ages, histogram: [age, sex]}
"""
MOVING = ("strip?name=age&secret=within&within=9", "figures?epsilon=0.5", "simulate?people=50", "status", "needed")
MOVING += ("map?metric=l1&over=age&over=age&within=2", "attack?name=all-or-none")
"""What is asked for while something moves."""


@dataclass
class Visitor:
    """A browser without eyes: it sends what forms send, under the secret path that it was sent to."""

    studio: Studio
    headers: dict[str, str] = field(default_factory=dict)
    root: str = ""

    def __post_init__(self) -> None:
        self.headers = {"Sec-Fetch-Site": "same-origin"}
        if self.root:
            return
        status, _, headers = self.ask(
            "GET", self.studio.address.removeprefix(f"http://127.0.0.1:{self.studio.auth.port}")
        )
        assert (status, "Set-Cookie" in headers) == (303, False)
        self.root = headers["Location"].removesuffix("/columns")

    def ask(self, method: str, target: str, body: str = "", **headers: str) -> tuple[int, str, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.studio.auth.port, timeout=30)
        connection.request(method, self.root + target, body.encode(), {**self.headers, **headers})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, {name.title(): value for name, value in answer.getheaders()}

    def see(self, target: str) -> str:
        status, text, _ = self.ask("GET", target)
        assert status == 200, text
        return text

    def json(self, target: str) -> Any:
        return json.loads(self.see(target))

    def send(self, form: str, **fields: Any) -> tuple[int, str]:
        status, text, _ = self.ask("POST", f"/{form}", urlencode(fields, doseq=True))
        return status, text


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    policy, table = tmp_path / "people.policy.yaml", tmp_path / "people.csv"
    policy.write_text(POLICY)
    pl.DataFrame({"age": [20 + i % 40 for i in range(200)], "sex": ["Female", "Male"] * 100}).write_csv(table)
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    with td.Ledger(ledger) as book:
        book.open("people", 3, td.load_policy(policy))
    made = Studio(PolicyEditor(policy, str(table), ledger))
    made.start()
    yield made
    made.close()


@pytest.fixture
def visitor(studio: Studio) -> Visitor:
    return Visitor(studio)
