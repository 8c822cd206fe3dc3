"""Policy files as plain data with lines: sources, sibling files, problems."""

from __future__ import annotations

import datetime as dt
import json
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.policy.policies import policies

import tetraodon as td
from tetraodon.errors import DomainError, PolicyError, Refused
from tetraodon.policy.document import PolicyDocument
from tetraodon.policy.load import load_policy, stated_policy
from tetraodon.policy.section import exact
from tetraodon.policy.source import (
    DEPTH_LIMIT,
    SIZE_LIMIT,
    Problems,
    Source,
    dump_policy,
    parse,
    read_source,
    sibling_file,
)

# -- source -----------------------------------------------------------------------------------------
# The policy file as plain data, with the line of every key and value.
# Every scalar stays the text that was typed: `No` is never false, `007` keeps its zeros, and `0.1` becomes one tenth
# only where a number is wanted. A dict given in place of a file is brought into the same shape.


def data(text: str) -> object:
    return parse(text.encode(), "p.yaml").data


def test_scalars_stay_text() -> None:
    assert data("a: [1, 0.10, yes, ~, 2020-01-01, '']") == {"a": ["1", "0.10", "yes", "~", "2020-01-01", ""]}
    assert data("a:\nb: {c: }") == {"a": None, "b": {"c": None}}


def test_every_value_has_its_line_and_column() -> None:
    text = "a: 1\nb:\n  - x: 1\n    y: [5, 6,\n        7]\n  - z\nc: {d: {e: f}}\n"
    source = parse(text.encode(), "p.yaml")
    assert source.data == {"a": "1", "b": [{"x": "1", "y": ["5", "6", "7"]}, "z"], "c": {"d": {"e": "f"}}}
    lines = {
        ("a",): (1, 1),
        ("b",): (2, 1),
        ("b", 0): (3, 5),
        ("b", 0, "x"): (3, 5),
        ("b", 0, "y"): (4, 5),
        ("b", 0, "y", 1): (4, 12),
        ("b", 0, "y", 2): (5, 9),
        ("b", 1): (6, 5),
        ("c",): (7, 1),
        ("c", "d"): (7, 5),
        ("c", "d", "e"): (7, 9),
    }
    assert {path: source.places[path] for path in lines} == lines
    assert source.where(("b", 0, "y")) == "p.yaml line 4: b.1.y"
    assert source.where(("c", "d", "nothing", "there")) == "p.yaml line 7: c.d.nothing.there"
    assert source.where(()) == "p.yaml line 1"
    assert Source("", {}).where(("a", "b")) == "a.b"


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert parse(b"\xef\xbb\xbfa: \xc3\xa5\r\n", "p.yaml").data == {"a": "å"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("---\n", "is empty"),
        ("a: 1\na: 2", "line 2 column 1: the key 'a' is there twice"),
        ("a: {b: 1, b: 2}", "the key 'b' is there twice"),
        ("a: &x 1\nb: *x", "anchor"),
        ("a: *x", "alias"),
        ("a: !!python/object:os.system x", "tag"),
        ("a: !x {b: 1}", "tag"),
        ("a: 1\n---\nb: 2", "more than one document"),
        ("? [a, b]\n: 1", "a key is a list or a map"),
        ("? \n: 1", "a key is empty"),
        ("a: {b: 1", "not YAML"),
        ("a: 'b", "not YAML"),
        ("\tb: 1", "not YAML"),
        ("a: %b", "not YAML"),
        ('a: "\\UFFFFFFFF"', "YAML"),
        ("a: \x00", "YAML"),
        ("a: " + "[" * 50 + "]" * 50, "nested too deeply"),
    ],
)
def test_what_is_refused(text: str, words: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse(text.encode(), "p.yaml")
    assert words in str(caught.value)
    assert str(caught.value).startswith("p.yaml")


def test_bytes_that_are_no_text() -> None:
    for content, words in ((b"\xff\xfe\x00", "not UTF-8"), (b"a" * (SIZE_LIMIT + 1), "larger than 1 MB")):
        with pytest.raises(PolicyError, match=words):
            parse(content, "p.yaml")


def test_laughs_do_not_multiply() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    with pytest.raises(PolicyError, match="anchor"):
        data("\n".join(lines))


def test_a_dict_is_brought_into_the_same_shape() -> None:
    given = {
        "a": 1,
        "b": [0.1, Fraction(1, 3), Decimal("2.50")],
        "c": (True, None, dt.date(2020, 1, 2)),
        "d": {"e": "x"},
    }
    assert read_source(given).data == {
        "a": "1",
        "b": ["0.1", "1/3", "2.50"],
        "c": ["true", None, "2020-01-02"],
        "d": {"e": "x"},
    }


@pytest.mark.parametrize("value", [{1}, object(), b"x", [10**5000], {"": 1}, {3: 1}])
def test_what_no_policy_can_hold(value: object) -> None:
    with pytest.raises(PolicyError):
        read_source({"a": value})


def test_numbers_of_numpy_are_numbers() -> None:
    numbers = {"whole": np.int64(3), "real": np.float64(0.1), "short": np.float32(0.1), "huge": 2**70}
    assert read_source(numbers).data == {"whole": "3", "real": "0.1", "short": "0.1", "huge": str(2**70)}


def test_a_text_of_several_lines_is_the_policy_itself() -> None:
    text = "dataset: people\nattributes:\n  age: {integer: [0, 9]}\nbudget: {epsilon: 0.1}\n"
    assert load_policy(text) == load_policy(
        {"dataset": "people", "attributes": {"age": {"integer": [0, 9]}}, "budget": {"epsilon": 0.1}}
    )
    with pytest.raises(PolicyError, match="the text line 4: budget"):
        load_policy(text.replace("0.1", "-1"))


def test_depth_is_bounded() -> None:
    nested: object = "x"
    for _ in range(DEPTH_LIMIT + 1):
        nested = [nested]
    with pytest.raises(PolicyError, match="nested too deeply"):
        read_source({"a": nested})


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=80), st.text("ab{}[]:,-&*!|>'\"\\U%#?~ \n\t", max_size=40).map(str.encode)))
def test_with_or_without_the_fast_parser_nothing_else_is_raised(content: bytes) -> None:
    for loader in (yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        with suppress(PolicyError):
            parse(content, "p.yaml", loader=loader)


@settings(max_examples=80, deadline=None)
@given(policies())
def test_the_text_reads_back(tmp_path_factory, document: dict) -> None:
    policy = load_policy(document)
    path: Path = tmp_path_factory.mktemp("dump") / "p.yaml"
    path.write_text(dump_policy(policy.document), encoding="utf-8")
    assert load_policy(path) == policy
    assert load_policy(path).document == policy.document


# -- sibling files ------------------------------------------------------------------------------------
# Files that a policy names are in its own folder, whatever the path looks like; a stranger's policy names none.


POLICY: dict[str, object] = {
    "dataset": "d",
    "attributes": {"sex": ["f", "m"], "home": ["a", "b"]},
    "budget": {"epsilon": 1},
}
KEYS: dict[str, dict[str, object]] = {
    "known": {"known": [{"table": "counts.csv"}]},
    "cells": {"together": {"over": ["sex", "home"], "cells": "cells.csv"}},
}


@pytest.mark.parametrize("name", ["../secret.csv", "inner/../../secret.csv", "ABSOLUTE", "link.csv", "a\0b"])
def test_nothing_outside_the_folder(tmp_path: Path, name: str) -> None:
    inside = tmp_path / "policies"
    (inside / "inner").mkdir(parents=True)
    secret = tmp_path / "secret.csv"
    secret.touch()
    (inside / "link.csv").symlink_to(secret)
    with pytest.raises(td.errors.PolicyError, match="outside the policy's folder"):
        sibling_file(inside, name.replace("ABSOLUTE", str(secret)))


def test_a_file_of_the_folder_may_be_named_in_any_way(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for name in ("a.csv", "inner/a.csv", "inner/../a.csv"):
        assert sibling_file(tmp_path, name).resolve().is_relative_to(tmp_path.resolve())


@pytest.mark.parametrize("key", KEYS)
def test_a_policy_reads_no_file_outside_its_folder_and_a_strangers_reads_none(tmp_path: Path, key: str) -> None:
    (tmp_path / "counts.csv").write_text("sex,count\nf,1\nm,2\n")
    (tmp_path / "cells.csv").write_text("sex,home,block\nf,a,1\nf,b,1\nm,a,2\nm,b,2\n")
    policy = POLICY | KEYS[key]
    assert td.load_policy(policy, folder=tmp_path).folder == tmp_path
    with pytest.raises(td.errors.PolicyError, match="names no files"):
        stated_policy(policy)
    text = json.dumps(policy).replace(".csv", "/../../x.csv")
    with pytest.raises(td.errors.PolicyError, match="outside the policy's folder"):
        td.load_policy(json.loads(text), folder=tmp_path)


# -- problems ---------------------------------------------------------------------------------------
# Problems are told together, in the order of the file, in our own words.


SOURCE = parse(b"a: 1\nb:\n  c: 2\n", "p.yaml")


def test_no_problem_stops_nothing() -> None:
    Problems(SOURCE).stop()


def test_the_first_of_the_file_is_raised_with_the_text_of_all() -> None:
    problems = Problems(SOURCE)
    with problems.at("b", "c"):
        raise DomainError("second", fix="do this")
    with problems.at("a"):
        exact("x")
    with problems.at("b", "c"):
        raise DomainError("second", fix="do this")
    with pytest.raises(PolicyError) as caught:
        problems.stop()
    assert str(caught.value).splitlines() == [
        "p.yaml line 1: a: 'x' is not a finite number. Fix: write a number such as 3, 0.1, 1e-6 or 1/3.",
        "p.yaml line 3: b.c: second. Fix: do this.",
    ]
    assert caught.value.what == "'x' is not a finite number"
    assert caught.value.where == "p.yaml line 1: a"


def test_a_refusal_stays_a_refusal() -> None:
    problems = Problems(SOURCE)
    with problems.at("a"):
        raise Refused("no", fix="wait")
    with pytest.raises(Refused, match="line 1"):
        problems.stop()


def test_other_errors_are_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError), Problems(SOURCE).at("a"):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "data", [{}, {"dataset": {}}, {"known": 5, "release": {"a": 1}}, {"attributes": 5, "table": []}]
)
def test_no_message_of_the_validator_is_shown_raw(data: dict) -> None:
    problems = Problems(SOURCE)
    with pytest.raises(ValidationError) as raw:
        PolicyDocument.model_validate(data)
    problems.add_shape_errors(raw.value)
    with pytest.raises(PolicyError) as caught:
        problems.stop()
    text = str(caught.value)
    assert "this is not understood" not in text
    assert not any(detail["msg"] in text for detail in raw.value.errors() if detail["type"] != "tetraodon")


@pytest.mark.parametrize(
    ("changed", "fix"),
    [
        ({"attackers": [{"chain": {"alogn": "time"}}]}, "did you mean 'along'?"),
        ({"attackers": [{"grups": "home"}]}, "did you mean 'groups'?"),
        ({"adversary": {"posterior": 0.2, "prior": {"x": 2}}}, "use one of: k, d"),
    ],
)
def test_the_keys_that_are_offered_are_those_of_the_place(changed: dict, fix: str) -> None:
    base = {"dataset": "d", "attributes": {"a": "boolean"}, "budget": {"epsilon": 1}}
    with pytest.raises(PolicyError, match="is not known here") as caught:
        load_policy(base | changed)
    assert fix in str(caught.value)


def test_a_part_that_is_wrong_does_not_hide_the_next() -> None:
    problems = Problems(SOURCE)
    for place, what in ((("b", "c"), "second"), (("a",), "first")):
        with problems.part():
            with problems.at(*place):
                raise DomainError(what, fix="do this")
            problems.stop()
            raise AssertionError("not reached")
    with problems.part():
        problems.stop()  # nothing is wrong with this part
    with pytest.raises(PolicyError) as caught:
        problems.stop()
    told = ["p.yaml line 1: a: first. Fix: do this.", "p.yaml line 3: b.c: second. Fix: do this."]
    assert str(caught.value).splitlines() == told
    assert caught.value.__notes__ == ["More may be found once this is put right: the rest of the file rests on it."]


def test_a_part_swallows_nothing_that_was_not_noted() -> None:
    with pytest.raises(DomainError, match="not noted"), Problems(SOURCE).part():
        raise DomainError("not noted", fix="do this")


WRONG = """dataset: d
attributes: {age: {integer: [0, 9]}, sex: [f, m]}
secrets: {sex: public}
known: [{count: agee = 3, is: 1}]
budget: {epsilon: 0}
adversary: {prior: {d: 2}, posterior: 0.5}
release: [{name: m, mean: agee}]
"""


def test_all_mistakes_of_a_file_are_told_in_one_wave(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(WRONG)
    with pytest.raises(PolicyError) as caught:
        load_policy(file)
    assert [line.split(": ")[:2] for line in str(caught.value).splitlines()] == [
        ["p.yaml line 4", "known.1"],
        ["p.yaml line 5", "budget.epsilon"],
        ["p.yaml line 6", "adversary"],
        ["p.yaml line 7", "release.1"],
    ]
    assert caught.value.__notes__ == []  # everything was looked at


@pytest.mark.parametrize(
    "line", ["secrets: {agee: public}", "attributes: {age: {integer: [9, 0]}, sex: [f, m]}", "budgett: 3"]
)
def test_what_rests_on_a_mistake_may_have_more(line: str) -> None:
    text = "\n".join([*(old for old in WRONG.splitlines() if old.split(":")[0] != line.split(":")[0]), line])
    with pytest.raises(PolicyError) as caught:
        load_policy(yaml.safe_load(text))
    assert caught.value.__notes__ == ["More may be found once this is put right: the rest of the file rests on it."]
