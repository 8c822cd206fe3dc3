"""JSON, tables and spinners go where they belong."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import MARKER, POLICY, Run
from typer.testing import CliRunner

from tetraodon.attacks.attack import dots
from tetraodon.cli import release as release_commands
from tetraodon.cli.console import (
    BLOCKS,
    DEBUG,
    CliErrorHandler,
    WrongUse,
    bar,
    draw,
    drawable,
    emit,
    harmless,
    heading,
    note,
    say,
    sparkline,
    squeezed,
    table,
    working,
    wrapped,
)
from tetraodon.cli.main import app
from tetraodon.releases import run as running
from tetraodon.wording import shown_number


def test_json_is_ascii_where_it_must_be(monkeypatch: pytest.MonkeyPatch) -> None:
    for encoding, expected in (("ascii", "\\u00e9"), ("utf-8", "é")):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        emit({"name": "é"})
        stream.flush()
        text = stream.buffer.getvalue().decode(encoding)
        assert expected in text
        assert json.loads(text) == {"name": "é"}


def test_json_has_no_nan() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        emit({"x": float("nan")})


def test_names_that_look_like_markup_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    table(["[bold]x", "n"], [["[red]:smile:", "1"]], right=["n"])
    shown = capsys.readouterr().out
    assert "[bold]x" in shown
    assert "[red]:smile:" in shown


def test_a_spinner_needs_somebody_watching(capsys: pytest.CaptureFixture[str]) -> None:
    with working("counting") as progress:
        progress("adding noise")
    assert capsys.readouterr() == ("", "")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_spinner_shows_what_is_being_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with working("counting [all] of it") as progress:
        time.sleep(0.3)
        progress("adding noise")
    assert "counting [all] of it" in terminal.getvalue()
    assert "adding noise" in terminal.getvalue()


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (3.0, "3"), (99.96, "100"), (1234567.8, "1,234,568"), (0.00001234, "1.23e-05")]
)
def test_numbers(number: float, text: str) -> None:
    assert shown_number(number) == text


HOSTILE = "a\x1b[2J\x1b]0;owned\x07\x9b31m\r\x08\u202egnp.exe\u2066\x7f"


def test_nothing_that_a_terminal_obeys_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    for show in (say, note, heading, wrapped):
        show(HOSTILE)
    table([HOSTILE], [[HOSTILE]])
    emit({HOSTILE: HOSTILE})
    out, err = capsys.readouterr()
    assert not set(out + err) & set(HOSTILE) - set("a[2J]0;owned31mgnp.exe")
    assert "\\x1b[2J" in out
    assert "\\x1b[2J" in err
    assert json.loads(out[out.index("{\n") :]) == {HOSTILE: HOSTILE}


def test_lines_and_letters_of_all_languages_stay() -> None:
    assert harmless("Grüße\n\tπ 漢字 ‘quoted’") == "Grüße\n\tπ 漢字 ‘quoted’"


# -- drawing -----------------------------------------------------------------------------------------
# Pictures for people who would rather look than read: made of letters, or in a file (`--chart`).


def test_sparklines() -> None:
    assert sparkline(range(8)) == BLOCKS
    assert sparkline([0, 0]) == BLOCKS[0] * 2
    assert sparkline([-5, 5, 50], top=5) == BLOCKS[0] + BLOCKS[-1] * 2
    assert sparkline([]) == ""


def test_bars() -> None:
    assert [len(bar(value, 10, width=10)) for value in (0, -3, 5, 10, 20)] == [0, 0, 5, 10, 10]
    assert bar(5, 0) == ""
    assert bar(1, 16, width=2) == "▏"


def test_squeezing() -> None:
    assert squeezed([1, 2], 5, running=False) == [1, 2]
    assert len(squeezed(list(range(1000)), 72, running=False)) == 72
    assert squeezed(list(range(1000)), 72, running=True)[-1] == 999
    assert sum(squeezed([7.0] * 100, 10, running=False)) == 70


CHART = dots([{"x": 1, "y": 2, "who": "a"}], x="x", y="y", colour="who")


def test_both_forms(tmp_path: Path) -> None:
    draw(CHART, tmp_path / "chart.json")
    draw(CHART, tmp_path / "chart.svg")
    assert json.loads((tmp_path / "chart.json").read_text()) == CHART
    assert (tmp_path / "chart.svg").read_text().startswith("<svg")


def test_what_cannot_be_written(tmp_path: Path) -> None:
    drawable(None)
    with pytest.raises(WrongUse, match="neither"):
        drawable(Path("chart.png"))
    with pytest.raises(WrongUse, match="cannot be written"):
        draw(CHART, tmp_path / "nowhere" / "chart.json")


# -- command boundary --------------------------------------------------------------------------------
# What goes wrong ends in one message and the right exit code, and never shows the table.


@pytest.mark.parametrize(
    "arguments",
    [
        ("init", "nowhere.csv"),
        ("init", "."),
        ("check", "nowhere.yaml"),
        ("check", "."),
        ("check", "people.policy.yaml", "nowhere.csv"),
        ("explain", "nowhere.yaml"),
        ("plan", "nowhere.yaml"),
        ("plan", "people.policy.yaml", "--epsilon", "lots"),
        ("plan", "people.policy.yaml", "--error", "5", "--epsilon", "1"),
        ("plan", "people.policy.yaml", "--confidence", "95"),
        ("plan", "people.policy.yaml", "--epsilon", "0"),
        ("plan", "people.policy.yaml", "--error", "0"),
        ("plan", "people.policy.yaml", "--error", "5", "--confidence", "100"),
        ("plan", "people.policy.yaml", "--delta", "1"),
        ("ledger", "open", "people.policy.yaml", "--total", "-1"),
        ("ledger", "open", "people.policy.yaml", "--delta", "-1"),
        ("ledger", "open", "nowhere.yaml"),
        ("ledger", "open", "people.policy.yaml", "--total", "nan"),
        ("release", "nowhere.yaml", "people.csv"),
        ("release", "people.policy.yaml", "nowhere.csv"),
        ("release", "people.policy.yaml", "*.parquet"),
        ("show", "nowhere"),
        ("show", "people.csv"),
        ("verify", "nowhere"),
        ("ask", "nowhere", "age > 3"),
        ("ask", ".", " "),
    ],
    ids=" ".join,
)
def test_wrong_use(run_json: Callable[..., Any], run: Run, arguments: tuple[str, ...]) -> None:
    error = run_json(*arguments, code=2)["error"]
    assert error["type"] == "WrongUse"
    assert set(error) == {"type", "what", "where", "fix", "all", "notes", "depends_on_data"}
    told = run(*arguments, code=2)
    assert told.stdout == ""
    assert told.stderr.startswith("Error: ")


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (("init", "people.policy.yaml"), "TableError"),
        (("ledger", "open", "people.policy.yaml", "--ledger", "oracle://x/y"), "LedgerError"),
        (("ledger", "show"), "LedgerError"),
        (("release", "people.policy.yaml", "people.csv"), "LedgerError"),
        (("show", "."), "ReleaseError"),
        (("verify", "."), "ReleaseError"),
        (("ask", ".", "age > 3"), "ReleaseError"),
    ],
    ids=str,
)
def test_refusals(run_json: Callable[..., Any], run: Run, arguments: tuple[str, ...], kind: str) -> None:
    error = run_json(*arguments, code=1)["error"]
    assert error["type"] == kind
    assert error["what"]
    assert error["fix"]
    assert f"Fix: {error['fix']}" in run(*arguments, code=1).stderr


def test_the_shape_of_an_error(run_json: Callable[..., Any], place: Path) -> None:
    (place / "bad.yaml").write_text(POLICY.replace("histogram: [sex]", "histogram: [sexx]").replace("loss}", "los}"))
    found = run_json("plan", "bad.yaml", code=1)
    assert list(found) == ["error"]
    assert found["error"]["where"].startswith("bad.yaml line ")
    assert len(found["error"]["all"]) == 3
    assert "did you mean 'sex'?" in found["error"]["all"][1]
    assert found["error"]["depends_on_data"] is False


def test_the_same_problem_in_several_places_is_told_once(run: Run, place: Path) -> None:
    (place / "bad.yaml").write_text(POLICY.replace("[17, 90]", "[CONFIRM, CONFIRM]"))
    told = run("check", "bad.yaml", code=1).stderr
    assert told.count("CONFIRM still stands here") == 1
    assert told.count("bad.yaml line 5: attributes.age.integer") == 2


# -- what the data are like is nobody's business ---------------------------------------------------


def failing(place: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names of failing runs, each prepared so that the marker is where it hurts."""
    text = (place / "people.csv").read_text()
    (place / "short.csv").write_text(text.replace("remark", "sex2").replace("sex,", "other,", 1))
    yield "missing column", ("short.csv",)
    (place / "broken.parquet").write_bytes(b"PAR1" + MARKER.encode() + b"PAR1")
    yield "no Parquet", ("broken.parquet",)
    (place / "empty.csv").write_text("age,sex,loss\n")
    yield "empty", ("empty.csv",)
    (place / "name.xlsx").write_text(MARKER)
    yield "unknown format", ("name.xlsx",)


def test_no_failing_run_shows_a_value_of_the_table(run: Run, place: Path) -> None:
    run("ledger", "open", "people.policy.yaml")
    for _, (broken,) in failing(place):
        for more in ((), ("--json",)):
            for command in ("release", "check"):
                if (command, broken) == ("check", "empty.csv"):
                    continue
                result = CliRunner().invoke(app, [command, "people.policy.yaml", broken, *more])
                assert MARKER not in result.output, (broken, command)
                assert "Traceback" not in result.output
            assert CliRunner().invoke(app, ["release", "people.policy.yaml", broken]).exit_code == 1, broken
    assert not (place / "release").exists()


@pytest.mark.parametrize(
    "rows",
    [f"{MARKER},Male,{MARKER}\n" * 3, f'17,Male,"{MARKER}\n18,Male,3,4,5,6\n'],
    ids=["no number", "not well-formed"],
)
def test_what_cannot_be_read_is_missing_and_not_shown(run: Run, place: Path, rows: str) -> None:
    """One record decides neither whether a table is released, where the policy says so, nor how others are read."""
    with (place / "people.policy.yaml").open("a") as file:
        file.write("table: {unreadable: 100%}\n")
    run("ledger", "open", "people.policy.yaml")
    (place / "odd.csv").write_text(f"age,sex,loss\n{rows}")
    for command in ("check", "release"):
        result = CliRunner().invoke(app, [command, "people.policy.yaml", "odd.csv"])
        assert MARKER not in result.output
        assert "Traceback" not in result.output
    assert (place / "release" / "report.html").exists()
    for path in (place / "release").rglob("*"):
        assert path.is_dir() or MARKER.encode() not in path.read_bytes()


def test_a_refusal_that_depends_on_the_data_is_marked_and_recorded(run: Run, run_json: Callable[..., Any]) -> None:
    Path("empty.csv").write_text("age,sex,loss\n")
    run("ledger", "open", "people.policy.yaml")
    told = run("release", "people.policy.yaml", "empty.csv", code=1)
    assert "for the curator only" in told.stderr
    assert run_json("release", "people.policy.yaml", "empty.csv", code=1)["error"]["depends_on_data"] is True
    (account,) = run_json("ledger", "show")["datasets"]
    assert [refusal["kind"] for refusal in account["refusals"]] == ["table-refused", "table-refused"]
    assert account["charged"] == "0"
    assert "2 refused because of the data" in run("ledger", "show").stdout


def test_an_internal_error_shows_its_type_and_place_only(
    run: Run, run_json: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError(f"17,Male,3,{MARKER}")

    monkeypatch.setattr(running, "count", broken)
    run("ledger", "open", "people.policy.yaml")
    told = run("release", "people.policy.yaml", "people.csv", code=70)
    assert MARKER not in told.output
    assert told.stderr.startswith("Internal error: ZeroDivisionError in tetraodon/releases/run.py line ")
    assert "Nothing was charged" in told.stderr
    found = run_json("release", "people.policy.yaml", "people.csv", code=70)
    assert found["error"]["type"] == "InternalError"
    assert MARKER not in json.dumps(found)


def test_a_developer_may_ask_for_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DEBUG, "1")
    with pytest.raises(ZeroDivisionError), CliErrorHandler(False):
        raise ZeroDivisionError


# -- Ctrl-C ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stage", "told", "charged"),
    [
        ("counting", "Nothing was charged", "0"),
        ("charging the ledger", "may have been charged", "0"),
        ("adding noise", "The charge stands", "1"),
        ("writing the report", "The charge stands", "1"),
    ],
)
def test_ctrl_c_says_what_stands(
    run: Run,
    run_json: Callable[..., Any],
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
    told: str,
    charged: str,
) -> None:
    @contextmanager
    def pressing(_: str) -> Iterator[Callable[[str], None]]:
        yield lambda reached: os.kill(os.getpid(), signal.SIGINT) if reached == stage else None

    monkeypatch.setattr(release_commands, "working", pressing)
    run("ledger", "open", "people.policy.yaml")
    result = run("release", "people.policy.yaml", "people.csv", code=130)
    assert (result.stdout, result.stderr.count("\n")) == ("", 1)
    assert told in result.stderr
    assert run_json("ledger", "show")["datasets"][0]["charged"] == charged
    left = [".release.pending"] if charged == "1" else []
    kept = ["people.csv", "people.policy.yaml", "tetraodon.db", "tetraodon.key"]
    assert sorted(path.name for path in place.iterdir()) == [*left, *kept]


def test_ctrl_c_while_writing_leaves_nothing_half_written(
    run_json: Callable[..., Any], released: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tetraodon.releases import folder

    before = {path: path.read_bytes() for path in released.rglob("*") if path.is_file()}

    def pressed(*_: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(folder, "manifest_of", pressed)
        found = run_json("release", "people.policy.yaml", "people.csv", "--force", code=130)
    assert found["error"]["type"] == "Interrupted"
    assert found["error"]["fix"] == release_commands.STATES["writing the report"]
    assert {path: path.read_bytes() for path in released.rglob("*") if path.is_file()} == before
    assert len(list(released.parent.iterdir())) == 5  # and what is left to be resumed
    assert run_json("verify", "release")["verified"] is True


def test_ctrl_c_in_the_middle_of_a_long_count(place: Path) -> None:
    """A real signal to a real process, while DuckDB counts a view of 10^12 rows."""
    import duckdb

    with duckdb.connect(str(place / "long.duckdb")) as connection:
        connection.execute(
            "CREATE VIEW long AS SELECT a.range % 74 + 17 AS age FROM range(1000000) a, range(1000000) b"
        )
    (place / "long.yaml").write_text(
        "dataset: long\nattributes: {age: {integer: [17, 90]}}\nbudget: {epsilon: 1}\n"
        "release: [{name: ages, histogram: age}]\n"
    )
    assert subprocess.run([sys.executable, "-m", "tetraodon.cli.main", "ledger", "open", "long.yaml"]).returncode == 0
    code = (
        "import sys\n"
        "from tetraodon.cli import release as commands\n"
        "from tetraodon.cli.main import main\n"
        "follow = commands.follow\n"
        "commands.follow = lambda edge, _: follow(edge, lambda stage: print(stage, file=sys.stderr, flush=True))\n"
        "sys.argv = ['tetraodon', 'release', 'long.yaml', 'long.duckdb']\n"
        "main()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline() == "counting\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert err == "Stopped by Ctrl-C. Nothing was charged, and nothing was written.\n"
    assert not (place / "release").exists()


def test_a_job_in_the_background_goes_on_ignoring_ctrl_c() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with CliErrorHandler(False):
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_handler_is_put_back_and_threads_need_none() -> None:
    before = signal.getsignal(signal.SIGINT)
    with CliErrorHandler(False):
        assert signal.getsignal(signal.SIGINT) is not before
        with ThreadPoolExecutor(1) as pool:
            pool.submit(CliErrorHandler(False).__enter__).result()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.fixture(autouse=True)
def usual_handler() -> Iterator[None]:
    """Ctrl-C as in a terminal, also where the tests were started in the background and it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# -- addresses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["release", "check"])
def test_an_address_that_fails_keeps_its_password(run: Run, command: str) -> None:
    run("ledger", "open", "people.policy.yaml")
    for address in (
        "postgresql://ann:hunter2@127.0.0.1:1/db#people",
        "postgres://ann:hunter2@[broken/db#people",
        "postgresql://ann:12/34hunter2@127.0.0.1:1/db#people",
        "postgresql://ann:12#hunter2@127.0.0.1:1/db#people",
    ):
        told = run(command, "people.policy.yaml", address, code=1)
        assert "cannot be reached" in told.stderr
        assert "hunter2" not in told.stdout + told.stderr


@pytest.mark.parametrize(
    "address", ["postgresql:/ann:hunter2@h/db", "ann:hunter2@h/db#people", "postgresql//ann:hunter2@h"]
)
def test_what_may_be_an_address_is_not_shown_in_place_of_a_path(run: Run, address: str) -> None:
    for arguments in (("init", address), ("check", "people.policy.yaml", address), ("check", address)):
        told = run(*arguments, code=2)
        assert "hunter2" not in told.stdout + told.stderr


LONG = "x" * 300


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", LONG),
        ("plan", LONG),
        ("verify", LONG),
        ("show", LONG),
        ("ask", LONG, "age < 30"),
        ("check", "people.policy.yaml", LONG + ".csv"),
        ("release", "people.policy.yaml", LONG + ".csv"),
        ("release", "people.policy.yaml", "people.csv", "--out", LONG),
    ],
    ids=lambda arguments: arguments[0],
)
@pytest.mark.usefixtures("place")
def test_paths_that_are_too_long_are_refused_in_words(arguments: tuple[str, ...]) -> None:
    assert CliRunner().invoke(app, list(arguments)).exit_code in (1, 2)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (
            ("release", "people.csv", "people.policy.yaml"),
            "POLICY and TABLE are in each other's place. Fix: give the policy file first, then the table.",
        ),
        (
            ("check", "postgresql://me:word@host/db#people", "people.policy.yaml"),
            "POLICY and TABLE are in each other's place. Fix: give the policy file first, then the table.",
        ),
        (
            ("publish", "people.policy.yaml", "people.policy.yaml"),
            "this is a policy file, not a table. Fix: give the table as TABLE.",
        ),
        (
            ("plan", "people.csv"),
            "people.csv: this is a table, not a policy file. Fix: give a policy file as POLICY; "
            "`tetraodon init TABLE` drafts one.",
        ),
    ],
)
def test_a_table_is_not_taken_for_a_policy(run: Run, typed: tuple[str, ...], told: str) -> None:
    assert run(*typed, code=2).stderr == f"Error: {told}\n"


def test_more_may_follow(run: Run, run_json: Callable[..., Any], place: Path) -> None:
    (place / "p.yaml").write_text("dataset: d\nattributes: {age: {integer: [9, 0]}}\nbudget: {epsilon: 1}\n")
    assert run("check", "p.yaml", code=1).stderr.splitlines() == [
        "Error: p.yaml line 2: attributes.age: the range [9, 0] is empty. Fix: write the smaller end first.",
        "More may be found once this is put right: the rest of the file rests on it.",
    ]
    assert run_json("check", "p.yaml", code=1)["error"]["notes"]
