"""Either table leaves several diseases; both leave one."""

from __future__ import annotations

import itertools
from fractions import Fraction

from tests.attacks.stories import story

from tetraodon.attacks.on_views import BOB, DISEASES, FIRST, SECOND, beliefs, likelihood


def test_the_likelihood_counts_the_others() -> None:
    for table, bob in itertools.product(((*FIRST,), SECOND, ("flu", "flu", "cold")), DISEASES):
        others = itertools.product(DISEASES, repeat=len(table) - 1)
        ways = sum(sorted((bob, *rest)) == sorted(table) for rest in others)
        assert likelihood(table, bob) == Fraction(ways, len(DISEASES) ** (len(table) - 1))


def test_both_tables_leave_one_disease() -> None:
    assert beliefs(FIRST)[BOB] == Fraction(1, 4)
    assert beliefs(SECOND)[BOB] == Fraction(1, 3)
    assert beliefs(FIRST, SECOND)[BOB] == 1


def test_two_noisy_tables_add_up() -> None:
    played = story("two-hospitals")
    assert played.numbers["epsilon of both noisy tables"] == 1
    assert played.numbers["strongest belief in 1,000 plays with noise"] <= played.allowed + 1e-4
