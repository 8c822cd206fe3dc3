"""The descriptions of tables are read, and the files found to be as they say, by validators of each format."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import frictionless
import polars as pl
import pytest
from csvw import CSVW
from tests.releases.conftest import POLICY
from tests.releases.made import release_with, silent

import tetraodon as td
from tetraodon.releases.open_formats import CSV_ON_THE_WEB, PACKAGE, package_text, slugs, web_text

ODD = {
    "dataset": "Größen & Co",
    "attributes": {
        "day": {"date": ["2026-01-01", "2026-01-04"]},
        "member": "boolean",
        "=kind": {"categories": ["=1+1", "'x", "a,b", ""], "other": "a,b"},
        "count": {"integer": [-2, 2], "unit": "m"},
        "word": {"open": "text"},
    },
    "publisher": {"name": "An office", "source": "A survey", "licence": "CC BY 4.0"},
    "presence": "public",
    "budget": {"epsilon": 4, "delta": "1e-6"},
    "release": [
        {"name": "words", "names": "word", "title": "Words that people use"},
        {"name": "Tage", "histogram": ["day", "member"], "title": "Days", "notes": ["A note."]},
        {"name": "tage", "histogram": ["=kind", "count"]},
        {"name": "größe", "mean": "count", "by": "=kind"},
        {"name": "mitte", "median": "day", "bounds": True},
        {"name": "spots", "kmeans": ["count"], "clusters": 2},
    ],
}
ROWS = pl.DataFrame({"count": [1] * 50}).with_columns(
    day=pl.lit("2026-01-02"), member=pl.lit(True), word=pl.lit("=often"), **{"=kind": pl.lit("a,b")}
)


@pytest.fixture(params=["usual", "odd"])
def written(request: pytest.FixtureRequest, table: pl.DataFrame, tmp_path: Path) -> Path:
    policy = td.load_policy(POLICY if request.param == "usual" else ODD)
    with td.Ledger(tmp_path / "l.db") as ledger:
        ledger.open(policy.dataset, policy.epsilon, policy, delta=policy.delta)
        td.release(policy, table if request.param == "usual" else ROWS, ledger=ledger, out=tmp_path / "out")
    return tmp_path / "out"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_frictionless_reads_the_package_and_finds_the_files_as_it_says(written: Path) -> None:
    frictionless.Package.from_descriptor(str(written / PACKAGE))
    report = frictionless.validate(str(written / PACKAGE))
    assert report.valid, report.flatten(["title", "message"])
    release = td.load_release(written)
    answers = [*release.values(), *release.names.values()]
    package = frictionless.Package(str(written / PACKAGE))
    for resource, answer in zip(package.resources, answers, strict=True):
        rows = resource.extract()[resource.name]
        assert len(rows) == len(next(iter(answer.columns.values())))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_frictionless_finds_a_file_that_is_not_as_it_says(written: Path) -> None:
    package = json.loads((written / PACKAGE).read_text(encoding="utf-8"))
    first = written / package["resources"][0]["path"]
    first.write_text(first.read_text(encoding="utf-8").replace("\n", "\nwrong,", 1), encoding="utf-8")
    assert not frictionless.validate(str(written / PACKAGE)).valid


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "always::UserWarning")  # it counts warnings
def test_csv_on_the_web_finds_the_files_as_the_metadata_say(written: Path) -> None:
    found = CSVW(str(written / CSV_ON_THE_WEB), validate=True)
    assert found.is_valid, [str(warning.message) for warning in found.warnings]
    release = td.load_release(written)
    for table, answer in zip(found.tables, [*release.values(), *release.names.values()], strict=True):
        assert sum(1 for _ in table) == len(next(iter(answer.columns.values())))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "always::UserWarning")
def test_csv_on_the_web_finds_a_file_that_is_not_as_they_say(written: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(written / "answers", tmp_path / "copy")
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
