"""Places on a scale of logarithms against plain fractions, and records that are shown against their exact law."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.noise.fit import fits

from tetraodon.domain import Attribute, Categories, Grid, Integers
from tetraodon.errors import QueryError
from tetraodon.noise import discrete_laplace
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.local_log_noise import RATIO, Disguised

MANY = Integers(10**9, 10**9 + 10**7)
VALUES = [Integers(1000, 1100), Integers(10, 60), Grid("2.5", "4", "0.05"), Integers(7, 7), MANY]


@pytest.mark.parametrize("values", VALUES)
def test_a_value_is_at_the_nearest_place(values: Integers | Grid) -> None:
    shown = Disguised(Attribute("x", values))
    codes = np.unique(np.linspace(0, values.size - 1, 200).astype(np.int64))
    for code, place in zip(codes.tolist(), shown.places(codes).tolist(), strict=True):
        number, middle = values.number(code), values.number(0) * RATIO**place
        slack = 1 + Fraction(1, 2**50)
        assert middle**2 / RATIO <= number**2 * slack
        assert number**2 <= middle**2 * RATIO * slack
        assert shown.numbers[place] == pytest.approx(float(middle), rel=1e-12)
    assert shown.places(np.array([0, values.size - 1])).tolist() == [0, shown.rows - 1]


@pytest.mark.parametrize("values", VALUES[:4])
@pytest.mark.parametrize("share", [Fraction(1, 200), Fraction(1, 10), Fraction(1, 3), Fraction(5)])
def test_the_farthest_secret_by_looking_at_all(values: Integers | Grid, share: Fraction) -> None:
    shown = Disguised(Attribute("x", values))
    places = shown.places(np.arange(values.size)).tolist()
    pairs = [
        (places[y] - places[x], (x, y))
        for x in range(values.size)
        for y in range(x, values.size)
        if values.number(y) <= (1 + share) * values.number(x)
    ]
    apart, pair = shown.farthest(share)
    assert apart == max(far for far, _ in pairs)
    assert (apart, pair) in pairs


def test_records_are_shown_as_the_law_says() -> None:
    """False-alarm rate 2e-8: two tests of `tests.noise.fit`."""
    shown, scale, n = Disguised(Attribute("x", Integers(1000, 1009))), Fraction(3), 200_000
    occupied = np.empty(2, object)
    occupied[:] = [np.array([[2, n]]), np.array([[9, n]])]
    found = shown.shown(occupied, lambda many: discrete_laplace(scale, many))
    fall = np.exp(-1 / float(scale))
    for line, own in zip(found, shown.places(np.array([2, 9])).tolist(), strict=True):
        law = (1 - fall) / (1 + fall) * fall ** np.abs(np.arange(shown.rows) - own)
        law[[0, -1]] /= 1 - fall
        assert law.sum() == pytest.approx(1)
        assert line.sum() == n
        assert fits(line, n * law)


def test_records_are_shown_in_their_own_cells() -> None:
    shown = Disguised(Attribute("x", Integers(1000, 1009)))
    query = LinearQuery(shown, (Split("s"),))
    assert query.names == ("s", "x")
    occupied = np.empty(2, object)
    occupied[:] = [np.array([[0, 3]]), np.zeros((0, 2), np.int64)]
    found = shown.shown(occupied, lambda many: np.full(many, 4))
    assert found.tolist() == [[0, 0, 0, 0, 3, 0, 0, 0, 0, 0], [0] * 10]


@pytest.mark.parametrize("attribute", [Attribute("x", Integers(0, 9)), Attribute("x", Categories(("a",)), other=0)])
def test_what_has_no_logarithm_is_refused(attribute: Attribute) -> None:
    with pytest.raises(QueryError, match="not a number above zero"):
        Disguised(attribute)


def test_it_is_no_linear_query() -> None:
    shown, at = Disguised(Attribute("x", Integers(10, 19))), np.arange(2)
    for ask in (lambda: shown.alone(at), lambda: shown.apart(at, at), lambda: shown.potential(at), shown.columns):
        with pytest.raises(QueryError, match="no sums over records"):
            ask()
    assert shown.could_tell(np.array([0, 3]), Fraction(1))
    assert not shown.could_tell(np.array([0, -3]), Fraction(1))
