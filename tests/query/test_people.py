"""`people`: read, written, answered and drawn; and refused without a key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.releases.made import release_with, silent

import tetraodon as td
from tetraodon.query.kinds import PeopleCount, people
from tetraodon.query.query import asked_in_words
from tetraodon.releases.report import chart_spec

BASE: dict[str, Any] = {
    "dataset": "d",
    "individuals": {"key": "who", "at most": 3},
    "attributes": {"x": {"integer": [0, 3]}},
    "budget": {"epsilon": 1},
    "release": [{"name": "all", "people": "all"}, {"name": "visits", "people": "by rows", "whole": True}],
}
TABLE = pl.DataFrame({"who": [1, 1, 2, 3, 3, 3, 4, 4, 4, 4], "x": [0, 1, 3, 3, 2, 0, 0, 0, 0, 0]})


def test_it_is_read_and_written() -> None:
    policy = td.load_policy(BASE)
    assert [item.query for item in policy.items] == [PeopleCount(), PeopleCount(3)] == [people(), people(by_rows=3)]
    assert td.load_policy(policy.document) == policy
    page = (Path(__file__).parents[2] / "docs" / "policy-file.md").read_text(encoding="utf-8")
    assert "`people`" in page


def test_answers_are_those_of_the_people_whose_rows_count() -> None:
    """Whoever has more rows than allowed is cut here, since any two records are a secret, and still counts once."""
    release = release_with(td.load_policy(BASE), TABLE, silent)
    assert release["all"].columns["people"].tolist() == [4]
    assert list(release["all"].columns) == ["people", "lower", "upper"]
    visits = release["visits"].columns
    assert (visits["rows"].tolist(), visits["people"].tolist()) == ([1, 2, 3], [1, 1, 2])
    left_out = release_with(td.load_policy(BASE | {"secrets": {"x": "public"}}), TABLE, silent)
    assert left_out["all"].columns["people"].tolist() == [3]
    assert left_out["visits"].columns["people"].tolist() == [1, 1, 1]
    assert chart_spec(release["all"]) is None
    assert chart_spec(release["visits"]) is not None


def test_words() -> None:
    domain = td.load_policy(BASE).domain
    for query in (people(), people(by_rows=3)):
        assert "people" in asked_in_words(query)
        assert query.sentence(domain).startswith("How many people")
        assert query.off_by("7", "The number", domain) == "The number is typically off by 7 people."


def test_one_person_moves_it_by_one_and_their_rows_by_two() -> None:
    assert td.sensitivity(BASE, people()).value == 1
    assert td.sensitivity(BASE, people(by_rows=3)).value == 2
    plan = td.plan(BASE | {"release": BASE["release"][:1]})
    assert plan["all"].scale == 1


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"release": [{"name": "all", "people": "some"}]}, "all together, or by their rows"),
        ({"release": [{"name": "all", "people": "all", "by": "x"}]}, "means nothing for `people`"),
        ({"individuals": "one row each", "release": [{"name": "v", "people": "by rows"}]}, "whose row it is"),
        ({"individuals": "one row each", "release": [{"name": "v", "people": "all"}]}, "whose row it is"),
    ],
)
def test_what_it_cannot_be_is_refused(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(td.errors.TetraodonError, match=match):
        td.load_policy(BASE | changes)
