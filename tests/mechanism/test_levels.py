"""Noise on each level of values: planned, released, read back and verified; its errors and intervals by drawing."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import tetraodon as td
from tetraodon.domain import Attribute, Integers
from tetraodon.errors import PolicyError, Refused
from tetraodon.exact.arrays import Ints
from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.mechanism.levels import TotalOfLevels
from tetraodon.noise import discrete_laplace
from tetraodon.query.levels import LevelSums

PAID = {"name": "paid", "total": "wage", "noise": "levels"}
WAGE = Attribute("wage", Integers(100, 10_000_000))


def policy(*items: dict[str, Any], **changes: Any) -> td.Policy:
    document = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"wage": {"integer": [100, 10_000_000], "unit": "EUR"}, "s": ["f", "m"]},
        "secrets": {"wage": {"within": "10%"}, "s": "public"},
        "budget": {"epsilon": 1},
        "release": list(items) or [PAID],
    }
    return td.load_policy({**document, **changes})


def wages(n: int) -> Ints:
    return np.exp(np.random.default_rng(7).normal(7.4, 0.6, n)).astype(np.int64)


def drawn(values: Ints, epsilon: Fraction, times: int) -> TotalOfLevels:
    """So many releases of the same table."""
    sums = LevelSums(WAGE)
    scale = sums.farthest(Fraction(1, 10))[0] / epsilon
    exact = sums.added(values - 100).sum(axis=1)
    noisy = exact + discrete_laplace(scale, (times, sums.rows))
    return TotalOfLevels(sums, scale, noisy, np.full(times, len(values)))


def test_the_journey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """False-alarm rate below 1e-9 for what is about noise: errors of 40 scales."""
    monkeypatch.chdir(tmp_path)
    asked = policy(PAID, {"name": "each", "mean": "wage", "noise": "levels", "by": "s"}, budget={"epsilon": 8})
    plan = td.plan(asked)
    assert [item.mechanism for item in plan] == ["levels", "levels"]
    assert plan.certificate.exact
    assert plan.epsilon == 8
    assert plan["paid"].expected_error == pytest.approx(29.7 / 4, rel=1e-2)
    given = wages(400)
    table = polars.DataFrame({"wage": given, "s": np.where(np.arange(400) % 2, "f", "m")})
    with td.Ledger("sqlite:///ledger.db") as ledger:
        ledger.open("d", 1000, asked.document)
    made = td.release(asked, table, ledger="sqlite:///ledger.db", out="out")
    ((total,), (lower,), (upper,)) = (made["paid"].columns[name] for name in ("total", "lower", "upper"))
    assert lower <= total <= upper
    assert abs(total - given.sum()) < 40 * given.max() / 11 / 4
    means = made["each"].columns
    assert (np.abs(means["mean"] * 200 - [given[1::2].sum(), given[::2].sum()]) < 40 * given.max() / 11 / 4).all()
    assert td.load_release("out")["paid"].columns["total"].tolist() == [total]
    assert all(check.passed for check in td.verify("out"))
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "each twice as high as the one below, was added up. Random noise" in page
    assert "% of the largest value in the table" in page


# -- how far off it is --------------------------------------------------------------------------------

TABLES = {
    "wages": wages(1000),
    "alike": np.full(3, 50_000),
    "one far above": np.array([100, 100, 110, 10**7]),
    "all least": np.full(50, 100),
    "everywhere": np.geomspace(100, 10**7, 300).astype(np.int64),
    "at an end of a level": np.array([800] * 5 + [1601]),
}


@pytest.mark.parametrize("values", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(4)])
def test_intervals_hold_the_truth(values: Ints, epsilon: Fraction) -> None:
    """False-alarm rate below 2e-9: each of 1,000 fails with 5% at most, and 100 are allowed to."""
    told, truth = drawn(values, epsilon, 1000), values.sum()
    lower, upper = told.interval(1)
    assert Fraction(1, 20) == 1 - CONFIDENCE
    assert ((truth < lower) | (upper < truth)).sum() < 100
    assert ((lower <= told.total) & (told.total <= upper)).all()
    assert (told.centre - told.reach(2) <= told.centre - told.reach(1)).all()


@pytest.mark.parametrize("values", TABLES.values(), ids=TABLES)
def test_the_level_of_the_largest_value_is_possible(values: Ints) -> None:
    """False-alarm rate below 1e-9: each of 1,000 fails with 1.9% at most, and 55 are allowed to."""
    told = drawn(values, Fraction(1, 2), 1000)
    level = max(0, int(np.ceil(np.log2(values.max() / 100))) - 1)
    assert (~told.possible(Fraction(1, 20))[:, level]).sum() < 55


def test_errors_are_a_share_of_the_largest_value_and_intervals_a_few_errors() -> None:
    """False-alarm rate below 1e-9: medians of 2,000 draws, allowed to be twice what they are."""
    values = wages(1000)
    told = drawn(values, Fraction(1), 2000)
    lower, upper = told.interval(1)
    typical = float(np.median(np.abs(told.total - values.sum())))
    assert typical < 0.297 * values.max()
    assert float(np.median(upper - lower)) / 2 < 1.5 * values.max()
    assert typical < 0.0015 * values.sum(), "noise on each record is off by 0.57%"


def test_without_noise_the_sum_is_exact() -> None:
    values, sums = wages(50), LevelSums(WAGE)
    exact = sums.added(values - 100).sum(axis=1)
    told = TotalOfLevels(sums, Fraction(1), exact[None], np.array([50]))
    assert told.total.tolist() == [values.sum()]


# -- what it cannot do --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "changes", "what"),
    [
        ({}, {"presence": "secret"}, "noise on each level of values shows how many records"),
        ({}, {"individuals": {"key": "p", "at most": 2}}, "shows how many records it is about"),
        ({}, {"secrets": {"wage": {"within": 5000}}}, "secrets to within a share"),
        ({}, {"budget": {"rho": 1}}, "a budget in rho has Gaussian noise"),
        ({"where": "s = 'f'"}, {}, "`by` in place of `where`"),
        ({"by": "s"}, {"secrets": {"wage": {"within": "10%"}}}, "no mechanism can answer"),
        ({"error": 1000}, {}, "no mechanism can answer"),
    ],
)
def test_what_it_cannot_do_is_refused(item: dict[str, Any], changes: dict[str, Any], what: str) -> None:
    with pytest.raises(Refused, match=what):
        td.plan(policy(PAID | item, **changes))


def test_no_weights() -> None:
    with pytest.raises(PolicyError, match="noise"):
        policy(PAID | {"weight": "wage"})
