"""The policy file that is being worked on: its text, what can be undone, and what follows from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tetraodon.errors import PolicyError
from tetraodon.releases.plan import Plan
from tetraodon.web.policy_editor import PolicyEditor, plan_of

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


def test_who_may_read_the_file_stays_and_nothing_is_left_beside_it(editor: PolicyEditor) -> None:
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


def test_a_file_that_somebody_else_changes_is_never_written_over_in_silence(editor: PolicyEditor) -> None:
    editor.path.write_text(TEXT.replace("99", "120"))
    assert "+  age: {integer: [0, 120]}" in editor.changed_elsewhere()
    with pytest.raises(PolicyError, match="somebody else"):
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


def test_files_that_a_policy_names_are_beside_it(editor: PolicyEditor) -> None:
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
