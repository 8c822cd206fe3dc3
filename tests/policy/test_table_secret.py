"""A Bayesian network over attributes, multiplied out; and the section of the file that says it."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.policy.test_build_table import TABLE, clinic

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.attackers import Chances, TableSecret, cells_having, joint_chances, table_document
from tetraodon.policy.section import ChancesSection, TableSecretSection

HALF = Fraction(1, 2)
PAIR = Domain((Attribute("x", Integers(0, 1)), Attribute("y", Integers(0, 2))))


def test_chances_are_multiplied_whichever_attribute_rests_on_which() -> None:
    second = Chances("y", (), ((HALF, Fraction(1, 4), Fraction(1, 4)),))
    first = Chances("x", ("y",), ((HALF, HALF), (Fraction(0), Fraction(1)), (Fraction(1, 3), Fraction(2, 3))))
    secret = TableSecret("x = 1 and y < 2", HALF, 10, (first, second), "a study")
    joint = joint_chances(secret, PAIR)
    assert joint.tolist() == [[second.rows[0][y] * first.rows[y][x] for y in range(3)] for x in range(2)]
    assert joint.sum() == 1
    assert cells_having(secret, PAIR).tolist() == [[False] * 3, [True, True, False]]


def test_a_section_is_read_in_its_short_form_and_written_in_full() -> None:
    assert ChancesSection(are=["0.8", "0.2"]).are == ((Fraction(4, 5), Fraction(1, 5)),)
    read = TableSecretSection.model_validate({**TABLE, "records": "1000"})
    assert (read.within, read.records, read.chances["ill"].given) == (Fraction(1, 20), 1000, ("smoker",))
    secret = clinic().attackers
    assert isinstance(secret, TableSecret)
    assert table_document(secret) == {
        **TABLE,
        "chances": {"smoker": {"are": [["0.8", "0.2"]]}, "ill": {**TABLE["chances"]["ill"], "given": ["smoker"]}},
    }


def test_too_many_cells_and_chances_of_nothing_are_refused() -> None:
    long = Domain((Attribute("x", Integers(0, 5000)),))
    flat = Chances("x", (), ((Fraction(1, 5001),) * 5001,))
    with pytest.raises(Refused, match="more than 4,096 cells"):
        joint_chances(TableSecret("x = 1", HALF, 10, (flat,), "a study"), long)
    with pytest.raises(PolicyError, match="rest on themselves, or on an attribute without any"):
        TableSecret("x = 1", HALF, 10, (Chances("x", ("z",), ()),), "a study")
