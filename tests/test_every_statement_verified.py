"""Every number and every word of a release and a view is changed, hashed and signed anew: `verify` fails each time."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars
import pyarrow
import pytest
from pyarrow import parquet

import tetraodon as td
from tests.forger import changed, forge
from tests.views.test_publish import POLICY as VIEW
from tests.views.test_publish import people

RELEASE = {
    "dataset": "d",
    "title": "A survey",
    "presence": "public",
    "attributes": {"x": ["a", "b"], "age": {"integer": [1, 3]}, "pay": {"real": [0, 1], "step": "0.5"}},
    "budget": {"epsilon": 1},
    "release": [
        {"name": "xs", "histogram": "x"},
        {"name": "upto", "cdf": "age"},
        {"name": "mean_pay", "mean": "pay"},
        {"name": "middle", "median": "age"},
        {"name": "bands", "ranges": {"age": [[1, 2]]}},
        {"name": "made", "synthetic": {"records": 20, "attributes": ["x", "age"]}},
    ],
}
NAMES = {
    "dataset": "d",
    "attributes": {"x": {"integer": [0, 1]}, "word": {"open": "text", "longest": 40}},
    "budget": {"epsilon": 1, "delta": "1e-6"},
    "release": [{"name": "words", "names": "word"}],
}
GAUSSIAN = {
    "dataset": "d",
    "attributes": {"x": ["a", "b"]},
    "budget": {"epsilon": 1, "delta": "1e-6"},
    "release": [{"name": "xs", "histogram": "x"}],
}
SERIES = {**VIEW, "adversary": {"prior": {"d": "0.02"}, "posterior": 0.9, "views": 2}}
UNPROVED = (".ledger.entry", ".ledger.when", ".ledger.delta", ".software", ".date")
"""No other part of a folder rests on these: which entry and which day a ledger has, which delta it was opened with,
what software made the folder, and the day of a view. `NOT_CHECKED` says so. Days must have been, and that of the entry
be first; a delta must be above zero where noise needs one."""
MEASURED = "measurements/"
"""Nor does anything determine the noisy numbers; a change that rounding and limits take away leaves the answers."""


KINDS = {"tables": RELEASE, "names": NAMES, "gaussian": GAUSSIAN, "view": VIEW, "series": SERIES}


@pytest.fixture(scope="module", params=KINDS.values(), ids=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("signed")
    policy = td.load_policy(request.param)
    out = place / "out"
    with td.Ledger(place / "office.db") as book:
        book.open(policy.dataset, 100, policy, delta=policy.delta)
        if policy.adversary is not None:
            for _ in range(policy.adversary.views):
                td.publish(policy, people(), ledger=book, accept_exposure=True, out=out)
        else:
            numbers = {"age": [1, 2, 3, 3] * 100, "pay": [0.0, 0.5, 1.0, 1.0] * 100}
            table = polars.DataFrame({"x": [0, 1] * 200, "word": ["often"] * 400, **numbers})
            table = table if policy.names else table.with_columns(x=polars.Series(["a", "b"] * 200))
            plan = td.plan(policy, noise="gaussian") if request.param is GAUSSIAN else td.plan(policy)
            td.release(plan, table, ledger=book, out=out)
        (place / "office.pem").write_text(book.keys()[0].pem)
    return out / "view-2" if policy.adversary is not None and policy.adversary.views > 1 else out


def manifest_of(folder: Path) -> dict[str, Any]:
    (path,) = (folder / name for name in ("release.json", "view.json") if (folder / name).exists())
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def passes(folder: Path) -> bool:
    try:
        return all(check.passed for check in td.verify(folder))
    except td.errors.TetraodonError:
        return False


def test_every_statement(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    before = manifest_of(folder)
    accepted = []
    for where, manifest in changed({key: part for key, part in before.items() if key != "files"}):
        forge(copy, {**manifest, "files": before["files"]})
        if json.loads(json.dumps(manifest_of(copy))) != before and passes(copy):
            accepted.append(where)
    restated = (".ledger.key", ".policy_sha256")  # the forger states these as they have to be
    assert [where for where in accepted if where not in (*UNPROVED, *restated)] == []


def test_every_cell_and_word(folder: Path, tmp_path: Path) -> None:
    accepted = []
    for name in sorted(manifest_of(folder)["files"]):
        copy = tmp_path / "copy"
        shutil.copytree(folder, copy)
        for number, content in enumerate(_contents(folder / name)):
            (copy / name).write_bytes(content)
            forge(copy, manifest_of(folder))
            if passes(copy):
                accepted.append((name, number))
        shutil.rmtree(copy)
    assert [name for name, _ in accepted if not name.startswith(MEASURED)] == []


def _contents(path: Path) -> Iterator[bytes]:
    """What a forger may write in place of a file."""
    match path.suffix:
        case ".csv":
            yield from _tables(path.read_text())
        case ".parquet":
            yield from _columns(parquet.read_table(path))
        case _:
            yield from _texts(path.read_text())


def _tables(text: str) -> Iterator[bytes]:
    """Each cell of the first rows, and rows as one number with thousands separators."""
    lines = text.splitlines()
    for at, line in enumerate(lines[:4]):
        cells = line.split(",")
        for place, cell in enumerate(cells):
            other = f"{float(cell) + 1:g}" if re.fullmatch(r"-?[\d.]+", cell) else f"{cell[:-1]}x{cell[-1:]}"
            forged = ",".join([*cells[:place], other, *cells[place + 1 :]])
            yield ("\n".join([*lines[:at], forged, *lines[at + 1 :]]) + "\n").encode()


def _columns(table: pyarrow.Table) -> Iterator[bytes]:
    for name in table.column_names:
        values = table.column(name).to_pylist()
        for at in {0, len(values) - 1}:
            other = [*values[:at], _other(values[at]), *values[at + 1 :]]
            forged = table.set_column(
                table.column_names.index(name), name, pyarrow.array(other, table.schema.field(name).type)
            )
            buffer = io.BytesIO()
            parquet.write_table(forged, buffer)
            yield buffer.getvalue()


def _other(value: Any) -> Any:
    return f"{value}x" if isinstance(value, str) else not value if isinstance(value, bool) else value + 1


def _texts(text: str) -> Iterator[bytes]:
    """Numbers and words here and there; a script, and a comment, at the end."""
    found = list(re.finditer(r"(?<![\d.e-])\d+(?![\d.]*e-)|[a-z]{3,}", text))  # not 1e-14, which machines round
    for match in found[:: max(1, len(found) // 8)]:
        word = match.group()
        other = f"{(int(word[0]) + 1) % 10}{word[1:]}" if word.isdigit() else f"{word}x"
        yield f"{text[: match.start()]}{other}{text[match.end() :]}".encode()
    yield f"{text}<script>alert(1)</script>\n".encode()
    yield f"{text}# epsilon 0.001\n".encode()


def test_with_the_key_named_no_stranger_signs(folder: Path, tmp_path: Path) -> None:
    (key,) = (place / "office.pem" for place in folder.parents if (place / "office.pem").exists())
    assert all(check.passed for check in td.verify(folder, key=key))
    shutil.copytree(folder, tmp_path / "copy")
    forge(tmp_path / "copy", manifest_of(folder))
    assert passes(tmp_path / "copy")
    wrong = [check.what for check in td.verify(tmp_path / "copy", key=key) if not check.passed]
    assert wrong == ["signature: signed by another key than the one that you named"]
