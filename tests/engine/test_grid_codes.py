from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.oracle import encoded

from tetraodon.domain import Attribute, Grid, Integers
from tetraodon.engine.expressions import GridCodes, decimals_of_doubles, grid_codes
from tetraodon.errors import TableError

FRACTIONS = st.fractions(-50, 50, max_denominator=12)
GRIDS = st.builds(
    lambda low, step, steps: Grid(low, low + step * steps, step),
    FRACTIONS,
    st.fractions(Fraction(1, 9), 5, max_denominator=9),
    st.integers(0, 40),
)
RANGES = st.builds(lambda low, size: Integers(low, low + size), st.integers(-50, 50), st.integers(0, 40))


@given(GRIDS | RANGES, st.sampled_from([1, 10, 100, 7]), st.integers(-9000, 9000))
def test_it_is_what_the_domain_says(values, units, number):
    attribute = Attribute("x", values)
    steps = grid_codes(values, units)
    expected = encoded(attribute, Fraction(number, units))
    if number < steps.first:
        assert expected == 0
    elif number > steps.last:
        assert expected == attribute.size - 1
    else:
        assert steps.code(number) == expected


def test_what_does_not_fit_is_refused():
    with pytest.raises(TableError, match="too wide or too fine"):
        GridCodes(0, 2**126, 1, 0, 1)
    with pytest.raises(TableError, match="finer than the 15 digits"):
        decimals_of_doubles(Grid(Fraction(0), Fraction(10**9), Fraction(1, 10**7)))


def test_digits_of_doubles():
    assert decimals_of_doubles(Integers(0, 10**30)) == 0
    assert decimals_of_doubles(Grid(Fraction(0), Fraction(100), Fraction(1))) == 13
    assert decimals_of_doubles(Grid(Fraction(-(10**20)), Fraction(0), Fraction(10**10))) == 0
