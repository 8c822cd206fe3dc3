"""Metadata of other libraries become a draft in which every placeholder stays, and nothing they say becomes YAML."""

from __future__ import annotations

from pathlib import Path

import pytest

import tetraodon as td
from tetraodon.policy.draft import read_metadata
from tetraodon.policy.source import parse

SMARTNOISE = """\
Engine:
  PUMS:
    PUMS:
      max_ids: 4
      rows: 1000
      censor_dims: false
      pid: {type: int, private_id: True}
      age: {type: int, lower: 0, upper: 100}
      sex: {type: string, cardinality: 2}
      income: {type: float, lower: 0, upper: 500000, nullable: false}
      joined: {type: datetime}
      married: {type: boolean}
      odd: {type: geometry}
"""
OPENDP = """\
columns:
  age: {type: i64, lower: 0, upper: 100}
  sex: {type: str}
margins:
  - {by: [], max_length: 150000, max_groups: 1}
  - {by: [sex], max_groups: 2, invariant: keys}
  - {by: [sex, age], invariant: lengths}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "meta.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_metadata_of_smartnoise(tmp_path: Path) -> None:
    draft = td.init(metadata=written(tmp_path, SMARTNOISE))
    assert draft.dataset == "PUMS"
    assert dict(draft.columns) == {
        "pid": "integer",
        "age": "integer",
        "sex": "text",
        "income": "real",
        "joined": "date",
        "married": "boolean",
        "odd": "unknown",
    }
    lines = draft.text.splitlines()
    [age] = [line for line in lines if line.startswith("  age:")]
    assert age.startswith("  age: {integer: [CONFIRM, CONFIRM], missing: separate}   # ")
    assert "the metadata say from 0 to 100" in age
    assert any(line.startswith("individuals: {key: pid, at most: CONFIRM}") and "say 4" in line for line in lines)
    assert any("1000 rows" in line and line.startswith("# ") for line in lines)


def test_columns_and_margins_of_opendp(tmp_path: Path) -> None:
    draft = td.init(metadata=written(tmp_path, OPENDP), dataset="people")
    assert dict(draft.columns) == {"age": "integer", "sex": "text"}
    assert "# By sex the margins say: at most 2 groups and which groups there are is known." in draft.text
    assert "# Over all records the margins say: at most 150000 records in a group and at most 1 groups." in draft.text
    assert "how many records each group has is known" in draft.text


@pytest.mark.parametrize("text", [SMARTNOISE, OPENDP])
def test_every_placeholder_stays_and_what_is_said_is_a_comment(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    found = read_metadata(path)
    (tmp_path / "draft.yaml").write_text(td.init(metadata=path).text, encoding="utf-8")
    with pytest.raises(td.errors.PolicyError, match="CONFIRM still stands here"):
        td.load_policy(tmp_path / "draft.yaml")
    plain = td.init(metadata=path).placeholders
    stated = [line for line in td.init(metadata=path).text.splitlines() if "CONFIRM" in line.partition("#")[0]]
    assert plain >= 2 * sum(kind in ("integer", "real", "text") for name, kind in found.columns if name != found.key)
    assert not [line for line in stated if "100" in line.partition("#")[0]]


def test_nothing_that_metadata_say_becomes_a_key(tmp_path: Path) -> None:
    bound = '"0\\nbudget: {epsilon: 99}\\n#"'
    evil = f't: {{age: {{type: int, lower: {bound}, upper: 1}}, "a\\nb: 1": {{type: int}}, rows: "1\\nx: y"}}'
    draft = td.init(metadata=written(tmp_path, evil))
    data = parse(draft.text.encode(), "draft").data
    assert isinstance(data, dict)
    assert data["budget"] == {"epsilon": "1"}
    assert set(data["attributes"]) == {"age", "a\nb: 1"}
    assert not {"x", "b"} & set(data)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1", "no table"),
        ("- a", "no table"),
        ("a: {x: {type: int}}\nb: {x: {type: int}}", "several tables: a and b"),
        ("x: {type: int}\nmargins: {by: [x]}", "not a list of margins"),
        ("x: [", "not YAML"),
    ],
)
def test_what_is_refused(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(td.errors.PolicyError, match=words):
        td.init(metadata=written(tmp_path, text))


def test_one_source_of_a_draft(tmp_path: Path) -> None:
    for given in ({}, {"table": "a.csv", "metadata": "b.yaml"}):
        with pytest.raises(td.errors.PolicyError, match="not one source"):
            td.init(**given)
    with pytest.raises(td.errors.PolicyError, match="cannot be read"):
        td.init(metadata=tmp_path / "none.yaml")
