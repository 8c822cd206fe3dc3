"""Names above a threshold: plans and answers."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import frictionless
import numpy as np
import pytest
from scipy.stats import binom
from tests.policies import policy_document, public_policy
from typer.testing import CliRunner

import tetraodon as td
from tetraodon.cli.main import app
from tetraodon.gate.release_transaction import without_ledger
from tetraodon.releases import run
from tetraodon.releases.codec import plan_document
from tetraodon.releases.names import DRAWN, draw_names, kept_names

# -- names answer -----------------------------------------------------------------------------------
# Names that were told: drawn by their exact law, through the gate; nothing else of the column leaves by any door.

RARE = [f"rare{place}" for place in range(300)]
COMMON = {"Moritz": 400, "=SUM(A1)": 350, "<b>bold</b>": 300, "Ängelholm, 'söder'": 250}
BASE: dict[str, Any] = policy_document(
    attributes={"x": {"integer": [0, 3]}, "word": {"open": "text", "longest": 40}},
    budget={"epsilon": 1, "delta": "1e-12"},
    release=[{"name": "words", "names": "word"}, {"name": "xs", "histogram": "x"}],
)
LEDGER = "sqlite:///ledger.db"


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table with four words that many people have and three hundred that one person each has."""
    monkeypatch.chdir(tmp_path)
    words = [*(word for word, times in COMMON.items() for _ in range(times)), *RARE]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE made (x INTEGER, word VARCHAR)")
        connection.executemany("INSERT INTO made VALUES (?, ?)", [(n % 4, word) for n, word in enumerate(words)])
        connection.execute(f"COPY made TO '{tmp_path / 'people.parquet'}' (FORMAT parquet)")
    with td.Ledger(LEDGER) as ledger:
        ledger.open("d", 3, td.load_policy(BASE).document, delta="1.5e-12")
    return tmp_path / "people.parquet"


def everything_in(folder: Path) -> str:
    return "".join(path.read_bytes().decode("latin-1") for path in sorted(folder.rglob("*")) if path.is_file())


def test_only_names_that_enough_people_have_leave(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One of 300 rare words is told with a chance of 1.5e-10 at most; a common one always is."""
    release = td.release(td.plan(BASE), people, ledger=LEDGER, out="out")
    told = dict(release.names["words"].told)
    assert told.keys() == COMMON.keys()
    most = release.plan.names[0].above.threshold
    assert all(abs(told[word] - COMMON[word]) <= most for word in COMMON)
    with td.Ledger(LEDGER) as ledger:
        (entry,) = ledger.entries("d")
    assert entry.charged == 1
    assert entry.delta == release.plan.certificate.delta == entry.loss.delta
    assert entry.loss.rho is None
    captured = capsys.readouterr()
    for text in (everything_in(Path()), json.dumps(dict(entry.document)), captured.out, captured.err):
        left = text.replace((people.read_bytes()).decode("latin-1"), "")
        assert not [word for word in RARE if word in left]


def test_the_folder_is_read_back_and_verified(people: Path) -> None:
    made = td.release(td.plan(BASE), people, ledger=LEDGER, out="out")
    back = td.load_release("out")
    assert back.names["words"].told == made.names["words"].told
    assert all(check.passed for check in td.verify("out"))
    assert {"certificate of words", "answers of words follow from its measurements"} <= {
        check.what for check in td.verify("out")
    }
    csv = Path("out/answers/words.csv").read_text(encoding="utf-8")
    assert '"\'=SUM(A1)"' in csv
    assert csv.splitlines()[0] == '"word","count","lower","upper"'
    report = Path("out/report.html").read_text(encoding="utf-8")
    assert "do not appear" in report
    assert "<b>bold" not in report
    assert "Moritz" in report
    assert "release.names" not in Path("out/README.md").read_text(encoding="utf-8")


def test_frames_and_documents_have_the_same_columns(people: Path) -> None:
    answer = td.release(td.plan(BASE), people, ledger=LEDGER).names["words"]
    frame = answer.to_pandas()
    assert list(frame.columns) == list(answer.columns) == list(answer.document()) == ["word", "count", "lower", "upper"]
    assert answer.to_polars().height == len(answer.told) == len(COMMON)
    assert (frame["lower"] <= frame["count"]).all()
    assert "names, 4 rows" in repr(answer)


def test_it_is_asked_for_by_its_name_and_answers_no_questions(people: Path) -> None:
    release = td.release(td.plan(BASE), people, ledger=LEDGER)
    with pytest.raises(td.errors.QueryError, match=r"release\.names\['words'\]"):
        release["words"]
    with pytest.raises(td.errors.QueryError, match=r"answers no questions.*answers/words\.csv"):
        release.ask("word = 'Moritz'")
    assert float(release.ask("x = 1")) > 0


def test_a_release_of_names_alone(people: Path) -> None:
    td.release(td.plan(BASE | {"release": BASE["release"][:1]}), people, ledger=LEDGER, out="out")
    assert all(check.passed for check in td.verify("out"))
    assert 'release.names["words"]' in Path("out/README.md").read_text(encoding="utf-8")


def test_no_name_may_pass(people: Path) -> None:
    duckdb.sql(f"COPY (SELECT x, 'w' || row_number() OVER () AS word FROM '{people}') TO 'all_rare.parquet'")
    release = td.release(td.plan(BASE), "all_rare.parquet", ledger=LEDGER, out="out")
    assert release.names["words"].told == ()
    assert all(check.passed for check in td.verify("out"))
    assert "No name" in Path("out/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["words"])
def test_what_was_drawn_is_drawn_once(people: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    plan = td.plan(BASE)

    def crash(*_: Any) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run, "fill_folder", crash)
        with pytest.raises(KeyboardInterrupt):
            td.release(plan, people, ledger=LEDGER, out="out")
    (kept,) = Path().rglob(DRAWN)
    drawn = json.loads(kept.read_text(encoding="utf-8"))[name]
    release = td.release(plan, people, ledger=LEDGER, out="out", resume=True)
    assert [list(pair) for pair in release.names[name].told] == drawn
    with td.Ledger(LEDGER) as ledger:
        assert len(ledger.entries("d")) == 1


@pytest.mark.parametrize(
    "kept", ["[]", "{", '{"words": [["a", 1]]}', '{"words": [["a\\u0000", 999]]}', '{"words": [[1]]}']
)
def test_what_is_kept_must_fit_the_plan(kept: str, tmp_path: Path) -> None:
    (tmp_path / DRAWN).write_text(kept, encoding="utf-8")
    with pytest.raises(td.errors.ReleaseError):
        kept_names(tmp_path, td.plan(BASE))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_names_are_in_the_open_descriptions_and_in_the_notebook(people: Path) -> None:
    td.release(td.plan(BASE | {"release": BASE["release"][:1]}), people, ledger=LEDGER, out="out")
    report = frictionless.validate("out/datapackage.json")
    assert report.valid, report.flatten(["title", "message"])
    web = json.loads(Path("out/answers/csv-metadata.json").read_text(encoding="utf-8"))
    assert [table["url"] for table in web["tables"]] == ["words.csv"]
    assert 'release.names[\\"words\\"]' in Path("out/release.ipynb").read_text(encoding="utf-8")


def test_the_command_line_tells_of_names_and_of_nothing_below(people: Path) -> None:
    Path("words.policy.yaml").write_text(json.dumps(BASE | {"dataset": "cli"}), encoding="utf-8")

    def run(*words: str) -> str:
        done = CliRunner().invoke(app, list(words))
        assert done.exit_code == 0, done.output
        return " ".join(done.output.split())

    assert "words tells names in word" in run("check", "words.policy.yaml")
    assert "names in word" in run("plan", "words.policy.yaml", "--ledger", LEDGER)
    run("ledger", "open", "words.policy.yaml", "--total", "2", "--delta", "1e-12", "--ledger", LEDGER)
    told = run("release", "words.policy.yaml", str(people), "--out", "cli", "--ledger", LEDGER)
    shown = run("show", "cli")
    assert "Released xs, words to cli" in told
    assert "Moritz" in shown
    assert "do not appear" in shown
    only = json.loads(CliRunner().invoke(app, ["show", "cli", "--item", "words", "--json"]).output)
    assert (only["answers"], [one["name"] for one in only["names"]]) == ([], ["words"])
    ledger = run("ledger", "show", "cli", "--ledger", LEDGER)
    assert "words" in ledger
    assert "(delta" in ledger
    asked = CliRunner().invoke(app, ["ask", "cli", "word = 'Moritz'"])
    assert asked.exit_code == 1
    assert "answers no questions" in " ".join((asked.output + asked.stderr).split())
    assert not [word for word in RARE if word in told + shown + ledger]


# -- what a stranger changed -----------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["threshold", "scale", "column", "delta"])
def test_a_changed_plan_is_noticed(people: Path, change: str) -> None:
    td.release(td.plan(BASE), people, ledger=LEDGER, out="out")
    manifest = Path("out/release.json")
    stated = json.loads(manifest.read_text(encoding="utf-8"))
    names = stated["plan"]["names"][0]
    match change:
        case "threshold":
            names["threshold"] -= 1
        case "scale":
            names["scale"] = "9"
        case "column":
            names["column"] = "x"
        case _:
            names["certificate"]["delta"] = "1/1000000000"
    manifest.write_text(json.dumps(stated), encoding="utf-8")
    try:
        good = all(check.passed for check in td.verify("out"))
    except td.errors.ReleaseError:
        good = False
    assert not good


@pytest.mark.parametrize("told", [[("a", 1)], [("a", 290), ("a", 280)], [("a", 280), ("b", 290)], [("a" * 41, 290)]])
def test_names_that_no_such_release_tells_are_refused(people: Path, told: list[tuple[str, int]]) -> None:
    td.release(td.plan(BASE), people, ledger=LEDGER, out="out")
    values = ", ".join(f"('{name}', {count}::BIGINT)" for name, count in told)
    path = Path("out/measurements/words.parquet")
    duckdb.sql(f"COPY (SELECT * FROM (VALUES {values}) AS t(name, count)) TO '{path}' (FORMAT parquet)")
    with pytest.raises(td.errors.ReleaseError, match="do not fit the plan"):
        td.load_release("out")


# -- the budget --------------------------------------------------------------------------------------------


def test_deltas_add_up_to_what_the_data_set_has(people: Path) -> None:
    plan = td.plan(BASE)
    td.release(plan, people, ledger=LEDGER)
    with pytest.raises(td.errors.BudgetExhausted, match="needs a delta"):
        td.release(plan, people, ledger=LEDGER)
    smaller = td.plan(BASE, delta="2e-13")
    td.release(smaller, people, ledger=LEDGER)
    with td.Ledger(LEDGER) as ledger:
        account, entries = ledger.account("d"), ledger.entries("d")
    assert account.charged == 2
    assert sum(entry.delta for entry in entries) <= account.delta


def test_a_data_set_without_a_delta_tells_no_names(people: Path) -> None:
    document = BASE | {"dataset": "pure"}
    with td.Ledger(LEDGER) as ledger:
        ledger.open("pure", 3, td.load_policy(document).document, delta=0)
    with pytest.raises(td.errors.Refused, match="tells names, and its data set was opened without a delta"):
        td.release(td.plan(document), people, ledger=LEDGER)


def test_the_governing_policy_decides_the_price(people: Path) -> None:
    """What the file calls public is a secret there: twice as many counts move."""
    document = BASE | {"secrets": {"word": "public"}, "release": BASE["release"][:1]}
    plan = td.plan(document, delta="5e-13")
    release = td.release(plan, people, ledger=LEDGER, allow_dearer=True)
    assert (plan.epsilon, release.charged) == (1, "2")
    with td.Ledger(LEDGER) as ledger:
        (entry,) = ledger.entries("d")
    assert entry.delta == pytest.approx(2 * float(plan.certificate.delta), rel=1e-5)


def test_a_column_that_is_declared_otherwise_there_is_refused(people: Path) -> None:
    document = {**BASE, "attributes": {**BASE["attributes"], "word": {"open": "text", "longest": 41}}}
    with pytest.raises(td.errors.Refused, match="in the same way"):
        td.release(td.plan(document), people, ledger=LEDGER)


def test_such_a_release_is_not_priced_again_yet(people: Path) -> None:
    td.release(td.plan(BASE), people, ledger=LEDGER)
    with td.Ledger(LEDGER) as ledger, pytest.raises(td.errors.Refused, match="tells names"):
        td.reprice(ledger, BASE)


# -- the law -------------------------------------------------------------------------------------------------


def test_noise_is_drawn_by_its_exact_law() -> None:
    """Of a name with a given count, each outcome is as often as it should be: 2 x 41 comparisons at 1e-10 each."""
    plan = td.plan({**BASE, "budget": {"epsilon": 8, "delta": "1e-4"}, "release": BASE["release"][:1]})
    (item,) = plan.names
    most, scale, many = item.above.threshold, float(item.above.scale), 40_000
    weights = {noise: math.exp(-abs(noise) / scale) for noise in range(-most, most + 1)}
    assert most <= 20
    truth = most + 1
    told = draw_names(item, {f"{n}": truth for n in range(many)}, without_ledger(plan.certificate))
    seen = np.bincount([count for _, count in told], minlength=truth + most + 2)
    for shown in range(truth + most + 2):
        chance = weights.get(shown - truth, 0.0) / sum(weights.values()) if shown > most else 0.0
        low, high = binom.ppf([1e-10, 1 - 1e-10], many, chance) if chance else (0, 0)
        assert low <= seen[shown] <= high
    assert list(told) == sorted(told, key=lambda pair: (-pair[1], pair[0]))


def test_nobody_is_drawn_for_an_empty_table() -> None:
    plan = td.plan({**BASE, "release": BASE["release"][:1]})
    assert draw_names(plan.names[0], {}, without_ledger(plan.certificate)) == ()


# -- plan names -------------------------------------------------------------------------------------
# Plans that tell names: shares of the budget, thresholds, and intervals that hold the truth whatever was told.

NAMED: dict[str, Any] = public_policy(
    attributes={"x": {"integer": [0, 3]}, "word": {"open": "text"}},
    budget={"epsilon": 1, "delta": "1e-6"},
    release=[{"name": "words", "names": "word"}, {"name": "xs", "histogram": "x", "share": 3}],
)


def test_items_divide_the_budget_as_their_shares_say() -> None:
    plan = td.plan(NAMED)
    (words,) = plan.names
    assert (words.epsilon, plan["xs"].epsilon, plan.epsilon) == (Fraction(1, 4), Fraction(3, 4), 1)
    assert words.above.scale == 8  # one person's word becomes another: two counts move
    assert Fraction(1, 2 * 10**6) < words.certificate.delta <= Fraction(1, 10**6)
    assert plan.certificate.delta == words.certificate.delta


def test_several_items_divide_delta() -> None:
    two = [{"name": name, "names": "word"} for name in ("one", "two")]
    plan = td.plan(NAMED | {"release": two})
    assert len(plan) == 0
    assert [item.epsilon for item in plan.names] == [Fraction(1, 2)] * 2
    assert all(item.certificate.delta <= Fraction(1, 2 * 10**6) for item in plan.names)
    assert plan.certificate.delta <= Fraction(1, 10**6)
    assert plan_document(plan)["queries"] == []


def test_others_have_laplace_noise_beside_names() -> None:
    """Fifteen tables would rather have Gaussian noise, which needs the delta too."""
    attributes = {name: {"integer": [0, 4]} for name in "abcdef"} | {"word": {"open": "text"}}
    many = [{"name": x + y, "histogram": [x, y]} for x in "abcdef" for y in "abcdef" if x < y]
    document = NAMED | {"attributes": attributes, "release": many}
    assert td.plan(document).certificate.rho is not None
    assert td.plan(document | {"release": [*many, {"name": "words", "names": "word"}]}).certificate.rho is None


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "0.05", "delta": "1e-6"}])
def test_names_need_a_delta_beside_an_epsilon(budget: dict[str, Any]) -> None:
    with pytest.raises(td.errors.PolicyError, match="without a delta"):
        td.plan(NAMED | {"budget": budget})


def test_errors_and_other_promises_are_found_for_numbers_only() -> None:
    with pytest.raises(td.errors.Refused, match="asks for names too"):
        td.plan_for_error(NAMED, 10)
    with pytest.raises(td.errors.Refused, match="asks for names too"):
        td.compare(NAMED, [1])


def test_a_plan_without_names_says_nothing_of_them() -> None:
    assert "names" not in plan_document(td.plan(NAMED | {"release": NAMED["release"][1:]}))


def test_the_sentence_says_how_many_must_share_a_name() -> None:
    (words,) = td.plan(NAMED).names
    most = words.above.threshold
    assert f"fewer than about {most + 1:,} people share do not appear" in words.sentence
    assert f"those that {2 * most + 1:,} or more share all do" in words.sentence


@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-2"), (3, "1e-4"), (20, "1e-3")])
def test_intervals_hold_the_truth_for_every_count_given_that_it_was_told(epsilon: int, delta: str) -> None:
    """Summed over every noise, for every truth: nothing is drawn."""
    (words,) = td.plan(NAMED | {"budget": {"epsilon": epsilon, "delta": delta}, "release": NAMED["release"][:1]}).names
    most, scale = words.above.threshold, float(words.above.scale)
    weights = {noise: math.exp(-abs(noise) / scale) for noise in range(-most, most + 1)}
    for truth in range(1, 3 * most + 4):
        passed = np.array([truth + noise for noise in weights if truth + noise > most])
        chances = np.array([weight for noise, weight in weights.items() if truth + noise > most])
        lower, upper = words.intervals(passed)
        held = (lower <= truth) & (truth <= upper)
        assert (chances * held).sum() / chances.sum() >= 0.95 - 1e-12
        assert (lower >= 1).all()
        assert (lower <= passed).all()
        assert (passed <= upper).all()


def test_no_intervals_of_no_names() -> None:
    (words,) = td.plan(NAMED).names
    lower, upper = words.intervals(np.array([], np.int64))
    assert lower.size == upper.size == 0


def test_the_expected_error_is_that_of_the_noise() -> None:
    (words,) = td.plan(NAMED).names
    most, scale = words.above.threshold, float(words.above.scale)
    weights = [math.exp(-abs(noise) / scale) for noise in range(-most, most + 1)]
    squares = sum(w * noise**2 for w, noise in zip(weights, range(-most, most + 1), strict=True))
    assert words.expected_error == pytest.approx(math.sqrt(squares / sum(weights)))
