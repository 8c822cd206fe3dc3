"""From a table to a published release and back, as a curator and an analyst go."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.cli.conftest import MARKER, POLICY, Run, table_text


def test_in_text(run: Run, place: Path) -> None:
    (place / "people.policy.yaml").unlink()
    drafted = run("init", "people.csv")
    assert "people.policy.yaml" in drafted.stdout
    refused = run("check", "people.policy.yaml", code=1)
    assert "CONFIRM still stands here" in refused.stderr
    assert "attributes.age.integer.1" in refused.stderr
    (place / "people.policy.yaml").write_text(POLICY)

    checked = run("check", "people.policy.yaml").stdout
    assert "is valid" in checked
    assert "one person's age 17 rather than 18" in checked
    assert "Dry run" not in checked
    assert "odds" in run("explain", "people.policy.yaml").stdout
    planned = run("plan", "people.policy.yaml").stdout
    assert "sexes is published exactly: no secret changes it." in planned
    assert "The release as a whole loses epsilon 1, for the worst pair that there is: one person's" in planned

    assert "total epsilon 2" in run("ledger", "open", "people.policy.yaml", "--total", "2").stdout
    made = run("release", "people.policy.yaml", "people.csv", "--out", "a release")
    assert "Charged epsilon 1 to people; 1 left." in made.stdout
    assert (place / "a release" / "report.html").is_file()
    shown = run("show", "a release", "--rows", "3").stdout
    assert "the odds between the two" in " ".join(shown.split())
    assert "145 more rows" in shown
    assert "█" in shown
    assert "checks hold" in run("verify", "a release").stdout
    answered = run("ask", "a release", "age between 30 and 39").stdout
    assert answered.startswith("about ")
    assert "(95%: " in answered
    assert answered.rstrip().endswith("from 'ages'")
    assert run("ask", "a release", "sex = 'Male'").stdout.startswith("exactly 134, from ")
    ledger = run("ledger", "show").stdout
    assert "people" in ledger
    assert "written" in ledger
    assert "together: one attribute at a time" in run("ledger", "show", "people").stdout


def test_in_json(run_json: Callable[..., Any]) -> None:
    drafted = run_json("init", "people.csv", "--out", "draft.yaml")
    assert drafted == {
        "policy": "draft.yaml",
        "dataset": "people",
        "columns": [
            {"name": "age", "kind": "unknown"},
            {"name": "sex", "kind": "unknown"},
            {"name": "loss", "kind": "unknown"},
            {"name": "remark", "kind": "unknown"},
        ],
        "left_out": [],
        "placeholders": 7,
        "notes": [],
    }
    assert run_json("check", "draft.yaml", code=1)["valid"] is False
    assert run_json("check", "people.policy.yaml")["valid"] is True
    assert run_json("plan", "people.policy.yaml")["epsilon"] == 1
    opened = run_json("ledger", "open", "people.policy.yaml")
    assert {k: opened[k] for k in ("ledger", "dataset", "total", "charged", "left")} == {
        "ledger": "tetraodon.db",
        "dataset": "people",
        "total": "1",
        "charged": "0",
        "left": "1",
    }
    made = run_json("release", "people.policy.yaml", "people.csv")
    assert (made["folder"], made["report"], made["charged"], made["left"]) == (
        "release",
        "release/report.html",
        "1",
        "0",
    )
    assert [q["name"] for q in made["queries"]] == ["ages", "losses", "sexes", "spent"]
    shown = run_json("show", "release", "--item", "sexes")
    assert shown["answers"][0]["columns"] == {
        "sex": ["Female", "Male"],
        "count": [266.0, 134.0],
        "lower": [266.0, 134.0],
        "upper": [266.0, 134.0],
    }
    assert run_json("verify", "release")["verified"] is True
    assert run_json("ask", "release", "age < 20")["condition"] == "age < 20"
    (account,) = run_json("ledger", "show")["datasets"]
    assert (account["asked"], account["charged"], account["left"]) == ("1", "1", "0")
    assert account["entries"][0]["state"] == "settled"


def test_the_script_itself(place: Path) -> None:
    """In processes of their own: JSON alone on standard output, exit codes as documented, names with spaces."""
    (place / "my table.csv").write_text(table_text())
    (place / "my policy.yaml").write_text(POLICY)

    def script(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tetraodon.cli.main", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=place)

    assert script("ledger", "open", "my policy.yaml", "--ledger", "my ledger.db").returncode == 0
    made = script("release", "my policy.yaml", "my table.csv", "--out", "o u t", "--ledger", "my ledger.db", "--json")
    assert (made.returncode, made.stderr) == (0, "")
    assert json.loads(made.stdout)["ledger"] == "my ledger.db"
    again = script("release", "my policy.yaml", "my table.csv", "--out", "o u t", "--ledger", "my ledger.db")
    assert (again.returncode, again.stdout) == (1, "")
    assert "Fix:" in again.stderr
    missing = script("ask", "nowhere", "age > 3", "--json")
    assert missing.returncode == 2
    assert json.loads(missing.stdout)["error"]["type"] == "WrongUse"


def test_nothing_of_a_text_column_reaches_a_release(released: Path) -> None:
    for path in released.rglob("*"):
        assert not path.is_file() or MARKER.encode() not in path.read_bytes()


CHAINED = """\
dataset: meter
presence: public
attributes: {load: [low, middle, high]}
attackers:
  - chain:
      along: time
      states: 3
      transition: [[0.90, 0.09, 0.01], [0.20, 0.70, 0.10], [0.05, 0.25, 0.70]]
      start: stationary
      source: "readings of 2007"
budget: {epsilon: 1}
release: [{name: loads, histogram: load}]
"""


def test_along_a_chain(run: Run, place: Path) -> None:
    """Every command, and two releases that do not add up."""
    (place / "meter.yaml").write_text(CHAINED)
    lines = [f"{moment},{('low', 'low', 'middle', 'high')[moment % 4]}" for moment in range(500)]
    (place / "meter.csv").write_text("\n".join(["time,load", *lines]) + "\n")
    assert "is valid" in run("check", "meter.yaml", "meter.csv").stdout
    assert "states of a Markov chain" in " ".join(run("explain", "meter.yaml").stdout.split())
    planned = " ".join(run("plan", "meter.yaml").stdout.split())
    assert "this is a proven bound" in planned
    assert "would promise less than it says" in planned
    run("ledger", "open", "meter.yaml", "--total", "3")
    run("release", "meter.yaml", "meter.csv", "--out", "one")
    run("release", "meter.yaml", "meter.csv", "--out", "two")
    assert "checks hold" in run("verify", "two").stdout
    ledger = json.loads(run("ledger", "show", "--json").stdout)
    (account,) = ledger["datasets"]
    assert [entry["composition"] for entry in account["entries"]] == ["verified jointly"] * 2
    assert account["entries"][0]["charged"] == "1"
    assert 1 < Fraction(account["charged"]) < 2
    assert "verified jointly" in run("ledger", "show").stdout
    assert "against the attackers of this policy" in (place / "two" / "report.html").read_text(encoding="utf-8")


def test_in_households(run: Run, place: Path) -> None:
    text = POLICY.replace("attackers: [independent]\n", "") + "attackers: [{groups: home, at most: 3}]\n"
    (place / "homes.yaml").write_text(text)
    head, *rows = table_text().splitlines()
    (place / "homes.csv").write_text("\n".join([f"{head},home", *(f"{row},{n // 4}" for n, row in enumerate(rows))]))
    assert "all 3 rows that go together" in " ".join(run("check", "homes.yaml").stdout.split())
    run("ledger", "open", "homes.yaml")
    run("release", "homes.yaml", "homes.csv", "--out", "homes")
    assert "checks hold" in run("verify", "homes").stdout
    assert "adds up" in run("ledger", "show").stdout
