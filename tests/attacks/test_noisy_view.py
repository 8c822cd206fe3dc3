"""Views are independent from tuple to tuple and from month to month."""

from __future__ import annotations

from fractions import Fraction

from tetraodon.attacks.noisy_view import IN, OUT, view, views

KEPT, INVENTED = Fraction(1, 2), Fraction(1, 16)


def test_tuples_are_shown_one_by_one() -> None:
    two = view(KEPT, INVENTED, people=2)
    assert two.probability((IN, OUT), (True, False)) == KEPT * (1 - INVENTED)
    assert sum(two.matrix[0]) == 1


def test_several_views_are_the_views_together() -> None:
    one = view(KEPT, INVENTED, people=1)
    joint = one.with_(one).then(lambda both: sum(shown for (shown,) in both))
    for dataset in one.datasets:
        for number in range(3):
            assert joint.probability(dataset, number) == views(2, KEPT, INVENTED).probability(dataset, number)
