"""Rectangles of a map as a question."""

from __future__ import annotations

import pytest

import tetraodon as td
from tetraodon.errors import TetraodonError
from tetraodon.query.kinds import Rectangles, rectangles


def policy(*items: dict[str, object], **changes: object) -> td.Policy:
    document: dict[str, object] = {
        "dataset": "taxis",
        "presence": "public",
        "attributes": {"x": {"integer": [0, 3]}, "y": {"integer": [0, 4]}, "kind": ["day", "night"]},
        "secrets": {"kind": "public"},
        "budget": {"epsilon": 1},
        "release": list(items),
    }
    return td.load_policy(document | changes)


def test_it_is_read_and_written() -> None:
    found = policy({"name": "m", "rectangles": ["x", "y"]})
    assert [item.query for item in found.items] == [rectangles("x", "y")]
    assert found.items[0].query == Rectangles(("x", "y"))
    assert td.load_policy(found.document) == found


@pytest.mark.parametrize(
    "item",
    [
        {"rectangles": ["x"]},
        {"rectangles": ["x", "x"]},
        {"rectangles": ["x", "kind"]},
        {"rectangles": ["x", "z"]},
        {"rectangles": ["x", "y"], "by": "kind"},
    ],
)
def test_what_makes_no_sense_is_refused_with_a_fix(item: dict[str, object]) -> None:
    with pytest.raises(TetraodonError) as told:
        policy({"name": "q", **item})
    assert told.value.fix
