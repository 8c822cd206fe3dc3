"""What is said of values that should not be there is what a release does with them, or a view."""

from __future__ import annotations

from tests.policy.test_adversary_in_words import POLICY

from tetraodon.policy.explain import explain
from tetraodon.policy.load import load_policy


def test_values_outside_are_refused_or_clamped_and_not_both() -> None:
    view = {**POLICY, "adversary": {"prior": {"d": "0.1"}, "posterior": 0.5}}
    alone = explain(load_policy(view)).text
    assert "a table with a value beyond the ends is refused" in alone
    assert "nearer end" not in alone
    both = " ".join(explain(load_policy({**view, "release": [{"name": "ages", "histogram": "age"}]})).text.split())
    assert "This is how a release reads them." in both
    assert "nearer end" in both
