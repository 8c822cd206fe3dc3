"""Each view keeps the promise, six do not, unless they were made for it."""

from __future__ import annotations

from tests.attacks.stories import story

from tetraodon.attacks.on_views import ONCE, SIX_TIMES, views
from tetraodon.attacks.on_views import REPEATED_D as D
from tetraodon.attacks.on_views import REPEATED_VIEWS_GAMMA as GAMMA
from tetraodon.pufferfish import named, verify


def test_the_odds_multiply() -> None:
    numbers = story("repeated-views").numbers
    assert numbers["odds of one view"] == 8
    assert numbers["odds of six views"] == 8**6
    assert numbers["belief after one view"] <= float(GAMMA)


def test_what_holds_and_what_does_not() -> None:
    promise = named.dgamma(d=D, gamma=GAMMA)
    assert verify(views(1, ONCE), promise).holds
    assert verify(views(2, ONCE), promise).holds is False
    assert verify(views(6, SIX_TIMES), promise).holds
