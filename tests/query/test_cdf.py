"""Running counts as a question."""

from __future__ import annotations

from tetraodon.domain import Attribute, Categories, Domain, Integers
from tetraodon.query.contribution import Prefix
from tetraodon.query.kinds import cdf
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.query import RunningCounts

DOMAIN = Domain((Attribute("x", Integers(0, 3)), Attribute("s", Categories(("a", "b")), other=0)))


def test_it_is_read_along_its_attribute_which_comes_last() -> None:
    asked = cdf("x", by="s")
    assert asked.table(DOMAIN) == (Split("s"), Split("x"))
    assert asked.reading(DOMAIN) == RunningCounts()
    assert asked.linear(DOMAIN) == LinearQuery(Prefix("x", 4, 4), (Split("s"),))
    assert asked.sums(DOMAIN) == ()


def test_in_words_and_drawn() -> None:
    asked = cdf("x", by="s")
    assert asked.sentence(DOMAIN) == "How many records have x at or below each of its values, for each s."
    drawing = asked.drawing(DOMAIN, asked.table(DOMAIN))
    assert (drawing.running, drawing.adds_up, drawing.head) == (True, False, "Running counts of x")
