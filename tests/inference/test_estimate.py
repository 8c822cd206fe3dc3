"""Estimates and the answers to a SELECT."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.errors import QueryError
from tetraodon.inference.estimate import (
    Estimate,
    answer_document,
    answer_from,
    answered,
    miss,
    needed,
    number_of_groups,
    with_source,
)
from tetraodon.query.condition.select import Question, read_question
from tetraodon.query.condition.syntax import Names

# -- estimate ---------------------------------------------------------------------------------------
# A number that knows its interval.


def test_it_is_a_float_with_ends_that_hold_it() -> None:
    found = Estimate(7.0, 8.0, 9.0)  # an interval that inference left behind is widened to hold the estimate
    assert found + 1 == 8.0
    assert found.interval == (7.0, 9.0)
    assert Estimate(7.0, 1.0, 2.0).interval == (1.0, 7.0)


def test_it_can_be_written_down() -> None:
    document = json.loads(json.dumps(Estimate(1.5, 1.0, 2.0).document()))
    assert document == {"value": 1.5, "lower": 1.0, "upper": 2.0, "confidence": 0.95}
    assert repr(Estimate(1.5, 1.0, 2.0)) == "Estimate(1.5, 1..2)"


def test_what_is_certain_says_so() -> None:
    assert Estimate.certain(3.0).document() == {"value": 3.0, "lower": 3.0, "upper": 3.0, "confidence": 1.0}


# -- answered ---------------------------------------------------------------------------------------
# Groups are chosen and ordered as SQL would, intervals share what may miss, and answers read back.

DOMAIN = Domain((Attribute("age", Integers(0, 2)), Attribute("sex", Categories(("f", "m")), other=0)))
COUNTS = [
    {at: Estimate(v, v - 1, v + 1) for at, v in enumerate(values)} for values in ((5.0, 2.5, 5.0), (0.25, -1.0, 7.0))
]


def read(rest: str, select: str = "age, count(*) as n, avg(age) as m") -> Question:
    return read_question(f"select {select} from t group by {rest}", Names(DOMAIN, "t"))


@pytest.mark.parametrize(
    ("rest", "groups"),
    [
        ("age", [0, 1, 2]),
        ("age order by age desc", [2, 1, 0]),
        ("age order by n", [1, 0, 2]),
        ("age order by n desc, m desc", [2, 0, 1]),
        ("age order by m desc limit 2", [2, 0]),
        ("age limit 1", [0]),
        ("age having n >= 5", [0, 2]),
        ("age having n * m = 1.25 or m < 0", [0, 1]),
        ("age having m between 0.25 and 7 and not n > m", [2]),
        ("age having n > 100", []),
        ("age having case when m < 0 then true else n = 5 and m > 1 end", [1, 2]),
    ],
)
def test_groups_are_chosen_and_ordered(rest: str, groups: list[int]) -> None:
    found = answered(read(rest), DOMAIN, COUNTS)
    assert isinstance(found, dict)
    assert list(found) == groups
    for group in groups:
        assert found[group] == {"n": COUNTS[0][group], "m": COUNTS[1][group]}


def test_what_is_not_shown_still_chooses() -> None:
    found = answered(read("age having avg(age) < 0", "count(*)"), DOMAIN, COUNTS)
    assert found == {1: COUNTS[0][1]}


def test_intervals_of_groups_that_were_chosen_hold_together() -> None:
    sure = Fraction(9, 10)
    assert miss(read("age"), DOMAIN, sure) == miss(read("age order by n"), DOMAIN, sure) == Fraction(1, 10)
    assert miss(read("age having n > 3"), DOMAIN, sure) == Fraction(1, 60)
    assert miss(read("age, sex having n > 3", "count(*) n"), DOMAIN, sure) == Fraction(1, 60)
    wide = Domain(tuple(Attribute(name, Integers(0, 999)) for name in "ab"))
    with pytest.raises(QueryError, match="too many groups"):
        number_of_groups(read_question("select count(*) from t group by a, b", Names(wide, "t")), wide)


def test_only_what_decides_is_needed() -> None:
    assert needed(read("age order by age desc limit 2"), DOMAIN) == [2, 1]
    assert needed(read("age, sex limit 1"), DOMAIN) == [0]
    assert (
        needed(read("age order by n limit 1"), DOMAIN) == needed(read("age having n > 3 limit 1"), DOMAIN) == [0, 1, 2]
    )
    found = answered(read("age order by age desc limit 1"), DOMAIN, [{2: column[2]} for column in COUNTS])
    assert found == {2: {"n": COUNTS[0][2], "m": COUNTS[1][2]}}


@pytest.mark.parametrize("rest", ["sex", "age, sex"])
def test_answers_read_back(rest: str) -> None:
    columns = [{at: column[at % 3] for at in range(6)} for column in COUNTS]
    for select in ("count(*)", "count(*), avg(age)"):
        found = with_source(answered(read(rest, select), DOMAIN, columns), "t")
        assert isinstance(found, dict)
        again = answer_from(json.loads(json.dumps(answer_document("q", found))))
        assert isinstance(again, dict)
        assert list(again.values()) == list(found.values())
        assert [str(key) for key in again] == [str(k if isinstance(k, str) else tuple(map(str, k))) for k in found]
    one = with_source(COUNTS[0][0], "t")
    assert answer_from(answer_document("q", one)) == one
