"""A view folder is checked without the data."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars
import polars as pl
import pytest

import tetraodon as td
from tests.views.test_publish import POLICY, people
from tetraodon.ledger import document_hash
from tetraodon.policy.load import load_policy
from tetraodon.releases.folder import file_hash
from tetraodon.untrusted_files import plain_files
from tetraodon.views import folder
from tetraodon.views import verify as stated_rows
from tetraodon.views.plan import plan_view
from tetraodon.views.tuple_files import write_tuples, write_view
from tetraodon.views.verify import NotTuples, check_rows, stated_cells


@pytest.fixture
def view(tmp_path: Path) -> Path:
    policy = td.load_policy(POLICY)
    with td.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open(policy.dataset, 20, policy.document)
    td.publish(policy, people(), ledger=str(tmp_path / "ledger.db"), accept_exposure=True, out=tmp_path / "view")
    return tmp_path / "view"


def failed(view: Path) -> list[str]:
    """What fails beside the signature, which no change of a manifest survives."""
    found = [check.what for check in td.verify(view) if not check.passed]
    return [what for what in found if not what.startswith("signature: ")]


def rewritten(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((folder / "view.json").read_text())
    change(manifest)
    manifest["policy_sha256"] = document_hash(manifest["policy"])
    (folder / "view.json").write_text(json.dumps(manifest))


def test_a_view_as_published_holds(view: Path) -> None:
    assert failed(view) == []
    assert "probabilities withstand the adversary" in [check.what for check in td.verify(view)]


FORGED = {
    "policy.yaml": b"epsilon:",
    "estimate.sql": b"SELECT",
    "report.html": b"view",
    "README.md": b"view",
    "tuples.csv": b"a",
}


@pytest.mark.parametrize("name", FORGED)
def test_every_text_is_made_again(view: Path, name: str) -> None:
    word = FORGED[name]
    content = (view / name).read_bytes()
    assert word in content
    (view / name).write_bytes(content.replace(word, word + b"x" if name != "policy.yaml" else b"epsilon: 99 #", 1))
    rewritten(view, lambda m: m["files"].update({name: file_hash(view / name)}))
    assert [what.split()[0] for what in failed(view)] == [name]


@pytest.mark.parametrize("name", ["report.html", "README.md", "estimate.sql", "tuples.csv", "policy.yaml"])
def test_a_file_that_is_removed_with_its_hash_is_missed(view: Path, name: str) -> None:
    (view / name).unlink()
    rewritten(view, lambda m: m["files"].pop(name))
    assert failed(view) == [f"file {name}"]


@pytest.mark.parametrize(
    "change", [{"name": "another"}, {"title": "Another"}, {"date": "2999-12-31"}, {"charged": "-3"}, {"more": 1}]
)
def test_statements_that_do_not_follow(view: Path, change: dict[str, Any]) -> None:
    rewritten(view, lambda manifest: manifest.update(change))
    assert "the manifest says what follows" in failed(view)


def forged_rows(view: Path, rows: polars.DataFrame) -> None:
    rows.write_parquet(view / "tuples.parquet")
    rewritten(view, lambda m: m["files"].update({"tuples.parquet": file_hash(view / "tuples.parquet")}))


def test_rows_in_another_order_more_rows_and_more_columns(view: Path) -> None:
    rows = polars.read_parquet(view / "tuples.parquet")
    for other in (rows.reverse(), polars.concat([rows, rows[-1:]]), rows.with_columns(more=1), rows[:-1]):
        forged_rows(view, other)
        assert failed(view) == ["the rows are tuples of the domain"]


def test_far_more_rows_than_can_be_are_not_read(view: Path) -> None:
    rows = polars.read_parquet(view / "tuples.parquet")
    forged_rows(view, polars.concat([rows[:1]] * 100_000))
    rewritten(view, lambda m: m.update(tuples=100_000))
    assert "the rows are tuples of the domain" in failed(view)


def test_changed_and_foreign_files_are_found(view: Path) -> None:
    (view / "tuples.csv").write_text("age\n")
    (view / "more.txt").write_text("more")
    assert failed(view) == ["file tuples.csv", "file more.txt"]


def test_other_probabilities_are_found(view: Path) -> None:
    manifest = json.loads((view / "view.json").read_text())
    manifest["channel"]["keep"] = manifest["plan"]["channel"]["keep"] = "4/5"
    (view / "view.json").write_text(json.dumps(manifest))
    assert failed(view)[0] == "probabilities withstand the adversary"


def test_a_weaker_adversary_is_found(view: Path) -> None:
    manifest = json.loads((view / "view.json").read_text())
    manifest["policy"]["adversary"]["posterior"] = "0.9"
    (view / "view.json").write_text(json.dumps(manifest))
    assert failed(view) == ["policy hash", "probabilities withstand the adversary"]


def test_a_manifest_without_a_plan_is_refused(view: Path) -> None:
    manifest = json.loads((view / "view.json").read_text())
    del manifest["plan"]
    (view / "view.json").write_text(json.dumps(manifest))
    with pytest.raises(td.errors.ReleaseError, match="does not fit together"):
        td.verify(view)


def test_every_view_of_a_series_holds(tmp_path: Path) -> None:
    policy = td.load_policy({**POLICY, "adversary": {"prior": {"d": "0.02"}, "posterior": 0.9, "views": 2}})
    with td.Ledger(tmp_path / "ledger.db") as book:
        book.open("people", 100, policy.document)
        for _ in range(2):
            td.publish(policy, people(), ledger=book, accept_exposure=True, out=tmp_path / "series")
    assert failed(tmp_path / "series" / "view-1") == failed(tmp_path / "series" / "view-2") == []


def test_less_noise_than_was_promised(view: Path) -> None:
    def less(manifest: dict[str, Any]) -> None:
        for channel in (manifest["channel"], manifest["plan"]["channel"]):
            channel["noise"], channel["added_per_tuple"] = "1/10", "1/9"

    rewritten(view, less)
    assert failed(view)[0] == "probabilities withstand the adversary"


def test_another_number_of_records(view: Path) -> None:
    rewritten(view, lambda manifest: manifest.update(n=119))
    assert failed(view) == ["probabilities withstand the adversary"]


def test_rows_that_are_no_tuples(view: Path) -> None:
    rows = polars.read_parquet(view / "tuples.parquet")
    rows.with_columns(age=polars.lit(1)).write_parquet(view / "tuples.parquet")
    rewritten(view, lambda m: m["files"].update({"tuples.parquet": file_hash(view / "tuples.parquet")}))
    assert failed(view) == ["the rows are tuples of the domain"]


def test_another_version(view: Path) -> None:
    rewritten(view, lambda manifest: manifest.update(tetraodon_view=2))
    with pytest.raises(td.errors.ReleaseError, match="another version"):
        td.verify(view)


# -- stated rows -------------------------------------------------------------------------------------
# Rows are read back as the cells that were written, and as nothing else.

PEOPLE: dict[str, Any] = {
    "dataset": "d",
    "attributes": {
        "word": ["a", "b", "c"],
        "yes": "boolean",
        "n": {"integer": [-5, 5]},
        "real": {"real": ["-0.3", "0.3"], "step": "0.1"},
        "day": {"date": ["1969-12-30", "1970-01-03"]},
    },
    "budget": {"epsilon": 20},
    "adversary": {"prior": {"d": "0.02"}, "posterior": "0.9"},
}
DOMAIN = td.load_policy(PEOPLE).domain


@pytest.fixture
def written(tmp_path: Path) -> Path:
    write_tuples(DOMAIN, [np.arange(DOMAIN.size, dtype=np.uint64)], tmp_path / "tuples.parquet")
    return tmp_path / "tuples.parquet"


def test_every_cell_reads_back(written: Path) -> None:
    found = np.concatenate(list(stated_cells(written, DOMAIN, DOMAIN.size)))
    assert found.tolist() == list(range(DOMAIN.size))


@pytest.mark.parametrize(
    "change",
    [
        {"word": pl.lit("d")},
        {"n": pl.lit(6, pl.Int64)},
        {"n": pl.lit(-(2**63), pl.Int64)},
        {"real": pl.lit(0.05)},
        {"real": pl.lit(float("nan"))},
        {"real": pl.lit(float("inf"))},
        {"day": pl.lit("1971-01-01").str.to_date()},
        {"yes": pl.lit(None, pl.Boolean)},
        {"n": pl.lit("1")},
    ],
)
def test_other_values_are_no_tuples(written: Path, change: dict[str, Any]) -> None:
    rows = pl.read_parquet(written)
    rows.with_columns(**change).write_parquet(written)
    with pytest.raises(NotTuples):
        list(stated_cells(written, DOMAIN, DOMAIN.size))


def test_the_number_of_rows_must_be_possible(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_view(td.load_policy(PEOPLE))
    assert not check_rows(written, plan, -1).passed
    assert not check_rows(written, plan, 10**9).passed
    assert not check_rows(written, plan, DOMAIN.size - 1).passed
    assert check_rows(written, plan, DOMAIN.size).passed
    monkeypatch.setattr(stated_rows, "DENSE", 1)
    monkeypatch.setattr(stated_rows, "PER_BYTE", 1e-6)
    assert not check_rows(written, plan, DOMAIN.size).passed


# -- folder ------------------------------------------------------------------------------------------


def test_long_views_have_no_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "CSV_ROWS", 2)
    plan = plan_view(load_policy(POLICY))
    drawn, out = tmp_path / "drawn", tmp_path / "out"
    drawn.mkdir()
    out.mkdir()
    write_view(drawn, plan.policy.domain, [np.arange(3, dtype=np.uint64)])
    folder.fill_folder(out, plan, drawn, side={}, charged="1", when="2026-01-01")
    names = ["README.md", "estimate.sql", "policy.yaml", "report.html", "tuples.parquet"]
    assert list(plain_files(out)) == [*names, "view.json"] == [*folder.file_names(3, {}, False), "view.json"]
