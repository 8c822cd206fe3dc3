from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib import import_module

import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.engine import open_table
from tetraodon.engine.private_folder import PrivateFolder, remove_abandoned

HOLD = """
from tetraodon.engine.private_folder import PrivateFolder
folder = PrivateFolder()
(folder.path / "spill").write_text("SECRET")
print(folder.path.name, flush=True)
input()
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


def test_a_killed_process_leaves_nothing_to_the_next(place):
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, stdin=subprocess.PIPE) as process:
        assert process.stdout is not None
        name = process.stdout.readline().decode().strip()
        remove_abandoned()
        assert os.listdir(place) == [name]  # its process lives
        assert (place / name / "spill").exists()
        os.kill(process.pid, signal.SIGKILL)
    folder = PrivateFolder()
    assert os.listdir(place) == [folder.path.name]
    folder.remove()
    assert os.listdir(place) == []


def test_what_is_not_ours_stays(place):
    (place / "tetraodon-mine").mkdir()
    (place / "elsewhere").mkdir()
    (place / "elsewhere" / "lock").write_text("")
    (place / "tetraodon-link").symlink_to(place / "elsewhere")
    remove_abandoned()
    assert sorted(os.listdir(place)) == ["elsewhere", "tetraodon-link", "tetraodon-mine"]
    assert (place / "elsewhere" / "lock").exists()


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_no_file_is_copied(encoding, small, place, monkeypatch):
    monkeypatch.setattr(import_module("tetraodon.engine.open_table"), "SMALL", 1000 if small else 0)
    path = place / "t.csv"
    path.write_text("age\n1\n", encoding=encoding)
    with open_table(path, Domain((Attribute("age", Integers(0, 9)),))) as engine:
        engine.counts([("age",)])
        files = [name for _, _, names in os.walk(place) for name in names]
    assert sorted(files) == (["t.csv"] if small else ["lock", "t.csv"])
    assert os.listdir(place) == ["t.csv"]


def test_whoever_opens_a_small_table_removes_what_was_abandoned_too(place):
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, stdin=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
    assert len(os.listdir(place)) == 1
    (place / "t.csv").write_text("age\n1\n")
    with open_table(place / "t.csv", Domain((Attribute("age", Integers(0, 9)),))):
        assert os.listdir(place) == ["t.csv"]
