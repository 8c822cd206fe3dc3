"""The release folder, written and read back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.releases.made import release_with, silent

import tetraodon as td
from tetraodon.exact.rational import decimal_text
from tetraodon.releases import folder, run

# -- folder -----------------------------------------------------------------------------------------
# The release folder: complete, readable back, never half-written, and free of true answers.


@pytest.fixture
def written(policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, tmp_path: Path) -> Path:
    td.release(td.plan(policy), table, ledger=ledger, out=tmp_path / "out")
    return tmp_path / "out"


def test_it_holds_what_an_analyst_needs(written: Path, policy: td.Policy) -> None:
    names = {path.relative_to(written).as_posix() for path in written.rglob("*") if path.is_file()}
    for item in policy.items:
        assert {
            f"answers/{item.name}.csv",
            f"answers/{item.name}.parquet",
            f"measurements/{item.name}.parquet",
        } <= names
    assert {"release.json", "policy.yaml", "report.html", "README.md"} <= names
    assert td.load_policy(written / "policy.yaml") == policy


def test_parquet_and_csv_say_the_same(written: Path) -> None:
    first = pl.read_parquet(written / "answers" / "ages.parquet")
    second = pl.read_csv(written / "answers" / "ages.csv")
    assert first.columns == ["age", "sex", "count", "lower", "upper", "measured"]
    assert first.equals(second)


def test_reading_it_back_gives_the_same_answers(written: Path) -> None:
    release = td.load_release(written)
    for answer in release.values():
        stated = pl.read_parquet(written / "answers" / f"{answer.name}.parquet")
        for name, column in answer.columns.items():
            if column.dtype.kind == "f":
                np.testing.assert_allclose(stated[name].to_numpy(), column)
            else:
                assert stated[name].to_list() == column.tolist()


def test_the_manifest_tells_the_mechanism_and_no_true_answer(
    written: Path, policy: td.Policy, table: pl.DataFrame
) -> None:
    manifest = json.loads((written / "release.json").read_text())
    item = manifest["plan"]["queries"][0]
    scale = td.plan(policy).items[0].measurements[0].scale
    assert item["measurements"][0]["noise"] == {"law": "discrete laplace", "scale": decimal_text(scale)}
    text = json.dumps(manifest["plan"])
    for age in range(20, 30):
        count = table.filter(pl.col("age") == age).height
        assert f": {count}," not in text


def test_an_existing_folder_is_kept(written: Path, policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger) -> None:
    before = (written / "release.json").read_bytes()
    with pytest.raises(td.errors.ReleaseError, match="--force"):
        td.release(td.plan(policy), table, ledger=ledger, out=written)
    assert (written / "release.json").read_bytes() == before
    assert len(ledger.entries(policy.dataset)) == 1  # refused before anything was charged
    td.release(td.plan(policy), table, ledger=ledger, out=written, force=True)
    assert (written / "release.json").read_bytes() != before


def test_force_does_not_replace_what_is_no_release(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, tmp_path: Path
) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_bytes(b"meow")
    with pytest.raises(td.errors.ReleaseError, match=r"no release\.json"):
        td.release(td.plan(policy), table, ledger=ledger, out=tmp_path / "photos", force=True)
    assert (tmp_path / "photos" / "cat.png").exists()


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError(28, "full")])
def test_only_what_resumes_it_is_left_when_writing_stops(
    failure: BaseException,
    policy: td.Policy,
    table: pl.DataFrame,
    ledger: td.Ledger,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stop(*_: object) -> None:
        raise failure

    monkeypatch.setattr(folder, "manifest_of", stop)
    with pytest.raises((KeyboardInterrupt, td.errors.ReleaseError)):
        td.release(td.plan(policy), table, ledger=ledger, out=tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.pending", "ledger.db", "ledger.key"]
    assert ledger.entries(policy.dataset)[0].state == "reserved"


FULL_DISK = """
import resource, signal, sys
import polars as pl
import tetraodon as td
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
plan = td.plan(td.load_policy(sys.argv[1]))
book = td.Ledger(sys.argv[2])
table = pl.read_csv(sys.argv[3])
from tetraodon.releases import run
fill = run.fill_folder
def limited(*arguments):
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))  # files can grow no further, as on a full disk
    return fill(*arguments)
run.fill_folder = limited
try:
    td.release(plan, table, ledger=book, out=sys.argv[4])
except td.errors.ReleaseError as error:
    print(error)
"""


def test_a_full_disk(policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, tmp_path: Path) -> None:
    from tetraodon.policy.source import dump_policy

    (tmp_path / "p.yaml").write_text(dump_policy(policy.document))
    table.write_csv(tmp_path / "t.csv")
    arguments = [str(tmp_path / name) for name in ("p.yaml", "ledger.db", "t.csv", "out")]
    done = subprocess.run([sys.executable, "-c", FULL_DISK, *arguments], capture_output=True, text=True, check=False)
    assert "disk is full" in done.stdout, done.stderr
    assert "--resume" in done.stdout
    assert not (tmp_path / "out").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".out")] == [".out.pending"]
    assert ledger.entries(policy.dataset)[0].state == "reserved"


def test_two_releases_into_one_folder(
    policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second to finish is refused; it does not replace the first."""
    fill = folder.fill_folder

    def slowly(*arguments: object) -> str:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "release.json").write_text("the first")
        return fill(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(run, "fill_folder", slowly)
    with pytest.raises(td.errors.ReleaseError, match="another release"):
        td.release(td.plan(policy), table, ledger=ledger, out=tmp_path / "out")
    assert (tmp_path / "out" / "release.json").read_text() == "the first"
    with pytest.raises(td.errors.ReleaseError, match="the output folder exists"):  # not by --resume either
        td.release(td.plan(policy), table, ledger=ledger, out=tmp_path / "out", resume=True)
    (tmp_path / "out" / "release.json").unlink()
    (tmp_path / "out").rmdir()
    monkeypatch.undo()
    td.release(td.plan(policy), table, ledger=ledger, out=tmp_path / "out", resume=True)
    assert [entry.state for entry in ledger.entries(policy.dataset)] == ["settled"]


# -- release ----------------------------------------------------------------------------------------
# A release is answers by name, and can be asked.


def test_every_item_has_its_answer(policy: td.Policy, table: pl.DataFrame) -> None:
    release = release_with(policy, table, silent)
    assert list(release) == [item.name for item in policy.items]
    assert len(release) == len(policy.items)
    assert release["ages"].kind == "histogram"
    with pytest.raises(td.errors.QueryError, match="did you mean 'older'"):
        release["oldest"]


def test_asking_names_the_table_that_answered(policy: td.Policy, table: pl.DataFrame) -> None:
    estimate = release_with(policy, table, silent).ask("age <= 24")
    assert estimate.source in {item.name for item in policy.items}
    assert estimate == pytest.approx(table.filter(pl.col("age") <= 24).height)
