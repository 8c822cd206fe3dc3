"""Examples show what is near and what is far, without writing anything out."""

from __future__ import annotations

import json
import math

from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.policy.promise_words import factor_examples, presence_example, record_examples, steps_text


def policy_of(secret: object, form: object, **more: object) -> Policy:
    return load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"a": form, "b": {"integer": [0, 99]}},
            "secrets": {"a": secret, "b": {"within": 10}},
            "budget": {"epsilon": 1},
            **more,
        }
    )


def steps_of(policy: Policy) -> list[int | None]:
    return [example.steps for example in factor_examples(policy, policy.graph.factors[0])]


def test_nearest_first_and_both_sides_of_the_limit() -> None:
    assert steps_of(policy_of({"within": 10}, {"integer": [0, 99]})) == [1, 1, 2, 3, 10]
    assert steps_of(policy_of({"blocks": [[0, 49], [50, 99]]}, {"integer": [0, 99]})) == [1, None, None]
    assert steps_of(policy_of({"pairs": [["a", "b"]]}, ["a", "b", "c"])) == [1, None]
    assert steps_of(policy_of("everything", ["a", "b", "c"])) == [1, 1]
    assert steps_of(policy_of("public", ["a", "b"])) == [None]
    assert steps_of(policy_of("everything", ["a"])) == []


def test_whole_records_differ_in_everything_that_has_secrets() -> None:
    near, far = record_examples(policy_of({"within": 1}, {"integer": [0, 9]}, together="one attribute at a time"))
    assert (near.steps, far.names) == (2, ("a", "b"))
    assert next(example.steps for example in record_examples(policy_of({"within": 1}, {"integer": [0, 9]}))) == 1
    assert record_examples(policy_of("public", ["x", "y"])) == ()


def test_a_joint_metric_has_examples_along_each_axis() -> None:
    together = {"metric": "l1", "over": ["a", "b"], "within": 2}
    policy = policy_of("x", {"integer": [0, 9]}, secrets={}, together=together)
    sentences = [example.sentence for example in factor_examples(policy, policy.graph.factors[0])]
    assert sentences[0].startswith("a 4, b 49 rather than a 5, b 49: the odds move at most 2.72 times (one step")
    assert steps_of(policy) == [1, 1, 1, 1, 2, 2, 54]


def test_presence() -> None:
    example = presence_example(policy_of("public", ["x", "y"], presence="secret"))
    assert (example.steps, example.second) == (1, None)
    assert json.loads(json.dumps(example.document))["odds_at_most"] == "2.72"


def test_no_bound_is_null() -> None:
    policy = policy_of("public", ["x", "y"])
    [example] = factor_examples(policy, policy.graph.factors[0])
    assert example.document == {
        "attributes": ["a"],
        "x": "x",
        "y": "y",
        "steps": None,
        "odds": None,
        "odds_at_most": None,
        "truthful": None,
        "truthful_at_most": None,
    }


def test_steps_in_words() -> None:
    assert [steps_text(d) for d in (1, 3, math.inf)] == ["one step", "3 steps", "no chain of steps"]
