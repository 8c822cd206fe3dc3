"""Nobody but the kernel writes a certificate."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from fractions import Fraction

import pytest

from tetraodon.certificate.certificate import _SEAL, Certificate, Sensitivity, certifying
from tetraodon.certificate.direct_losses import certify_shift
from tetraodon.noise.laws import LAPLACE


def one(steps: int = 1) -> Certificate:
    """A certificate of epsilon `steps`."""
    return certify_shift(steps, LAPLACE, Fraction(1), method="maximum over edges", exact=True)


@pytest.mark.parametrize("stamp", [None, True, object(), "seal"])
def test_a_seal_cannot_be_made_up(stamp: object) -> None:
    with pytest.raises(TypeError, match="computed by a function"):
        Certificate(Fraction(0), None, "wishful thinking", True, stamp)


def test_it_cannot_be_changed() -> None:
    real = one()
    with pytest.raises(dataclasses.FrozenInstanceError):
        real.epsilon = Fraction(0)  # type: ignore[misc]
    with pytest.raises((AttributeError, TypeError)):
        real.note = "trust me"  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        Certificate(Fraction(0), None, "wishful thinking", True)  # type: ignore[call-arg]


def test_the_seal_is_not_shown_and_does_not_decide_equality() -> None:
    assert one() == one()
    assert "seal" not in repr(one())
    assert one() != one(2)


def test_a_copy_is_as_good_and_a_stored_one_is_not() -> None:
    real = one()
    assert copy.copy(real) == real
    with pytest.raises(TypeError, match="computed"):
        dataclasses.replace(real, seal=object())
    stored = pickle.loads(pickle.dumps(real))  # a file proves nothing: verify recomputes
    for found in (real, stored):
        with pytest.raises((TypeError, ValueError), match="seal"):  # a TypeError from Python 3.13 on
            dataclasses.replace(found, epsilon=Fraction(0))


def test_infinite_is_not_finite() -> None:
    assert one().finite
    assert not Certificate(math.inf, None, "told for certain", True, _SEAL).finite


def test_nothing_certifies_from_outside_the_room() -> None:
    with pytest.raises(TypeError, match=r"tetraodon\.certificate only"):
        certifying(lambda: None)  # type: ignore[arg-type, return-value]


def test_a_sensitivity_is_a_value() -> None:
    assert Sensitivity(Fraction(2), None, True, "m") == Sensitivity(Fraction(2), None, True, "m")
