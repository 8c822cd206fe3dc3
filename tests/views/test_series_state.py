"""A series is published month by month, refuses other terms and more views than planned, and survives a crash."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars
import pytest

import tetraodon as td
from tests.views.test_publish import POLICY, people
from tetraodon.views.series_state import shown_cells

TERMS: dict[str, Any] = {"prior": {"d": "0.02"}, "posterior": 0.6, "views": 3}
SERIES = {**POLICY, "adversary": TERMS, "budget": {"epsilon": 20}}


@pytest.fixture
def book(tmp_path: Path) -> Iterator[td.Ledger]:
    with td.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open("people", 100, td.load_policy(SERIES).document)
        yield ledger


def test_month_by_month(tmp_path: Path, book: td.Ledger) -> None:
    policy, out = td.load_policy(SERIES), tmp_path / "series"
    first = td.publish(policy, people(40), ledger=book, accept_exposure=True, out=out)
    assert first.seen is None
    second = td.publish(policy, people(60), ledger=book, accept_exposure=True, out=out)
    assert second.seen is not None
    third = td.publish(policy, people(120), ledger=book, accept_exposure=True, out=out)
    assert [path.name for path in sorted(out.glob("view-*"))] == ["view-1", "view-2", "view-3"]
    assert td.load_view(out / "view-3") == third
    assert third.ask("age < 30").interval
    shown = {row for number in (1, 2) for row in polars.read_parquet(out / f"view-{number}/tuples.parquet").rows()}
    assert third.seen is not None
    assert set(polars.read_parquet(third.seen.before).rows()) == shown
    assert not shown & set(polars.read_parquet(third.rows).rows())
    whole = polars.read_parquet(out / "view-3/tuples.parquet")
    assert len(whole) == len(polars.read_parquet(third.rows)) + len(polars.read_parquet(third.seen.rows))
    charges = {entry.charged for entry in book.entries("people")}
    assert len(charges) == 1
    assert charges == {max(first.channel.loss_replace, third.seen.channel.loss_replace)}
    with pytest.raises(td.errors.Refused, match="all 3 planned views"):
        td.publish(policy, people(), ledger=book, accept_exposure=True, out=out)
    assert len(book.entries("people")) == 3
    assert len(shown_cells(out, policy.domain)) >= len(shown)


def test_other_terms_are_refused(tmp_path: Path, book: td.Ledger) -> None:
    out = tmp_path / "series"
    td.publish(td.load_policy(SERIES), people(40), ledger=book, accept_exposure=True, out=out)
    other = td.load_policy({**SERIES, "adversary": {**TERMS, "posterior": 0.7}})
    with pytest.raises(td.errors.Refused, match="earlier views"):
        td.publish(other, people(40), ledger=book, accept_exposure=True, out=out)
    shutil.rmtree(out / "view-1")
    with pytest.raises(td.errors.ReleaseError, match="view 1 of the series is missing"):
        td.publish(td.load_policy(SERIES), people(40), ledger=book, accept_exposure=True, out=out)
    (out / "series.json").write_text("{")
    with pytest.raises(td.errors.ReleaseError, match="cannot be read"):
        td.publish(td.load_policy(SERIES), people(40), ledger=book, accept_exposure=True, out=out)


def test_a_growing_prior_is_refused(tmp_path: Path, book: td.Ledger) -> None:
    def said(records: int) -> td.Policy:
        return td.load_policy({**SERIES, "adversary": {**TERMS, "prior": {"k": 1}, "records": records}})

    td.publish(said(24), people(24), ledger=book, accept_exposure=True, out=tmp_path / "series")
    with pytest.raises(td.errors.Refused, match="has grown"):
        td.publish(said(240), people(40), ledger=book, accept_exposure=True, out=tmp_path / "series")


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, book: td.Ledger) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").touch()
    with pytest.raises(td.errors.ReleaseError, match="not a series"):
        td.publish(td.load_policy(SERIES), people(40), ledger=book, accept_exposure=True, out=tmp_path / "photos")


def test_a_view_that_was_begun_counts(tmp_path: Path, book: td.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    policy, out = td.load_policy(SERIES), tmp_path / "series"

    def full(*_: object, **__: object) -> str:
        raise OSError(28, "no space")

    with monkeypatch.context() as patch:
        patch.setattr("tetraodon.views.publish.fill_folder", full)
        with pytest.raises(td.errors.ReleaseError, match="disk is full"):
            td.publish(policy, people(40), ledger=book, accept_exposure=True, out=out)
    with pytest.raises(td.errors.ReleaseError, match="--resume"):
        td.publish(policy, people(40), ledger=book, accept_exposure=True, out=out)
    first = td.publish(policy, people(40), ledger=book, accept_exposure=True, out=out, resume=True)
    assert first.rows.parts[-2:] == ("view-1", "tuples.parquet")
    assert len(book.entries("people")) == 1
    assert (
        td.publish(policy, people(40), ledger=book, accept_exposure=True, out=out, resume=True) == first
    )  # nothing is left to be finished
    assert len(book.entries("people")) == 1
    view = td.publish(policy, people(40), ledger=book, accept_exposure=True, out=out)
    assert view.rows.parts[-3:] == ("view-2", "parts", "fresh.parquet")
    state = json.loads((out / "series.json").read_text())
    assert (state["begun"], state["published"]) == (2, [1, 2])


def test_a_view_that_was_begun_by_version_0_1_counts(tmp_path: Path, book: td.Ledger) -> None:
    """It kept nothing to be resumed, so its number is spent."""
    policy, out = td.load_policy(SERIES), tmp_path / "series"
    td.publish(policy, people(40), ledger=book, accept_exposure=True, out=out)
    state = json.loads((out / "series.json").read_text())
    (out / "series.json").write_text(json.dumps({**state, "begun": 2}))
    assert td.publish(policy, people(40), ledger=book, accept_exposure=True, out=out).rows.parts[-3] == "view-3"
