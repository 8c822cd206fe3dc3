"""What is unlikely is ruled out, and what is left is nearly certain."""

from __future__ import annotations

from fractions import Fraction

from tests.attacks.stories import story

from tetraodon.attacks.on_views import SCORES, after_the_table, keeping_half, of_joe, view
from tetraodon.pufferfish import named, verify


def test_the_attackers_prior_is_one_and_never_large() -> None:
    assert sum(map(of_joe, SCORES)) == 1
    assert max(map(of_joe, SCORES)) == Fraction(33, 500)


def test_the_belief_by_hand() -> None:
    assert after_the_table()[82] == Fraction(33, 35)
    assert sum(after_the_table().values()) == 1
    assert story("low-prior").attacked == float(Fraction(33, 35))


def test_less_noise_would_break_the_promise() -> None:
    promise = named.dgamma(d=Fraction(33, 500), gamma=Fraction(1, 5))
    assert verify(view(keeping_half(Fraction(3, 20)), people=1), promise).holds
    assert verify(view(keeping_half(Fraction(14, 100)), people=1), promise).holds is False
