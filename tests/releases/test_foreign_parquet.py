"""A stranger's Parquet file is read only as far as it is what it should be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tetraodon.errors import ReleaseError
from tetraodon.releases import untrusted_parquet as foreign_parquet
from tetraodon.releases.untrusted_parquet import parquet_rows, read_columns, read_table, same_columns

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
