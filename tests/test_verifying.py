"""`verify` checks a folder, of a release or a view, and says whose it is."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import polars
import pytest

import tetraodon as td


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(td.errors.ReleaseError, match=r"no release\.json"):
        td.verify(tmp_path)
    with pytest.raises(td.errors.ReleaseError, match=r"no release\.json"):
        td.verify(str(tmp_path))


def test_a_mechanism_is_verified_under_another_name() -> None:
    with pytest.raises(td.errors.QueryError, match=r"no folder. Fix: write td\.pufferfish\.verify"):
        td.verify(lambda data: data)  # type: ignore[arg-type]


@pytest.fixture
def office(tmp_path: Path) -> tuple[Path, td.Ledger]:
    """A folder that an office has signed, and its ledger."""
    policy = td.load_policy(
        {
            "dataset": "d",
            "attributes": {"x": ["a", "b"]},
            "budget": {"epsilon": 1},
            "release": [{"name": "xs", "histogram": "x"}],
        }
    )
    book = td.Ledger(tmp_path / "office.db")
    book.open("d", "1.5", policy)
    td.release(td.plan(policy), polars.DataFrame({"x": ["a", "b", "b"]}), ledger=book, out=tmp_path / "out")
    return tmp_path / "out", book


def said(folder: Path, **options: Any) -> tuple[bool, str]:
    checks = td.verify(folder, **options)
    (signature,) = [check for check in checks if check.what.startswith("signature: ")]
    return all(check.passed for check in checks), signature.what.removeprefix("signature: ")


def test_a_folder_says_whose_it_is(office: tuple[Path, td.Ledger], tmp_path: Path) -> None:
    folder, book = office
    (key,) = book.keys()
    (tmp_path / "office.pem").write_text(key.pem)
    assert said(folder) == (True, "signed, but by a key that you have not named")
    assert said(folder, key=tmp_path / "office.pem") == (True, "signed by the key that you named")
    assert said(folder, key="00" * 32) == (False, "signed by another key than the one that you named")
    manifest = json.loads((folder / "release.json").read_text())
    assert manifest["ledger"]["chain"] == book.audit().charges[1]
    assert book.entries("d")[0].manifest_hash == hashlib.sha256((folder / "release.json").read_bytes()).hexdigest()


def test_a_folder_made_anew_is_not_the_offices(office: tuple[Path, td.Ledger]) -> None:
    """Why  invented numbers, with everything that follows from them, are a folder that holds; but not a signed one."""
    folder, book = office
    path = folder / "release.json"
    manifest = json.loads(path.read_text())
    for change in ({"title": "Another"}, {"date": "2020-01-01"}, {"ledger": {**manifest["ledger"], "entry": 3}}):
        path.write_text(json.dumps({**manifest, **change}, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
        assert said(folder) == (False, "signature.json does not sign this release.json")
    (folder / "signature.json").unlink()
    manifest["ledger"]["key"] = None
    path.write_text(json.dumps(manifest, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    assert said(folder) == (True, "unsigned, so that anybody may have written this folder")
    assert said(folder, key=book.keys()[0].text)[0] is False


def test_without_the_private_key_it_is_written_and_says_that_it_is_unsigned(
    office: tuple[Path, td.Ledger], tmp_path: Path
) -> None:
    folder, book = office
    (tmp_path / "office.key").unlink()
    policy = td.load_policy(
        json.loads((folder / "release.json").read_text())["policy"] | {"budget": {"epsilon": "1/2"}}
    )
    td.release(td.plan(policy), polars.DataFrame({"x": ["a", "b", "b"]}), ledger=book, out=tmp_path / "next")
    assert not (tmp_path / "next" / "signature.json").exists()
    assert said(tmp_path / "next") == (True, "unsigned, so that anybody may have written this folder")
