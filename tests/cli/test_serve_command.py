"""The server from the command line: one command serves and works; what would be unsafe is wrong use."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

from tests.cli.conftest import Run
from typer.testing import CliRunner

from tetraodon.cli.main import app


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


def test_what_would_be_unsafe_is_wrong_use(run: Run, tmp_path: Path) -> None:
    assert "without TLS" in run("serve", "--host", "0.0.0.0", "--workers", "0", code=2).stderr
    assert "--sources" in run("serve", code=2).stderr
    assert "--sources" in run("work", code=2).stderr
    assert "no such file" in run("work", "--sources", str(tmp_path / "none.yaml"), code=2).stderr
