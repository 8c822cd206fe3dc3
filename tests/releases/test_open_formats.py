"""Files in open formats beside the answers."""

from __future__ import annotations

import base64
import csv
import json
import math
import re
import shutil
from pathlib import Path

import duckdb
import frictionless
import nbclient
import nbformat
import numpy as np
import polars as pl
import pytest
from csvw import CSVW
from hypothesis import given
from hypothesis import strategies as st
from jsonstat_validator import validate_jsonstat
from tests.policies import policy_document, public_policy
from tests.releases.conftest import POLICY
from tests.releases.made import kept, release_with, silent

import tetraodon as td
from tetraodon.releases.folder import NOTEBOOK, companion_names, companion_texts, file_hash, json_tables, notebook_text
from tetraodon.releases.open_formats import (
    CSV_ON_THE_WEB,
    MOST_CELLS,
    PACKAGE,
    RISKY,
    harmless_cell,
    harmless_sql,
    json_stat_text,
    package_text,
    slugs,
    web_text,
    write_columns,
)
from tetraodon.releases.untrusted_parquet import read_columns

# -- companions -------------------------------------------------------------------------------------
# What stands beside the answers is part of the folder: made again, compared, all of it or none.


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
    kept(policy, table.with_columns(word=pl.lit("often")), tmp_path, delta="1e-6")
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


# -- spreadsheet ------------------------------------------------------------------------------------
# No cell is a formula, and every text comes back.

FORMULAS = ["=1+1", "+cmd|x", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "'=1", "\x27\x27@x", "-", "- a\nb"]
PLAIN = ["a", "", "-5..0", "-5", "+1.5", "1..2", "-0.5..-0.1", "'tis", "a=b", " =1"]


def cell_text(cell: str) -> str:
    """The text that a cell of a CSV file stands for: the inverse of `harmless_cell`."""
    return cell[1:] if cell.startswith("'") and re.fullmatch(RISKY, cell[1:], re.DOTALL) else cell


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_not_run(text: str) -> None:
    assert harmless_cell(text) == "'" + text
    assert cell_text(harmless_cell(text)) == text


@pytest.mark.parametrize("text", PLAIN)
def test_others_stay(text: str) -> None:
    assert harmless_cell(text) == text == cell_text(text)


@given(st.text(alphabet="'=+-@\t\rab15.,\n", max_size=8))
def test_every_text_comes_back_and_sql_agrees(text: str) -> None:
    assert cell_text(harmless_cell(text)) == text
    [(found,)] = duckdb.execute(f"SELECT {harmless_sql('x')} FROM (SELECT ? AS x)", [text]).fetchall()
    assert found == harmless_cell(text)


def test_csv_files_are_harmless_and_parquet_files_exact(tmp_path: Path) -> None:
    texts = [*FORMULAS, *PLAIN]
    write_columns(tmp_path / "x", {"=name": np.array(texts, object), "n": np.arange(len(texts)) - 3})
    with (tmp_path / "x.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["'=name", "n"]
    assert [row[0] for row in rows] == [harmless_cell(text) for text in texts]
    assert [row[1] for row in rows] == [str(place - 3) for place in range(len(texts))]
    kept = duckdb.sql(f"SELECT * FROM read_parquet('{tmp_path / 'x.parquet'}')").fetchall()
    assert [row[0] for row in kept] == texts


# -- column files -----------------------------------------------------------------------------------

COLUMNS = {
    "whole": np.array([1, -5, 2**40]),
    "real": np.array([0.1, 1e300, -0.0]),
    "yes": np.array([True, False, True]),
    "day": np.array(["2020-02-29", "2020-03-01", "1969-12-31"], "datetime64[D]"),
    'odd "name"; --': np.array(["ä", "it's", 'a "b", c'], object),
}


def test_columns_survive_their_files(tmp_path: Path) -> None:
    write_columns(tmp_path / "it's", COLUMNS)
    kinds = {name: column.dtype.kind for name, column in COLUMNS.items()}
    found = read_columns(tmp_path / "it's.parquet", kinds, 3)
    assert list(found) == list(COLUMNS)
    for name, column in COLUMNS.items():
        assert found[name].tolist() == column.tolist()
    with (tmp_path / "it's.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == list(COLUMNS)
    assert [int(row[0]) for row in rows] == COLUMNS["whole"].tolist()
    assert [row[4] for row in rows] == COLUMNS[header[4]].tolist()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        write_columns(tmp_path / "nowhere" / "x", COLUMNS)


# -- json stat --------------------------------------------------------------------------------------
# Tables as JSON-stat: valid by a validator of that format, and with the numbers of the answers.


@pytest.mark.parametrize("name", ["ages", "older", "pay", "mean_pay", "bands", "middle", "blocks", "men"])
def test_every_table_is_valid_and_has_the_numbers_of_its_answer(
    name: str, policy: td.Policy, table: pl.DataFrame
) -> None:
    made = release_with(policy, table, lambda shape: np.random.default_rng(5).integers(-9, 9, shape))
    found = json.loads(json_stat_text(made[name], "A survey", "2026-01-01"))
    assert validate_jsonstat(found)
    assert math.prod(found["size"]) == len(found["value"])
    columns = made[name].columns
    measures = list(columns)[list(columns).index("lower") - 1 :]
    stacked = np.array(found["value"]).reshape(-1, len(measures))
    for place, column in enumerate(measures):
        assert stacked[:, place].tolist() == columns[column].astype(float).tolist()


def test_a_cell_is_found_by_its_categories(policy: td.Policy, table: pl.DataFrame) -> None:
    found = json.loads(json_stat_text(release_with(policy, table, silent)["ages"], "A survey", "2026-01-01"))
    assert found["id"] == ["age", "sex", "measure"]
    index = [found["dimension"][name]["category"]["index"] for name in found["id"]]
    cell = np.ravel_multi_index((index[0].index("24"), index[1].index("Male"), 0), found["size"])
    assert found["value"][cell] == pytest.approx(table.filter(age=24, sex="Male").height)


def test_days_are_times_and_names_differ() -> None:
    document = policy_document(
        attributes={"measure": {"date": ["2026-01-01", "2026-01-03"]}},
        release=[{"name": "all", "histogram": "measure"}],
    )
    made = release_with(td.load_policy(document), pl.DataFrame({"measure": ["2026-01-02"]}), silent)
    found = json.loads(json_stat_text(made["all"], "d", "2026-01-01"))
    assert validate_jsonstat(found)
    assert found["id"] == ["measure", "measure_"]
    assert found["role"] == {"metric": ["measure_"], "time": ["measure"]}


def test_what_is_no_table_of_numbers_or_too_long_has_none() -> None:
    document = policy_document(
        attributes={"x": {"integer": [0, MOST_CELLS]}, "day": {"date": ["2026-01-01", "2026-01-03"]}},
        release=[
            {"name": "long", "cdf": "x"},
            {"name": "middle", "median": "day", "bounds": True},
            {"name": "spots", "kmeans": ["x"], "clusters": 2},
            {"name": "days", "histogram": "day"},
        ],
    )
    assert json_tables(td.plan(document)) == {"days": "answers/days.json"}


# -- table metadata ---------------------------------------------------------------------------------
# The descriptions of tables are read, and the files found to be as they say, by validators of each format.

ODD = public_policy(
    dataset="Größen & Co",
    attributes={
        "day": {"date": ["2026-01-01", "2026-01-04"]},
        "member": "boolean",
        "=kind": {"categories": ["=1+1", "'x", "a,b", ""], "other": "a,b"},
        "count": {"integer": [-2, 2], "unit": "m"},
        "word": {"open": "text"},
    },
    publisher={"name": "An office", "source": "A survey", "licence": "CC BY 4.0"},
    budget={"epsilon": 4, "delta": "1e-6"},
    release=[
        {"name": "words", "names": "word", "title": "Words that people use"},
        {"name": "Tage", "histogram": ["day", "member"], "title": "Days", "notes": ["A note."]},
        {"name": "tage", "histogram": ["=kind", "count"]},
        {"name": "größe", "mean": "count", "by": "=kind"},
        {"name": "mitte", "median": "day", "bounds": True},
        {"name": "spots", "kmeans": ["count"], "clusters": 2},
    ],
)
ROWS = pl.DataFrame({"count": [1] * 50}).with_columns(
    day=pl.lit("2026-01-02"), member=pl.lit(True), word=pl.lit("=often"), **{"=kind": pl.lit("a,b")}
)


@pytest.fixture(params=["usual", "odd"])
def written_of_table_metadata(request: pytest.FixtureRequest, table: pl.DataFrame, tmp_path: Path) -> Path:
    policy = td.load_policy(POLICY if request.param == "usual" else ODD)
    kept(policy, table if request.param == "usual" else ROWS, tmp_path, delta=policy.delta)
    return tmp_path / "out"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_frictionless_reads_the_package_and_finds_the_files_as_it_says(written_of_table_metadata: Path) -> None:
    frictionless.Package.from_descriptor(str(written_of_table_metadata / PACKAGE))
    report = frictionless.validate(str(written_of_table_metadata / PACKAGE))
    assert report.valid, report.flatten(["title", "message"])
    release = td.load_release(written_of_table_metadata)
    answers = [*release.values(), *release.names.values()]
    package = frictionless.Package(str(written_of_table_metadata / PACKAGE))
    for resource, answer in zip(package.resources, answers, strict=True):
        rows = resource.extract()[resource.name]
        assert len(rows) == len(next(iter(answer.columns.values())))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_frictionless_finds_a_file_that_is_not_as_it_says(written_of_table_metadata: Path) -> None:
    package = json.loads((written_of_table_metadata / PACKAGE).read_text(encoding="utf-8"))
    first = written_of_table_metadata / package["resources"][0]["path"]
    first.write_text(first.read_text(encoding="utf-8").replace("\n", "\nwrong,", 1), encoding="utf-8")
    assert not frictionless.validate(str(written_of_table_metadata / PACKAGE)).valid


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "always::UserWarning")  # it counts warnings
def test_csv_on_the_web_finds_the_files_as_the_metadata_say(written_of_table_metadata: Path) -> None:
    found = CSVW(str(written_of_table_metadata / CSV_ON_THE_WEB), validate=True)
    assert found.is_valid, [str(warning.message) for warning in found.warnings]
    release = td.load_release(written_of_table_metadata)
    for table, answer in zip(found.tables, [*release.values(), *release.names.values()], strict=True):
        assert sum(1 for _ in table) == len(next(iter(answer.columns.values())))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "always::UserWarning")
def test_csv_on_the_web_finds_a_file_that_is_not_as_they_say(written_of_table_metadata: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(written_of_table_metadata / "answers", tmp_path / "copy")
    tables = json.loads((copy / "csv-metadata.json").read_text(encoding="utf-8"))["tables"]
    first = copy / tables[0]["url"]
    lines = first.read_text(encoding="utf-8").splitlines()
    first.write_text("\n".join([lines[0], lines[1].rsplit(",", 1)[0] + ",many", *lines[2:]]), encoding="utf-8")
    assert not CSVW(str(copy / "csv-metadata.json"), validate=True).is_valid


def test_names_of_resources_are_plain_and_differ() -> None:
    assert slugs(["a", "A", "a-2", "ß", "--"]) == ["a", "a-2", "a-2-2", "answer", "answer-2"]


def test_the_words_of_the_office_are_in_both(table: pl.DataFrame) -> None:
    release = [{"name": "ages", "histogram": "age", "title": "Ages", "notes": ["A note."]}]
    made = release_with(td.load_policy({**POLICY, "publisher": ODD["publisher"], "release": release}), table, silent)
    package, web = json.loads(package_text(made)), json.loads(web_text(made))
    assert package["licenses"] == [{"name": "CC-BY-4.0", "title": "CC BY 4.0"}]
    assert package["sources"] == [{"title": "A survey"}]
    assert package["contributors"] == [{"title": "An office", "role": "publisher"}]
    assert (web["dc:publisher"], web["dc:license"]) == ("An office", "CC BY 4.0")
    for told in (package["resources"][0]["title"], web["tables"][0]["dc:title"]):
        assert told == "Ages"
    assert package["resources"][0]["description"].endswith("A note.")
