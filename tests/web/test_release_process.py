"""The release, in a process of its own: the one place where the studio's machine reads the table."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from tests.web.studio_fixtures import MOVING, Visitor

import tetraodon as td
from tetraodon.web.studio import PAGES, Studio


def test_nothing_but_a_release_reads_the_table(studio: Studio, visitor: Visitor) -> None:
    table = Path(studio.editor.table)
    table.unlink()
    os.mkfifo(table)  # whoever opens it waits for ever
    for target in (*PAGES, *MOVING):
        visitor.see(f"/{target}")
    assert visitor.send("secret", name="age", secret="public", back="secrets")[0] == 303
    assert visitor.send("undo")[0] == 303
    assert visitor.send("run", confirm="people", back="release")[0] == 303
    for _ in range(600):
        with suppress(OSError):  # nobody reads yet
            os.close(os.open(table, os.O_WRONLY | os.O_NONBLOCK))
        if not visitor.json("/status")["running"]:
            break
        time.sleep(0.1)
    found = visitor.json("/status")
    assert not found["running"]
    assert not found["done"]
    assert found["told"].startswith("Refused")


def test_a_release_from_the_page_verifies(studio: Studio, visitor: Visitor) -> None:
    assert visitor.send("run", confirm="people", out="out", back="release")[0] == 303
    for _ in range(600):
        if not visitor.json("/status")["running"]:
            break
        time.sleep(0.1)
    assert "Charged epsilon 1; 2 left" in visitor.see("/release")
    status, text, headers = visitor.ask("GET", "/report")
    assert status == 200
    assert "sandbox" in headers["Content-Security-Policy"]
    assert "<html" in text
    td.verify(studio.editor.path.parent / "out")


def test_addresses_with_a_password_are_on_no_command_line(studio: Studio, visitor: Visitor) -> None:
    """The table is a pipe that nobody writes to, so that the child stays while its command line is read."""
    table = Path(studio.editor.table)
    table.unlink()
    os.mkfifo(table)
    assert visitor.send("run", confirm="people", back="release")[0] == 303
    said: list[bytes] = []
    while not any(b"tetraodon.cli.main" in one for one in said):  # it is begun in a thread
        for task in Path("/proc/self/task").iterdir():
            with suppress(FileNotFoundError):  # threads of other tests may end meanwhile
                children = (task / "children").read_text().split()
                said += [(Path("/proc") / child / "cmdline").read_bytes() for child in children]
    assert not any(studio.editor.ledger.encode() in one or studio.editor.table.encode() in one for one in said)
    while visitor.json("/status")["running"]:
        with suppress(OSError):
            os.close(os.open(table, os.O_WRONLY | os.O_NONBLOCK))
        time.sleep(0.1)
