"""Public tables are plain files in the policy's folder, and what is copied is said with its columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars
import pytest

from tetraodon.errors import PolicyError
from tetraodon.policy.explain import explain
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.policy.public_tables import side_tables

POLICY: dict[str, Any] = {
    "dataset": "people",
    "attributes": {"nation": ["A", "B"]},
    "budget": {"epsilon": 3},
    "adversary": {"prior": {"d": "0.1"}, "posterior": 0.5},
}


def policy(folder: Path, **public: str) -> Policy:
    folder.mkdir(exist_ok=True)
    (folder / "policy.yaml").write_text(json.dumps({**POLICY, "public": public}))
    return load_policy(folder / "policy.yaml")


def test_names_and_columns(tmp_path: Path) -> None:
    (tmp_path / "regions.csv").write_text("country,gdp\nA,5000\n")
    polars.DataFrame({"country": ["A"], "head": ["x"]}).write_parquet(tmp_path / "heads.parquet")
    found = side_tables(policy(tmp_path, regions="regions.csv", heads="heads.parquet"))
    assert {name: table.columns for name, table in found.items()} == {
        "regions": ("country", "gdp"),
        "heads": ("country", "head"),
    }
    told = " ".join(explain(policy(tmp_path, regions="regions.csv")).text.split())
    assert "The public table regions (regions.csv) is copied into the folder as it is, with its columns" in told
    assert "country and gdp." in told


@pytest.mark.parametrize("file", ["../secret.csv", "inner/../../secret.csv", "ABSOLUTE", "link.csv"])
def test_nothing_outside_the_folder(tmp_path: Path, file: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("name,disease\nJoe,flu\n")
    inside = tmp_path / "policy"
    (inside / "inner").mkdir(parents=True)
    (inside / "link.csv").symlink_to(secret)
    with pytest.raises(PolicyError, match="outside the policy's folder") as caught:
        side_tables(policy(inside, raw=file.replace("ABSOLUTE", str(secret))))
    assert "disease" not in str(caught.value)


@pytest.mark.parametrize("public", [{"regions": "nowhere.csv"}, {"regions": "x.txt"}, {"people": "x.csv"}])
def test_side_tables_that_cannot_be_used(tmp_path: Path, public: dict[str, str]) -> None:
    (tmp_path / "x.txt").touch()
    (tmp_path / "x.csv").write_text("a\n1\n")
    with pytest.raises(PolicyError, match="public"):
        side_tables(policy(tmp_path, **public))
