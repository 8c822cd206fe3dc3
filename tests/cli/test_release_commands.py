"""Releasing, and reading a release."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.cli.conftest import Run
from tests.forger import forge
from tests.releases.made import release_with, silent
from tests.views.test_publish import POLICY, people

import tetraodon as td
from tetraodon.cli.release import answer_in_words, show_release
from tetraodon.inference.estimate import Estimate


def test_the_shape_of_a_release(run: Run, run_json: Callable[..., Any]) -> None:
    run("ledger", "open", "people.policy.yaml")
    found = run_json("release", "people.policy.yaml", "people.csv")
    assert set(found) == {
        "dataset",
        "folder",
        "report",
        "ledger",
        "epsilon",
        "epsilon_exact",
        "charged",
        "left",
        "queries",
    }
    keys = {"name", "kind", "mechanism", "epsilon", "expected_error", "rows"}
    assert all(set(query) == keys for query in found["queries"])
    assert [query["rows"] for query in found["queries"]] == [148, 501, 2, 1]


def test_an_output_folder_that_exists(run: Run, released: Path, place: Path) -> None:
    before = (released / "release.json").read_bytes()
    assert "--force" in run("release", "people.policy.yaml", "people.csv", code=1).stderr
    assert (released / "release.json").read_bytes() == before
    run("release", "people.policy.yaml", "people.csv", "--force")
    assert (released / "release.json").read_bytes() != before
    (place / "mine").mkdir()
    (place / "mine" / "thesis.txt").write_text("precious")
    refused = run("release", "people.policy.yaml", "people.csv", "--out", "mine", "--force", code=1)
    assert "has no release.json" in refused.stderr
    assert (place / "mine" / "thesis.txt").read_text() == "precious"


@pytest.mark.usefixtures("released")
def test_an_item_that_is_not_there(run: Run) -> None:
    assert "did you mean 'ages'?" in run("show", "release", "--item", "agess", code=1).stderr


@pytest.mark.usefixtures("released")
def test_a_good_release_verifies(run_json: Callable[..., Any]) -> None:
    found = run_json("verify", "release")
    assert set(found) == {"verified", "key_named", "checks", "not_checked"}
    assert all(set(check) == {"what", "passed", "detail", "other_version"} for check in found["checks"])
    assert any(check["what"] == "certificate of the whole release" for check in found["checks"])


@pytest.mark.parametrize("file", ["answers/ages.csv", "report.html", "measurements/losses.parquet", "policy.yaml"])
def test_a_release_that_was_tampered_with(run: Run, run_json: Callable[..., Any], released: Path, file: str) -> None:
    content = bytearray((released / file).read_bytes())
    content[len(content) // 2] ^= 1
    (released / file).write_bytes(bytes(content))
    found = run_json("verify", "release", code=1)
    assert found["verified"] is False
    assert [check["what"] for check in found["checks"] if not check["passed"]] == [f"file {file}"]
    told = run("verify", "release", code=1).stdout
    assert "FAILED" in told
    assert f"file {file}" in told


def test_without_a_key_anyone_could_have_signed(run: Run, run_json: Callable[..., Any], released: Path) -> None:
    told = run("verify", "release").stdout.split()
    assert " ".join(told).endswith("anyone could have made and signed this folder. Name the curator's: --key.")
    assert run_json("verify", "release", "--strict", code=4)["key_named"] is False
    key = json.loads((released / "signature.json").read_text())["fingerprint"]
    assert "anyone could" not in run("verify", "release", "--strict", "--key", key).stdout


def test_pages_of_another_version_have_an_exit_code_of_their_own(run: Run, released: Path) -> None:
    manifest = json.loads((released / "release.json").read_text()) | {"software": "tetraodon 0.0.1"}
    forge(released, manifest)
    run("verify", "release")
    (released / "report.html").write_text("epsilon 0.001 <script>alert(1)</script>")
    forge(released, manifest)
    assert "do not rely on them" in run("verify", "release", code=3).stdout
    run("verify", "release", "--key", "00" * 32, code=1)


def test_a_manifest_that_cannot_be_read(run_json: Callable[..., Any], released: Path) -> None:
    (released / "release.json").write_text("{")
    found = run_json("verify", "release", code=1)
    assert found["verified"] is False
    assert found["error"]["type"] == "ReleaseError"


def test_what_is_complete_is_said_to_be(released: Path, run: Run, run_json: Callable[..., Any]) -> None:
    told = run("release", "people.policy.yaml", "people.csv", "--resume").stdout
    assert "complete already: nothing was charged now, epsilon 1 before; 2 left" in told
    assert run_json("release", "people.policy.yaml", "people.csv", "--resume")["charged"] == "1"
    assert len(run_json("ledger", "show")["datasets"][0]["entries"]) == 1
    assert not (released.parent / ".release.pending").exists()


def test_the_gate_says_complete_in_the_same_words() -> None:
    from tetraodon import gate
    from tetraodon.cli import release as release_commands

    assert release_commands.COMPLETE == gate.COMPLETE


def test_a_place_that_cannot_be_written_costs_nothing(place: Path, run: Run, run_json: Callable[..., Any]) -> None:
    run("ledger", "open", "people.policy.yaml")
    (place / "f").touch()
    for out in ("f/x", "f", "/proc/x"):
        for resume in ([], ["--resume"]):
            run("release", "people.policy.yaml", "people.csv", "--out", out, *resume, code=1)
    assert run_json("ledger", "show")["datasets"][0]["charged"] == "0"


def test_a_query_may_stand_in_place_of_a_table(run: Run, run_json: Callable[..., Any]) -> None:
    query = "select * from 'people.csv' where sex = 'Male'"
    assert run_json("init", query, "--out", "draft.yaml")["dataset"] == "people"
    assert run_json("check", "people.policy.yaml", query)["table"]["columns"][0]["rows"] == 400
    run("ledger", "open", "people.policy.yaml")
    run("release", "people.policy.yaml", query)
    assert run("ask", "release", "sex = 'Male'").stdout.startswith("exactly 134")
    assert "more than one statement" in run("check", "people.policy.yaml", f"{query}; select 1", code=1).stderr
    assert "no such file" in run("check", "people.policy.yaml", "select * from 'peple.csv'", code=2).stderr


# -- ask command -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("released")
def test_the_shape_of_an_answer(run_json: Callable[..., Any]) -> None:
    found = run_json("ask", "release", "age between 30 and 39")
    assert set(found) == {"condition", "item", "value", "lower", "upper", "confidence"}
    assert found["item"] == "ages"
    assert found["lower"] <= found["value"] <= found["upper"]


@pytest.mark.usefixtures("released")
@pytest.mark.parametrize("condition", ["agee > 3", "age >", "age = 'x", "age > 3 and loss > 3", "1 = 1; drop"])
def test_conditions_that_cannot_be_answered(run: Run, condition: str) -> None:
    assert "Fix:" in run("ask", "release", condition, code=1).stderr


@pytest.mark.usefixtures("released")
def test_all_records_can_be_asked_for(run: Run) -> None:
    assert run("ask", "release", "true").stdout.startswith("exactly ")
    assert run("ask", "release", "1 = 1").stdout.startswith("exactly ")


def test_answers_in_words() -> None:
    assert answer_in_words(Estimate(12964.6, 12854.2, 13103.5).of("ages")) == (
        "about 12,965 (95%: 12,854 to 13,104), from 'ages'"
    )
    assert answer_in_words(Estimate.certain(5).of("sexes")) == "exactly 5, from 'sexes'"
    assert answer_in_words(Estimate(0, 0, 0).of("ages")) == "about 0 (95%: 0 to 0), from 'ages'"  # cut off at zero
    assert answer_in_words(Estimate(3.51, 1, 5).of("people")) == "about 3.51 (95%: 1.00 to 5.00), from 'people'"


@pytest.fixture
def view(place: Path) -> Path:
    folder = place / "view"
    folder.mkdir()
    ages = list(range(20, 40)) * 2
    pl.DataFrame({"age": ages, "sex": ["f", "m"] * 20}).write_parquet(folder / "tuples.parquet")
    attributes = {"age": {"integer": [20, 39]}, "sex": {"categories": ["f", "m"], "other": "f"}}
    manifest = {
        "tetraodon_view": 1,
        "name": "people",
        "policy": {"dataset": "people", "attributes": attributes, "budget": {"epsilon": 12}},
        "channel": {"rows": "repeated", "keep": "1/2", "noise": "1/101"},
        "rows": "tuples.parquet",
        "n": None,
        "public": {},
    }
    (folder / "view.json").write_text(json.dumps(manifest))
    return folder


@pytest.mark.usefixtures("view")
def test_a_view_answers(run: Run, run_json: Callable[..., Any]) -> None:
    found = run_json("ask", "view", "age < 30")
    assert set(found) == {"condition", "item", "value", "lower", "upper", "confidence"}
    assert (found["item"], found["value"]) == ("people", pytest.approx(2 * (20 - 0.2)))
    wide = run_json("ask", "view", "select count(*) from people where age < 30", "--confidence", "0.99")
    assert wide["confidence"] == 0.99
    assert wide["lower"] <= found["lower"] <= found["upper"] <= wide["upper"]
    assert "95%" in run("ask", "view", "age < 30").stdout
    assert "99%" in run("ask", "view", "age < 30", "--confidence", "0.99").stdout


@pytest.mark.usefixtures("view")
def test_groups(run: Run, run_json: Callable[..., Any]) -> None:
    found = run_json("ask", "view", "select sex, count(*) from people group by sex")
    assert set(found) == {"condition", "item", "groups"}
    assert [group["group"] for group in found["groups"]] == [["f"], ["m"]]
    assert set(found["groups"][0]) == {"group", "value", "lower", "upper", "confidence"}
    shown = run("ask", "view", "select sex, age, count(*) from people group by sex, age").stdout
    assert "f, 20" in shown
    rows = run_json("ask", "view", "select count(*) as n, avg(age) from people group by sex order by n desc limit 1")
    assert [set(group) for group in rows["groups"]] == [{"group", "row"}]
    assert set(rows["groups"][0]["row"]) == {"n", "avg(age)"}
    assert "avg(age) about" in run("ask", "view", "select sex, count(*) as n, avg(age) from people group by sex").stdout
    assert "count(*)" in run("ask", "view", "select count(*), avg(age) from people").stdout


@pytest.mark.usefixtures("released")
def test_groups_of_a_release(run: Run, run_json: Callable[..., Any]) -> None:
    table = run_json("show", "release")["dataset"]
    found = run_json("ask", "release", f'select age, count(*) n from "{table}" where age < 30 group by age limit 3')
    assert (found["item"], len(found["groups"])) == ("ages", 3)
    first = run_json("ask", "release", f"age = {found['groups'][0]['group'][0]}")
    assert {key: found["groups"][0][key] for key in ("value", "lower")} == {
        key: first[key] for key in ("value", "lower")
    }
    assert "counts only" in run("ask", "release", f'select avg(age) from "{table}"', code=1).stderr


@pytest.mark.usefixtures("view", "released")
def test_wrong_use(run: Run, run_json: Callable[..., Any]) -> None:
    assert "empty" in run("ask", "view", " ", code=2).stderr
    assert "--sample" in run("ask", "release", "age < 30", "--sample", "5", code=2).stderr
    sure = [run_json("ask", "release", "age < 30", "--confidence", level) for level in ("0.9", "99%", "95")]
    assert [one["confidence"] for one in sure] == [0.9, 0.99, 0.95]
    assert sure[2] == run_json("ask", "release", "age < 30")
    assert sure[1]["lower"] <= sure[2]["lower"] <= sure[0]["lower"] < sure[0]["upper"] <= sure[2]["upper"]
    assert "between 0 and 100%" in run("ask", "release", "age < 30", "--confidence", "200", code=1).stderr
    assert "not a public table" in run("ask", "view", "sex in (select x from y)", code=1).stderr


# -- publish command ---------------------------------------------------------------------------------


@pytest.fixture
def view_place(place: Path) -> Path:
    (place / "view.policy.yaml").write_text(json.dumps(POLICY))
    people().write_csv(place / "rows.csv")
    return place


def test_a_view_is_planned_without_data(view_place: Path, run: Run, run_json: Callable[..., Any]) -> None:
    (view_place / "rows.csv").unlink()
    told = run("plan", "view.policy.yaml").stdout
    assert "no data was touched" in told
    assert "1,200 possible tuples" in told
    found = run_json("plan", "view.policy.yaml")
    assert set(found) == {"dataset", "budget", "view"}
    assert found["view"]["channel"]["keep"] == "1413/2500"


def test_a_plan_can_have_answers_and_a_view(view_place: Path, run: Run, run_json: Callable[..., Any]) -> None:
    both = {**POLICY, "release": [{"name": "ages", "histogram": "age"}]}
    (view_place / "view.policy.yaml").write_text(json.dumps(both))
    assert "View of people" in run("plan", "view.policy.yaml").stdout
    assert run_json("plan", "view.policy.yaml")["view"]["tuples"] == 1200


@pytest.mark.usefixtures("view_place")
def test_publishing(run: Run, run_json: Callable[..., Any]) -> None:
    run("ledger", "open", "view.policy.yaml", "--total", "20")
    told = run("publish", "view.policy.yaml", "rows.csv", "--accept-exposure").stdout
    assert "nobody can tell" not in told
    assert "By their own reckoning" in told
    assert "Charged epsilon 2.2191" in told
    assert td.load_view("view").n == 120
    run("publish", "view.policy.yaml", "rows.csv", "--accept-exposure", code=1)  # the folder exists
    found = run_json("publish", "view.policy.yaml", "rows.csv", "--accept-exposure", "--out", "view", "--force")
    keys = {"dataset", "folder", "report", "ledger", "keep", "noise", "rows", "tuples", "charged", "left", "exposure"}
    assert set(found) == keys
    assert (found["keep"], found["tuples"]) == ("1413/2500", 1200)
    assert "a published view" in run("ledger", "show").stdout


@pytest.mark.usefixtures("view_place")
def test_a_policy_without_an_adversary_is_refused(run: Run) -> None:
    run("ledger", "open", "people.policy.yaml", "--total", "20")
    assert "whom a view must withstand" in run("publish", "people.policy.yaml", "people.csv", code=1).stderr


@pytest.mark.usefixtures("view_place")
def test_a_view_is_shown_and_verified(run: Run, run_json: Callable[..., Any]) -> None:
    run("ledger", "open", "view.policy.yaml", "--total", "20")
    run("publish", "view.policy.yaml", "rows.csv", "--accept-exposure")
    assert "What it promises" in run("show", "view").stdout
    keys = {"dataset", "title", "date", "charged", "tuples", "exposure", "n", "m", "channel", "plan"}
    assert set(run_json("show", "view")) == keys
    assert "a view has no items" in run("show", "view", "--item", "ages", code=2).stderr
    assert run_json("verify", "view")["verified"] is True
    assert "an adversary" in run("check", "view.policy.yaml").stdout


def test_a_complete_view_is_said_to_be(view_place: Path, run: Run, run_json: Callable[..., Any]) -> None:
    run("ledger", "open", "view.policy.yaml")
    before = run_json("publish", "view.policy.yaml", "rows.csv", "--accept-exposure")
    told = run("publish", "view.policy.yaml", "rows.csv", "--resume").stdout
    assert f"complete already: nothing was charged now, epsilon {before['charged']} before" in told
    assert run_json("publish", "view.policy.yaml", "rows.csv", "--resume") == before
    assert sorted(path.name for path in view_place.iterdir() if "pending" in path.name) == []


OVER = (
    "budget: the view loses epsilon 2.219163482867, more than the 1 that the policy asks for. "
    "Fix: write `budget: {epsilon: 3}` if that is meant, or a smaller posterior."
)


def test_a_view_over_budget_still_shows_its_errors(view_place: Path, run: Run, run_json: Callable[..., Any]) -> None:
    (view_place / "view.policy.yaml").write_text(json.dumps({**POLICY, "budget": {"epsilon": 1}}))
    told = run("plan", "view.policy.yaml", code=1)
    assert "100% of all" in told.stdout
    assert " ".join(told.stderr.split()) == f"Error: {OVER}"
    found = run_json("plan", "view.policy.yaml", code=1)
    assert set(found) == {"dataset", "budget", "view", "error"}
    assert found["view"]["errors"]
    assert found["error"]["all"] == [OVER]


@pytest.mark.usefixtures("view_place")
def test_a_wanted_error_is_for_items(run: Run) -> None:
    assert " ".join(run("plan", "view.policy.yaml", "--error", "5", code=2).stderr.split()) == (
        "Error: --error finds an epsilon for the items of `release`, and this policy has none. "
        "Fix: leave --error out: the plan of a view says its errors, and `adversary` decides them."
    )


# -- synthesize command ------------------------------------------------------------------------------
# Made-up records with the counts of a release, from the command line.


@pytest.mark.usefixtures("released")
def test_records_are_written_and_told(run: Run, run_json: Callable[..., Any], place: Path) -> None:
    told = run("synthesize", "release", "--records", "50").stdout
    assert "synthetic.csv has 50 made-up records" in told
    assert pl.read_csv(place / "synthetic.csv").height == 50
    assert "--force" in run("synthesize", "release", code=2).stderr
    found = run_json("synthesize", "release", "--records", "60", "--out", "people.parquet")
    assert set(found) == {"file", "records", "columns", "left_out", "distance"}
    read = pl.read_parquet(place / "people.parquet")
    assert (read.height, read.columns) == (found["records"], found["columns"]) == (60, found["columns"])
    assert all(0 <= share <= 1 for share in found["distance"].values())


@pytest.mark.usefixtures("released")
def test_other_files_are_refused(run: Run) -> None:
    assert "--out synthetic.csv" in run("synthesize", "release", "--out", "people.xlsx", code=2).stderr
    assert "no such folder" in run("synthesize", "elsewhere", code=2).stderr


# -- show release ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("released")
def test_the_shape_of_what_is_shown(run_json: Callable[..., Any]) -> None:
    found = run_json("show", "release", "--rows", "2")
    assert set(found) == {"dataset", "title", "date", "epsilon", "charged", "promise", "confidence", "answers"}
    assert found["confidence"] == 0.95
    for answer in found["answers"]:
        assert set(answer) == {"name", "kind", "mechanism", "rows", "columns"}
        assert all(len(column) <= 2 for column in answer["columns"].values())
        assert {"lower", "upper"} <= set(answer["columns"])
    assert len(run_json("show", "release", "--item", "ages")["answers"][0]["columns"]["count"]) == 148


@pytest.mark.usefixtures("released")
def test_pictures(run: Run) -> None:
    shown = run("show", "release", "--rows", "0").stdout
    female, male = (
        next(line for line in shown.splitlines() if line.startswith(f"  {sex}")) for sex in ("Female", "Male")
    )
    assert len(female) == len(male) == len("  Female ") + 72
    assert "age from 17 to 90" in shown
    assert "loss from 0 to 500" in shown
    assert "lower" not in shown


MANY = """\
dataset: many
presence: public
attributes: {age: {integer: [0, 9]}, on: boolean, born: {date: [2026-01-01, 2026-01-09]}}
budget: {epsilon: 100}
release:
  - {name: middle, quantiles: age}
  - {name: days, cdf: born, by: on}
  - {name: average, mean: age, by: on}
  - {name: named, ranges: {age: {young: [0, 4], old: [5, 9]}}}
  - {name: groups, histogram: age, bins: {age: [[0, 4], [5, 9]]}}
  - {name: some, count: "age > 3", by: on}
  - {name: each, count: all, by: age}
"""


def test_every_kind_of_answer_can_be_shown(run: Run, run_json: Callable[..., Any], place: Path) -> None:
    rows = "".join(f"{n % 10},{('true', 'false')[n % 2]},2026-01-0{n % 9 + 1}\n" for n in range(200))
    (place / "many.csv").write_text("age,on,born\n" + rows)
    (place / "many.yaml").write_text(MANY)
    run("ledger", "open", "many.yaml")
    run("release", "many.yaml", "many.csv")
    shown = run("show", "release").stdout
    for words in ("middle: quantiles of age", "born from 2026-01-01 to 2026-01-09", "  True ", "young", "0..4"):
        assert words in shown
    assert [answer["kind"] for answer in run_json("show", "release")["answers"]] == [
        "quantiles",
        "cdf",
        "mean",
        "ranges",
        "histogram",
        "count",
        "count",
    ]


def test_what_the_office_says_and_what_says_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    document = {
        "dataset": "few",
        "publisher": {"name": "An Office", "contact": "ask@office.example", "words": {"Contact": "Kontakt"}},
        "attributes": {"pay": {"integer": [0, 9]}},
        "budget": {"epsilon": 1},
        "release": [{"name": "pay", "mean": "pay", "title": "What people earn", "notes": "Before taxes."}],
    }
    release = release_with(td.load_policy(document), pl.DataFrame({"pay": [1]}).head(0), silent)
    show_release(release, list(release.values()), [], 5)
    shown = capsys.readouterr().out
    assert "An Office\nKontakt: ask@office.example\n" in shown
    assert "pay: What people earn" in shown
    assert "This number says nothing" in shown
    assert shown.rstrip().endswith("Before taxes.")


def test_shown_intervals_are_no_narrower_than_those_of_the_files(run: Run, place: Path) -> None:
    """Why  ends were rounded to the nearest, so that about half of them were moved inwards."""
    rows = "".join(f"{n % 10},{('true', 'false')[n % 2]},2026-01-0{n % 9 + 1}\n" for n in range(200))
    (place / "many.csv").write_text("age,on,born\n" + rows)
    listed = [f"  - {{name: m{n}, mean: age, where: 'age > {n % 5}'}}\n" for n in range(20)]
    (place / "many.policy.yaml").write_text(MANY.split("release:")[0] + "release:\n" + "".join(listed))
    run("ledger", "open", "many.policy.yaml")
    run("release", "many.policy.yaml", "many.csv", "--out", "many")
    for item in (f"m{n}" for n in range(20)):
        table = pl.read_csv(place / "many" / "answers" / f"{item}.csv").row(0, named=True)
        line = run("show", "many", "--item", item).stdout.splitlines()
        header = next(place for place, text in enumerate(line) if text.split()[:3] == ["mean", "lower", "upper"])
        _, lower, upper = (float(cell) for cell in line[header + 2].split()[:3])
        assert lower <= table["lower"]
        assert upper >= table["upper"]
