"""The search for precisions against the closed form of [XHZK23], and against other choices."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.mechanism.marginals import MARGINS, MOST_SETS, TableParts, TableSearch, steps_together, table_parts
from tetraodon.mechanism.strategy import Scaled, Strategy
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, splits

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
