"""The policy editor: changes, undo, conflicts with the disk; and the process that releases."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.web.studio_fixtures import MOVING, Visitor

import tetraodon as td
from tetraodon.errors import PolicyError
from tetraodon.releases.plan import Plan
from tetraodon.web.policy_editor import PolicyEditor, plan_of
from tetraodon.web.studio import PAGES, Studio

TEXT = """\
dataset: people  # ours
attributes:
  age: {integer: [0, 99]}
budget: {epsilon: 1}
release:
- {name: ages, histogram: age}
"""


@pytest.fixture
def editor(tmp_path: Path) -> PolicyEditor:
    (tmp_path / "p.yaml").write_text(TEXT)
    return PolicyEditor(tmp_path / "p.yaml")


def test_a_change_keeps_permissions_and_leaves_no_other_file(editor: PolicyEditor) -> None:
    for mode in (0o600, 0o644):
        editor.path.chmod(mode)
        editor.edit(("budget", "epsilon"), mode)
        assert editor.path.stat().st_mode & 0o777 == mode
    assert [*editor.path.parent.iterdir()] == [editor.path]


def test_a_change_is_on_the_disk_and_can_be_undone(editor: PolicyEditor) -> None:
    editor.edit(("budget", "epsilon"), 2, reason="agreed")
    assert (
        editor.path.read_text() == editor.text == TEXT.replace("budget: {epsilon: 1}", "# agreed\nbudget: {epsilon: 2}")
    )
    editor.edit(("secrets", "age"), "public")
    editor.undo()
    editor.undo()
    assert editor.path.read_text() == editor.text == TEXT
    editor.undo()  # there is nothing left
    assert editor.text == TEXT


def test_a_change_by_another_program_is_not_overwritten_silently(editor: PolicyEditor) -> None:
    editor.path.write_text(TEXT.replace("99", "120"))
    assert "+  age: {integer: [0, 120]}" in editor.changed_elsewhere()
    with pytest.raises(PolicyError, match="another program"):
        editor.edit(("budget", "epsilon"), 2)
    assert "120" in editor.path.read_text()
    editor.take(theirs=True)
    assert "120" in editor.text
    assert not editor.changed_elsewhere()
    editor.undo()
    assert editor.path.read_text() == TEXT
    editor.path.write_text("other: text\n")
    editor.take(theirs=False)
    assert editor.path.read_text() == TEXT


def test_what_follows_from_the_text(editor: PolicyEditor) -> None:
    assert isinstance(plan_of(editor.text), Plan)
    tried = editor.tried(("secrets", "age"), {"within": 3})
    assert tried.policy is not None
    assert tried.policy.graph.is_edge(0, 3)
    assert not tried.policy.graph.is_edge(0, 4)
    assert editor.text == TEXT
    editor.edit(("release",), None)
    assert plan_of(editor.text) is None


def test_files_that_a_policy_names_are_found_in_its_folder(editor: PolicyEditor) -> None:
    (editor.path.parent / "earlier.csv").write_text("sex,count\nF,3\nM,4\n")
    editor.edit(("attributes", "sex"), ["F", "M"])
    editor.edit(("known",), [{"table": "earlier.csv"}])
    assert not editor.held.problems
    assert editor.held.policy is not None
    assert editor.held.policy.known[0].answers == (3, 4)
    assert isinstance(plan_of(editor.text, editor.path.parent), Plan)


def test_files_that_cannot_be_are_refused(editor: PolicyEditor, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="1 MB"):
        editor.replace("x" * 2_000_000)
    with pytest.raises(PolicyError, match="cannot be read"):
        PolicyEditor(tmp_path / "nowhere.yaml")


# -- release process -------------------------------------------------------------------------------


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
    assert found["status"].startswith("Refused")


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
