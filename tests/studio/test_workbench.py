"""The policy file that is being worked on: its text, what can be undone, and what follows from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tetraodon.errors import PolicyError
from tetraodon.releases.plan import Plan
from tetraodon.studio.workbench import Workbench, plan_of

TEXT = """\
dataset: people  # ours
attributes:
  age: {integer: [0, 99]}
budget: {epsilon: 1}
release:
- {name: ages, histogram: age}
"""


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    (tmp_path / "p.yaml").write_text(TEXT)
    return Workbench(tmp_path / "p.yaml")


def test_who_may_read_the_file_stays_and_nothing_is_left_beside_it(bench: Workbench) -> None:
    for mode in (0o600, 0o644):
        bench.path.chmod(mode)
        bench.edit(("budget", "epsilon"), mode)
        assert bench.path.stat().st_mode & 0o777 == mode
    assert [*bench.path.parent.iterdir()] == [bench.path]


def test_a_change_is_on_the_disk_and_can_be_undone(bench: Workbench) -> None:
    bench.edit(("budget", "epsilon"), 2, reason="agreed")
    assert (
        bench.path.read_text() == bench.text == TEXT.replace("budget: {epsilon: 1}", "# agreed\nbudget: {epsilon: 2}")
    )
    bench.edit(("secrets", "age"), "public")
    bench.undo()
    bench.undo()
    assert bench.path.read_text() == bench.text == TEXT
    bench.undo()  # there is nothing left
    assert bench.text == TEXT


def test_a_file_that_somebody_else_changes_is_never_written_over_in_silence(bench: Workbench) -> None:
    bench.path.write_text(TEXT.replace("99", "120"))
    assert "+  age: {integer: [0, 120]}" in bench.changed_elsewhere()
    with pytest.raises(PolicyError, match="somebody else"):
        bench.edit(("budget", "epsilon"), 2)
    assert "120" in bench.path.read_text()
    bench.take(theirs=True)
    assert "120" in bench.text
    assert not bench.changed_elsewhere()
    bench.undo()
    assert bench.path.read_text() == TEXT
    bench.path.write_text("other: text\n")
    bench.take(theirs=False)
    assert bench.path.read_text() == TEXT


def test_what_follows_from_the_text(bench: Workbench) -> None:
    assert isinstance(plan_of(bench.text), Plan)
    tried = bench.tried(("secrets", "age"), {"within": 3})
    assert tried.policy is not None
    assert tried.policy.graph.is_edge(0, 3)
    assert not tried.policy.graph.is_edge(0, 4)
    assert bench.text == TEXT
    bench.edit(("release",), None)
    assert plan_of(bench.text) is None


def test_files_that_a_policy_names_are_beside_it(bench: Workbench) -> None:
    (bench.path.parent / "earlier.csv").write_text("sex,count\nF,3\nM,4\n")
    bench.edit(("attributes", "sex"), ["F", "M"])
    bench.edit(("known",), [{"table": "earlier.csv"}])
    assert not bench.held.problems
    assert bench.held.policy is not None
    assert bench.held.policy.known[0].answers == (3, 4)
    assert isinstance(plan_of(bench.text, bench.path.parent), Plan)


def test_files_that_cannot_be_are_refused(bench: Workbench, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="1 MB"):
        bench.replace("x" * 2_000_000)
    with pytest.raises(PolicyError, match="cannot be read"):
        Workbench(tmp_path / "nowhere.yaml")
