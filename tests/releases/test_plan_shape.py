"""A plan as JSON, and the plan of items under a policy that governs."""

from __future__ import annotations

import json

import tetraodon as td
from tetraodon.releases.planning import asked_plan, errors_if_public, plan_shape

POLICY = {"dataset": "d", "attributes": {"age": {"integer": [0, 9], "unit": "years"}}, "budget": {"epsilon": 1}}
ITEMS = [{"name": "ages", "histogram": "age"}]


def test_the_plan_of_items_is_that_of_the_policy_with_them() -> None:
    document = td.load_policy(POLICY).document
    assert asked_plan(document, {"items": ITEMS, "epsilon": "0.5"}) == td.plan(POLICY | {"release": ITEMS}, epsilon=0.5)
    within = td.plan_for_error(POLICY | {"release": ITEMS}, 20, confidence=90)
    assert asked_plan(document, {"items": ITEMS, "error": 20, "confidence": 90}) == within


def test_errors_if_presence_were_public_are_smaller() -> None:
    plan = td.plan(POLICY | {"release": ITEMS})
    public = errors_if_public(plan)
    assert public is not None
    shape = json.loads(json.dumps(plan_shape(plan, public)))
    [query] = shape["queries"]
    assert query["expected_error_if_presence_public"] == public["ages"]
    assert (shape["dataset"], shape["budget"], query["unit"]) == ("d", 1, "records")
    assert errors_if_public(td.plan(POLICY | {"release": ITEMS, "presence": "public"})) is None
