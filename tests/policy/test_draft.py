"""Drafts of policy files, from tables and from metadata."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pandas
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tetraodon as td
from tetraodon.errors import PolicyError
from tetraodon.policy.draft import Metadata, read_metadata, starter, table_columns
from tetraodon.policy.load import PLACEHOLDER, load_policy
from tetraodon.policy.source import parse

# -- draft ------------------------------------------------------------------------------------------
# A draft from the names and kinds of columns, from every form of table with types.


MIXED = (
    "SELECT 4711 AS age, 'Ann-4711' AS name, 47.11 AS height, DATE '1947-11-11' AS born, true AS member, "
    "[4711] AS list, 4711::DECIMAL(9, 2) AS wage"
)


@pytest.mark.parametrize("form", ["mixed.parquet", "mixed.duckdb#things", "frame"])
def test_kinds_from_every_form_of_table(tmp_path: Path, form: str) -> None:
    table: object = tmp_path / form
    if form == "frame":
        table = duckdb.sql(MIXED).pl()
    elif form.endswith("#things"):
        with duckdb.connect(str(tmp_path / "mixed.duckdb")) as connection:
            connection.execute(f"CREATE TABLE things AS {MIXED}")
    else:
        duckdb.sql(f"COPY ({MIXED}) TO '{table}'")
    found = td.init(table)
    assert dict(found.columns) == {
        "age": "integer",
        "name": "text",
        "height": "real",
        "born": "date",
        "member": "boolean",
        "wage": "real",
    }
    assert found.left_out == ("list",)
    assert found.dataset == {"mixed.parquet": "mixed", "frame": "data"}.get(form, "things")
    assert "4711" not in str(found)
    assert "1947" not in str(found)


def test_kinds_from_a_pandas_frame() -> None:
    born = pandas.to_datetime(["1947-11-11"])
    frame = pandas.DataFrame({"age": [47], "name": ["Ann"], 3: [1.5], "born": born, "member": [True], "z": [1j]})
    found = td.init(frame)
    assert found.columns == (
        ("age", "integer"),
        ("name", "text"),
        ("3", "real"),
        ("born", "date"),
        ("member", "boolean"),
    )
    assert found.left_out == ("z",)


def test_the_columns_of_a_csv_file_have_names_and_no_types(tmp_path: Path) -> None:
    (tmp_path / "alt.csv").write_text("größe;straße\n1,75;Höhe\n1,80;\n")
    assert td.init(tmp_path / "alt.csv").columns == (("größe", "unknown"), ("straße", "unknown"))


@pytest.mark.parametrize("body", ["", "1,2\n", "foo,2\n", '"1,2\n3,4,5,6\n', "\xff\n"])
def test_no_record_of_a_csv_file_changes_the_draft(body: str, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_bytes(b"a,b\n" + body.encode("latin-1"))
    assert table_columns(str(tmp_path / "odd.csv")) == ([("a", "unknown"), ("b", "unknown")], [], ["a", "b"])


def test_a_draft_is_refused_until_it_is_filled_in(tmp_path: Path) -> None:
    draft = td.init(pl.DataFrame({"age": [30]}), dataset="people", out=tmp_path / "people.policy.yaml")
    assert repr(draft) == "<Draft people: 1 column, CONFIRM in 2 places>"
    assert (tmp_path / "people.policy.yaml").read_text(encoding="utf-8") == str(draft)
    with pytest.raises(td.errors.PolicyError, match="CONFIRM still stands here"):
        td.load_policy(tmp_path / "people.policy.yaml")
    assert td.load_policy(str(draft).replace("[CONFIRM, CONFIRM]", "[0, 120]")).domain.size == 122
    with pytest.raises(td.errors.PolicyError, match="exists"):
        draft.write(tmp_path / "people.policy.yaml")
    draft.write(tmp_path / "people.policy.yaml", force=True)


def test_a_draft_may_begin_with_presence_alone() -> None:
    draft = td.init(pl.DataFrame({"age": [30]}), promise="presence")
    policy = td.load_policy(str(draft).replace("[CONFIRM, CONFIRM]", "[0, 120]"))
    assert (policy.presence, policy.document["secrets"]) == ("secret", {"age": "public"})
    with pytest.raises(td.errors.PolicyError, match="no such promise"):
        td.init(pl.DataFrame({"age": [30]}), promise="none")  # type: ignore[arg-type]


# -- starter ----------------------------------------------------------------------------------------
# The first draft holds no value of the table, and is refused until it has been confirmed.


COLUMNS = [
    ("person_id", "text"),
    ("age", "integer"),
    ("Birth Year", "integer"),
    ("sex", "text"),
    ("zip", "integer"),
    ("lat", "real"),
    ("income", "real"),
    ("seen", "date"),
    ("smokes", "boolean"),
    ("diagnosis", "text"),
]


def test_guesses_come_from_names_and_types() -> None:
    draft = parse(starter(Metadata("people", tuple(COLUMNS))).encode(), "p").data
    assert draft["individuals"] == {"key": "person_id", "at most": PLACEHOLDER}
    attributes = draft["attributes"]
    blank = [PLACEHOLDER, PLACEHOLDER]
    assert "person_id" not in attributes
    assert attributes["age"] == {"integer": blank, "missing": "separate"}
    assert attributes["Birth Year"] == {"integer": blank, "missing": "separate"}
    assert attributes["sex"] == attributes["diagnosis"]
    assert attributes["zip"] == attributes["diagnosis"]
    assert attributes["lat"] == {"real": blank, "step": PLACEHOLDER, "missing": "separate"}
    assert attributes["income"] == attributes["lat"]
    assert attributes["seen"] == {"date": blank, "missing": "separate"}
    assert attributes["smokes"] == {"boolean": "true", "missing": "separate"}
    assert attributes["diagnosis"] == {
        "categories": blank,
        "missing": "separate",
        "other": PLACEHOLDER,
        "trim": "true",
    }
    assert draft["presence"] == "secret"


def test_a_column_without_a_type_is_guessed_from_its_name_or_not_at_all() -> None:
    attributes = parse(starter(Metadata("people", (("age", "unknown"), ("wage", "unknown")))).encode(), "p").data[
        "attributes"
    ]
    assert attributes == {
        "age": {"integer": [PLACEHOLDER, PLACEHOLDER], "missing": "separate"},
        "wage": PLACEHOLDER,
    }


def test_a_name_that_contradicts_the_type_is_not_believed() -> None:
    draft = parse(starter(Metadata("people", (("age", "text"), ("sex", "real")))).encode(), "p").data
    assert "categories" in draft["attributes"]["age"]
    assert "real" in draft["attributes"]["sex"]
    assert draft["individuals"] == "one row each"


def test_the_draft_is_refused_until_it_is_confirmed(tmp_path: Path) -> None:
    path = tmp_path / "people.policy.yaml"
    text = starter(Metadata("people", (("age", "integer"), ("ok", "boolean"))))
    path.write_text(text)
    with pytest.raises(PolicyError, match="CONFIRM still stands here"):
        load_policy(path)
    path.write_text(text.replace("[CONFIRM, CONFIRM]", "[0, 120]"))
    assert load_policy(path).domain.names == ("age", "ok")


def test_a_table_of_keys_alone_has_nothing_to_release() -> None:
    assert "CONFIRM: [CONFIRM]" in starter(Metadata("people", (("id", "integer"),)))


names = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp", "Cn", "Co"]), min_size=1, max_size=20)


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(names, st.sampled_from(["integer", "real", "text", "date", "boolean", "unknown"]), max_size=4),
    names,
)
def test_any_names_make_a_readable_draft(columns: dict, dataset: str) -> None:
    draft = parse(starter(Metadata(dataset, tuple(columns.items()))).encode(), "p").data
    assert draft["dataset"] == dataset
    key = draft["individuals"]["key"] if isinstance(draft["individuals"], dict) else None
    assert set(draft["attributes"]) - {PLACEHOLDER} <= set(columns) - {key}


# -- metadata file ----------------------------------------------------------------------------------
# Metadata of other libraries become a draft in which every placeholder stays, and nothing they say becomes YAML.


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
    for both in ({}, {"table": "a.csv", "metadata": "b.yaml"}):
        with pytest.raises(td.errors.PolicyError, match="not one source"):
            td.init(**both)
    with pytest.raises(td.errors.PolicyError, match="cannot be read"):
        td.init(metadata=tmp_path / "none.yaml")
