"""The text of a policy file reads back as the same policy."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from tests.policy.policies import policies

from tetraodon.policy.dump import dump_policy
from tetraodon.policy.load import load_policy


@settings(max_examples=80, deadline=None)
@given(policies())
def test_the_text_reads_back(tmp_path_factory, document: dict) -> None:
    policy = load_policy(document)
    path: Path = tmp_path_factory.mktemp("dump") / "p.yaml"
    path.write_text(dump_policy(policy.document), encoding="utf-8")
    assert load_policy(path) == policy
    assert load_policy(path).document == policy.document
