"""Correlation breaks what protects one tuple at a time."""

from __future__ import annotations

from fractions import Fraction

from tests.attacks.stories import story

from tetraodon.attacks.on_views import BROTHERS_GAMMA as GAMMA
from tetraodon.attacks.on_views import IN, OUT, D, family
from tetraodon.pufferfish import Secret


def test_the_family_keeps_its_margins() -> None:
    for correlation in (Fraction(0), Fraction(1, 3), Fraction(1)):
        prior = family(correlation)
        assert prior.probability(Secret.present(0)) == prior.probability(Secret.present(1)) == D
    assert dict(family(Fraction(1)).weights) == {(IN, IN): D, (OUT, OUT): 1 - D}


def test_the_belief_by_hand() -> None:
    kept, invented = Fraction(1, 4), Fraction(1, 256)
    by_hand = D * kept / (D * kept + (1 - D) * invented)
    played = story("brothers")
    assert played.attacked == float(by_hand)
    assert played.numbers["promise kept against independent tuples"] is True
    assert played.numbers["odds against the family"] == 64
    assert played.defended < float(GAMMA)
