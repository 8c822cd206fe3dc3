"""The forms of a known fact in the policy file, and what is refused there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.errors import PolicyError, QueryError, Refused
from tetraodon.policy.build_known import known_from
from tetraodon.policy.known import Known, Rectangle, known_query
from tetraodon.policy.known_section import KnownSection
from tetraodon.workload.query import Histogram, count, histogram

DOMAIN = Domain(
    (
        Attribute("x", Integers(1, 6)),
        Attribute("y", Integers(1, 4)),
        Attribute("sex", Categories(("Female", "Male")), other=0),
    )
)


def read(entry: dict[str, Any], folder: Path = Path(".")) -> Known:
    return known_from(KnownSection.model_validate(entry), DOMAIN, folder)


def test_forms_of_the_policy_file() -> None:
    assert read({"count": "x = 1 or y = 2"}) == Known(count("x = 1 or y = 2"))
    assert read({"count": "x = 1", "is": "7"}).answers == (7,)
    assert read({"marginal": ["sex", "y"]}) == Known(histogram("sex", "y"))
    assert read({"rectangle": {"y": ["2", "3"], "x": ["1", "4"]}}) == Known(Rectangle((("x", 1, 4), ("y", 2, 3))))
    assert read({"blocks": {"x": [["1", "2"], ["3", "6"]]}}) == Known(Histogram(("x",), (("x", ((1, 2), (3, 6))),)))


@pytest.mark.parametrize("word", ["at most", "at least"])
def test_inequalities_are_refused_with_the_reason(word: str) -> None:
    with pytest.raises(Refused, match="inequality"):
        read({"count": "x = 1", word: "5"})


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ({"marginal": ["age"]}, "no attribute 'age'"),
        ({"marginal": ["x", "x"]}, "once"),
        ({"marginal": ["x"], "bins": {"y": [["1", "4"]]}}, "does not have"),
        ({"count": "x = 1", "bins": {"x": [["1", "6"]]}}, "means nothing"),
        ({"rectangle": {"z": ["1", "2"]}}, "no attribute"),
        ({"rectangle": {"x": ["1"]}}, "two ends"),
        ({"rectangle": {"x": ["1", "9"]}}, "not a value"),
        ({"rectangle": {"x": ["3", "1"]}}, "smaller end first"),
        ({"rectangle": {"sex": ["Female", "Male"]}}, "no order"),
        ({"blocks": {"x": [["1", "3"], ["3", "6"]]}}, "overlap"),
        ({"blocks": {"x": [["1", "3"]]}}, "leave"),
        ({"table": "t.csv", "is": "3"}, "in its file"),
    ],
)
def test_what_does_not_fit_the_domain_is_an_error(entry: dict[str, Any], what: str) -> None:
    with pytest.raises((PolicyError, QueryError), match=what):
        known_query(read(entry), DOMAIN)
