"""The search over smoothed counts: its error and gradient, what its shapes cost, and how good they are."""

from __future__ import annotations

import numpy as np
import pytest

from tetraodon.mechanism.hierarchical import shape_search
from tetraodon.mechanism.hierarchical.shape_search import POINTS, Shape, best_shape, mean_range_variance, sample
from tetraodon.noise.laws import GAUSSIAN, LAPLACE, LAWS, NoiseLaw

SHAPES = [
    (300, 299, Shape(0.4, ((6, 0.3), (36, 0.3)))),
    (300, 20, Shape(0.6, (), ((15, 0.4),))),
    (257, 50, Shape(0.5, ((8, 0.3),), ((40, 0.2),))),
    (300, 299, Shape(0.4, ((6, 0.3), (36, 0.3)), noise=GAUSSIAN)),
    (257, 50, Shape(0.5, ((8, 0.3),), ((40, 0.2),), noise=GAUSSIAN)),
]


def _problem(size: int, reach: int, shape: Shape) -> shape_search._Shares:
    bins, running = (tuple(w for w, _ in part) for part in (shape.bins, shape.running))
    return shape_search._Shares(size, reach, bins, running, shape.noise)


@pytest.mark.parametrize(("size", "reach", "shape"), SHAPES)
def test_the_quick_error_is_that_of_the_sparse_fit(size: int, reach: int, shape: Shape) -> None:
    widths = [*shape.bins, *shape.running]
    problem = _problem(size, reach, shape)
    parameters = np.log([share / shape.leaves for _, share in widths])
    found = np.exp(problem.log_error(parameters)[0])
    assert found == pytest.approx(mean_range_variance(shape.fit(size, reach), sample(size, POINTS)), rel=1e-9)


@pytest.mark.parametrize(("size", "reach", "shape"), SHAPES)
def test_the_gradient_is_the_slope(size: int, reach: int, shape: Shape) -> None:
    problem = _problem(size, reach, shape)
    here = np.full(len(shape.bins) + len(shape.running), -0.3)
    for axis, slope in enumerate(problem.log_error(here)[1]):
        step = 1e-5 * np.eye(len(here))[axis]
        rise = problem.log_error(here + step)[0] - problem.log_error(here - step)[0]
        assert rise / 2e-5 == pytest.approx(slope, rel=1e-4, abs=1e-7)


def test_the_mean_over_ranges_is_the_mean_over_ranges() -> None:
    size = 30
    fit = Shape(0.5, ((3, 0.3),), ((9, 0.2),)).fit(size, 10)
    low, high = np.triu_indices(size)
    code = np.arange(size)
    rows = ((low[:, None] <= code) & (code <= high[:, None])).astype(float)
    each = np.einsum("ij,ij->i", rows, fit.covariance_times(rows))
    assert mean_range_variance(fit, code) == pytest.approx(each.mean(), rel=1e-9)


@pytest.mark.parametrize("noise", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("reach", [2, 3, 10, 70, 400, 2999])
def test_shares_add_up_and_widths_nest(reach: int, noise: NoiseLaw) -> None:
    shape = best_shape(3000, reach, noise)
    assert shape is not None
    assert shape.leaves + sum(s for _, s in (*shape.bins, *shape.running)) == pytest.approx(1)
    assert shape.fit(3000, reach).levels


@pytest.mark.parametrize(("size", "reach"), [(200_000, 199_999), (200_000, 20_000)])
def test_long_attributes_are_searched_through_short_ones(size: int, reach: int) -> None:
    """Not worse than the same number of levels with equal shares."""
    shape = best_shape(size, reach)
    assert shape is not None
    widths = [*shape.bins, *shape.running]
    assert shape.bins[0][0] == shape_search.KINDS[LAPLACE].lift
    equal = 1 / (1 + len(widths))
    plain = Shape(equal, tuple((w, equal) for w, _ in shape.bins), tuple((w, equal) for w, _ in shape.running))
    places = sample(size, 30)
    found = mean_range_variance(shape.fit(size, reach), places)
    assert found < mean_range_variance(plain.fit(size, reach), places)


def test_nothing_is_proposed_where_nothing_can_help() -> None:
    assert best_shape(5, 4) is None
    assert best_shape(1000, 1) is None


def test_samples_are_even() -> None:
    places = sample(1000, 100)
    assert np.abs(np.quantile(places, [0.25, 0.5, 0.75]) - [250, 500, 750]).max() < 15
