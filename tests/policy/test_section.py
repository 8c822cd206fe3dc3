"""Shapes of parts of a policy file: known keys only, one kind where there is a choice; `known` and `attackers`."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.errors import PolicyError, QueryError
from tetraodon.policy.build import known_from
from tetraodon.policy.document import AttributeSection, IndividualsSection
from tetraodon.policy.known import CountWhere, Known, Marginal, Rectangle, known_query
from tetraodon.policy.section import AttackersEntry, ChainSection, KnownSection, choice


def test_keys_are_those_that_curators_write() -> None:
    assert IndividualsSection.keys() == ["key", "at most", "secret"]


def test_the_kind_is_the_one_that_was_written() -> None:
    assert AttributeSection.model_validate({"integer": ["0", "9"]}).kind == "integer"
    for wrong in ({}, {"integer": ["0", "9"], "boolean": "true"}, {"integre": []}):
        with pytest.raises(ValidationError):
            AttributeSection.model_validate(wrong)


def test_a_choice_takes_its_words_only() -> None:
    adapter = TypeAdapter(choice("yes", "no"))
    assert adapter.validate_python("yes") == "yes"
    assert adapter.json_schema() == {"enum": ["yes", "no"]}
    for wrong in ("Yes", None, [], {}):
        with pytest.raises(ValidationError):
            adapter.validate_python(wrong)


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
    assert read({"count": "x = 1 or y = 2"}) == Known(CountWhere("x = 1 or y = 2"))
    assert read({"count": "x = 1", "is": "7"}).answers == (7,)
    assert read({"marginal": ["sex", "y"]}) == Known(Marginal(("sex", "y")))
    assert read({"rectangle": {"y": ["2", "3"], "x": ["1", "4"]}}) == Known(Rectangle((("x", 1, 4), ("y", 2, 3))))
    assert read({"blocks": {"x": [["1", "2"], ["3", "6"]]}}) == Known(Marginal(("x",), (("x", ((1, 2), (3, 6))),)))


def test_inequalities_are_read() -> None:
    assert read({"count": "x = 1", "at most": "5"}) == Known(CountWhere("x = 1"), most=5)
    assert read({"rectangle": {"x": ["1", "4"]}, "at least": "5"}) == Known(Rectangle((("x", 1, 4),)), least=5)


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


ENTRY = TypeAdapter(AttackersEntry)
MATRIX = [["0.9", "1/10"], ["0.4", "0.6"]]


def test_the_word_and_the_maps() -> None:
    assert ENTRY.validate_python("independent").kind == "independent"
    groups = ENTRY.validate_python({"groups": "household", "at most": "5 rows"})
    assert (groups.kind, groups.groups, groups.at_most) == ("groups", "household", 5)


def test_one_chain_or_several() -> None:
    one = ChainSection(along="time", transition=MATRIX, source="a study")
    assert one.transition == (((Fraction(9, 10), Fraction(1, 10)), (Fraction(2, 5), Fraction(3, 5))),)
    assert one.start == ()
    two = ChainSection(along="time", transition=[MATRIX, MATRIX], start=["0.5", "0.5"], source="a study")
    assert len(two.transition) == 2
    assert two.start == ((Fraction(1, 2), Fraction(1, 2)),)
    assert ChainSection(along="time", transition=MATRIX, start="stationary", source="s").start == ()


@pytest.mark.parametrize(
    "entry",
    [
        "correlated",
        {"groups": "a", "chain": {"along": "t", "transition": MATRIX, "source": "s"}},
        {"chain": {"along": "t", "transition": "often", "source": "s"}},
        {"chain": {"along": "t", "transition": [["0.5", "x"], ["0", "1"]], "source": "s"}},
        {"chain": {"along": "t", "transition": MATRIX, "start": "anywhere", "source": "s"}},
        {"chain": {"along": "t", "transition": MATRIX}},
        {"groups": "a", "at most": "0"},
    ],
)
def test_other_forms_are_refused(entry: object) -> None:
    with pytest.raises(ValidationError):
        ENTRY.validate_python(entry)
