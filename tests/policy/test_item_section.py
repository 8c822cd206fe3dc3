"""One entry of the release list."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tetraodon.errors import PolicyError
from tetraodon.policy.document import PARTS, ItemSection
from tetraodon.policy.load import load_policy

POLICY = {"dataset": "d", "attributes": {"age": {"integer": [0, 99]}}, "budget": {"epsilon": 1}}


def read(**words: object) -> ItemSection:
    return ItemSection.model_validate({"name": "n", **words})


def test_a_single_name_is_a_list_of_one() -> None:
    assert read(histogram="age").histogram == ("age",)
    assert read(cdf="age", by="sex").by == ("sex",)


@pytest.mark.parametrize(
    ("typed", "read_as"),
    [
        ("age", ("age", [])),
        ({"age": [["1", "2"]]}, ("age", [("", "1", "2")])),
        ({"age": {"young": ["1", "2"]}}, ("age", [("young", "1", "2")])),
        ({"age": [{"name": "young", "range": ["1", "2"]}]}, ("age", [("young", "1", "2")])),
    ],
)
def test_ranges(typed: object, read_as: object) -> None:
    assert read(ranges=typed).ranges == read_as


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"count": "all", "cdf": "age"},
        {"ranges": None},
        {"ranges": {"age": [], "sex": []}},
        {"ranges": {"age": None}},
        {"ranges": {"age": {"young": ["1", ["2"]]}}},
        {"ranges": {"age": [{"name": ["x"], "range": ["1", "2"]}]}},
        {"histogram": "age", "bins": {"age": None}},
        {"histogram": "age", "bins": {"age": []}},
        {"histogram": "age", "bins": {"age": [[]]}},
        {"histogram": "age", "bins": {"age": [[["1"]]]}},
        {"histogram": None},
        {"quantiles": "age", "at": "0.5"},
    ],
)
def test_what_is_no_item(words: dict) -> None:
    with pytest.raises(ValidationError):
        read(**words)


@pytest.mark.parametrize("word", PARTS)
def test_a_part_of_the_records_has_three_words(word: str) -> None:
    assert read(count="all", **{word: "age > 3"}).condition == "age > 3"


@pytest.mark.parametrize(("one", "other"), [("where", "among"), ("where", "of"), ("among", "of")])
def test_two_words_for_a_part_are_one_too_many(one: str, other: str) -> None:
    with pytest.raises(PolicyError, match=f"both `{one}` and `{other}`.*join two conditions with `and`"):
        load_policy({**POLICY, "release": [{"name": "n", "count": "all", one: "age > 3", other: "age > 3"}]})


@pytest.mark.parametrize("at", [[[0, 17]], [0.5]])
def test_ends_of_ranges_belong_to_their_attribute(at: object) -> None:
    with pytest.raises(PolicyError, match=r"`at` means nothing for `ranges`.*write `ranges: \{age: "):
        load_policy({**POLICY, "release": [{"name": "n", "ranges": "age", "at": at}]})
