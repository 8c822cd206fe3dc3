"""Nobody but the kernel writes a certificate."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from fractions import Fraction

import pytest

from tetraodon.certificate.certificate import Certificate, Sensitivity, seal


@pytest.mark.parametrize("stamp", [None, True, object(), "seal"])
def test_a_seal_cannot_be_made_up(stamp: object) -> None:
    with pytest.raises(TypeError, match="computed by tetraodon"):
        Certificate(Fraction(0), None, "wishful thinking", True, stamp)


def test_it_cannot_be_changed() -> None:
    real = seal(Fraction(1), None, "maximum over edges", True)
    with pytest.raises(dataclasses.FrozenInstanceError):
        real.epsilon = Fraction(0)  # type: ignore[misc]
    with pytest.raises((AttributeError, TypeError)):
        real.note = "trust me"  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        Certificate(Fraction(0), None, "wishful thinking", True)  # type: ignore[call-arg]


def test_the_seal_is_not_shown_and_does_not_decide_equality() -> None:
    one, other = (seal(Fraction(1), None, "maximum over edges", True) for _ in range(2))
    assert one == other
    assert "seal" not in repr(one)
    assert one != seal(Fraction(2), None, "maximum over edges", True)


def test_a_copy_is_as_good_and_a_stored_one_is_not() -> None:
    real = seal(Fraction(1), None, "maximum over edges", True)
    assert copy.copy(real) == real
    with pytest.raises(TypeError, match="computed"):
        dataclasses.replace(real, seal=object())
    stored = pickle.loads(pickle.dumps(real))  # a file proves nothing: verify recomputes
    with pytest.raises(TypeError, match="computed"):
        dataclasses.replace(stored)


def test_infinite_is_not_finite() -> None:
    assert seal(Fraction(3), None, "m", True).finite
    assert not seal(math.inf, None, "m", True).finite


def test_a_sensitivity_is_a_value() -> None:
    assert Sensitivity(Fraction(2), None, True, "m") == Sensitivity(Fraction(2), None, True, "m")
