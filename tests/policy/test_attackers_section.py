"""The forms of the `attackers` list, and what is no such form."""

from __future__ import annotations

from fractions import Fraction

import pytest
from pydantic import TypeAdapter, ValidationError

from tetraodon.policy.attackers_section import AttackersEntry, ChainSection

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
