"""Files that a policy names are in its own folder, whatever the path looks like; a stranger's policy names none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tetraodon as td
from tetraodon.policy.load import stated_policy
from tetraodon.policy.source import beside

POLICY: dict[str, object] = {
    "dataset": "d",
    "attributes": {"sex": ["f", "m"], "home": ["a", "b"]},
    "budget": {"epsilon": 1},
}
KEYS: dict[str, dict[str, object]] = {
    "known": {"known": [{"table": "counts.csv"}]},
    "cells": {"together": {"over": ["sex", "home"], "cells": "cells.csv"}},
}


@pytest.mark.parametrize("name", ["../secret.csv", "inner/../../secret.csv", "ABSOLUTE", "link.csv", "a\0b"])
def test_nothing_outside_the_folder(tmp_path: Path, name: str) -> None:
    inside = tmp_path / "policies"
    (inside / "inner").mkdir(parents=True)
    secret = tmp_path / "secret.csv"
    secret.touch()
    (inside / "link.csv").symlink_to(secret)
    with pytest.raises(td.errors.PolicyError, match="outside the policy's folder"):
        beside(inside, name.replace("ABSOLUTE", str(secret)))


def test_a_file_of_the_folder_may_be_named_in_any_way(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for name in ("a.csv", "inner/a.csv", "inner/../a.csv"):
        assert beside(tmp_path, name).resolve().is_relative_to(tmp_path.resolve())


@pytest.mark.parametrize("key", KEYS)
def test_a_policy_reads_no_file_outside_its_folder_and_a_strangers_reads_none(tmp_path: Path, key: str) -> None:
    (tmp_path / "counts.csv").write_text("sex,count\nf,1\nm,2\n")
    (tmp_path / "cells.csv").write_text("sex,home,block\nf,a,1\nf,b,1\nm,a,2\nm,b,2\n")
    policy = POLICY | KEYS[key]
    assert td.load_policy(policy, folder=tmp_path).folder == tmp_path
    with pytest.raises(td.errors.PolicyError, match="names no files"):
        stated_policy(policy)
    text = json.dumps(policy).replace(".csv", "/../../x.csv")
    with pytest.raises(td.errors.PolicyError, match="outside the policy's folder"):
        td.load_policy(json.loads(text), folder=tmp_path)
