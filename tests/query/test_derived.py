"""How far off a mean, a variance or a standard deviation can be, against every end of the noise on small tables."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tetraodon.domain import Attribute, Domain, Grid, Integers
from tetraodon.queries import mean, standard_deviation, variance
from tetraodon.query.moments import Derived, ends, mean_off
from tetraodon.query.query import MeasuredSum

DOMAINS = (
    Domain((Attribute("x", Integers(0, 9)), Attribute("w", Integers(1, 3)))),
    Domain((Attribute("x", Integers(-20, 4)), Attribute("w", Integers(2, 5)))),
    Domain((Attribute("x", Grid(Fraction(10), Fraction(12), Fraction(1, 2))), Attribute("w", Integers(1, 2)))),
)
QUERIES: tuple[Derived, ...] = (mean("x"), mean("x", weight="w"), variance("x"), standard_deviation("x"))


def answer(query: Derived, domain: Domain, sums: list[float]) -> float:
    """What is published where the sums, with their noise, are these."""
    units = [float(one.contribution.unit) for one in query.sums(domain)]
    measured = tuple(
        MeasuredSum(np.array([round(total / unit)]), Fraction(unit).limit_denominator(100), True, lambda _: 0.0)
        for total, unit in zip(sums, units, strict=True)
    )
    answered: Any = SimpleNamespace(domain=domain, sums=measured, whole=False, axes=(), table=None)
    return float(query.columns(answered)[query.column][0])


def true_sums(query: Derived, rows: list[tuple[float, float]], domain: Domain) -> list[float]:
    first, last = ends(domain["x"])
    middle = (first + last) / 2
    if not hasattr(query, "weight"):
        return [sum((x - middle) ** 2 for x, _ in rows), sum(x for x, _ in rows), len(rows)]
    if query.weight:
        return [sum(x * w for x, w in rows), sum(w for _, w in rows)]
    return [sum(x for x, _ in rows), len(rows)]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.asked())
@pytest.mark.parametrize("domain", DOMAINS, ids=["plain", "negative", "steps"])
def test_no_noise_within_reach_takes_an_answer_farther(query: Derived, domain: Domain) -> None:
    chance = random.Random(7)
    closest = 0.0
    for _ in range(150):
        n = chance.choice((1, 2, 5, 30, 200))
        every = chance.random() < 0.5
        codes = [(chance.randrange(domain["x"].size), chance.randrange(domain["w"].size)) for _ in range(n)]
        if every:  # all at one end, where a mean is farthest from nothing
            codes = [(chance.choice((0, domain["x"].size - 1)), 0)] * n
        rows = [(float(domain["x"].number(x)), float(domain["w"].number(w))) for x, w in codes]
        sums = true_sums(query, rows, domain)
        units = [float(one.contribution.unit) for one in query.sums(domain)]
        reaches = [chance.choice((0, 1, 3, 20)) * unit for unit in units]
        truth = answer(query, domain, sums)
        for records in {1, max(1, n - 1), n}:
            bound = query.error_of(reaches, records, domain)
            for signs in itertools.product((-1, 0, 1), repeat=len(sums)):
                noisy = [total + sign * reach for total, sign, reach in zip(sums, signs, reaches, strict=True)]
                off = abs(answer(query, domain, noisy) - truth)
                assert off <= bound * (1 + 1e-9) + 1e-9, (rows, reaches, signs, records)
                if records == n and bound:
                    closest = max(closest, off / bound)
    assert closest > 0.9  # the bound is no looser than it must be


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.asked())
def test_more_records_and_less_noise_never_hurt(query: Derived) -> None:
    domain = DOMAINS[0]
    parts = len(query.sums(domain))
    for reach in (0, 1, 10, 1000):
        found = [query.error_of([reach] * parts, records, domain) for records in (1, 2, 10, 100, 10**6)]
        assert found == sorted(found, reverse=True)
        less = [query.error_of([reach / 2] * parts, records, domain) for records in (1, 2, 10, 100, 10**6)]
        assert all(a <= b for a, b in zip(less, found, strict=True))
    assert query.error_of([0.0] * parts, 1, domain) == 0


def test_units() -> None:
    domain = Domain((Attribute("x", Integers(0, 9), unit="EUR"),))
    asked = (mean("x"), variance("x"), standard_deviation("x"))
    assert [query.own_unit(domain) for query in asked] == ["EUR", "EUR²", "EUR"]
    assert mean_off(domain["x"], 3.0, 2.0, 7.0) == pytest.approx((3 + 9 * 2) / 7)
    assert ends(domain["x"]) == (0, 9)
    assert math.isclose(standard_deviation("x").error_of([4.0, 0.0, 0.0], 100, domain), 0.2)
