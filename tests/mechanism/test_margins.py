"""Tables that are read together: what is fitted, its covariance and closed-form errors, against dense least squares."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import tetraodon as td
from tetraodon.exact.arrays import Floats
from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.mechanism.direct import free_totals
from tetraodon.mechanism.marginals import MARGINS, table_errors
from tetraodon.mechanism.strategy import Scaled, Strategy
from tetraodon.noise.laws import GAUSSIAN, LAPLACE
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, splits
from tetraodon.query.weighted_margins import WeighedMargins

SECRETS: dict[str, Any] = {
    "everything": {},
    "public": {"a": "public", "c": "public"},
    "blocks": {"b": {"blocks": [[0, 1], [2]]}, "c": {"blocks": [[0, 1], [2, 3]]}},
}


def policy(secrets: dict[str, Any], presence: str = "public") -> td.Policy:
    return td.load_policy(
        {
            "dataset": "d",
            "presence": presence,
            "attributes": {"a": {"integer": [0, 1]}, "b": {"integer": [0, 2]}, "c": {"integer": [0, 3]}},
            "secrets": secrets,
            "together": "all at once",
            "budget": {"epsilon": 1},
        }
    )


def scaled(here: td.Policy, names: tuple[str, ...], scale: Fraction, times: tuple[int, ...] = ()) -> Scaled:
    table, law = splits(names), GAUSSIAN if times else LAPLACE
    sizes = tuple(here.domain[name].size for name in names)
    query = LinearQuery(WeighedMargins(names, sizes, times, Fraction(1, 8))) if times else LinearQuery(One(), table)
    return Scaled(Strategy(MARGINS, (query,), free_totals(table, here), table, noise=law), scale, here.domain)


WEIGHED = {
    ("a",): (1, 8),
    ("a", "b"): (1, -1, 1, 16),
    ("c", "a"): (2, 1, -1, 8),
    ("c", "b", "a"): (1, 0, 1, 2, 0, 1, -1, 9),
}


@pytest.mark.parametrize("presence", ["public", "secret"])
@pytest.mark.parametrize("secrets", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("weighed", [True, False])
def test_errors_are_those_of_least_squares(presence: str, secrets: dict[str, Any], weighed: bool) -> None:
    """Everything that is measured, and next to no noise on what is known exactly, over the whole domain."""
    here = policy(secrets, presence)
    asked = [(names, Fraction(3 + n, 2), times if weighed else ()) for n, (names, times) in enumerate(WEIGHED.items())]
    tables = [scaled(here, *one) for one in asked[: 4 if weighed else 3]]
    tables += [] if weighed else [scaled(here, ("b", "c"), Fraction(9))]
    if not weighed:  # and one by all three attributes beside it
        strategy, every = tables[0].strategy, LinearQuery(One(), splits(("a", "b", "c")))
        strategy = replace(strategy, noisy=(*strategy.noisy, every), weights=(Fraction(1), Fraction(7, 5)))
        tables[0] = replace(tables[0], strategy=strategy)
    rows = []
    for at in tables:
        for m in at.strategy.measurements(at.scale):
            deviation = m.noise.variance(m.scale) ** 0.5 if m.scale else 1e-3
            rows.append(m.query.matrix(here.domain)[0] / deviation)
    covariance = np.linalg.pinv(np.concatenate(rows).T @ np.concatenate(rows), rcond=1e-12, hermitian=True)
    for at, error in zip(tables, table_errors(tables), strict=True):
        cells = LinearQuery(One(), at.strategy.table).matrix(here.domain)[0]
        assert np.trace(cells @ covariance @ cells.T) / len(cells) == pytest.approx(error**2, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("names", [*WEIGHED, ("b",)])
def test_fit_and_covariance_are_the_inverse_of_what_is_measured(names: tuple[str, ...]) -> None:
    at = scaled(policy({}), names, Fraction(5, 2), WEIGHED.get(names, ()))
    matrix = at.strategy.noisy[0].contribution.columns() if names in WEIGHED else np.eye(3, dtype=np.int64)
    truth = np.arange(1, 1 + len(matrix))
    np.testing.assert_allclose(MARGINS.fit(at, ((matrix @ truth)[..., None],)).ravel(), truth, atol=1e-9)
    back: Floats = np.linalg.inv(matrix)
    variance = at.strategy.noise.variance(at.scale)
    np.testing.assert_allclose(MARGINS.covariance_times(at, np.eye(len(matrix))), back @ back.T * variance, atol=1e-9)
    (part,) = MARGINS.parts(at, np.eye(len(matrix)))
    np.testing.assert_allclose(part, back, atol=1e-9)
    assert MARGINS.cell_variance(at) == pytest.approx((back @ back.T)[0, 0] * variance)
    query = td.queries.histogram(*names)
    assert MARGINS.expected_error(query, at) == pytest.approx(table_errors([at])[0])
    assert list(MARGINS.propose(query, policy({}))) == []
    assert "read together" in MARGINS.sentence(at, "Noise", "")


def test_reach_holds_as_often_as_it_says() -> None:
    """Against the quantile of a normal law: noise is wide, so that no step of the grid shows."""
    at = scaled(policy({}), ("a", "b"), Fraction(400), WEIGHED["a", "b"])
    mask = np.array([[True, False, True], [False, True, False]])
    back = np.linalg.inv(at.strategy.noisy[0].contribution.columns())
    deviation = 400 * float(np.linalg.norm(back @ mask.ravel()))
    assert MARGINS.reach(at, mask, CONFIDENCE) == pytest.approx(1.96 * deviation, rel=0.04)
    assert MARGINS.largest_error(td.queries.histogram("a", "b"), at, CONFIDENCE) == pytest.approx(
        1.96 * 400 * np.linalg.norm(back[0]), rel=0.04
    )
    low, high = (np.array([0, 1]), np.array([0, 1])), (np.array([0, 1]), np.array([1, 2]))
    boxes = MARGINS.box_reach(at, low, high, CONFIDENCE)
    for number in range(2):
        box = np.zeros((2, 3), np.bool_)
        box[low[0][number] : high[0][number] + 1, low[1][number] : high[1][number] + 1] = True
        assert boxes[number] == pytest.approx(MARGINS.reach(at, box, CONFIDENCE))


def test_alone_pairs_are_less_well_known_than_together() -> None:
    here = policy({})
    pairs = [scaled(here, pair, Fraction(4)) for pair in combinations("abc", 2)]
    for at, together in zip(pairs, table_errors(pairs), strict=True):
        assert together < table_errors([at])[0]
