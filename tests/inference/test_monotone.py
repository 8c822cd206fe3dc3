"""Running counts never fall, stay within bounds, and come no further from the truth."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tetraodon.inference.consistency import monotone_counts

counts = arrays(np.float64, st.tuples(st.integers(1, 3), st.integers(1, 6)), elements=st.integers(-20, 40).map(float))


@settings(max_examples=200, deadline=None)
@given(counts)
def test_order_bounds_and_totals(noisy: np.ndarray) -> None:
    fitted = monotone_counts(noisy)
    possible = noisy.sum(axis=1) >= 0
    assert (fitted[possible] >= -1e-9).all()
    np.testing.assert_array_equal(fitted[~possible], noisy[~possible])
    np.testing.assert_allclose(fitted.sum(axis=1), noisy.sum(axis=1), atol=1e-9)


@settings(max_examples=200, deadline=None)
@given(counts, st.data())
def test_it_is_the_nearest_such_sequence(noisy: np.ndarray, data: st.DataObject) -> None:
    """No other non-decreasing sequence within the bounds is nearer: checked against random ones."""
    row = noisy[0]
    total = float(row.sum())
    if total < 0:
        return
    target = np.cumsum(row)[:-1]
    fitted = np.cumsum(monotone_counts(row[None])[0])[:-1]
    other = np.sort(data.draw(arrays(np.float64, len(target), elements=st.floats(0, 1)))) * total
    assert np.sum((fitted - target) ** 2) <= np.sum((other - target) ** 2) + 1e-6


def test_what_is_in_order_already_stays() -> None:
    np.testing.assert_allclose(monotone_counts(np.array([3.0, 0.0, 2.0])), [3.0, 0.0, 2.0])
