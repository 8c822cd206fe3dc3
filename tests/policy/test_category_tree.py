"""Trees of categories: read, written, secret up to a level, asked at any level, and adding up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.releases.made import release_with, silent

import tetraodon as td
from tetraodon.policy.attribute_graph import Blocks, read_tree, tree_document

PROVINCES = {"East": {"Ontario": ["Toronto", "Ottawa"], "Quebec": ["Montreal"]}, "West": {"BC": ["Victoria"]}}
ITEMS: list[dict[str, Any]] = [
    {"name": "cities", "histogram": "city"},
    {"name": "regions", "histogram": "city", "bins": {"city": "region"}},
    {"name": "provinces", "histogram": ["province", "sex"]},
    {"name": "pay", "mean": "pay", "by": "region"},
]


def policy(**changes: Any) -> td.Policy:
    base = {
        "dataset": "d",
        "presence": "public",
        "attributes": {
            "city": {"tree": PROVINCES, "levels": ["region", "province"]},
            "sex": ["f", "m"],
            "pay": {"integer": [0, 9]},
        },
        "secrets": {"sex": "public"},
        "budget": {"epsilon": 1},
        "release": ITEMS,
    }
    return td.load_policy(base | changes)


TABLE = pl.DataFrame(
    {
        "city": ["Toronto", "Ottawa", "Ottawa", "Montreal", "Victoria", "Victoria"],
        "sex": ["f", "m", "f", "f", "m", "m"],
        "pay": [1, 2, 3, 6, 8, 9],
    }
)


def test_it_is_read_and_written_in_its_order() -> None:
    here = policy()
    assert here.domain["city"].labels == ("Toronto", "Ottawa", "Montreal", "Victoria")
    assert [level.name for level in here.domain["city"].levels] == ["region", "province"]
    assert here.domain["city"].levels[1].of == ("Ontario", "Ontario", "Quebec", "BC")
    written = here.document["attributes"][0]
    assert written["tree"] == [
        ["East", [["Ontario", ["Toronto", "Ottawa"]], ["Quebec", ["Montreal"]]]],
        ["West", [["BC", ["Victoria"]]]],
    ]
    assert td.load_policy(here.document) == here
    plain = policy(attributes={"city": ["Toronto"], "pay": {"integer": [0, 9]}}, release=[], secrets={})
    assert plain.domain["city"].levels == ()


def test_every_level_is_asked_and_adds_up() -> None:
    release = release_with(policy(), TABLE, silent)
    regions = release["regions"].columns
    assert dict(zip(regions["city"], regions["count"].round(6), strict=True)) == {"East": 4, "West": 2}
    provinces = release["provinces"].columns
    assert provinces["city"].tolist()[::2] == ["Ontario", "Quebec", "BC"]
    assert provinces["count"].round(6).tolist() == [2, 1, 1, 0, 0, 2]
    assert release["pay"].columns["mean"].round(6).tolist() == [3, 8.5]
    rng = np.random.default_rng(1)
    noisy = release_with(policy(), TABLE, lambda shape: rng.integers(-9, 10, shape))
    cities, coarse, middle = (noisy[name].table.values for name in ("cities", "regions", "provinces"))
    assert [cities[:3].sum(), cities[3]] == pytest.approx(coarse.tolist())
    by_province = [cities[:2].sum(), cities[2], cities[3]]
    assert by_province == pytest.approx(middle.sum(axis=1).tolist())


def test_it_may_be_secret_up_to_a_level() -> None:
    here = policy(secrets={"city": {"level": "region"}, "sex": "public"}, release=ITEMS[:3])
    assert here.graph.factor_of("city").graph == Blocks((0, 0, 0, 1))
    assert here.document["secrets"]["city"] == {"blocks": [["Toronto", "Ottawa", "Montreal"], ["Victoria"]]}
    plan = td.plan(here)
    assert [plan[name].mechanism for name in ("cities", "regions", "provinces")] == ["identity", "exact", "identity"]


def test_missing_values_that_stand_apart_are_apart_from_every_branch() -> None:
    attributes = {
        "city": {"tree": PROVINCES, "levels": ["region", "province"], "missing": "separate"},
        "sex": ["f", "m"],
    }
    here = policy(attributes=attributes, release=[{"name": "it", "histogram": "region"}])
    table = TABLE.with_columns(city=pl.Series(["Toronto", None, "Ottawa", None, None, "Victoria"]))
    columns = release_with(here, table, silent)["it"].columns
    assert dict(zip(columns["city"], columns["count"].round(6), strict=True)) == {"East": 2, "West": 1, "missing": 3}
    with pytest.raises(td.errors.Refused, match="in no branch of its tree"):
        policy(attributes=attributes, secrets={"city": {"level": "region"}}, release=[])


def test_a_part_of_the_records_has_the_branches_that_it_can_be_in() -> None:
    items = [
        {"name": "some", "histogram": "province", "where": "city <> 'Montreal'"},
        {"name": "east", "mean": "pay", "by": "province", "where": "city in ('Ottawa', 'Montreal')"},
    ]
    release = release_with(policy(release=items), TABLE, silent)
    assert release["some"].columns["city"].tolist() == ["Ontario", "BC"]
    assert release["some"].columns["count"].tolist() == [3, 2]
    assert release["east"].columns["city"].tolist() == ["Ontario", "Quebec"]
    assert release["east"].columns["mean"].tolist() == [2.5, 6]


def test_it_is_released_and_verified(tmp_path: Path) -> None:
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    with td.Ledger(ledger) as book:
        book.open("d", 1, policy().document)
    td.release(td.plan(policy()), TABLE, ledger=ledger, out=tmp_path / "out")
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    assert td.load_release(tmp_path / "out")["regions"].columns["city"].tolist() == ["East", "West"]


@pytest.mark.parametrize(
    ("attribute", "what"),
    [
        ({"tree": ["ON", "QC"]}, "not equally deep, or there are none"),
        ({"tree": {"East": ["ON"], "West": {"Coast": ["BC"]}}}, "not equally deep"),
        ({"tree": {"East": []}}, "no tree of categories"),
        ({"tree": {"East": "ON"}}, "no tree of categories"),
        ({"tree": [["East", ["ON"]], ["East", ["QC"]]]}, "two branches share a name"),
        ({"tree": {"East": {"Rest": ["ON"]}, "West": {"Rest": ["BC"]}}}, "two branches at level 2 share a name"),
        ({"tree": {"East": ["ON"], "West": ["ON"]}}, "listed twice"),
        ({"tree": {"East": ["ON"]}, "levels": ["a", "b"]}, "does not name each of them once"),
        ({"tree": {"East": ["ON"]}, "levels": ["sex"]}, "so is something else"),
        ({"categories": ["ON"], "levels": ["region"]}, "only trees have levels"),
    ],
)
def test_mistakes_are_told(attribute: dict[str, Any], what: str) -> None:
    with pytest.raises(td.errors.PolicyError, match=what):
        policy(attributes={"city": attribute, "sex": ["f", "m"]}, release=[])


def test_a_level_that_is_none_is_told() -> None:
    with pytest.raises(td.errors.PolicyError, match="did you mean 'region'"):
        policy(secrets={"city": {"level": "regoin"}}, release=[])
    with pytest.raises(td.errors.PolicyError, match="declare it as"):
        policy(secrets={"sex": {"level": "region"}}, release=[])


def test_deep_trees_are_refused() -> None:
    deep: Any = ["x"]
    for _ in range(12):
        deep = {"a": deep}
    with pytest.raises(td.errors.PolicyError, match="too deep"):
        policy(attributes={"city": {"tree": deep}}, secrets={}, release=[])


def test_normal_forms_are_read_alike() -> None:
    values = policy().domain["city"].values
    assert read_tree(tree_document(values)["tree"]) == read_tree(PROVINCES)  # type: ignore[arg-type]
