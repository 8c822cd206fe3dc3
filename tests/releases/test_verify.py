"""Folders that strangers may have written."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.policies import policy_document

import tetraodon as td
from tetraodon.errors import ReleaseError
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.pufferfish import Additive, Channel, DiscreteLaplace, World, named, verify
from tetraodon.releases import plan as planning
from tetraodon.releases import untrusted_parquet as foreign_parquet
from tetraodon.releases.folder import file_hash, fill_folder, plan_from_manifest, read_manifest, software
from tetraodon.releases.plan import PlannedItem
from tetraodon.releases.release import infer
from tetraodon.releases.untrusted_parquet import parquet_rows, read_columns, read_table, same_columns
from tetraodon.releases.verify import NOT_CHECKED, same_cells, same_text

# -- verify -----------------------------------------------------------------------------------------
# Verification believes nothing: it recomputes, and notices every change.


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


# -- manifest ---------------------------------------------------------------------------------------
# release.json is not believed, and costs nothing before its sizes are known.


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("made")
    policy = td.load_policy(
        policy_document(
            attributes={"x": {"integer": [0, 5]}},
            secrets={"x": {"within": 1}},
            release=[{"name": "h", "histogram": "x", "bins": {"x": [[0, 2], [3, 5]]}}],
        )
    )
    with td.Ledger(home / "ledger.db") as book:
        book.open("d", 1, policy.document)
        td.release(td.plan(policy), pl.DataFrame({"x": [1, 2, 3]}), ledger=book, out=home / "release")
    return home / "release"


def test_the_plan_is_the_one_that_was_made(made: Path) -> None:
    manifest = read_manifest(made, "release")
    plan = plan_from_manifest(manifest, made)
    assert str(plan.epsilon) == "1"
    assert plan["h"].strategy.table[0].labels == ("0..2", "3..5")


def test_loading_plans_nothing_and_verifying_plans_the_baseline_again(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = []
    choose = planning.choose
    monkeypatch.setattr(planning, "choose", lambda *given: planned.append(given) or choose(*given))
    loaded = td.load_release(made).plan["h"]
    assert planned == []
    again = plan_from_manifest(read_manifest(made, "release"), made)["h"]
    assert len(planned) == 1
    assert (loaded.baseline_error, loaded.baseline) == (again.baseline_error, again.baseline)


@pytest.mark.parametrize("stated", [None, "8", True, -1, float("nan"), float("inf")])
def test_a_baseline_that_is_no_number_is_refused(made: Path, stated: Any) -> None:
    manifest = json.loads((made / "release.json").read_text())
    manifest["plan"]["queries"][0]["baseline_error"] = stated
    with pytest.raises(td.errors.ReleaseError, match="does not describe a release"):
        plan_from_manifest(manifest, made, believed=True)


def wide(manifest: dict[str, Any]) -> None:
    manifest["policy"]["attributes"][0]["integer"] = [0, 10**17]


def many_bins(manifest: dict[str, Any]) -> None:
    manifest["plan"]["queries"][0]["measurements"][0]["by"][0]["bins"] = [0, 0, 0, 10**9, 10**9, 10**9]


def other_labels(manifest: dict[str, Any]) -> None:
    [item] = manifest["plan"]["queries"]
    for split in (item["table"][0], item["measurements"][0]["by"][0]):
        split["labels"] = ["3..5", "0..2"]


def much_noise(manifest: dict[str, Any]) -> None:
    manifest["plan"]["queries"][0]["measurements"][0]["noise"]["scale"] = "1e999999999"


def another_item(manifest: dict[str, Any]) -> None:
    manifest["plan"]["queries"][0]["name"] = "../../h"


def a_file(manifest: dict[str, Any]) -> None:
    manifest["policy"]["known"] = [{"table": "/dev/zero"}]


def no_policy(manifest: dict[str, Any]) -> None:
    manifest["policy"] = "people.policy.yaml"


def many_measurements(manifest: dict[str, Any]) -> None:
    measured = manifest["plan"]["queries"][0]["measurements"]
    measured *= 10_000


@pytest.mark.parametrize(
    "change",
    [wide, many_bins, other_labels, much_noise, another_item, a_file, no_policy, many_measurements],
)
def test_other_statements_are_refused(made: Path, change: Callable[[dict[str, Any]], None]) -> None:
    manifest = json.loads((made / "release.json").read_text())
    change(manifest)
    with pytest.raises(td.errors.TetraodonError, match="Fix:"):
        plan_from_manifest(manifest, made)


def test_measurements_that_are_missing(made: Path, tmp_path: Path) -> None:
    with pytest.raises(td.errors.ReleaseError, match="missing"):
        plan_from_manifest(read_manifest(made, "release"), tmp_path)


# -- foreign parquet --------------------------------------------------------------------------------
# A stranger's Parquet file is read only as far as it is what it should be.

KINDS = {"n": "i", "word": "O"}
COLUMNS = {"n": np.array([1, 2, 3]), "word": np.array(["a", "b", "a"], object)}


def put(path: Path, **columns: Any) -> Path:
    parquet.write_table(pa.table(columns or {name: list(column) for name, column in COLUMNS.items()}), path)
    return path


def test_what_it_should_be_is_read(tmp_path: Path) -> None:
    path = put(tmp_path / "x.parquet")
    assert parquet_rows(path) == 3
    found = read_columns(path, KINDS, 3)
    assert {name: column.tolist() for name, column in found.items()} == {"n": [1, 2, 3], "word": ["a", "b", "a"]}
    assert same_columns(path, COLUMNS)


def test_a_footer_of_many_row_groups_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Why  it was parsed again for every row group, which took 15 s for a file of 1.3 MB."""
    parsed = []
    read = parquet.read_metadata
    monkeypatch.setattr(parquet, "read_metadata", lambda path: parsed.append(path) or read(path))
    parquet.write_table(pa.table({"n": list(range(50))}), tmp_path / "x.parquet", row_group_size=1)
    assert parquet_rows(tmp_path / "x.parquet") == 50
    assert len(parsed) == 1
    assert len(read_columns(tmp_path / "x.parquet", {"n": "i"}, 50)["n"]) == 50
    assert len(parsed) == 2


@pytest.mark.parametrize("changed", [{"n": np.array([1, 2, 4])}, {"word": np.array(["a", "b", "b"], object)}])
def test_another_value_is_noticed(tmp_path: Path, changed: dict[str, Any]) -> None:
    assert not same_columns(put(tmp_path / "x.parquet"), COLUMNS | changed)


def test_numbers_may_differ_in_their_last_digits_only(tmp_path: Path) -> None:
    path = put(tmp_path / "x.parquet", x=[0.1, 2.0])
    assert same_columns(path, {"x": np.array([0.1 + 1e-15, 2.0])})
    assert not same_columns(path, {"x": np.array([0.1001, 2.0])})


@pytest.mark.parametrize(
    "columns",
    [
        {"n": [1, 2, 3, 4], "word": list("abab")},
        {"n": [1, 2, 3]},
        {"n": [1, 2, 3], "word": list("aba"), "more": [1, 2, 3]},
        {"word": list("aba"), "n": [1, 2, 3]},
        {"n": [1.0, 2.0, 3.0], "word": list("aba")},
        {"n": [1, None, 3], "word": list("aba")},
        {"n": [1, 2, 3], "word": ["a", None, "b"]},
        {"n": [1, 2, 3], "word": [1, 2, 3]},
    ],
    ids=repr,
)
def test_anything_else_is_refused(tmp_path: Path, columns: dict[str, Any]) -> None:
    with pytest.raises(ReleaseError, match="Fix:"):
        read_columns(put(tmp_path / "x.parquet", **columns), KINDS, 3)


def test_long_texts_are_not_unfolded(tmp_path: Path) -> None:
    """Two hundred thousand times a megabyte, in some kilobytes: refused by its dictionary."""
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(200_000, np.int32)), pa.array(["x" * 40_000_000]))
    path = put(tmp_path / "x.parquet", n=np.zeros(200_000, np.int64), word=texts)
    with pytest.raises(ReleaseError, match="longer texts"):
        read_columns(path, KINDS, 200_000)


def test_a_page_that_unfolds_without_measure_is_refused_by_the_footer(tmp_path: Path) -> None:
    path = put(tmp_path / "x.parquet", n=[1], word=pa.array(["x" * 200_000_000]))
    with pytest.raises(ReleaseError, match="rows than it should"):
        read_columns(path, KINDS, 1)


@pytest.mark.parametrize(
    "content", [b"", b"not parquet", b"PAR1" + b"\xff" * 8, b"PAR1" + b"x" * 50 + b"\xff\xff\xff\x7fPAR1"]
)
def test_what_is_no_parquet(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.parquet").write_bytes(content)
    with pytest.raises(ReleaseError, match="cannot be read"):
        parquet_rows(tmp_path / "x.parquet")


def test_a_long_file_is_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_parquet, "BATCH", 2)
    assert same_columns(put(tmp_path / "x.parquet"), COLUMNS)
    assert not same_columns(tmp_path / "x.parquet", COLUMNS | {"n": np.array([1, 2, 4])})


def test_any_table_is_read_up_to_a_size(tmp_path: Path) -> None:
    path = tmp_path / "any.parquet"
    made = pa.table({"a": [1, 2, 3], "b": ["x", "yy", None]})
    parquet.write_table(made, path)
    found = read_table(path, values=6, texts=3)
    assert found.column("a").to_pylist() == [1, 2, 3]
    assert found.column("b").to_pylist() == ["x", "yy", None]
    with pytest.raises(ReleaseError, match="more values"):
        read_table(path, values=5, texts=3)
    with pytest.raises(ReleaseError, match="longer texts"):
        read_table(path, values=6, texts=2)
    path.write_bytes(b"PAR1nothingPAR1")
    with pytest.raises(ReleaseError, match="cannot be read"):
        read_table(path, values=6, texts=3)


# -- verified plans ---------------------------------------------------------------------------------
# Every mechanism that a plan can choose, put before the verifier: it keeps its stated epsilon and no smaller one.

RELEASE = [
    {"name": "cells", "histogram": "x"},
    {"name": "running", "cdf": "x"},
    {"name": "wide", "ranges": "x"},
    {"name": "sum", "total": "x"},
    {"name": "some", "count": "x < 3"},
]


def policy(top: int, secrets: Any, presence: str) -> td.Policy:
    return td.load_policy(
        policy_document(
            dataset="tiny",
            presence=presence,
            attributes={"x": {"integer": [0, top]}},
            secrets={"x": secrets},
            release=RELEASE,
        )
    )


CASES = {
    "all": policy(7, "everything", "public"),
    "all, presence too": policy(5, "everything", "secret"),
    "near": policy(7, {"within": 1}, "public"),
    "wide": policy(19, {"within": 5}, "public"),
    "long": policy(39, {"within": 3}, "public"),
    "blocks": policy(7, {"blocks": [[0, 2], [3, 7]]}, "public"),
}


def answers(item: PlannedItem, domain: td.research.Domain, *, noisy: bool) -> tuple[Any, list[Fraction]]:
    """What an item measures with noise, or without, as a function of a dataset of records; and its scales."""
    rows = [
        (row, m.scale)
        for m in item.measurements
        if (m.scale > 0) == noisy
        for row in m.query.matrix(domain)[0].tolist()
    ]

    def asked(dataset: Any) -> tuple[int, ...]:
        cells = [domain.cell(record) for record in dataset if record is not ABSENT]
        return tuple(sum(row[cell] for cell in cells) for row, _ in rows)

    return asked, [scale for _, scale in rows]


@pytest.mark.parametrize("name", CASES)
def test_every_item_loses_what_its_certificate_says(name: str) -> None:
    planned = td.plan(CASES[name])
    world = World.of_domain(CASES[name].domain, individuals=1, absent=CASES[name].presence == "secret")
    for item in planned:
        promise = named.blowfish(CASES[name], epsilon=item.epsilon)
        told, _ = answers(item, CASES[name].domain, noisy=False)
        exact = verify(Channel.of(lambda dataset, asked=told: {asked(dataset): 1}, world), promise)
        assert exact.odds == 1, "what is told without noise must not move along an edge"
        query, scales = answers(item, CASES[name].domain, noisy=True)
        if not scales:
            assert item.epsilon == 0
            continue
        mechanism = Additive(query, tuple(map(DiscreteLaplace, scales)), world)
        verdict = verify(mechanism, promise)
        assert verdict.lower == verdict.upper == item.epsilon
        assert verdict.holds
        assert verify(mechanism, promise.at(item.epsilon * Fraction(99, 100))).holds is False


def test_no_mechanism_is_left_out() -> None:
    chosen = {item.mechanism for case in CASES.values() for item in td.plan(case)}
    assert chosen >= {"exact", "identity", "ordered", "hierarchical", "weighted", "direct"}
