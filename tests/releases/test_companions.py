"""What stands beside the answers is part of the folder: made again, compared, all of it or none."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import nbclient
import nbformat
import polars as pl
import pytest
from tests.releases.conftest import POLICY
from tests.releases.made import release_with, silent

import tetraodon as td
from tetraodon.releases.folder import NOTEBOOK, companion_names, companion_texts, file_hash, notebook_text


@pytest.fixture
def written(policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger, tmp_path: Path) -> Path:
    td.release(policy, table, ledger=ledger, out=tmp_path / "out")
    return tmp_path / "out"


def failed(folder: Path) -> list[str]:
    return [check.what for check in td.verify(folder) if not check.passed]


def stated_again(folder: Path, name: str) -> None:
    """A forger writes the hash of a changed file into release.json, or leaves out that of one that is gone."""
    manifest = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    manifest["files"].pop(name)
    if (folder / name).exists():
        manifest["files"][name] = file_hash(folder / name)
    (folder / "release.json").write_text(json.dumps(manifest), encoding="utf-8")


def test_they_are_in_the_folder_as_the_release_makes_them(written: Path) -> None:
    release = td.load_release(written)
    texts = companion_texts(release)
    assert tuple(texts) == companion_names(release.plan)
    assert all((written / name).read_text(encoding="utf-8") == text for name, text in texts.items())
    assert failed(written) == []


def test_one_that_says_something_else_is_found(written: Path) -> None:
    for name in companion_names(td.load_release(written).plan):
        before, signed = (written / name).read_bytes(), (written / "release.json").read_bytes()
        (written / name).write_bytes(before.replace(b'"', b'"x', 1))
        assert f"file {name}" in failed(written)
        stated_again(written, name)
        assert f"{name} is what follows from the manifest" in failed(written)
        (written / name).write_bytes(before)
        (written / "release.json").write_bytes(signed)


def test_a_folder_of_earlier_days_has_none_of_them_and_one_alone_is_not_enough(written: Path) -> None:
    first, *others = companion_names(td.load_release(written).plan)
    for name in others:
        (written / name).unlink()
        stated_again(written, name)
    assert {f"file {name}" for name in others} <= {*failed(written)}
    (written / first).unlink()
    stated_again(written, first)
    assert not [what for what in failed(written) if what.startswith("file ")]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_it_runs_in_the_folder_and_shows_every_answer(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):  # what the kernel writes for itself
        monkeypatch.setenv(name, str(tmp_path / name))
    budget, items = {"epsilon": 2, "delta": "1e-6"}, [*POLICY["release"], {"name": "words", "names": "word"}]
    attributes = {**POLICY["attributes"], "word": {"open": "text"}}
    policy = td.load_policy({**POLICY, "attributes": attributes, "budget": budget, "release": items})
    with td.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open(policy.dataset, 2, policy, delta="1e-6")
        td.release(policy, table.with_columns(word=pl.lit("often")), ledger=ledger, out=tmp_path / "out")
    notebook = nbformat.read(tmp_path / "out" / NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    place = {"metadata": {"path": str(tmp_path / "out")}}
    nbclient.NotebookClient(notebook, timeout=300, startup_timeout=300, resources=place).execute()
    shown = {
        cell.source: "".join(output.data["text/html"] for output in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code"
    }
    assert "the promise" in next(iter(shown.values()))
    assert list(shown)[1:] == [*(f'release["{item.name}"]' for item in policy.items), 'release.names["words"]']
    assert "<td" in shown['release.names["words"]']
    assert "often" in shown['release.names["words"]']
    charts = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', shown['release["ages"]'])
    assert [base64.b64decode(chart)[:4] for chart in charts] == [b"<svg"]
    assert all(check.passed for check in td.verify(tmp_path / "out")), "running it changes nothing in the folder"


def test_words_of_the_policy_are_not_read_as_html(table: pl.DataFrame) -> None:
    title = "<img src=x onerror=alert(1)>"
    made = release_with(td.load_policy({**POLICY, "title": title}), table, silent)
    notebook = nbformat.reads(notebook_text(made), as_version=4)
    assert title not in notebook_text(made)
    assert notebook.cells[0].source.startswith("# &lt;img")


def test_the_same_release_makes_the_same_notebook(policy: td.Policy, table: pl.DataFrame) -> None:
    made = release_with(policy, table, silent)
    assert notebook_text(made) == notebook_text(made)
