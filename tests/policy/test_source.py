"""The policy file as plain data, with the line of every key and value.

Every scalar stays the text that was typed: `No` is never false, `007` keeps its zeros, and `0.1` becomes one tenth
only where a number is wanted. A dict given in place of a file is brought into the same shape."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policy.policies import policies

from tetraodon.errors import PolicyError
from tetraodon.policy.load import load_policy
from tetraodon.policy.source import DEPTH_LIMIT, SIZE_LIMIT, Source, dump_policy, parse, read_source


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
