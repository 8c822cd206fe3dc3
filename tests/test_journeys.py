"""The way of a newcomer with two dirty tables, from the draft to what is printed, with the truth beside it.

Estimates are compared with the truth at twenty times the error that was planned: for Laplace noise, whose tails are
longest, a false alarm has a chance below 1e-11 for each number, and there are fewer than a hundred.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.dirty_tables import MEN, SURVEYED, YEARS, labour_survey, panel
from tetraodon.cli.main import app

FAR = 20


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run a command in an empty folder, and give what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TETRAODON_LEDGER", raising=False)

    def command(line: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, line.split(), catch_exceptions=False)
        assert done.exit_code == code, done.output
        return " ".join((done.stdout + done.stderr).split())

    return command


def filled_in(path: Path, attributes: dict[str, str], **lines: str) -> None:
    """Put what the questionnaire says in the places of a draft that say CONFIRM, and the rest of `lines`."""
    text = path.read_text()
    for name, declared in attributes.items():
        text, found = re.subn(rf"(?m)^  {name}: .*$", f"  {name}: {declared}", text)
        assert found == 1, name
    for name, line in lines.items():
        text = re.sub(rf"(?ms)^{name}:[^\n]*(\n  [^\n]*)*", f"{name}: {line}", text)
    path.write_text(text)


def answer(name: str) -> list[dict[str, str]]:
    with Path(f"release/answers/{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def planned(policy: str) -> dict[str, float]:
    done = CliRunner().invoke(app, ["plan", policy, "--json"], catch_exceptions=False)
    return {item["name"]: item["expected_error"] for item in json.loads(done.stdout)["queries"]}


def counts(name: str) -> Counter[tuple[str, ...]]:
    """A table of counts, each of which looks like one and lies in its interval."""
    found: Counter[tuple[str, ...]] = Counter()
    for row in answer(name):
        assert re.fullmatch(r"\d+", row["count"]), row
        assert 0 <= float(row["lower"]) <= int(row["count"]) <= float(row["upper"])
        found[tuple(value for column, value in row.items() if column not in OURS)] = int(row["count"])
    return found


OURS = {"count", "lower", "upper", "measured"}

SURVEY = {
    "wages": "{real: [0, 60], step: 0.01, unit: dollars an hour, missing: separate}",
    "education": "{real: [0, 20], step: 0.1, unit: years, missing: separate}",
    "age": "{integer: [16, 95], unit: years, missing: separate}",
    "sex": "{categories: [Female, Male], missing: separate, other: Female, trim: true}",
    "language": "{categories: [English, French, Other], missing: separate, other: Other, trim: true}",
    "interviewed": "{date: [2026-01-01, 2026-01-31], format: DD.MM.YYYY, missing: separate}",
}
SURVEY_ITEMS = """
  - {name: people, count: all}
  - {name: languages, histogram: [language, sex]}
  - {name: wage, mean: wages}
  - {name: women, median: age, where: "sex = 'Female'"}
  - {name: days, histogram: interviewed}
"""


def test_a_labour_survey(run: Callable[..., str]) -> None:
    truth = labour_survey(Path("survey.csv"))
    assert "CONFIRM" in run("init survey.csv")
    policy = Path("survey.policy.yaml")
    filled_in(policy, SURVEY, release=SURVEY_ITEMS)

    told = run("check survey.policy.yaml survey.csv")
    missing = 100 * truth["wages"].count(None) / SURVEYED
    assert f"wages: {missing:.1f}% of the rows are missing and count as a value of its own." in told
    assert "cannot be read" not in told
    off = planned("survey.policy.yaml")
    run("ledger open survey.policy.yaml --total 2")
    run("release survey.policy.yaml survey.csv")
    run("verify release")

    languages, (people,) = counts("languages"), counts("people").values()
    assert languages.total() == people == counts("days").total()
    assert abs(people - SURVEYED) <= FAR * off["people"] + 1
    spoken = Counter(zip((word or "missing" for word in truth["language"]), truth["sex"], strict=True))
    assert set(languages) == {(word, sex) for word in ("English", "French", "Other", "missing") for sex in SEXES}
    assert all(abs(languages[cell] - spoken[cell]) <= FAR * off["languages"] + 1 for cell in languages)

    (wage,) = answer("wage")
    earned = [one for one in truth["wages"] if one is not None]
    assert float(wage["lower"]) <= float(wage["mean"]) <= float(wage["upper"])
    assert abs(float(wage["mean"]) - fmean(earned)) <= 2 * FAR * off["wage"] / len(earned)
    assert float(wage["lower"]) > sum(earned) / SURVEYED + 3  # what it is if those who did not answer earn nothing
    (women,) = answer("women")
    assert 30 <= int(women["lower"]) <= int(women["age"]) <= int(women["upper"]) <= 60
    report = Path("release/report.html").read_text()
    assert "over those whose wages is not missing" in report


SEXES = ("Female", "Male", "missing")


def test_days_as_an_office_writes_them_are_never_silently_the_first_of_january(run: Callable[..., str]) -> None:
    labour_survey(Path("survey.csv"))
    run("init survey.csv")
    wrong = SURVEY | {"interviewed": "{date: [2026-01-01, 2026-01-31], missing: separate}"}
    filled_in(Path("survey.policy.yaml"), wrong, release=SURVEY_ITEMS)
    run("ledger open survey.policy.yaml --total 2")
    told = run("release survey.policy.yaml survey.csv", code=1)
    assert "interviewed" in told
    assert "`format:`" in told
    assert "survey 2 0 0 2" in run("ledger show")  # nothing was charged


PANEL = {
    "year": "{integer: [1980, 1987]}",
    "union": "{categories: ['no', 'yes'], missing: 'no', other: 'no'}",
    "wage": "{real: [-4, 5], step: 0.0001, unit: log dollars an hour, missing: separate}",
    "residence": "{categories: [north_east, northern_central, rural_area, south], missing: separate, other: south}",
}
PANEL_ITEMS = """
  - {name: men, people: all}
  - {name: homes, histogram: [residence, year]}
  - {name: wage, mean: wage}
  - {name: union_wage, mean: wage, where: '"union" = ''yes'''}
"""


def test_a_panel(run: Callable[..., str]) -> None:
    truth: dict[str, Any] = panel(Path("panel.csv"))
    run("init panel.csv")
    policy = Path("panel.policy.yaml")
    filled_in(policy, PANEL, individuals="{key: nr, at most: 8 rows}", release=PANEL_ITEMS)
    run("check panel.policy.yaml panel.csv")
    off = planned("panel.policy.yaml")
    run("ledger open panel.policy.yaml --total 2")
    run("release panel.policy.yaml panel.csv")
    run("verify release")

    (men,) = answer("men")
    assert abs(float(next(iter(men.values()))) - MEN) <= FAR * off["men"] + 1
    homes = counts("homes")
    lived = Counter(zip((home or "missing" for home in truth["residence"]), map(str, truth["year"]), strict=True))
    assert len(homes) == 5 * len(YEARS)
    assert all(abs(homes[cell] - lived[cell]) <= FAR * off["homes"] + 1 for cell in homes)
    unions = [wage for wage, union in zip(truth["wage"], truth["union"], strict=True) if union == "yes"]
    for name, wages in (("wage", truth["wage"]), ("union_wage", unions)):
        (found,) = answer(name)
        assert float(found["lower"]) <= float(found["mean"]) <= float(found["upper"])
        assert abs(float(found["mean"]) - fmean(wages)) <= 2 * FAR * off[name] / len(wages)
