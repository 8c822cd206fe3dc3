"""Sums and means per person: each person's rows added up and capped, against plain Python; and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.releases.made import release_with, silent

import tetraodon as td
from tetraodon.query.kinds import MeanPerPerson, TotalPerPerson, mean_per_person, total_per_person
from tetraodon.query.query import asked_in_words

BASE: dict[str, Any] = {
    "dataset": "d",
    "individuals": {"key": "who", "at most": 3},
    "attributes": {
        "pay": {"real": [0.5, 4], "step": 0.5, "unit": "EUR"},
        "x": {"integer": [-1, 3]},
        "none": {"integer": [0, 0]},
    },
    "secrets": {"x": "public"},
    "budget": {"epsilon": 1},
    "release": [
        {"name": "sum", "total per person": "pay", "cap": 5.5},
        {"name": "each", "mean per person": "pay", "cap": 5.5},
    ],
}
WHO, PAY = [1, 1, 2, 3, 3, 3, 4, 4, 4, 4], [0.5, 1, 4, 4, 3, 0.5, 1, 1, 1, 1]
TABLE = pl.DataFrame({"who": WHO, "pay": PAY, "x": [0] * 10, "none": [0] * 10})


def capped(cap: float) -> list[float]:
    """What those with at most three rows have."""
    mine = [[p for w, p in zip(WHO, PAY, strict=True) if w == who] for who in {*WHO}]
    return [min(cap, sum(rows)) for rows in mine if len(rows) <= 3]


def test_they_are_read_and_written() -> None:
    policy = td.load_policy(BASE)
    assert [type(item.query) for item in policy.items] == [TotalPerPerson, MeanPerPerson]
    assert [item.query for item in policy.items] == [
        total_per_person("pay", cap="5.5"),
        mean_per_person("pay", cap=5.5),
    ]
    assert td.load_policy(policy.document) == policy
    page = (Path(__file__).parents[2] / "docs" / "policy-file.md").read_text(encoding="utf-8")
    for key in ("total per person", "mean per person", "cap"):
        assert f"`{key}`" in page


def test_answers_are_capped_sums_over_people() -> None:
    release = release_with(td.load_policy(BASE), TABLE, silent)
    assert release["sum"].columns["total"].tolist() == [sum(capped(5.5))] == [11.0]
    assert release["each"].columns["mean"].tolist() == pytest.approx([sum(capped(5.5)) / 3])
    for answer in release.values():
        lower, upper = answer.columns["lower"][0], answer.columns["upper"][0]
        assert 0 <= lower <= next(iter(answer.columns.values()))[0] <= upper


def test_a_person_moves_them_by_the_cap_or_by_all_their_rows() -> None:
    assert td.sensitivity(BASE, total_per_person("pay", cap=5.5)).value == td.load_policy(BASE).items[0].query.cap
    assert td.sensitivity(BASE, total_per_person("pay", cap=100)).value == 12
    assert td.sensitivity(BASE, td.total("pay")).value == 12
    capped_scale = td.plan(BASE | {"release": BASE["release"][:1]})["sum"].expected_error
    rows = td.plan(BASE | {"release": [{"name": "sum", "total": "pay"}]})["sum"].expected_error
    assert capped_scale < rows / 2


def test_words() -> None:
    domain = td.load_policy(BASE).domain
    for query in (total_per_person("pay", cap=5), mean_per_person("pay", cap=5)):
        assert "at most 5 each" in asked_in_words(query)
        assert "pay in EUR, a person's rows added up, to at most 5" in query.sentence(domain)
        assert "off by 7 EUR" in query.off_by("7", "The number", domain)


@pytest.mark.parametrize(
    ("item", "match"),
    [
        ({"total per person": "pay"}, "at most"),
        ({"total per person": "pay", "cap": "much"}, "cap"),
        ({"total per person": "pay", "cap": 5.2}, "not on the grid"),
        ({"total per person": "x", "cap": 5}, "can be negative"),
        ({"total per person": "none", "cap": 5}, "has one value only"),
        ({"mean per person": "pay", "cap": -1}, "not above zero"),
        ({"mean per person": "pay", "cap": 5, "by": "x"}, "means nothing"),
        ({"mean per person": "sex", "cap": 5}, "no attribute"),
    ],
)
def test_what_they_cannot_be_is_refused(item: dict[str, Any], match: str) -> None:
    with pytest.raises(td.TetraodonError, match=match):
        td.load_policy(BASE | {"release": [{"name": "it", **item}]})


def test_a_key_is_needed() -> None:
    with pytest.raises(td.TetraodonError, match="whose row it is"):
        td.load_policy(BASE | {"individuals": "one row each"})
