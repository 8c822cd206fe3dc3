"""The studio from the command line: it says where it is, drafts a file, and ends when it is told to."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from tests.cli.conftest import Run


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
