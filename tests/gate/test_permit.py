"""Noise for data needs a permit, only the gate gives one, and it ends when the numbers are kept."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.ledger.certificates import FREE, pure

from tetraodon.errors import ReleaseError
from tetraodon.gate import Permit, without_ledger
from tetraodon.noise.laws import GAUSSIAN, LAPLACE


def test_nobody_else_makes_one() -> None:
    with pytest.raises(TypeError, match="given by the gate"):
        Permit(FREE, None, object())


def test_it_draws_until_it_is_closed() -> None:
    permit = without_ledger(pure(1))
    assert permit.noise(LAPLACE, Fraction(3), (2, 3)).shape == (2, 3)
    assert permit.noise(GAUSSIAN, Fraction(3), 4).shape == (4,)
    assert permit.coins.draw(3, 16).shape == (3,)
    permit.close()
    with pytest.raises(ReleaseError, match="drawn already"):
        permit.noise(LAPLACE, Fraction(3), 1)
    with pytest.raises(ReleaseError, match="drawn already"):
        _ = permit.coins
