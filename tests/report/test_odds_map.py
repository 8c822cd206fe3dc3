"""Maps of a promise: their steps are those of the secret graph, for every pair of places."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.policies import public_policy

import tetraodon as td
from tetraodon.errors import QueryError
from tetraodon.policy.load import load_policy
from tetraodon.report.odds import OddsMap, OddsStrip, odds_maps, picture


def mapped(metric: str, within: str, **changes: Any) -> td.Policy:
    base = public_policy(
        attributes={"x": {"integer": [0, 6]}, "y": {"real": [0, 3], "step": "0.5"}, "sex": ["f", "m"]},
        secrets={"sex": "public"},
        together={"metric": metric, "over": ["x", "y"], "within": within},
        budget={"epsilon": "1/2"},
    )
    return load_policy(base | changes)


def apart(policy: td.Policy, *places: tuple[int, int]) -> float:
    """The steps between two places by the graph itself, which knows of no picture."""
    x, y = policy.domain["x"], policy.domain["y"]
    return policy.graph.distance(*((x.number(first), y.number(second), "f") for first, second in places))


@pytest.mark.parametrize("presence", ["public", "secret"])
@pytest.mark.parametrize(
    ("metric", "within"),
    [
        ("l1", "1"),
        ("l1", "2.5"),
        ("l2", "1"),
        ("l2", "2.5"),
        ("linf", "2"),
        ("linf", "0.5"),
        ("l2", "0.5"),
        ("l1", "0.7"),
    ],
)
def test_steps_are_those_of_the_graph(metric: str, within: str, presence: str) -> None:
    policy = mapped(metric, within, presence=presence)
    (drawn,) = odds_maps(policy)
    first, second = (codes.ravel() for codes in np.meshgrid(np.arange(7), np.arange(7), indexing="ij"))
    for chosen in ((0, 0), (3, 2), (6, 6)):
        found = drawn.steps(chosen, first, second)
        meant = [apart(policy, chosen, (int(x), int(y))) for x, y in zip(first, second, strict=True)]
        assert found.tolist() == meant


def test_on_the_globe_one_step_is_drawn_and_no_more() -> None:
    policy = mapped(
        "great circle km", "300", attributes={"x": {"integer": [40, 50]}, "y": {"integer": [0, 10]}, "sex": ["f", "m"]}
    )
    (drawn,) = odds_maps(policy)
    codes = np.arange(11)
    for other in range(11):
        found = drawn.steps((5, 5), codes, np.full(11, other))
        for code, away in zip(codes, found, strict=True):
            true = apart(policy, (5, 5), (int(code), other))
            assert away == (true if true <= 1 else np.inf)


def test_known_figures_end_chains_of_steps() -> None:
    (drawn,) = odds_maps(mapped("l1", "1", known=[{"marginal": ["sex"]}]))
    assert drawn.steps((0, 0), np.array([0, 1, 2]), np.array([0, 0, 0])).tolist() == [0, 1, np.inf]


def test_groups_have_maps_of_their_own() -> None:
    own = {"metric": "l1", "over": ["x", "y"], "within": "3"}
    found = odds_maps(mapped("l1", "1", groups={"by": "sex", "rules": {"m": {"together": own}}}))
    assert sorted(float(one.graph.within) for one in found) == [1, 3]
    assert all(one.whom for one in found)


def test_a_picture_is_a_strip_or_a_map_and_plain_data() -> None:
    policy = mapped("l2", "2.5")
    for names, kind in ((("x",), OddsStrip), (("x", "y"), OddsMap)):
        found = td.editor.picture(policy, *names)
        assert isinstance(found, kind)
        assert json.loads(json.dumps(found.document(), allow_nan=False)) == found.document()
    for names in (("y", "x"), ("sex",), ("x", "sex"), ()):
        with pytest.raises(QueryError, match="Fix:"):
            picture(policy, *names)
