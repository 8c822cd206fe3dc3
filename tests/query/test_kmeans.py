"""Clusters as a question."""

from __future__ import annotations

import pytest

import tetraodon as td
from tetraodon.errors import QueryError, TetraodonError
from tetraodon.query.kinds import KMeans, kmeans


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
    found = policy({"name": "k", "kmeans": ["y", "x"], "clusters": 4})
    assert [item.query for item in found.items] == [kmeans("y", "x", clusters=4)]
    assert found.items[0].query == KMeans(("y", "x"), 4)
    assert td.load_policy(found.document) == found


@pytest.mark.parametrize(
    "item",
    [
        {"kmeans": ["x", "y"]},
        {"kmeans": ["x", "y"], "clusters": 0},
        {"kmeans": ["x", "y"], "clusters": 21},
        {"kmeans": ["x", "y"], "clusters": "many"},
        {"kmeans": ["x", "kind"], "clusters": 2},
        {"kmeans": ["x", "x"], "clusters": 2},
        {"histogram": "x", "clusters": 2},
    ],
)
def test_what_makes_no_sense_is_refused_with_a_fix(item: dict[str, object]) -> None:
    with pytest.raises(TetraodonError) as told:
        policy({"name": "q", **item})
    assert told.value.fix


def test_clusters_are_whole_numbers() -> None:
    for wrong in (True, 1.5, 0):
        with pytest.raises(QueryError):
            kmeans("x", clusters=wrong)  # type: ignore[arg-type]
