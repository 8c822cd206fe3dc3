"""What questions from sums measure costs what enumeration of a small world says, of parts of the records, too."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from tests.releases.made import release_with, silent
from tests.theory.largest_move import largest_move

import tetraodon as td

ITEMS: dict[str, tuple[dict[str, Any], Any]] = {
    "variance": ({"variance": "x"}, lambda t: t["x"].var(ddof=0)),
    "covariance": ({"covariance": ["x", "y"]}, lambda t: t.select(pl.cov("x", "y", ddof=0)).item()),
    "correlation": ({"correlation": ["x", "y"]}, lambda t: t.select(pl.corr("x", "y")).item()),
    "regression": ({"regression": "y", "on": ["x"]}, None),
    "proportion": ({"proportion": "x >= 2"}, lambda t: (t["x"] >= 2).mean()),
    "weighted share": (
        {"proportion": "x >= 2", "weight": "w"},
        lambda t: ((t["x"] >= 2) * t["w"]).sum() / t["w"].sum(),
    ),
    "ratio": ({"ratio": ["y", "w"]}, lambda t: t["y"].sum() / t["w"].sum()),
    "weighted ratio": (
        {"ratio": ["x", "y"], "weight": "w"},
        lambda t: (t["x"] * t["w"]).sum() / (t["y"] * t["w"]).sum(),
    ),
    "weighted count": ({"count": "x = 1", "weight": "w"}, lambda t: ((t["x"] == 1) * t["w"]).sum()),
}
SECRETS: dict[str, dict[str, Any]] = {
    "everything": {"secrets": {}},
    "one at a time": {"secrets": {"x": {"within": 1}, "w": "public"}, "together": "one attribute at a time"},
    "blocks": {"secrets": {"x": {"blocks": [[0, 1], [2, 3]]}, "y": "public"}},
    "public": {"secrets": {"x": {"within": 1}, "y": "public", "w": "public", "sex": "public"}},
    "presence": {"presence": "secret", "secrets": {"y": {"within": 1}, "w": "public"}},
}
TABLE = pl.DataFrame({"x": [0, 1, 3, 2, 1, 1], "y": [1, 2, 3, 3, 1, 2], "w": [1, 2, 1, 2, 2, 1], "sex": list("fmffmf")})


def policy(item: dict[str, Any], **changes: Any) -> td.Policy:
    base = {
        "dataset": "d",
        "presence": "public",
        "attributes": {
            "x": {"integer": [0, 3]},
            "y": {"integer": [1, 3]},
            "w": {"integer": [1, 2]},
            "sex": ["f", "m"],
        },
        "budget": {"epsilon": 1},
        "release": [{"name": "it", **item}],
    }
    return td.load_policy(base | changes)


@pytest.mark.parametrize("where", ["", "sex = 'f'", "x >= 1"])
@pytest.mark.parametrize("secrets", SECRETS)
@pytest.mark.parametrize("kind", ITEMS)
def test_the_certificate_is_what_enumeration_says(kind: str, secrets: str, where: str) -> None:
    item = ITEMS[kind][0] | ({"where": where} if where else {})
    here = policy(item, **SECRETS[secrets])
    plan = td.plan(here)
    noisy = [m for m in plan["it"].measurements if m.scale]
    assert largest_move(here.graph, [(m.query, 1 / m.scale) for m in noisy]) == plan.certificate.epsilon
    still = [m.query for m in plan["it"].measurements if not m.scale]
    assert not still or largest_move(here.graph, [(query, Fraction(1)) for query in still]) == 0


@pytest.mark.parametrize("where", ["", "sex = 'f'", "x >= 1"])
@pytest.mark.parametrize("kind", [kind for kind, (_, truth) in ITEMS.items() if truth])
def test_without_noise_it_is_the_truth_about_those_records(kind: str, where: str) -> None:
    item, truth = ITEMS[kind]
    here = policy(item | ({"where": where} if where else {}))
    those = {"": TABLE, "sex = 'f'": TABLE.filter(pl.col("sex") == "f"), "x >= 1": TABLE.filter(pl.col("x") >= 1)}
    columns = release_with(here, TABLE, silent)["it"].columns
    assert columns[here.items[0].query.column][0] == pytest.approx(truth(those[where]))


# -- missing values that stand apart -----------------------------------------------------------------

APART = {
    "x": {"integer": [0, 3], "missing": "separate"},
    "y": {"integer": [1, 3], "missing": "separate"},
    "w": {"integer": [1, 2], "missing": "separate"},
    "sex": ["f", "m"],
}
GAPS = TABLE.with_columns(
    x=pl.Series([0, 1, 3, None, 1, 1]), y=pl.Series([1, 2, 3, 3, None, 2]), w=pl.Series([1, 2, 1, 2, 2, None])
)
NEEDED = {
    "covariance": ["x", "y"],
    "correlation": ["x", "y"],
    "weighted share": ["w"],
    "ratio": ["y", "w"],
    "weighted ratio": ["x", "y", "w"],
    "weighted count": ["w"],
    "weighted mean": ["x", "w"],
}
MORE: dict[str, tuple[dict[str, Any], Any]] = ITEMS | {
    "weighted mean": ({"mean": "x", "weight": "w"}, lambda t: (t["x"] * t["w"]).sum() / t["w"].sum())
}


@pytest.mark.parametrize("kind", NEEDED)
def test_only_those_count_who_answered_all_that_it_takes(kind: str) -> None:
    item, truth = MORE[kind]
    here = policy(item, attributes=APART)
    columns = release_with(here, GAPS, silent)["it"].columns
    assert columns[here.items[0].query.column][0] == pytest.approx(truth(GAPS.drop_nulls(NEEDED[kind])))
    plan = td.plan(here)
    noisy = [(m.query, 1 / m.scale) for m in plan["it"].measurements if m.scale]
    assert largest_move(here.graph, noisy) == plan.certificate.epsilon
    assert here.items[0].sentence(here.domain).endswith("not missing count.")


def test_attributes_of_too_many_values_are_refused_at_once() -> None:
    attributes = {name: {"integer": [0, 999], "missing": "separate"} for name in "xyw"}
    with pytest.raises(td.errors.Refused, match="too many values together"):
        td.plan(policy({"regression": "x", "on": ["y", "w"]}, attributes=attributes))
