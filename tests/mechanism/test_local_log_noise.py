"""Sums of values in shares: noise on each record, and on each level."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from tests.policies import public_policy

import tetraodon as td
from tetraodon.domain import Attribute, Integers
from tetraodon.errors import PolicyError, QueryError, Refused
from tetraodon.exact.arrays import Ints
from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.mechanism.local_log_noise import STEP, NoiseFactor, TotalOfLevels, TotalOfShown
from tetraodon.noise import discrete_laplace
from tetraodon.query.levels import LevelSums
from tetraodon.query.local_log_noise import Disguised

# -- disguise ---------------------------------------------------------------------------------------
# Noise on each record's value: planned, released, read back and verified; its errors against enumeration.

PAID = {"name": "paid", "total": "wage", "noise": "each record"}


def policy(*items: dict[str, Any], **changes: Any) -> td.Policy:
    document = public_policy(
        attributes={"wage": {"integer": [100, 10000000], "unit": "EUR"}, "s": ["f", "m"]},
        secrets={"wage": {"within": "10%"}, "s": "public"},
        release=list(items) or [PAID],
    )
    return td.load_policy({**document, **changes})


def wages(n: int) -> polars.DataFrame:
    level = np.random.default_rng(7).normal(math.log(20_000), 0.6, n)
    return polars.DataFrame({"wage": np.exp(level).astype(np.int64), "s": np.where(np.arange(n) % 2, "f", "m")})


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def released(asked: td.Policy, table: polars.DataFrame, out: str | None = None) -> td.Release:
    with td.Ledger("sqlite:///ledger.db") as ledger:
        ledger.open("d", 1000, asked.document)
    return td.release(asked, table, ledger="sqlite:///ledger.db", out=out)


# -- the way of a policy --------------------------------------------------------------------------------


def test_the_journey() -> None:
    """Intervals fail with 5% at most; here they are looked at for being about the truth, 40 standard errors wide."""
    asked = policy(PAID, {"name": "each", "mean": "wage", "noise": "each record", "by": "s"})
    plan = td.plan(asked)
    assert [item.mechanism for item in plan] == ["disguise", "disguise"]
    assert plan.certificate.exact
    assert plan.epsilon == 1
    assert plan["paid"].scale == 2 * 96
    table = wages(400)
    made = released(asked, table, "out")
    ((total,), (lower,), (upper,)) = (made["paid"].columns[name] for name in ("total", "lower", "upper"))
    truth = int(table["wage"].sum())
    off = NoiseFactor(plan["paid"].scale).error * math.sqrt(float((table["wage"].cast(float) ** 2).sum()))
    assert lower < total < upper
    assert abs(total - truth) < 40 * off
    assert off < 0.02 * truth
    means = made["each"].columns
    assert means["s"].tolist() == ["f", "m"]
    assert (np.abs(means["mean"] - truth / 400) < 0.5 * truth / 400).all()
    assert td.load_release("out")["paid"].columns["total"].tolist() == [total]
    assert all(check.passed for check in td.verify("out"))
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "multiplied by noise of its own" in page
    assert "typically off by" in page
    assert "It would have to hide any value behind any other" in page


def test_the_ledger_is_charged_and_the_plan_knows_no_data() -> None:
    asked = policy()
    released(asked, wages(10))
    with td.Ledger("sqlite:///ledger.db") as ledger:
        assert ledger.account("d").left == 999
    assert td.plan(asked) == td.plan(asked)


def test_it_errs_less_than_noise_on_the_sum_where_values_are_far_below_the_bound() -> None:
    """Of 100 wages of 20,000 each, in a range up to ten million: 28,000 beside 1.3 million."""
    on_each, on_sum = td.plan(policy())["paid"], td.plan(policy({"name": "paid", "total": "wage"}))["paid"]
    assert on_sum.mechanism == "direct"
    assert on_each.expected_error / 100 * 20_000 * math.sqrt(100) < on_sum.expected_error / 40


@pytest.mark.parametrize("changes", [{"epsilon": Fraction(1, 10)}, {"epsilon": 5}])
def test_any_budget_has_an_interval(changes: dict[str, Any]) -> None:
    """Where noise has no variance, it holds all that is possible."""
    made = released(policy(budget=changes), wages(50))
    (lower,), (upper,) = made["paid"].columns["lower"], made["paid"].columns["upper"]
    truth = int(wages(50)["wage"].sum())
    assert lower < truth < upper


def test_a_secret_to_within_an_amount_stays_noise_on_the_sum() -> None:
    plan = td.plan(policy({"name": "paid", "total": "wage"}, secrets={"wage": {"within": 5000}, "s": "public"}))
    assert (plan["paid"].mechanism, plan["paid"].scale) == ("direct", 5000)


@pytest.mark.parametrize(
    ("item", "changes", "what"),
    [
        ({}, {"presence": "secret"}, "shows how many records it is about"),
        ({}, {"individuals": {"key": "p", "at most": 2}}, "shows how many records it is about"),
        ({}, {"secrets": {"wage": {"within": 5000}}}, "secrets to within a share"),
        ({}, {"secrets": {"wage": {"pairs": [[100, 999]]}}}, "secrets to within a share"),
        ({}, {"budget": {"rho": 1}}, "a budget in rho has Gaussian noise"),
        ({"where": "s = 'f'"}, {}, "`by` in place of `where`"),
        ({"by": "s"}, {"secrets": {"wage": {"within": "10%"}}}, "no mechanism can answer"),
        ({"error": 1000}, {}, "no mechanism can answer"),
    ],
)
def test_what_it_cannot_do_is_refused(item: dict[str, Any], changes: dict[str, Any], what: str) -> None:
    with pytest.raises(Refused, match=what):
        td.plan(policy(PAID | item, **changes))


@pytest.mark.parametrize("item", [{"noise": "loud"}, {"weight": "wage"}])
def test_what_means_nothing_is_refused(item: dict[str, str]) -> None:
    with pytest.raises(PolicyError, match="noise"):
        policy(PAID | item)
    with pytest.raises(QueryError):
        td.queries.total("wage", **({"noise": "each record"} | item))


@pytest.mark.parametrize(
    "changes",
    [
        {"known": [{"count": "wage < 1050"}], "attributes": {"wage": {"integer": [1000, 1100]}}},
        {"attackers": [{"groups": "home", "at most": 2}], "attributes": {"wage": {"integer": [1000, 1100]}}},
        {"groups": {"by": "s", "rules": {"f": {"secrets": {"wage": {"within": "20%"}}}}}},
    ],
)
def test_other_promises_are_priced(changes: dict[str, Any]) -> None:
    if "attributes" in changes:
        changes = changes | {"secrets": {"wage": {"within": "1%"}}}
    plan = td.plan(policy(**changes))
    assert plan.epsilon <= 1
    assert plan["paid"].scale > 96


# -- how far off it is --------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(20), Fraction(96), Fraction(230)])
def test_moments_are_those_of_the_noise(scale: Fraction) -> None:
    noise = np.arange(-60_000, 60_001)
    chances = np.exp(-np.abs(noise) / float(scale))
    factor, chances = NoiseFactor(scale), chances / chances.sum()
    with np.errstate(over="ignore"):
        for power in (1, 2, 3, 4):
            logs = power * STEP * noise + np.log(chances, where=chances > 0, out=np.full(len(chances), -np.inf))
            assert factor.moment(power) == pytest.approx(np.exp(logs).sum(), rel=1e-6)
    error = np.exp(STEP * noise[np.abs(noise) < 40 * scale]) / factor.moment(1) - 1
    near = chances[np.abs(noise) < 40 * scale]
    assert factor.error == pytest.approx(math.sqrt(near @ error**2), rel=1e-3)
    assert factor.fourth >= near @ error**4 * (1 - 1e-9)


def test_noise_that_falls_too_slowly_has_no_variance() -> None:
    assert NoiseFactor(Fraction(600)).error == math.inf
    assert NoiseFactor(Fraction(400)).fourth == math.inf
    one = np.ones(1)
    assert NoiseFactor(Fraction(400)).reach(one, one, 0.05) == NoiseFactor(Fraction(400)).error / math.sqrt(0.05)


@pytest.mark.parametrize("scale", [Fraction(2), Fraction(7)])
def test_every_record_counts_its_number_on_average(scale: Fraction) -> None:
    """The weights of places against the chances of all places, ends included."""
    shown = Disguised(Attribute("x", Integers(1000, 1020)))
    fall = math.exp(-1 / float(scale))
    places = np.arange(shown.rows)
    law = (1 - fall) / (1 + fall) * fall ** np.abs(places[:, None] - places)
    law[:, [0, -1]] /= 1 - fall
    told = TotalOfShown(shown, scale, np.eye(shown.rows, dtype=np.int64)).total
    assert law @ told == pytest.approx(shown.numbers, rel=1e-12)


@pytest.mark.parametrize("weights", [[1.0], [0.5, 0.5], [0.9, 0.05, 0.05], [0.01] * 100])
def test_squares_are_seldom_told_as_much_smaller(weights: list[float]) -> None:
    """False-alarm rate below 1e-9: at most 5% of 4,000 draws are below, and 300 are allowed for."""
    scale = Fraction(96)
    noise = discrete_laplace(scale, (4000, len(weights)))
    seen = np.exp(2 * STEP * noise) / NoiseFactor(scale).moment(2) @ np.array(weights)
    most = NoiseFactor(scale).most_squares(seen, np.full(4000, math.sqrt(max(weights))), 0.05)
    assert (most < 1).sum() < 300
    assert np.median(most) < (1.3 if len(weights) == 100 else 4)


def test_the_largest_value_is_seldom_told_as_smaller() -> None:
    """False-alarm rate below 1e-9: 5% of 4,000 draws are below, and 300 are allowed for; nearly as many are."""
    shown, scale = Disguised(Attribute("wage", Integers(100, 10_000_000))), Fraction(30)
    places = 5000 + discrete_laplace(scale, 4000)
    counts = np.zeros((4000, shown.rows), np.int64)
    counts[np.arange(4000), places] = 1
    below = (TotalOfShown(shown, scale, counts)._highest(0.05) < 5000).sum()
    assert 100 < below < 300


@pytest.mark.parametrize("codes", [np.full(3, 50_000), np.array([0, 0, 10, 9_999_900]), np.arange(0, 10**6, 10_000)])
def test_intervals_hold_the_truth(codes: np.ndarray[Any, Any]) -> None:
    """False-alarm rate below 1e-9: each of 40 fails with 5% at most, and 20 are allowed to."""
    shown = Disguised(Attribute("wage", Integers(100, 10_000_000)))
    occupied = np.empty(1, object)
    occupied[0] = np.stack(np.unique(codes, return_counts=True), axis=1)
    truth, failed = float((codes + 100).sum()), 0
    for _ in range(40):
        told = TotalOfShown(shown, Fraction(96), shown.shown(occupied, lambda n: discrete_laplace(96, n)))
        failed += abs(told.total[0] - truth) > told.reach(1)[0]
    assert failed < 20
    off = NoiseFactor(Fraction(96)).error * math.sqrt(float(((codes + 100.0) ** 2).sum()))
    assert len(codes) < 100 or told.reach(1)[0] < 5 * off, "of many alike it is a few standard errors"
    assert Fraction(1, 20) == 1 - CONFIDENCE


# -- levels -----------------------------------------------------------------------------------------
# Noise on each level of values: planned, released, read back and verified; its errors and intervals by drawing.

PAY = {"name": "paid", "total": "wage", "noise": "levels"}
WAGE = Attribute("wage", Integers(100, 10_000_000))


def wages_of_levels(n: int) -> Ints:
    return np.exp(np.random.default_rng(7).normal(7.4, 0.6, n)).astype(np.int64)


def drawn(values: Ints, epsilon: Fraction, times: int) -> TotalOfLevels:
    """So many releases of the same table."""
    sums = LevelSums(WAGE)
    scale = sums.farthest(Fraction(1, 10))[0] / epsilon
    exact = sums.added(values - 100).sum(axis=1)
    noisy = exact + discrete_laplace(scale, (times, sums.rows))
    return TotalOfLevels(sums, scale, noisy, np.full(times, len(values)))


def test_the_journey_levels() -> None:
    """False-alarm rate below 1e-9 for what is about noise: errors of 40 scales."""
    asked = policy(PAY, {"name": "each", "mean": "wage", "noise": "levels", "by": "s"}, budget={"epsilon": 8})
    plan = td.plan(asked)
    assert [item.mechanism for item in plan] == ["levels", "levels"]
    assert plan.certificate.exact
    assert plan.epsilon == 8
    assert plan["paid"].expected_error == pytest.approx(29.7 / 4, rel=1e-2)
    given = wages_of_levels(400)
    table = polars.DataFrame({"wage": given, "s": np.where(np.arange(400) % 2, "f", "m")})
    made = released(asked, table, "out")
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
    "wages": wages_of_levels(1000),
    "alike": np.full(3, 50_000),
    "one far above": np.array([100, 100, 110, 10**7]),
    "all least": np.full(50, 100),
    "everywhere": np.geomspace(100, 10**7, 300).astype(np.int64),
    "at an end of a level": np.array([800] * 5 + [1601]),
}


@pytest.mark.parametrize("values", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(4)])
def test_intervals_hold_the_truth_levels(values: Ints, epsilon: Fraction) -> None:
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
    values = wages_of_levels(1000)
    told = drawn(values, Fraction(1), 2000)
    lower, upper = told.interval(1)
    typical = float(np.median(np.abs(told.total - values.sum())))
    assert typical < 0.297 * values.max()
    assert float(np.median(upper - lower)) / 2 < 1.5 * values.max()
    assert typical < 0.0015 * values.sum(), "noise on each record is off by 0.57%"


def test_without_noise_the_sum_is_exact() -> None:
    values, sums = wages_of_levels(50), LevelSums(WAGE)
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
def test_what_it_cannot_do_is_refused_levels(item: dict[str, Any], changes: dict[str, Any], what: str) -> None:
    with pytest.raises(Refused, match=what):
        td.plan(policy(PAY | item, **changes))


def test_no_weights() -> None:
    with pytest.raises(PolicyError, match="noise"):
        policy(PAY | {"weight": "wage"})
