"""What may be said of where records are, and what not."""

from __future__ import annotations

import pytest

import tetraodon as td
from tetraodon.errors import PolicyError, QueryError
from tetraodon.query.kinds import cdf, ranges, rectangles
from tetraodon.query.query import shape_of


def policy(**item: object) -> td.Policy:
    return td.load_policy(
        {
            "dataset": "d",
            "attributes": {"x": {"integer": [0, 9]}, "y": {"integer": [0, 9]}},
            "budget": {"epsilon": 1},
            "release": [{"name": "r", **item}],
        }
    )


def test_it_is_read_and_written_back() -> None:
    for item, query in (
        ({"cdf": "x"}, cdf("x", shape="sparse")),
        ({"ranges": "x"}, ranges("x", shape="sparse")),
        ({"rectangles": ["x", "y"]}, rectangles("x", "y", shape="sparse")),
    ):
        read = policy(shape="sparse", **item)
        assert read.items[0].query == query
        assert query.document() == {**item, "shape": "sparse"}
        assert "shape" not in policy(**item).items[0].query.document()


def test_nothing_else_is_known() -> None:
    with pytest.raises(QueryError, match="no shape of data"):
        shape_of("dense")
    with pytest.raises(PolicyError, match="no shape of data"):
        policy(cdf="x", shape="dense")
    with pytest.raises(PolicyError, match="means nothing for `histogram`"):
        policy(histogram="x", shape="sparse")
