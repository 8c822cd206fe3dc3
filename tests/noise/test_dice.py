"""The dice fall the same way every time, and the noise they make has the right shape."""

from __future__ import annotations

import numpy as np

from tetraodon.noise import laplace_variance
from tetraodon.noise.repeatable_coins import Dice


def test_dice_are_repeatable_and_counted() -> None:
    one, other = Dice(1), Dice(1)
    assert np.array_equal(one.draw(100, 53), other.draw(100, 53))
    assert one.drawn == 100
    assert int(Dice(2).draw(1000, 3).max()) == 7
    assert int(Dice(2).draw(1000, 64).max()) > 2**63


def test_noise_is_that_of_the_package() -> None:
    """The dice are seeded: nothing here can raise a false alarm."""
    noise = Dice(3).laplace(2, (200, 100))
    assert noise.shape == (200, 100)
    assert abs(noise.var() / float(laplace_variance(2)) - 1) < 0.1
