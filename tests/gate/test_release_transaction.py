"""The gate: charged before noise, finished after a crash."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.gate.ways import PLAN, TABLE, WAYS, Way
from tests.ledger.certificates import FREE, pure

import tetraodon as td
from tetraodon.engine import DataRefusal
from tetraodon.errors import ReleaseError
from tetraodon.gate import COMPLETE, Charge, OutputFolder, Permit, ReleaseTransaction, Terms, without_ledger
from tetraodon.gate import release_transaction as passage
from tetraodon.gate import release_transaction as permit
from tetraodon.gate.output_folder import INTENT, Pending
from tetraodon.ledger.account import ADDS_UP, JOINTLY
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, LaplaceNoise

# -- passage ----------------------------------------------------------------------------------------
# Every way out is charged once, draws once, records refusals, and can be finished wherever it was interrupted.

RELEASE = WAYS[0]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def book(way: Way, tmp_path: Path) -> td.Ledger:
    return way.open(tmp_path / "ledger.db")


def crash(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def interrupted(way: Way, ledger: td.Ledger, out: Path, at: tuple[Any, str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*at, crash)
        with pytest.raises(KeyboardInterrupt):
            way.run(ledger=ledger, out=out)


def left_beside(out: Path) -> list[str]:
    return sorted(path.name for path in out.parent.rglob(".*.pending"))


STEPS = {
    "before the charge": (td.Ledger, "charge"),
    "after the charge": (passage, "permit_for"),
    "before numbers are kept": (Pending, "keep"),
    "before the folder": (Pending, "draft"),
    "before it is in its place": (OutputFolder, "take"),
    "before settling": (td.Ledger, "settle"),
    "before the end": (Pending, "end"),
}


@every_way
@pytest.mark.parametrize("at", STEPS.values(), ids=STEPS)
def test_it_is_charged_once_and_finished(way: Way, tmp_path: Path, out: Path, at: tuple[Any, str]) -> None:
    ledger = book(way, tmp_path)
    interrupted(way, ledger, out, at)
    before, seen = ledger.entries("people"), way.published(out)
    assert left_beside(out)
    if before and before[0].state == "reserved":
        with pytest.raises(td.errors.ReleaseError, match=r"charged and not finished.*--resume"):
            way.run(ledger=ledger, out=out, force=True)
    way.run(ledger=ledger, out=out, resume=True)
    (entry,) = ledger.entries("people")
    assert entry.state == "settled"
    assert not before or before[0].id == entry.id
    if seen:
        assert way.published(out) == seen
    assert left_beside(out) == []
    way.run(ledger=ledger, out=out, resume=True)  # nothing is left to be done
    assert ledger.entries("people") == (entry,)
    assert way.published(out)


@every_way
def test_numbers_that_were_drawn_are_not_drawn_again(way: Way, tmp_path: Path, out: Path) -> None:
    """Not even the table is opened."""
    ledger = book(way, tmp_path)
    interrupted(way, ledger, out, (Pending, "draft"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LaplaceNoise, "draw", crash)
        patch.setattr(permit, "system_coins", crash)
        way.refused(ledger=ledger, out=out, resume=True)
    assert [entry.state for entry in ledger.entries("people")] == ["settled"]


@every_way
def test_refusals_because_of_the_data_are_recorded_and_cost_nothing(way: Way, tmp_path: Path, out: Path) -> None:
    ledger = book(way, tmp_path)
    with pytest.raises(DataRefusal):
        way.refused(ledger=ledger, out=out)
    assert [refusal.kind for refusal in ledger.refusals("people")] == ["table-refused"]
    assert ledger.entries("people") == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.db", "ledger.key"]


@every_way
def test_a_place_that_cannot_be_written_costs_nothing(way: Way, tmp_path: Path) -> None:
    ledger = book(way, tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing" / "folder")
    (tmp_path / ".taken.pending").touch()
    (tmp_path / ".linked.pending").symlink_to(tmp_path / "missing")
    bad = [tmp_path / "file" / "x", tmp_path / "file", tmp_path / "nowhere", Path("/proc/x"), Path("/sys/x")]
    if not way.folder:  # the folder of a series is there before its views
        bad += [tmp_path / ("x" * 254), tmp_path / "taken", tmp_path / "linked"]
    for out in bad:
        for resume in (False, True):
            with pytest.raises(td.errors.ReleaseError, match="Fix:"):
                way.run(ledger=ledger, out=out, resume=resume)
            assert ledger.entries("people") == ()
            assert ledger.refusals("people") == ()


@every_way
def test_nothing_to_resume_is_a_plain_release(way: Way, tmp_path: Path, out: Path) -> None:
    ledger = book(way, tmp_path)
    way.run(ledger=ledger, out=out, resume=True)
    assert len(ledger.entries("people")) == 1


@every_way
def test_what_does_not_belong_together_is_refused(way: Way, tmp_path: Path, out: Path) -> None:
    ledger = book(way, tmp_path)
    interrupted(way, ledger, out, (Pending, "draft"))
    (folder,) = out.parent.rglob(".*.pending")
    with (
        way.open(tmp_path / "other.db") as other,
        pytest.raises(td.errors.ReleaseError, match="the ledger does not have"),
    ):
        way.run(ledger=other, out=out, resume=True)
    intent = json.loads((folder / "intent.json").read_text())
    for content, told in (
        ({**intent, "request": "0" * 64}, "another policy, plan or owner"),
        ({**intent, "token": "0" * 32}, "the ledger does not have"),
        ({"token": 1}, "cannot be read"),
        ({}, "cannot be read"),
    ):
        (folder / "intent.json").write_text(json.dumps(content))
        with pytest.raises(td.errors.ReleaseError, match=told):
            way.run(ledger=ledger, out=out, resume=True)
    (folder / "intent.json").write_text(json.dumps(intent))
    way.run(ledger=ledger, out=out, resume=True)
    assert len(ledger.entries("people")) == 1


def test_another_plan_is_refused_although_nothing_was_drawn(tmp_path: Path, out: Path) -> None:
    ledger = book(RELEASE, tmp_path)
    interrupted(RELEASE, ledger, out, (LaplaceNoise, "draw"))
    with pytest.raises(td.errors.ReleaseError, match="another policy, plan or owner"):
        td.release(td.plan(PLAN.policy, epsilon=2), TABLE, ledger=ledger, out=out, resume=True)
    assert [entry.charged for entry in ledger.entries("people")] == [1]


def test_a_copy_of_what_was_begun_is_not_drawn_again_elsewhere(tmp_path: Path, out: Path) -> None:
    """Charged and not drawn yet: each copy would draw its own numbers for the one charge."""
    ledger = book(RELEASE, tmp_path)
    interrupted(RELEASE, ledger, out, (LaplaceNoise, "draw"))
    (tmp_path / "elsewhere").mkdir()
    copies = [tmp_path / "other", tmp_path / "elsewhere" / "out"]
    for copy in copies:
        shutil.copytree(OutputFolder.of(out, "").pending, OutputFolder.of(copy, "").pending)
    for copy in copies:
        with pytest.raises(td.errors.ReleaseError, match="begun at another place"):
            RELEASE.run(ledger=ledger, out=copy, resume=True)
        assert OutputFolder.of(copy, "").pending.exists()
    (tmp_path / "link").symlink_to(tmp_path)
    RELEASE.run(ledger=ledger, out=tmp_path / "link" / "out", resume=True)
    assert [entry.state for entry in ledger.entries("people")] == ["settled"]


def test_a_folder_that_is_gone_after_settling_is_not_made_again(tmp_path: Path, out: Path) -> None:
    ledger = book(RELEASE, tmp_path)
    interrupted(RELEASE, ledger, out, (Pending, "end"))
    shutil.rmtree(out)
    with pytest.raises(td.errors.ReleaseError, match="as written"):
        RELEASE.run(ledger=ledger, out=out, resume=True)


def test_completeness_is_told(tmp_path: Path, out: Path) -> None:
    ledger, stages = book(RELEASE, tmp_path), list[str]()
    made = RELEASE.run(ledger=ledger, out=out)
    again = RELEASE.run(ledger=ledger, out=out, resume=True, progress=stages.append)
    assert stages == [COMPLETE]
    assert again["ages"].to_polars().equals(made["ages"].to_polars())
    with pytest.raises(td.errors.ReleaseError, match="exists"):  # another request is not this one
        td.release(td.plan(PLAN.policy, epsilon=2), TABLE, ledger=ledger, out=out, resume=True)
    assert len(ledger.entries("people")) == 1


def test_the_caller_chooses_whether_to_count_or_to_spend_first(tmp_path: Path, out: Path) -> None:
    """A server charges before it looks: then even a refusal costs, and tells nothing for free."""
    ledger = book(RELEASE, tmp_path)
    place = OutputFolder.of(out, "m.json")
    terms = Terms(PLAN.certificate, PLAN.epsilon, PLAN.policy.document, {"queries": []})

    def count() -> None:
        raise DataRefusal("no", fix="yes")

    with ReleaseTransaction(ledger, "people", request="r", place=place) as way:
        way.spend(terms)
        with pytest.raises(DataRefusal), way.counting():
            count()
    assert (len(ledger.entries("people")), len(ledger.refusals("people"))) == (1, 1)


def test_the_order_cannot_be_walked_around(tmp_path: Path, out: Path) -> None:
    ledger = book(RELEASE, tmp_path)
    place = OutputFolder.of(out, "m.json")
    terms = Terms(PLAN.certificate, PLAN.epsilon, PLAN.policy.document, {"queries": []})
    with ReleaseTransaction(ledger, "people", request="r", place=place) as way:
        for early in (lambda: way.keep(lambda _: None), lambda: way.finish(lambda *_: ""), lambda: way.settle("x")):
            with pytest.raises(td.errors.ReleaseError, match="nothing was charged"):
                early()
        allowed = way.spend(terms)
        with pytest.raises(td.errors.ReleaseError, match="drawn already"):
            way.spend(terms)
        way.keep(lambda folder: (folder / "x").touch())
        with pytest.raises(td.errors.ReleaseError, match="drawn already"):
            _ = allowed.coins


def test_the_writer_is_told_the_entry_that_pays(tmp_path: Path, out: Path) -> None:
    ledger, told = book(RELEASE, tmp_path), []
    terms = Terms(PLAN.certificate, PLAN.epsilon, PLAN.policy.document, {"queries": []})

    def fill(folder: Path, entry: Any) -> str:
        told.append(entry)
        (folder / "m.json").write_text("{}")
        return "digest"

    with ReleaseTransaction(ledger, "people", request="r", place=OutputFolder.of(out, "m.json")) as way:
        way.spend(terms)
        way.keep(lambda folder: (folder / "x").touch())
        way.finish(fill)
    (entry,) = ledger.entries("people")
    assert (told[0].id, told[0].document, told[0].token) == (entry.id, entry.document, entry.token)
    assert INTENT not in left_beside(out)


# -- permit -----------------------------------------------------------------------------------------
# What is charged for, and the permit to draw noise for it.


def test_the_certified_loss_is_charged() -> None:
    certificate = pure(Fraction(1, 3))
    bill = Terms(certificate, Fraction(1), {"p": 1}, {"q": 2}).bill(gate={"token": "t"})
    assert (bill.asked, bill.charged, bill.after) == (1, Fraction(1, 3), None)
    assert bill.item["certificate"] is certificate
    assert (bill.item["composition"], bill.item["gate"]) == (ADDS_UP, {"token": "t"})


def test_a_joint_charge_is_computed_when_it_is_needed() -> None:
    asked: list[bool] = []

    def price(again: bool) -> Charge:
        asked.append(again)
        return Charge(Fraction(2), JOINTLY, Fraction(1))

    terms = Terms(pure(1), Fraction(1), {}, {}, price=price)
    assert not asked
    bill = terms.bill()
    assert (bill.charged, bill.after, bill.item["composition"]) == (2, 1, JOINTLY)
    terms.bill(again=True)
    assert asked == [False, True]


def test_only_certificates_are_charged_for() -> None:
    posing: Any = {"epsilon_exact": "0"}
    with pytest.raises(TypeError, match="kernel"):
        Terms(posing, Fraction(1), {}, {})


def test_nobody_else_makes_one() -> None:
    with pytest.raises(TypeError, match="given by the gate"):
        Permit(FREE, None, object())


def test_it_draws_until_it_is_closed() -> None:
    permit = without_ledger(pure(1))
    assert permit.noise(LAPLACE, Fraction(3), (2, 3)).shape == (2, 3)
    assert permit.noise(GAUSSIAN, Fraction(3), 4).shape == (4,)
    assert permit.coins.draw(3, 16).shape == (3,)
    permit.close()
    with pytest.raises(ReleaseError, match="drawn already"):
        permit.noise(LAPLACE, Fraction(3), 1)
    with pytest.raises(ReleaseError, match="drawn already"):
        _ = permit.coins


# -- resume -----------------------------------------------------------------------------------------
# The folder beside the output: one process at a time, numbers kept once, nothing left of what was not charged.


@pytest.fixture
def place(tmp_path: Path) -> OutputFolder:
    return OutputFolder.of(tmp_path / "above" / "out", "m.json")


def test_one_at_a_time(place: OutputFolder) -> None:
    mine = Pending.enter(place)
    with pytest.raises(ReleaseError, match="another process"):
        Pending.enter(place)
    script = "import sys; from pathlib import Path; from tetraodon.gate import OutputFolder;"
    script += (
        "from tetraodon.gate.output_folder import Pending; Pending.enter(OutputFolder.of(Path(sys.argv[1]), 'm.json'))"
    )
    done = subprocess.run([sys.executable, "-c", script, place.path], capture_output=True, text=True, check=False)
    assert "another process is writing to this folder" in done.stderr
    mine.leave()
    Pending.enter(place).leave()


def test_a_lock_on_a_file_that_is_gone_is_no_lock(place: OutputFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever held it has ended and removed the folder between our opening the file and locking it."""
    from tetraodon.gate import output_folder as resume

    lock, first = resume.fcntl.flock, []

    def late(handle: int, how: int) -> None:
        if not first:
            first.append(handle)
            (place.pending / resume.LOCK).unlink()
            place.pending.rmdir()
        lock(handle, how)

    monkeypatch.setattr(resume.fcntl, "flock", late)
    found = Pending.enter(place)
    assert os.path.samestat(os.fstat(found.handle), os.stat(place.pending / resume.LOCK))
    found.leave()


def test_numbers_are_kept_once(place: OutputFolder) -> None:
    pending = Pending.enter(place)
    assert pending.drawn is None
    kept = pending.keep(lambda folder: (folder / "numbers").write_text("first"))
    assert pending.drawn == kept
    with pytest.raises(ReleaseError, match="Fix:"):
        pending.keep(lambda folder: (folder / "numbers").write_text("second"))
    assert (kept / "numbers").read_text() == "first"


def test_numbers_that_were_not_all_written_are_none(place: OutputFolder) -> None:
    pending = Pending.enter(place)

    def half(folder: Path) -> None:
        (folder / "numbers").write_text("1, 2,")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pending.keep(half)
    assert pending.drawn is None
    pending.keep(lambda folder: (folder / "numbers").write_text("1, 2, 3"))


def test_what_was_in_the_place_comes_back(place: OutputFolder) -> None:
    """Killed between moving the old folder away and the new one there."""
    pending = Pending.enter(place)
    (pending.folder / "old").mkdir()
    (pending.folder / "old" / "m.json").write_text("old")
    pending.draft()
    pending.tidy()
    assert (place.path / "m.json").read_text() == "old"
    assert sorted(path.name for path in pending.folder.iterdir()) == ["lock"]


def test_nothing_is_left_of_what_was_not_begun(place: OutputFolder) -> None:
    pending = Pending.enter(place)
    pending.begin({"token": "t"})
    assert pending.intent() == {"token": "t"}
    pending.undo()
    pending.leave()
    assert not place.path.parent.exists()


@pytest.mark.parametrize("content", ["", "{", "[]", "\x00"])
def test_what_cannot_be_read_is_refused(place: OutputFolder, content: str) -> None:
    pending = Pending.enter(place)
    (pending.folder / "intent.json").write_text(content)
    with pytest.raises(ReleaseError, match="cannot be read"):
        pending.intent()


def test_numbers_without_an_intent_are_refused(place: OutputFolder) -> None:
    pending = Pending.enter(place)
    pending.keep(lambda folder: (folder / "numbers").touch())
    with pytest.raises(ReleaseError, match="cannot be read"):
        pending.intent()


# -- two at once ------------------------------------------------------------------------------------
# Several processes resume one release at once, and some are killed: one charge, one set of numbers.

RESUMING = """
import os, signal, sys
import tetraodon as td
from tests.gate.ways import WAYS
from tetraodon.gate.output_folder import OutputFolder
if sys.argv[3] == "dies":
    OutputFolder.take = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
try:
    WAYS[0].run(ledger=td.Ledger(sys.argv[1]), out=sys.argv[2], resume=True)
except td.errors.ReleaseError as error:
    print(error.what)
"""


def test_the_first_drawn_numbers_are_the_only_ones(tmp_path: Path) -> None:
    out, ledger = tmp_path / "out", WAYS[0].open(tmp_path / "ledger.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pending, "keep", _stopped)
        with pytest.raises(KeyboardInterrupt):
            WAYS[0].run(ledger=ledger, out=out)
    kept = []
    for fates in (("dies", "dies", "dies"), ("dies", "lives", "lives")):
        command = [sys.executable, "-c", RESUMING, str(tmp_path / "ledger.db"), str(out)]
        running = [subprocess.Popen([*command, fate], stdout=subprocess.PIPE, text=True) for fate in fates]
        told = [process.communicate()[0].strip() for process in running]
        assert set(told) <= {"", "another process is writing to this folder"}
        if (drawn := out.parent / ".out.pending" / "drawn" / "measured.npz").exists():
            kept.append(drawn.read_bytes())
    if not out.exists():  # the one that was to live met one that was dying
        WAYS[0].run(ledger=ledger, out=out, resume=True)
    (entry,) = ledger.entries("people")
    assert entry.state == "settled"
    assert kept
    assert len(set(kept)) == 1
    (tmp_path / "kept.npz").write_bytes(kept[0])
    published = td.load_release(out).measured
    with np.load(tmp_path / "kept.npz") as arrays:
        for name, parts in published.items():
            assert all(np.array_equal(part, arrays[f"{name}/{place}"]) for place, part in enumerate(parts))
    assert json.loads((out / "release.json").read_text())["charged"] == "1"


def _stopped(*_: object) -> None:
    raise KeyboardInterrupt
