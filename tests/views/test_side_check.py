"""The protected table does not travel with its view, in whatever form."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars
import pytest

import tetraodon as td
from tests.views.test_publish import POLICY, people
from tetraodon.engine import DataRefusal
from tetraodon.errors import PolicyError

FORMS: dict[str, Callable[[Path], None]] = {
    "raw.csv": lambda place: people().write_csv(place / "raw.csv"),
    "raw.parquet": lambda place: people().write_parquet(place / "raw.parquet"),
    "shuffled.csv": lambda place: people().sample(fraction=1, shuffle=True, seed=1).write_csv(place / "shuffled.csv"),
    "more.csv": lambda place: people().with_columns(z=polars.lit(1)).write_csv(place / "more.csv"),
    "less.csv": lambda place: people().select("score", "age").write_csv(place / "less.csv"),
}


def publish(place: Path, public: str) -> td.View:
    people().write_csv(place / "table.csv")
    (place / "policy.yaml").write_text(json.dumps({**POLICY, "public": {"raw": public}}))
    policy = td.load_policy(place / "policy.yaml")
    with td.Ledger(place / "ledger.db") as book:
        book.open("people", 20, policy.document)
        try:
            return td.publish(policy, place / "table.csv", ledger=book, accept_exposure=True, out=place / "view")
        except (PolicyError, DataRefusal):
            assert not book.entries("people")
            raise


def test_its_own_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="the table that is to be protected"):
        publish(tmp_path, "table.csv")
    assert not (tmp_path / "view").exists()


@pytest.mark.parametrize("form", FORMS)
def test_a_copy_is_refused(tmp_path: Path, form: str) -> None:
    FORMS[form](tmp_path)
    with pytest.raises((PolicyError, DataRefusal), match="to be protected"):
        publish(tmp_path, form)
    assert not (tmp_path / "view").exists()


def test_a_lookup_table_is_not(tmp_path: Path) -> None:
    (tmp_path / "regions.csv").write_text("nation,gdp\nI,5000\nA,9000\n")
    assert publish(tmp_path, "regions.csv").public["raw"].read_text().startswith("nation,gdp")
