"""Sums as a question."""

from __future__ import annotations

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.query.kinds import total

DOMAIN = Domain((Attribute("pay", Integers(0, 9), unit="EUR"), Attribute("weight", Integers(0, 2))))


def test_in_words_and_drawn() -> None:
    plain, weighted = total("pay"), total("pay", weight="weight")
    assert plain.sentence(DOMAIN) == "The sum of pay in EUR."
    assert weighted.sentence(DOMAIN) == "The sum of pay in EUR, each record times its weight."
    assert plain.off_by("3", "The number", DOMAIN) == "The number is typically off by 3 EUR."
    assert total("weight").off_by("3", "The number", DOMAIN) == "The number is typically off by 3."
    assert plain.drawing(DOMAIN, ()).title == "sum of pay (EUR)"
    assert weighted.drawing(DOMAIN, ()).title == "sum of pay times weight"


def test_there_is_one_key_for_two_words() -> None:
    assert total("pay").document() == {"total": "pay"}
    assert total("pay").words == ("total", "sum")
