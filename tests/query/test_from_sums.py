"""Questions answered from sums: means, shares, ratios, variances, covariances, correlations.

False alarms: `check_coverage` compares fewer than thirty numbers, twice, with a quantile at 1e-10: it fails by chance
with less than 1e-8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.query.released import answered, check_coverage

import tetraodon as td
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.exact.arrays import Floats
from tetraodon.queries import correlation, covariance, mean, proportion, ratio, standard_deviation, total, variance
from tetraodon.query.kinds import linear
from tetraodon.query.moments import Between, Moments, half, middle, quotient
from tetraodon.query.query import MeasuredSum, Query

DOMAIN = Domain(
    (
        Attribute("age", Integers(2, 6), unit="years"),
        Attribute("pay", Integers(-3, 4), unit="EUR"),
        Attribute("hours", Integers(1, 4), unit="h"),
        Attribute("w", Integers(1, 3)),
    )
)
records_of = st.lists(st.tuples(*(st.integers(0, one.size - 1) for one in DOMAIN)), min_size=1, max_size=12)
Truth = Callable[[Mapping[str, Any]], float]
"""What a question is of some records, from an array of values for each attribute."""


def correlated(v: Mapping[str, Any]) -> float:
    return float(np.corrcoef(v["age"], v["pay"])[0, 1]) if np.var(v["age"]) * np.var(v["pay"]) else np.nan


KINDS: dict[str, tuple[Query, dict[str, Any], Truth, tuple[float, float]]] = {
    "mean": (mean("pay"), {"mean": "pay"}, lambda v: np.mean(v["pay"]), (-3, 4)),
    "weighted-mean": (
        mean("pay", weight="w"),
        {"mean": "pay", "weight": "w"},
        lambda v: (v["pay"] * v["w"]).sum() / v["w"].sum(),
        (-3, 4),
    ),
    "share": (proportion("age < 4"), {"proportion": "age < 4"}, lambda v: np.mean(v["age"] < 4), (0, 1)),
    "weighted-share": (
        proportion("age < 4", weight="w"),
        {"proportion": "age < 4", "weight": "w"},
        lambda v: ((v["age"] < 4) * v["w"]).sum() / v["w"].sum(),
        (0, 1),
    ),
    "ratio": (ratio("pay", "hours"), {"ratio": ["pay", "hours"]}, lambda v: v["pay"].sum() / v["hours"].sum(), (-3, 4)),
    "weighted-ratio": (
        ratio("hours", "age", weight="w"),
        {"ratio": ["hours", "age"], "weight": "w"},
        lambda v: (v["hours"] * v["w"]).sum() / (v["age"] * v["w"]).sum(),
        (1 / 6, 2),
    ),
    "variance": (variance("pay"), {"variance": "pay"}, lambda v: np.var(v["pay"]), (0, 3.5**2)),
    "sd": (standard_deviation("pay"), {"standard deviation": "pay"}, lambda v: np.std(v["pay"]), (0, 3.5)),
    "covariance": (
        covariance("age", "pay"),
        {"covariance": ["age", "pay"]},
        lambda v: np.cov(v["age"], v["pay"], bias=True)[0, 1],
        (-7, 7),
    ),
    "correlation": (correlation("age", "pay"), {"correlation": ["age", "pay"]}, correlated, (-1, 1)),
}
ITEMS = [{"name": name, **item} for name, (_, item, _, _) in KINDS.items()]
BY_SEX = [{"name": f"{name}-by-sex", **item, "by": "sex"} for name, (_, item, _, _) in KINDS.items()]


def policy(**changes: Any) -> td.Policy:
    base = {
        "dataset": "d",
        "presence": "public",
        "attributes": {
            "age": {"integer": [2, 6], "unit": "years"},
            "pay": {"integer": [-3, 4], "unit": "EUR"},
            "hours": {"integer": [1, 4], "unit": "h"},
            "w": {"integer": [1, 3]},
            "sex": ["f", "m"],
        },
        "secrets": {"age": {"within": 1}, "pay": {"within": 2}, "sex": "public", "w": "public", "hours": "public"},
        "budget": {"epsilon": 20},
        "release": [*ITEMS, *BY_SEX],
    }
    return td.load_policy(base | changes)


def people(count: int) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    age = rng.integers(2, 7, count)
    pay = (age + rng.integers(-3, 3, count) - 3).clip(-3, 4)
    hours, weight = rng.integers(1, 5, count), rng.integers(1, 4, count)
    return pl.DataFrame({"age": age, "pay": pay, "hours": hours, "w": weight, "sex": (["f", "m", "m"] * count)[:count]})


# -- intervals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
def test_where_the_noise_is_within_its_reach_the_interval_holds_the_truth(kind: str, data: st.DataObject) -> None:
    query, _, truth_of, (low, high) = KINDS[kind]
    records = np.array(data.draw(records_of))
    reach = [data.draw(st.integers(0, 60 if one.names else 4)) for one in query.sums(DOMAIN)]
    noise = [data.draw(st.integers(-far, far)) for far in reach]
    columns = query.columns(answered(query, DOMAIN, records, noise, reach))  # type: ignore[arg-type]
    [lower], [value], [upper] = columns["lower"], columns[query.column], columns["upper"]
    assert low - 1e-9 <= lower <= value <= upper <= high + 1e-9
    truth = truth_of({one.name: float(one.number(0)) + codes for one, codes in zip(DOMAIN, records.T, strict=True)})
    if np.isnan(truth):
        assert (lower, upper) == (low, high)
    else:
        assert lower - 1e-6 <= truth <= upper + 1e-6


@pytest.mark.parametrize("kind", KINDS)
@given(records_of)
def test_without_noise_it_is_the_truth(kind: str, listed: list[tuple[int, ...]]) -> None:
    query, _, truth_of, _ = KINDS[kind]
    records, none = np.array(listed), [0] * len(query.sums(DOMAIN))
    truth = truth_of({one.name: float(one.number(0)) + codes for one, codes in zip(DOMAIN, records.T, strict=True)})
    assume(not np.isnan(truth))
    columns = query.columns(answered(query, DOMAIN, records, none, none))  # type: ignore[arg-type]
    assert columns[query.column][0] == pytest.approx(truth, abs=1e-6)
    assert columns["upper"][0] - columns["lower"][0] < 1e-6


@pytest.mark.parametrize("presence", ["public", "secret"])
def test_intervals_cover(presence: str) -> None:
    table = people(600)
    parts = [table.filter(pl.col("sex") == sex) for sex in ("f", "m")]
    truth: dict[str, list[float]] = {}
    for name, (_, _, truth_of, _) in KINDS.items():
        truth[name], truth[f"{name}-by-sex"] = [truth_of(of(table))], [truth_of(of(part)) for part in parts]
    check_coverage(policy(presence=presence), table, truth)


def of(table: pl.DataFrame) -> dict[str, Any]:
    return {one.name: table[one.name].to_numpy() for one in DOMAIN}


def test_of_no_records_anything_is_possible() -> None:
    query, domain = proportion("age < 4", by="sex"), policy().domain
    records = np.array([[1, 0, 0, 0, 0], [4, 0, 0, 0, 0]])
    columns = query.columns(answered(query, domain, records, (0, 0), (1, 0)))  # type: ignore[arg-type]
    assert columns["proportion"].tolist() == [0.5, 0.0]
    assert (columns["lower"].tolist(), columns["upper"].tolist()) == ([0.0, 0.0], [1.0, 1.0])


# -- intervals of a mean -----------------------------------------------------------------------------


def sum_and_records(total: int, records: int, reach: float, unsure: float) -> SimpleNamespace:
    sums = [
        MeasuredSum(np.array([number]), Fraction(1), not far, lambda failures, far=far: far * failures)
        for number, far in ((total, reach), (records, unsure))
    ]
    return SimpleNamespace(domain=DOMAIN, sums=tuple(sums))


@pytest.mark.parametrize("total", [-6, 0, 6])
def test_the_interval_of_a_mean_is_as_short_as_sum_and_records_allow(total: int) -> None:
    columns = mean("pay").columns(sum_and_records(total, 10, 2.0, 1.0))  # type: ignore[arg-type]
    reached = [(total + s) / (10 + n) for s in np.linspace(-4, 4, 9) for n in np.linspace(-2, 2, 9)]
    assert columns["lower"][0] == pytest.approx(min(reached))
    assert columns["upper"][0] == pytest.approx(max(reached))


def test_with_hardly_any_records_a_mean_may_be_anything_declared() -> None:
    columns = mean("pay").columns(sum_and_records(3, 1, 0.0, 5.0))  # type: ignore[arg-type]
    assert (columns["lower"][0], columns["upper"][0]) == (-3.0, 4.0)


# -- arithmetic of intervals -------------------------------------------------------------------------

ends = st.tuples(st.integers(-5, 5), st.integers(-5, 5)).map(sorted)


def between(pair: list[int]) -> Between:
    low, high = (np.array(float(end)) for end in pair)
    return Between((low + high) / 2, low, high)


@given(ends, ends)
def test_products_and_squares_are_between_their_ends(one: list[int], other: list[int]) -> None:
    products = [a * b for a in one for b in other]
    found = between(one).times(between(other))
    assert (found.lower, found.upper) == (min(products), max(products))
    squares = [a * a for a in range(one[0], one[1] + 1)]
    found = between(one).square()
    assert (found.lower, found.upper) == (min(squares), max(squares))


@given(st.data())
def test_averages_and_variances_are_between_their_ends(data: st.DataObject) -> None:
    records = np.array(data.draw(records_of))
    reach = tuple(data.draw(st.integers(0, most)) for most in (40, 60, 60, 20, 20, 4))
    noise = tuple(data.draw(st.integers(-far, far)) for far in reach)
    query = correlation("age", "pay")
    moments = Moments(answered(query, DOMAIN, records, noise, reach), query.pairs)  # type: ignore[arg-type]
    for name in ("age", "pay"):
        attribute = DOMAIN[name]
        values: Floats = records[:, DOMAIN.position(name)] + float(attribute.number(0)) - middle(attribute)
        average, found = moments.average(name), moments.covariance(name, name)
        assert -half(attribute) <= average.lower <= values.mean() + 1e-9 <= average.upper + 2e-9
        assert 0 <= found.lower <= values.var() + 1e-9
        assert values.var() - 1e-9 <= found.upper <= half(attribute) ** 2


def measured(truth: int, noise: int, reach: int) -> MeasuredSum:
    return MeasuredSum(np.array([[truth + noise]]), Fraction(1, 2), not reach, lambda _: float(reach))


@given(st.data())
def test_a_quotient_is_where_its_interval_says(data: st.DataObject) -> None:
    parts, truth = [], []
    for _ in range(2):
        reach = data.draw(st.integers(0, 6))
        truth.append(data.draw(st.integers(-12, 12)))
        parts.append(measured(truth[-1], data.draw(st.integers(-reach, reach)), reach))
    found = quotient(*parts)
    [lower], [value], [upper] = found.lower, found.value, found.upper
    assert np.isfinite([lower, upper]).all()
    assert lower <= value <= upper
    if truth[1]:
        assert lower - 1e-9 <= truth[0] / truth[1] <= upper + 1e-9


def test_exact_sums_have_an_exact_quotient() -> None:
    found = quotient(measured(3, 0, 0), measured(-2, 0, 0))
    assert (found.lower[0], found.value[0], found.upper[0]) == (-1.5, -1.5, -1.5)


# -- what they cost ----------------------------------------------------------------------------------


def test_a_record_moves_squares_and_products_from_the_middle_less_than_from_nought() -> None:
    here = policy(secrets={"age": "public", "pay": {"within": 1}, "sex": "public"}, release=[])
    assert td.sensitivity(here, variance("pay")).value == Fraction(7, 2) ** 2 - Fraction(5, 2) ** 2
    assert linear(variance("pay"), here.domain).contribution.unit == Fraction(1, 4)
    assert td.sensitivity(here, covariance("age", "pay")).value == 2  # half the range of ages, not the oldest


def test_a_standard_deviation_costs_what_the_variance_costs() -> None:
    found, other = (td.plan(policy(release=[{"name": "x", **KINDS[kind][1]}])) for kind in ("sd", "variance"))
    assert found.certificate == other.certificate
    assert standard_deviation("pay").sums(DOMAIN) == variance("pay").sums(DOMAIN)
    assert standard_deviation("pay") != variance("pay")


def test_what_no_secret_changes_is_exact() -> None:
    """The number of records where it is public, and sums of public attributes, above a line or below it."""
    plan, secret = td.plan(policy()), td.plan(policy(presence="secret"))
    noisy = {"variance": 2, "share": 1, "weighted-share": 1, "ratio": 1, "covariance": 3}
    for name, many in noisy.items():
        parts = len(KINDS[name][0].sums(DOMAIN))
        assert (len(plan[name].strategy.noisy), len(plan[name].strategy.exact)) == (many, parts - many)
        assert name == "ratio" or len(secret[name].strategy.noisy) == parts
    assert [("pay" in query.names) for query in plan["ratio"].strategy.noisy] == [True]
    secrets = {"age": "public", "pay": {"within": 1}, "sex": "public"}
    strategy = td.plan(policy(secrets=secrets))["covariance"].strategy
    assert [query.names for query in strategy.noisy] == [("age", "pay"), ("pay",)]
    assert [query.names for query in strategy.exact] == [("age",), ()]
    public = td.plan(policy(secrets=dict.fromkeys(("age", "pay", "hours", "w", "sex"), "public")))
    assert {item.mechanism for item in public} == {"exact"}


def test_incomes_that_are_all_secret_are_planned() -> None:
    attributes = {"age": {"integer": [0, 119]}, "pay": {"integer": [0, 99_999]}, "sex": ["f", "m"]}
    items = [{"name": kind, **KINDS[kind][1]} for kind in ("variance", "covariance")]
    plan = td.plan(policy(attributes=attributes, secrets={}, release=[*items, {"name": "q", "quantiles": "pay"}]))
    assert 19 < plan.epsilon <= 20
    assert plan["variance"].certificate.exact
    assert plan["covariance"].certificate.exact


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: proportion("age < 3 and w > 1", weight="w"), "looks at w, the weight"),
        (lambda: proportion("age < 3", weight="sex"), "sex is not a number"),
        (lambda: td.queries.count("age < 3", weight="pay"), "can be negative"),
        (lambda: ratio("pay", "pay"), "two different attributes"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Callable[[], Query], what: str) -> None:
    with pytest.raises(td.errors.QueryError, match=what):
        td.sensitivity(policy(release=[]), make())


# -- released, told, verified ------------------------------------------------------------------------


def test_they_are_released_verified_and_told(tmp_path: Path) -> None:
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    with td.Ledger(ledger) as book:
        book.open("d", 20, policy().document)
    td.release(td.plan(policy()), people(30), ledger=ledger, out=tmp_path / "out")
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    again = td.load_release(tmp_path / "out")
    for name, (query, _, _, _) in KINDS.items():
        assert list(again[f"{name}-by-sex"].columns) == ["sex", query.column, "lower", "upper"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for told in (
        "The variance of pay in EUR, for each sex.",
        "was added to the sum of squares of pay.",
        "The standard deviation of pay in EUR, for each sex.",
        "The covariance of age in years and pay in EUR, for each sex.",
        "was added to the sum of products of age and pay.",
        "The sum of pay in EUR, divided by that of hours in h, for each sex.",
        "The share of records that satisfy: age &lt; 4, each counting as much as its w, for each sex.",
        "EUR²",
    ):
        assert told in page


def test_a_total_has_one_key_for_two_words() -> None:
    assert total("pay").document() == {"total": "pay"}
    assert total("pay").words == ("total", "sum")
