"""One entry of the release list."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tetraodon.policy.item_section import ItemSection


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
