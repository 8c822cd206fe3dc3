"""What `together` says of several attributes as one, and what it cannot say."""

from __future__ import annotations

from typing import Any

import pytest

import tetraodon as td
from tetraodon.errors import PolicyError
from tetraodon.policy.build import regions
from tetraodon.policy.joint_graph import JointMetric, Regions


def joint(**together: Any) -> object:
    attributes = {name: {"integer": [0, 1]} for name in ("x", "y", "z")}
    policy = td.load_policy({"dataset": "d", "attributes": attributes, "together": together, "budget": {"epsilon": 1}})
    [factor] = [factor for factor in policy.graph.factors if len(factor.names) > 1]
    assert factor.names == tuple(together["over"])
    return factor.graph


def test_a_metric_or_blocks() -> None:
    assert isinstance(joint(metric="l1", over=["x", "z"], within=1), JointMetric)
    assert joint(over=["z", "x"], blocks=[["a", "b"], ["b", "b"]]) == Regions((2, 2), (0, 1, 1, 1), ("a", "b"))
    three = joint(over=["x", "y", "z"], blocks=[["a"] * 4, ["b", "a", "a", "b"]])
    assert three == Regions((2, 2, 2), (0, 0, 0, 0, 1, 0, 0, 1), ("a", "b"))
    assert regions((1, 3), ["c", "a", "c"]) == Regions((1, 3), (0, 1, 0), ("c", "a"))


@pytest.mark.parametrize(
    ("together", "what"),
    [
        ({"over": ["x", "y"]}, "metric is missing"),
        ({"over": ["x", "y"], "blocks": [["a", "a"]]}, "not a table of 2 x 2 cells"),
        ({"over": ["x", "y"], "blocks": [["a", "a"], ["a"]]}, "not a table of 2 x 2 cells"),
        ({"over": ["x"], "blocks": [["a"], ["a"]]}, "two or more attributes"),
        ({"blocks": [["a"], ["a"]]}, "two or more attributes"),
        ({"over": ["x", "x"], "blocks": [["a", "b"], ["a", "b"]]}, "named twice"),
        ({"over": ["x", "y"], "blocks": [["a", "b"], ["c", "d"]]}, "no two cells"),
        ({"over": ["x", "y"], "blocks": [["a", "a"], ["a", "a"]], "at most": 1}, "cannot be combined"),
        ({"over": ["x", "y"], "blocks": [["a", "a"], ["a", "a"]], "within": 1}, "cannot be combined"),
    ],
)
def test_what_is_not_understood_is_refused(together: dict[str, Any], what: str) -> None:
    with pytest.raises(PolicyError, match=what):
        joint(**together)
