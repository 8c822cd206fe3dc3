"""Marginals: their parts, searches, and how they are read together."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from tests.policies import policy_document, public_policy

import tetraodon as td
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.exact.arrays import Floats
from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.mechanism.marginals import (
    MARGINS,
    MOST_SETS,
    TableParts,
    TableSearch,
    steps_together,
    table_errors,
    table_parts,
)
from tetraodon.mechanism.one_scale import free_totals
from tetraodon.mechanism.strategy import Scaled, Strategy
from tetraodon.noise.laws import GAUSSIAN, LAPLACE
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, splits
from tetraodon.query.weighted_margins import WeighedMargins

# -- joined tables ----------------------------------------------------------------------------------


def policy(shape: tuple[int, ...], **changes: Any) -> td.Policy:
    document: dict[str, Any] = public_policy(
        dataset="people",
        attributes={name: {"integer": [0, size - 1]} for name, size in zip("abcdefghijkl", shape, strict=False)},
    )
    return td.load_policy(document | changes)


@pytest.mark.parametrize(
    ("changes", "joined", "most"),
    [
        ({}, True, 246.0),
        ({"presence": "secret", "secrets": "none but presence"}, True, 61.5),
        ({"together": "one attribute at a time"}, False, 80.0),
    ],
)
def test_tables_of_more_attributes_take_the_place_of_several(
    changes: dict[str, Any], joined: bool, most: float
) -> None:
    """Where a step may change all attributes. Noise on the asked tables alike has 759 where everything is a secret."""
    cells = dict(zip("abcde", (74, 16, 5, 2, 99), strict=True))
    asked = [
        {"name": x + y, "histogram": [x, y], "share": f"{(cells[x] * cells[y]) ** (1 / 3):.3f}"}
        for x, y in itertools.combinations("abcde", 2)
    ]
    plan = td.plan(policy((74, 16, 5, 2, 99), release=asked, **changes))
    assert (plan.epsilon, plan.certificate.exact) == (1, True)
    sizes = [item.strategy.noisy[0].size(plan.policy.domain) for item in plan]
    mean = sum(item.expected_error**2 * size for item, size in zip(plan, sizes, strict=True)) / sum(sizes)
    assert mean <= most
    besides = {query.names for item in plan for query in item.strategy.noisy[1:]}
    assert (("a", "c", "d") in besides) == joined


# -- margins ----------------------------------------------------------------------------------------
# Tables that are read together: what is fitted, its covariance and closed-form errors, against dense least squares.

SECRETS: dict[str, Any] = {
    "everything": {},
    "public": {"a": "public", "c": "public"},
    "blocks": {"b": {"blocks": [[0, 1], [2]]}, "c": {"blocks": [[0, 1], [2, 3]]}},
}


def policy_of_margins(secrets: dict[str, Any], presence: str = "public") -> td.Policy:
    return td.load_policy(
        policy_document(
            presence=presence,
            attributes={"a": {"integer": [0, 1]}, "b": {"integer": [0, 2]}, "c": {"integer": [0, 3]}},
            secrets=secrets,
            together="all at once",
        )
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
    here = policy_of_margins(secrets, presence)
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
    at = scaled(policy_of_margins({}), names, Fraction(5, 2), WEIGHED.get(names, ()))
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
    assert list(MARGINS.proposals(query, policy_of_margins({}))) == []
    assert "read together" in MARGINS.sentence(at, "Noise", "")


def test_reach_holds_as_often_as_it_says() -> None:
    """Against the quantile of a normal law: noise is wide, so that no step of the grid shows."""
    at = scaled(policy_of_margins({}), ("a", "b"), Fraction(400), WEIGHED["a", "b"])
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
    here = policy_of_margins({})
    pairs = [scaled(here, pair, Fraction(4)) for pair in combinations("abc", 2)]
    for at, together in zip(pairs, table_errors(pairs), strict=True):
        assert together < table_errors([at])[0]


# -- margin search ----------------------------------------------------------------------------------
# The search for precisions against the closed form of [XHZK23], and against other choices.

SIZES = {"a": 2, "b": 3, "c": 7, "d": 12}


def pairs(ways: int = 2) -> list[TableParts]:
    domain = Domain(tuple(Attribute(name, Integers(1, size)) for name, size in SIZES.items()))
    every = [splits(names) for names in combinations(SIZES, ways)]
    return [
        table_parts(Scaled(Strategy(MARGINS, (LinearQuery(One(), one),), (), one), Fraction(1), domain))
        for one in every
    ]


def precisions(
    tables: list[TableParts], each: np.ndarray, factors: dict[frozenset[str], float]
) -> dict[frozenset[str], float]:
    found: dict[frozenset[str], float] = {}
    for table, own in zip(tables, each.tolist(), strict=True):
        for part, spread in zip(table.of, table.spread, strict=True):
            times = 1.0 if part == table.of[-1] else factors[part]
            found[part] = found.get(part, 0.0) + times * own / spread
    return found


def squared_error(tables: list[TableParts], precise: dict[frozenset[str], float]) -> float:
    return sum(u / s / precise[p] for t in tables for p, u, s in zip(t.of, t.unknown, t.spread, strict=True))


@pytest.mark.parametrize("ways", [2, 3])
def test_it_reaches_the_closed_form_where_somebody_may_be_absent(ways: int) -> None:
    """There one step costs the sum of p_S times the precision, and the least sum of v_S / precision is known:
    (sum of sqrt(v_S p_S))^2.
    """
    tables = pairs(ways)
    each, factors = TableSearch(tables, [1.0] * len(tables), [None]).gaussian(weighed=True)
    precise = precisions(tables, each, factors)
    cost = {part: math.prod(1 - 1 / SIZES[name] for name in part) for part in precise}
    asked = dict.fromkeys(precise, 0.0)
    for table in tables:
        for part, unknown, spread in zip(table.of, table.unknown, table.spread, strict=True):
            asked[part] += unknown / spread
    least = sum(math.sqrt(asked[part] * cost[part]) for part in precise) ** 2
    found = squared_error(tables, precise) * sum(cost[part] * precise[part] for part in precise)
    assert found == pytest.approx(least, rel=1e-4)
    plain, ones = TableSearch(tables, [1.0] * len(tables), [None]).gaussian(weighed=False)
    assert set(ones.values()) == {1.0}
    assert squared_error(tables, precisions(tables, plain, ones)) * plain.sum() >= found


def test_no_other_noise_of_laplace_is_better() -> None:
    tables = pairs()
    search = TableSearch(tables, [1.0] * len(tables), [None, frozenset("abcd")])
    rates, besides = search.laplace(joined=False)
    assert not besides
    ones = dict.fromkeys((part for table in tables for part in table.of), 1.0)

    def error(rate: np.ndarray) -> float:
        return squared_error(tables, precisions(tables, rate**2, ones)) * float(rate.sum()) ** 2

    coins = np.random.default_rng(5)
    assert error(rates) < 0.9 * error(np.ones(len(tables)))
    for _ in range(200):
        assert error(rates) <= error(rates * np.exp(coins.normal(0, 0.1, len(rates)))) * (1 + 1e-6)


@pytest.mark.parametrize("steps", [[None], [frozenset("abcd")], [None, frozenset("ab"), frozenset("cd")]])
def test_joined_tables_lower_the_error(steps: list[frozenset[str] | None]) -> None:
    """Errors of what is found, by precisions written out, at what the worst step loses."""
    tables = pairs()
    search, sizes = TableSearch(tables, [1.0] * len(tables), steps), {"a": 2, "b": 3, "c": 7, "d": 12}

    def error(rates: np.ndarray, besides: dict[frozenset[str], float]) -> float:
        precise = precisions(tables, rates**2, dict.fromkeys((part for table in tables for part in table.of), 1.0))
        measured = [*zip([table.of[-1] for table in tables], rates, strict=True), *besides.items()]
        for one, rate in besides.items():
            for part in precise:
                if part <= one:
                    precise[part] += rate**2 / math.prod(sizes[name] for name in one - part)
        lost = [sum(rate * (1 if step is None else 2 * bool(step & one)) for one, rate in measured) for step in steps]
        return squared_error(tables, precise) * max(lost) ** 2

    plain, joined = (search.laplace(joined=some) for some in (False, True))
    assert set(joined[1]) <= {frozenset(some) for some in ("abc", "abd", "acd", "bcd")}
    assert error(*joined) <= error(*plain) * (1.001 if not joined[1] else 0.98)
    assert joined[1] or len(steps) > 1


def test_what_weighs_more_errs_less() -> None:
    tables = pairs()
    search = TableSearch(tables, [100.0, *[1.0] * (len(tables) - 1)], [frozenset("abcd")])
    fair = TableSearch(tables, [1.0] * len(tables), [frozenset("abcd")])
    heavy, usual = (one.laplace(joined=False)[0] for one in (search, fair))
    assert heavy[0] / heavy.sum() > usual[0] / usual.sum()


def test_steps_are_few() -> None:
    assert steps_together("ab", 2, absent=True) == [None, frozenset("a"), frozenset("b"), frozenset("ab")]
    many = [str(number) for number in range(20)]
    found = steps_together(many, 20, absent=False) or []
    assert {len(step or ()) for step in found} == {1, 19, 20}
    assert steps_together(many, 10, absent=False) is None
    assert math.comb(20, 10) > MOST_SETS
    assert steps_together([], 1, absent=False) is None
