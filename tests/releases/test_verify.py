"""Verification believes nothing: it recomputes, and notices every change."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tetraodon as td
from tetraodon.releases.folder import file_hash, fill_folder, software
from tetraodon.releases.release import infer
from tetraodon.releases.verify import NOT_CHECKED, same_cells, same_text


@pytest.fixture
def written(policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, tmp_path: Path) -> Path:
    td.release(td.plan(policy), table, ledger=ledger, out=tmp_path / "out")
    return tmp_path / "out"


def failed(path: Path) -> list[str]:
    """What fails beside the signature, which no change of a manifest survives."""
    found = [check.what for check in td.verify(path) if not check.passed]
    return [what for what in found if not what.startswith("signature: ")]


def rewrite(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    manifest = json.loads((path / "release.json").read_text())
    change(manifest)
    (path / "release.json").write_text(json.dumps(manifest))


def test_an_untouched_release_passes(written: Path, policy: td.Policy) -> None:
    checks = td.verify(written)
    assert failed(written) == []
    assert sum("certificate" in check.what for check in checks) == len(policy.items) + 1
    assert sum("follow from" in check.what for check in checks) == len(policy.items)


def test_a_charge_that_is_no_decimal_number_passes(
    table: pl.DataFrame, ledger: td.Ledger, policy: td.Policy, tmp_path: Path
) -> None:
    out = tmp_path / "third"
    td.release(td.plan(policy.with_budget(epsilon="1/3")), table, ledger=ledger, out=out)
    assert json.loads((out / "release.json").read_text())["charged"] == "1/3"
    assert failed(out) == []


def test_a_changed_file_is_noticed(written: Path) -> None:
    (written / "answers" / "ages.csv").write_text("nonsense")
    assert failed(written) == ["file answers/ages.csv"]


def test_a_missing_file_is_noticed(written: Path) -> None:
    (written / "report.html").unlink()
    assert failed(written) == ["file report.html"]


def test_a_smaller_noise_than_certified_is_noticed(written: Path) -> None:
    def less(manifest: dict[str, Any]) -> None:
        manifest["plan"]["queries"][0]["measurements"][0]["noise"]["scale"] = "2"

    rewrite(written, less)
    assert "certificate of ages" in failed(written)
    assert "certificate of the whole release" in failed(written)


def test_a_claimed_epsilon_is_not_believed(written: Path) -> None:
    def boast(manifest: dict[str, Any]) -> None:
        manifest["plan"]["certificate"]["epsilon_exact"] = "0.001"

    rewrite(written, boast)
    assert failed(written) == ["certificate of the whole release"]


def test_a_weaker_policy_is_noticed_by_its_hash(written: Path) -> None:
    def weaken(manifest: dict[str, Any]) -> None:
        manifest["policy"]["secrets"]["age"] = "public"

    rewrite(written, weaken)
    assert "policy hash" in failed(written)


def test_answers_that_do_not_follow_are_noticed(written: Path) -> None:
    path = written / "answers" / "men.parquet"
    pl.DataFrame({"count": [1], "lower": [0], "upper": [2], "measured": [1.0]}).write_parquet(path)
    rewrite(written, lambda manifest: manifest["files"].update({"answers/men.parquet": file_hash(path)}))
    assert failed(written) == ["answers of men follow from its measurements"]


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"tetraodon_release": 99}', "\udcff"])
def test_what_is_no_release_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "release.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(td.errors.ReleaseError, match="Fix:"):
        td.verify(tmp_path)


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(td.errors.ReleaseError, match=r"no release\.json"):
        td.verify(tmp_path)


def rehash(path: Path) -> None:
    """What a forger does after changing a file: state its hash anew."""

    def anew(manifest: dict[str, Any]) -> None:
        manifest["files"] = {name: file_hash(path / name) for name in manifest["files"] if (path / name).is_file()}

    rewrite(path, anew)


@pytest.mark.parametrize("name", ["report.html", "README.md", "answers/ages.csv", "answers/men.parquet", "policy.yaml"])
def test_a_file_that_is_removed_with_its_hash_is_missed(written: Path, name: str) -> None:
    (written / name).unlink()
    rehash(written)
    assert failed(written) == [f"file {name}"]


def test_measurements_that_are_removed(written: Path) -> None:
    (written / "measurements" / "men.parquet").unlink()
    rehash(written)
    with pytest.raises(td.errors.ReleaseError, match="missing"):
        td.verify(written)


@pytest.mark.parametrize(
    "name", ["more.txt", "answers/extra.csv", "answers/deep/er.txt", ".hidden", "answers/release.json"]
)
def test_strangers_are_found_wherever_they_are(written: Path, name: str) -> None:
    (written / name).parent.mkdir(exist_ok=True)
    (written / name).write_text("more")
    assert failed(written) == [f"file {name}"]
    rewrite(written, lambda manifest: manifest["files"].update({name: file_hash(written / name)}))
    assert failed(written) == [f"file {name}"]


def test_empty_folders_are_strangers_too(written: Path) -> None:
    (written / "audited").mkdir()
    assert failed(written) == ["file audited"]


def link(path: Path, other: Path) -> None:
    path.symlink_to(other)


def pipe(path: Path, other: Path) -> None:  # noqa: ARG001
    os.mkfifo(path)


@pytest.mark.parametrize("make", [link, pipe])
@pytest.mark.parametrize(
    "name", ["report.html", "answers/ages.csv", "measurements/ages.parquet", "release.json", "new"]
)
def test_what_is_no_plain_file_is_refused(written: Path, tmp_path: Path, make: Any, name: str) -> None:
    other = tmp_path / "other"
    if (written / name).exists():
        (written / name).rename(other)
    else:
        other.touch()
    make(written / name, other)
    with pytest.raises(td.errors.ReleaseError, match="no plain file"):
        td.verify(written)


def test_a_link_to_a_folder_outside(written: Path, tmp_path: Path) -> None:
    (written / "answers").rename(tmp_path / "answers")
    (written / "answers").symlink_to(tmp_path / "answers")
    with pytest.raises(td.errors.ReleaseError, match="no plain file"):
        td.verify(written)


REPLACED = {
    "report.html": (b"A small survey", b"A large survey"),
    "README.md": (b"95%", b"99%"),
    "policy.yaml": (b"epsilon: 1", b"epsilon: 9"),
}


@pytest.mark.parametrize("name", REPLACED)
def test_pages_that_say_something_else(written: Path, name: str) -> None:
    old = (written / name).read_bytes()
    new = old.replace(*REPLACED[name])
    assert new != old
    (written / name).write_bytes(new)
    rehash(written)
    found = failed(written)
    assert len(found) == 1
    assert found[0].startswith(name)


def test_a_comment_in_the_policy_is_no_part_of_a_release(written: Path) -> None:
    with (written / "policy.yaml").open("a") as file:
        file.write("# audited, epsilon 0.001\n")
    rehash(written)
    assert failed(written) == ["policy.yaml says what the manifest says"]


def test_csv_answers_are_compared(written: Path) -> None:
    path = written / "answers" / "ages.csv"
    lines = path.read_text().splitlines()
    for changed in (lines[:-1], [*lines, lines[-1]], [lines[0], *lines[2:], lines[1]], [f"{line},1" for line in lines]):
        path.write_text("\n".join(changed) + "\n")
        rehash(written)
        assert failed(written) == ["answers of ages follow from its measurements"]


@pytest.mark.parametrize("more", [{"extra": [1]}, {}])
def test_extra_columns_and_rows_are_refused(written: Path, more: dict[str, list[int]]) -> None:
    path = written / "answers" / "men.parquet"
    frame = pl.read_parquet(path)
    pl.concat([frame] * (1 if more else 2)).with_columns(**{k: pl.Series(v) for k, v in more.items()}).write_parquet(
        path
    )
    rehash(written)
    with pytest.raises(td.errors.ReleaseError, match="it should"):
        td.verify(written)


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": "another"},
        {"title": "Another survey"},
        {"date": "2999-01-01"},
        {"date": "yesterday"},
        {"date": None},
        {"charged": "little"},
        {"charged": "-1"},
        {"charged": "1/0"},
        {"charged": 1},
        {"inference": "by an oracle"},
        {"errors_together": {"ages": 0.1}},
        {"audited_by": "somebody"},
        {"tetraodon_release": True},
    ],
    ids=repr,
)
def test_statements_that_do_not_follow(written: Path, change: dict[str, Any]) -> None:
    rewrite(written, lambda manifest: manifest.update(change))
    assert "the manifest says what follows" in failed(written)


def test_pages_of_another_version_are_made_again_and_fail_where_they_differ(written: Path) -> None:
    rewrite(written, lambda manifest: manifest.update(software="tetraodon 0.0.1"))
    assert failed(written) == []
    (written / "report.html").write_text("epsilon 0.001 <script>alert(1)</script>")
    rehash(written)
    wrong = [check for check in td.verify(written) if not check.passed and "signature" not in check.what]
    assert [check.what for check in wrong] == ["report.html is what follows from the manifest"]
    assert wrong[0].other_version
    rewrite(written, lambda manifest: manifest.update(software=software()))
    wrong = [check for check in td.verify(written) if check.what == wrong[0].what]
    assert not wrong[0].passed
    assert not wrong[0].other_version


def test_numbers_in_neighbouring_cells_are_not_one_number(tmp_path: Path) -> None:
    """Why  a row was read as one number with thousands separators, and compared with a small tolerance."""
    mine = 'age,"sex",count,lower,upper\n30,"x",18,13,25,18.17\n'
    for forged in ("12340,30,18,13,25,18.17", "30,18,13,26,18.17", "30,18,13,25,18.18", '"30",18,13,25,18.17'):
        (tmp_path / "a.csv").write_text(f"{forged}\n")
        assert not same_cells(tmp_path / "a.csv", "30,18,13,25,18.17\n")
    assert not same_cells(tmp_path / "a.csv", mine)
    (tmp_path / "a.csv").write_text(mine.replace("18.17", "18.17000001"))
    assert same_cells(tmp_path / "a.csv", mine)
    (tmp_path / "a.svg").write_text("M12341,20L30.5,40.25")
    assert not same_text(tmp_path / "a.svg", "M12340,20L30.5,40.25")


def test_invented_measurements_are_said_to_be_beyond_it(written: Path) -> None:
    """Nothing but a signature can tell them: a folder made around invented numbers is a folder."""
    release = td.load_release(written)
    measured = {name: tuple(array * 0 + 7 for array in arrays) for name, arrays in release.measured.items()}
    shutil.rmtree(written)
    written.mkdir()
    fill_folder(infer(release.plan, measured, release.when, release.charged), written)
    assert failed(written) == []
    assert "invents numbers" in NOT_CHECKED[0]


@pytest.mark.parametrize(
    ("mine", "theirs", "same"),
    [
        ("about 12.5 rows", "about 12.5 rows", True),
        ("about 12.50000001 rows", "about 12.5 rows", True),
        ("about 12.6 rows", "about 12.5 rows", False),
        ("about 12 rows", "about 13 rows", False),
        ("about 1,000,000 rows", "about 1,000,001 rows", False),
        ("about 12.5 rows", "about 12.5 lines", False),
        ("1.0", "1.0" + " " * 5000, False),
        ("the hash ab0e5", "the hash ab0e6", False),
        ("the hash ab7e987", "the hash ab7e988", False),
    ],
)
def test_texts_may_differ_in_last_digits_only(tmp_path: Path, mine: str, theirs: str, same: bool) -> None:
    (tmp_path / "a.txt").write_text(theirs)
    assert same_text(tmp_path / "a.txt", mine) is same
