"""The general form: what can be reconstructed, and what a row can tell."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tetraodon.errors import PolicyError
from tetraodon.publishing.channel import CopyChannel, SetChannel
from tetraodon.publishing.frapp import Affine, affine_of

F = Fraction
NONE = (F(0), F(0))


def test_a_view_is_a_point_of_it() -> None:
    channel = SetChannel(F(1, 2), F(1, 10))
    form = affine_of(channel, 3)
    assert form.ratio == channel.ratio_up
    counts = np.array([1, 0, 1])
    assert form.reconstruct(form.expected(counts)) == pytest.approx(counts)
    shown = np.array([1.0, 1.0, 0.0])
    expected = [float(channel.estimate(int(v), 1)) for v in shown]
    assert form.reconstruct(shown) == pytest.approx(expected)
    copies = CopyChannel(F(1, 2), F(1, 11))
    assert affine_of(copies, 2).added == (F(1, 10), F(1, 10))


def test_ratio_and_condition_of_any_matrix() -> None:
    form = Affine(((F(3, 4), F(1, 4)), (F(1, 4), F(3, 4))), NONE)
    assert form.ratio == 3
    assert form.condition == pytest.approx(2)
    assert Affine(((F(1), F(0)), (F(0), F(1))), NONE).ratio is None


@pytest.mark.parametrize(
    ("matrix", "added", "what"),
    [
        ((), (), "square"),
        (((F(1), F(0)),), (F(0),), "square"),
        (((F(-1),),), (F(0),), "negative"),
        (((F(1), F(1)), (F(1, 2), F(0))), NONE, "more than 1"),
    ],
)
def test_what_is_no_perturbation(
    matrix: tuple[tuple[Fraction, ...], ...], added: tuple[Fraction, ...], what: str
) -> None:
    with pytest.raises(PolicyError, match=what):
        Affine(matrix, added)


def test_a_singular_matrix_reconstructs_nothing() -> None:
    half = (F(1, 2), F(1, 2))
    with pytest.raises(PolicyError, match="inverted"):
        Affine((half, half), NONE).reconstruct(np.array([1.0, 1.0]))
