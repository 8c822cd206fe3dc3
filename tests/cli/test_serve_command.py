"""The server from the command line: one command serves and works; what would be unsafe is wrong use."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from typer.main import get_command
from typer.testing import CliRunner

from tetraodon.cli.main import app
from tetraodon.errors import TetraodonError
from tetraodon.web.auth import Accounts
from tetraodon.web.state import State


def test_one_command_serves_and_ends_with_its_worker(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text("people: people.csv\n")
    command = [sys.executable, "-m", "tetraodon.cli.main"]
    ledger = str(tmp_path / "tetraodon.db")
    adding = ["account", "ada", "--role", "admin", "--json", "--ledger", ledger]
    made = CliRunner().invoke(app, adding, input="a long first password\n")
    assert json.loads(made.stdout) == {"name": "ada", "role": "admin"}
    words = ["serve", "--sources", "sources.yaml", "--port", "0", "--json"]
    with subprocess.Popen(
        [*command, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        told = ""
        while not told.rstrip().endswith("}"):
            told += running.stdout.readline()
        address = json.loads(told)["address"]
        body = json.dumps({"name": "ada", "password": "a long first password"}).encode()
        asked = urllib.request.Request(f"{address}/v1/session", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=60) as answer:
            assert answer.headers["Set-Cookie"].startswith("__Host-tetraodon=")
        running.send_signal(signal.SIGINT)
        _, lines = running.communicate(timeout=60)
    assert [json.loads(line)["route"] for line in lines.splitlines() if "route" in line] == ["/v1/session"]
    assert "Traceback" not in lines


def workers_of(server: subprocess.Popen[str]) -> list[int]:
    """The workers that a server started and that live."""
    tasks = (Path("/proc") / str(server.pid) / "task").iterdir()
    children = {int(child) for task in tasks for child in (task / "children").read_text().split()}
    return [one for one in children if b"work\0" in (Path("/proc") / str(one) / "cmdline").read_bytes()]


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_worker_that_is_killed_is_replaced_and_all_end_with_the_server(tmp_path: Path, end: int) -> None:
    (tmp_path / "sources.yaml").write_text("people: people.csv\n")
    words = ["serve", "--sources", "sources.yaml", "--port", "0"]
    with subprocess.Popen(
        [sys.executable, "-m", "tetraodon.cli.main", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert "Serving at" in running.stdout.readline()
        [first] = workers_of(running)
        os.kill(first, signal.SIGKILL)
        until = time.monotonic() + 30
        while not any(one != first for one in workers_of(running)):
            assert time.monotonic() < until, "nobody replaced the worker"
            time.sleep(0.1)
        running.send_signal(end)
        running.communicate(timeout=60)  # until nobody is left who could say more
    assert (tmp_path / "releases").stat().st_mode & 0o777 == 0o750


def test_a_password_is_reset_by_whoever_has_the_database(tmp_path: Path) -> None:
    ledger = str(tmp_path / "tetraodon.db")

    def said(*words: str, password: str = "a long first password") -> str:
        return CliRunner().invoke(app, ["account", *words, "--ledger", ledger], input=f"{password}\n").output

    assert "as admin" in said("ada", "--role", "admin")
    assert "there is an account" in said("ada")
    assert "as admin" in said("ada", "--reset", password="a long second password")
    assert "no such account" in said("eve", "--reset")
    state = State(ledger)
    accounts = Accounts(state)
    with pytest.raises(TetraodonError, match="wrong"):
        accounts.sign_in("ada", "a long first password")
    assert accounts.sign_in("ada", "a long second password")
    assert [event.what for event in state.events()] == ["account-admin", "password-changed", "sign-in"]
    state.close()


def test_what_would_be_unsafe_is_wrong_use(run: Run, tmp_path: Path) -> None:
    assert "without TLS" in run("serve", "--host", "0.0.0.0", "--workers", "0", code=2).stderr
    assert "--sources" in run("serve", code=2).stderr
    assert "--sources" in run("work", code=2).stderr
    assert "no such file" in run("work", "--sources", str(tmp_path / "none.yaml"), code=2).stderr


ROOT = Path(__file__).parents[2]
UNITS = ("tetraodon.service", "tetraodon-worker.service")


def test_the_units_of_systemd_call_what_there_is_and_share_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options that the commands have; a folder that one user owns, whoever starts; sources and key for one alone."""
    monkeypatch.setenv("TETRAODON_LEDGER", "postgresql+psycopg://tetraodon@localhost/ledger")
    commands, said = get_command(app), {}
    for unit in UNITS:
        lines = [line for line in (ROOT / "deploy" / unit).read_text().splitlines() if not line.startswith("#")]
        said[unit] = {name: value for name, _, value in (line.partition("=") for line in lines)}
        _, tetraodon, name, *words = said[unit]["ExecStart"].split()
        assert tetraodon == "tetraodon"
        given = commands.commands[name].make_context(name, words).params  # type: ignore[attr-defined]
        assert str(given["releases"]) == "/var/lib/tetraodon/releases"
        said[unit] |= {"ledger": given["ledger"], "sources": str(given["sources"] or "")}
    web, worker = (said[unit] for unit in UNITS)
    assert (web["Group"], web["User"] == worker["User"]) == (worker["Group"], False)
    assert ("StateDirectory" in web, worker["StateDirectory"], worker["UMask"]) == (False, "tetraodon", "0027")
    secret = {worker["sources"], worker["Environment"].removeprefix("TETRAODON_KEY="), worker["EnvironmentFile"]}
    assert {path.removeprefix("-") for path in web["InaccessiblePaths"].split()} == secret
    assert worker["InaccessiblePaths"] == f"-{web['EnvironmentFile']}"  # each has the password of its own role
    assert web["MemoryMax"] == worker["MemoryMax"] == "12G"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("unit", UNITS)
def test_the_units_of_systemd_are_shut_in(unit: str) -> None:
    """An exposure of 3 of 10 at most, by systemd's own count."""
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=30", str(ROOT / "deploy" / unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:]


# -- studio command ----------------------------------------------------------------------------------
# The studio from the command line: it says where it is, drafts a file, and ends when it is told to.


def test_it_drafts_a_file_and_says_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,sex\n30,f\n")
    command = [sys.executable, "-m", "tetraodon.cli.main", "studio", "new.policy.yaml", "people.csv"]
    with subprocess.Popen(
        [*command, "--no-browser", "--json"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        told = ""
        while not told.rstrip().endswith("}"):
            line = running.stdout.readline()
            assert line, "it ended"
            told += line
        found = json.loads(told)
        assert "CONFIRM" in (tmp_path / found["file"]).read_text()
        asked = urllib.request.Request(found["address"], headers={"Sec-Fetch-Site": "none"})
        opener = urllib.request.build_opener()
        opener.addheaders = [("Sec-Fetch-Site", "none")]
        assert b"What can a record say?" in opener.open(asked, timeout=30).read()
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130


def test_without_a_file_or_a_table_there_is_nothing_to_show(run: Run) -> None:
    assert "give a TABLE too" in run("studio", "nowhere.policy.yaml", code=2).stderr


def test_without_the_extra_it_is_refused_with_the_command_that_installs_it(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)  # as if it were not installed
    policy = tmp_path / "people.policy.yaml"
    policy.write_text("dataset: people\n")
    for command in (["studio", str(policy)], ["serve", "--workers", "0"]):
        assert "Fix: run `pip install 'tetraodon[web]'`" in run(*command, code=2).stderr
