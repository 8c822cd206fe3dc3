"""Views are independent from tuple to tuple and from month to month, and lose what their channel says."""

from __future__ import annotations

from fractions import Fraction

from tetraodon.attacks.on_views import IN, OUT, keeping_half, view, views
from tetraodon.pufferfish import named, verify

SIXTEENTH = keeping_half(Fraction(1, 16))


def test_tuples_are_shown_one_by_one() -> None:
    two = view(SIXTEENTH, people=2)
    assert two.probability((IN, OUT), (True, False)) == Fraction(1, 2) * Fraction(15, 16)
    assert sum(two.matrix[0]) == 1


def test_the_verifier_finds_the_loss_that_the_room_of_views_states() -> None:
    verdict = verify(view(SIXTEENTH, people=2), named.differential_privacy(epsilon=3))
    assert verdict.odds == SIXTEENTH.presence_ratio
    assert (verdict.forward, verdict.backward) == (SIXTEENTH.ratio_up, 1 / SIXTEENTH.ratio_down)


def test_several_views_are_the_views_together() -> None:
    one = view(SIXTEENTH, people=1)
    joint = one.with_(one).then(lambda both: sum(shown for (shown,) in both))
    for dataset in one.datasets:
        for number in range(3):
            assert joint.probability(dataset, number) == views(2, SIXTEENTH).probability(dataset, number)
