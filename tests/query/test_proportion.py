"""Shares of records, and of weights: prices against enumeration, intervals against the truth.

False alarms: `check_coverage` compares ten numbers with a quantile at 1e-10; it fails by chance with 1e-9 at most.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.query.released import answered, check_coverage

import tetraodon as td
from tetraodon.certificate import oracle
from tetraodon.query.kinds import proportion

ITEMS: list[dict[str, Any]] = [
    {"name": "young", "proportion": "age < 3"},
    {"name": "by-sex", "proportion": "age < 3", "by": "sex"},
    {"name": "weighted", "proportion": "age < 3", "weight": "w", "by": "sex"},
]


def policy(**changes: Any) -> td.Policy:
    base = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"age": {"integer": [0, 6]}, "sex": ["f", "m"], "w": {"real": [0.5, 2], "step": 0.5}},
        "secrets": {"age": {"within": 2}, "sex": "public", "w": "public"},
        "budget": {"epsilon": 2},
        "release": ITEMS,
    }
    return td.load_policy(base | changes)


def people(count: int) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    weights = rng.choice([0.5, 1.0, 1.5, 2.0], count)
    return pl.DataFrame({"age": rng.integers(0, 7, count), "sex": rng.choice(["f", "f", "m"], count), "w": weights})


@pytest.mark.parametrize("presence", ["public", "secret"])
def test_intervals_cover(presence: str) -> None:
    table = people(60).with_columns(young=pl.col("age") < 3)
    parts = [table.filter(pl.col("sex") == sex) for sex in ("f", "m")]
    truth = {
        "young": [table["young"].mean()],
        "by-sex": [part["young"].mean() for part in parts],
        "weighted": [(part["young"] * part["w"]).sum() / part["w"].sum() for part in parts],
    }
    check_coverage(policy(presence=presence), table, truth)


@pytest.mark.parametrize("presence", ["public", "secret"])
@pytest.mark.parametrize("weight", ["public", "everything"])
def test_weighted_conditions_move_as_far_as_enumeration_says(weight: str, presence: str) -> None:
    here = policy(secrets={"age": {"within": 2}, "sex": "public", "w": weight}, presence=presence, release=[])
    for asked in (
        td.queries.proportion("age < 3", weight="w", by="sex"),
        td.queries.count("age < 3 and sex = 'f'", weight="w"),
        td.queries.count(weight="w"),
        td.queries.histogram("age", weight="w"),
    ):
        assert td.sensitivity(here, asked).value == oracle.sensitivity(here, asked, 1)


def test_of_nobody_anything_is_possible() -> None:
    query, domain = proportion("age < 3", by="sex"), policy().domain
    nobody = np.array([[1, 0, 0], [5, 0, 0]])
    columns = query.columns(answered(query, domain, nobody, (0, 0), (1, 0)))  # type: ignore[arg-type]
    assert columns["proportion"].tolist() == [0.5, 0.0]
    assert (columns["lower"].tolist(), columns["upper"].tolist()) == ([0.0, 0.0], [1.0, 1.0])


def test_everybody_is_counted_exactly_where_that_is_public() -> None:
    plan = td.plan(policy())
    for name in ("young", "by-sex", "weighted"):
        assert (len(plan[name].strategy.noisy), len(plan[name].strategy.exact)) == (1, 1)
    assert len(td.plan(policy(presence="secret"))["young"].strategy.noisy) == 2


def test_it_is_released_verified_and_told(tmp_path: Path) -> None:
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    with td.Ledger(ledger) as book:
        book.open("d", 2, policy().document)
    td.release(td.plan(policy()), people(20), ledger=ledger, out=tmp_path / "out")
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    again = td.load_release(tmp_path / "out")
    assert list(again["by-sex"].columns) == ["sex", "proportion", "lower", "upper"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "The share of records that satisfy: age &lt; 3, each counting as much as its w, for each sex." in page


def test_in_words() -> None:
    domain = policy().domain
    asked = proportion("age < 3", weight="w")
    assert asked.asked() == "share of records where age < 3, weighted by w"
    assert asked.off_by("3", "", domain) == "The sum of w behind the share is typically off by 3."
    told = proportion("age < 3").off_by("3", "", domain)
    assert told == "The number of records behind the share is typically off by 3."


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: td.queries.proportion("age < 3 and w > 1", weight="w"), "looks at w, the weight"),
        (lambda: td.queries.proportion("age < 3", weight="sex"), "sex is not a number"),
        (lambda: td.queries.count("age < 3", weight="minus"), "can be negative"),
    ],
)
def test_what_cannot_be_weighted_is_refused(make: Any, what: str) -> None:
    attributes = {
        "age": {"integer": [0, 6]},
        "sex": ["f", "m"],
        "w": {"real": [0.5, 2], "step": 0.5},
        "minus": {"integer": [-1, 1]},
    }
    here = policy(attributes=attributes, secrets={}, release=[])
    with pytest.raises(td.errors.QueryError, match=what):
        td.sensitivity(here, make())
