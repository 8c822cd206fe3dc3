"""Known facts: what they count, and everything that is wrong with one is told with its fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.errors import PolicyError, QueryError, Refused
from tetraodon.policy.build_known import known_from
from tetraodon.policy.known import Known, Rectangle, check_known, known_names, known_query, labels
from tetraodon.policy.known_section import KnownSection
from tetraodon.workload.query import Count, Histogram, count, histogram

DOMAIN = Domain(
    (
        Attribute("x", Integers(1, 6)),
        Attribute("y", Integers(1, 4)),
        Attribute("sex", Categories(("Female", "Male")), other=0),
    )
)
CELLS = np.arange(DOMAIN.size)


def read(entry: dict[str, Any], folder: Path = Path(".")) -> Known:
    return known_from(KnownSection.model_validate(entry), DOMAIN, folder)


def test_forms_of_the_policy_file() -> None:
    assert read({"count": "x = 1 or y = 2"}) == Known(count("x = 1 or y = 2"))
    assert read({"count": "x = 1", "is": "7"}).answers == (7,)
    assert read({"marginal": ["sex", "y"]}) == Known(histogram("sex", "y"))
    assert read({"rectangle": {"y": ["2", "3"], "x": ["1", "4"]}}) == Known(Rectangle((("x", 1, 4), ("y", 2, 3))))
    assert read({"blocks": {"x": [["1", "2"], ["3", "6"]]}}) == Known(Histogram(("x",), (("x", ((1, 2), (3, 6))),)))


def test_every_cell_is_counted_in_one_row_of_a_table_and_in_no_row_outside_a_count() -> None:
    for known in (Known(histogram("sex", "x")), Known(count("x = 1 or y = 2")), Known(Rectangle((("x", 2, 3),)))):
        query = known_query(known, DOMAIN)
        label = labels(known, DOMAIN, CELLS)
        matrix, _ = query.matrix(DOMAIN)
        for row in range(len(matrix)):
            assert (matrix[row] == (label == row)).all()


def test_only_the_attributes_that_are_looked_at_matter() -> None:
    assert known_names([Known(count("y = 2")), Known(histogram("sex"))], DOMAIN) == ("y", "sex")


def test_an_earlier_table(tmp_path: Path) -> None:
    (tmp_path / "earlier.csv").write_text("sex,x,count\nFemale,1..3,5\nMale,1..3,2\nFemale,4..6,0\nMale,4..6,9\n")
    known = read({"table": "earlier.csv"}, tmp_path)
    assert known == Known(Histogram(("sex", "x"), (("x", ((1, 3), (4, 6))),)), (5, 0, 2, 9))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "not a table"),
        ("sex\nMale\n", "called count"),
        ("age,count\n3,1\n", "no attribute 'age'"),
        ("sex,count\nMale,3\n", "leave"),
        ("sex,count\nMale,3\nOther,4\n", "not a value"),
        ("sex,count\nMale,3\nMale,4\nFemale,1\n", "twice"),
        ("sex,count\nMale,3\nFemale,-1\n", "not a whole number"),
        ("sex,count\nMale,3\nFemale\n", "same length"),
        ("x,count\n1..3,3\n2..6,1\n", "overlap"),
        ("sex,x,count\nFemale,1..6,3\n", "leave"),
    ],
)
def test_a_table_that_does_not_fit_the_domain(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "earlier.csv").write_text(text)
    with pytest.raises(PolicyError, match=what):
        read({"table": "earlier.csv"}, tmp_path)


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        read({"table": "earlier.csv"}, tmp_path)


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


def test_answers_fit_their_question() -> None:
    with pytest.raises(PolicyError, match="3 answers where the domain has 2"):
        check_known([Known(histogram("sex"), (1, 2, 3))], DOMAIN)
    with pytest.raises(PolicyError, match="below zero"):
        Known(count("x = 1"), (-1,))
    with pytest.raises(PolicyError, match="split"):
        Known(Count("", ("sex",)))
    with pytest.raises(PolicyError, match="once"):
        Rectangle(())


@pytest.mark.parametrize(
    "known",
    [
        [Known(histogram("sex"), (4, 5)), Known(histogram("y"), (1, 1, 1, 1))],
        [Known(count("x <= 3"), (2,)), Known(count("x <= 2"), (3,))],
        [Known(count("x = 1 and x = 2"), (1,))],
        [Known(histogram("sex"), (0, 5)), Known(count("sex = 'Female' and x = 1"), (1,))],
    ],
)
def test_contradictions_are_found(known: list[Known]) -> None:
    with pytest.raises(PolicyError, match="contradict"):
        check_known(known, DOMAIN)


def test_a_fact_is_known_once() -> None:
    with pytest.raises(PolicyError, match="twice"):
        check_known([Known(count("x = 1")), Known(count("x = 1"), (4,))], DOMAIN)
    check_known([Known(histogram("sex"), (4, 5)), Known(count("x = 1"), (4,)), Known(count(""), (9,))], DOMAIN)
