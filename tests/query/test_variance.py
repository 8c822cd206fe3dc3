"""Variances: what is measured, against enumeration; intervals, against every data set that noise may have hidden.

False alarms: coverage over `RUNS` releases is compared with the 1e-10 quantile of Binomial(RUNS, 0.95), for ten
numbers: the whole file fails by chance with probability below 1e-9.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.query.released import check_coverage

import tetraodon as td
from tetraodon.certificate import oracle
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.query.kinds import linear, variance
from tetraodon.query.query import MeasuredSum

PAY = Attribute("pay", Integers(-3, 6), unit="EUR")
DOMAIN = Domain((PAY,))


def policy(**changes: Any) -> td.Policy:
    base = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"pay": {"integer": [-3, 6], "unit": "EUR"}, "sex": ["f", "m"]},
        "secrets": {"pay": {"within": 2}, "sex": "public"},
        "budget": {"epsilon": 2},
        "release": [{"name": "spread", "variance": "pay"}, {"name": "by-sex", "variance": "pay", "by": "sex"}],
    }
    return td.load_policy(base | changes)


# -- the interval ------------------------------------------------------------------------------


def answered(values: list[int], noise: tuple[int, int, int], reach: tuple[int, int, int]) -> SimpleNamespace:
    """What is released of values when each sum has this noise, and could have had as much as `reach`."""
    codes, counts = np.unique(np.array(values) + 3, return_counts=True)
    sums = []
    for query, off, far in zip(variance("pay").sums(DOMAIN), noise, reach, strict=True):
        exact = query.evaluate(DOMAIN, codes[:, None][:, : len(query.names)], counts)
        sums.append(MeasuredSum(exact + off, query.contribution.unit, not far, lambda _, far=far: float(far)))
    return SimpleNamespace(domain=DOMAIN, sums=tuple(sums))


@given(st.data())
def test_where_the_noise_is_within_its_reach_the_interval_holds_the_truth(data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(-3, 6), min_size=1, max_size=12))
    reach = data.draw(st.tuples(st.integers(0, 60), st.integers(0, 20), st.integers(0, 4)))
    noise = tuple(data.draw(st.integers(-far, far)) for far in reach)
    columns = variance("pay").columns(answered(values, noise, reach))  # type: ignore[arg-type]
    [lower], [value], [upper] = columns["lower"], columns["variance"], columns["upper"]
    assert 0 <= lower <= value <= upper <= 4.5**2
    assert lower - 1e-9 <= np.var(values) <= upper + 1e-9


@given(st.lists(st.integers(-3, 6), min_size=1, max_size=12))
def test_without_noise_it_is_the_variance_itself(values: list[int]) -> None:
    columns = variance("pay").columns(answered(values, (0, 0, 0), (0, 0, 0)))  # type: ignore[arg-type]
    assert columns["variance"][0] == pytest.approx(np.var(values), abs=1e-9)
    assert columns["upper"][0] - columns["lower"][0] < 1e-9


@pytest.mark.parametrize("presence", ["public", "secret"])
def test_intervals_cover(presence: str) -> None:
    rng = np.random.default_rng(5)
    table = pl.DataFrame({"pay": rng.integers(-3, 7, 60).clip(-3, 4), "sex": ["f", "m", "m", "m"] * 15})
    groups = [table.filter(pl.col("sex") == sex)["pay"].to_numpy() for sex in ("f", "m")]
    truth = {"spread": [np.var(table["pay"].to_numpy())], "by-sex": [np.var(group) for group in groups]}
    check_coverage(policy(presence=presence), table, truth)


# -- what it costs -----------------------------------------------------------------------------


@pytest.mark.parametrize("presence", ["public", "secret"])
@pytest.mark.parametrize("secret", ["everything", {"within": 2}, {"blocks": [[-3, 0], [1, 6]]}, "public"])
def test_the_sums_move_as_far_as_enumeration_says(secret: object, presence: str) -> None:
    here = policy(secrets={"pay": secret, "sex": "public"}, presence=presence, release=[])
    assert td.sensitivity(here, td.queries.variance("pay")).value == oracle.sensitivity(
        here, td.queries.variance("pay"), 1
    )


def test_a_record_moves_squares_from_the_middle_less_than_from_nought() -> None:
    here = policy(secrets={"pay": {"within": 1}, "sex": "public"}, release=[])
    assert td.sensitivity(here, td.queries.variance("pay")).value == Fraction(9, 2) ** 2 - Fraction(7, 2) ** 2
    assert linear(td.queries.variance("pay"), here.domain).contribution.unit == Fraction(1, 4)


def test_the_number_of_records_is_exact_where_it_is_public_and_noisy_where_it_is_not() -> None:
    public, secret = (td.plan(policy(presence=presence))["spread"].strategy for presence in ("public", "secret"))
    assert (len(public.noisy), len(public.exact)) == (2, 1)
    assert (len(secret.noisy), len(secret.exact)) == (3, 0)
    assert td.plan(policy(secrets={"pay": "public", "sex": "public"}))["spread"].mechanism == "exact"


def test_incomes_that_are_all_secret_are_planned() -> None:
    attributes = {"pay": {"integer": [0, 99_999]}, "sex": ["f", "m"]}
    plan = td.plan(policy(attributes=attributes, secrets={}))
    assert plan.epsilon == 2
    assert plan.certificate.exact


# -- released, told, verified --------------------------------------------------------------------


def test_it_is_released_verified_and_told(tmp_path: Path) -> None:
    table = pl.DataFrame({"pay": [-3, 0, 1, 6, 2, 2], "sex": ["f", "m"] * 3})
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    with td.Ledger(ledger) as book:
        book.open("d", 2, policy().document)
    td.release(td.plan(policy()), table, ledger=ledger, out=tmp_path / "out")
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    again = td.load_release(tmp_path / "out")
    assert list(again["by-sex"].columns) == ["sex", "variance", "lower", "upper"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for told in (
        "The variance of pay in EUR, for each sex.",
        "was added to the sum of squares of pay.",
        "The sum of pay was measured with such noise as well. The number of records is exact",
        "EUR²",
    ):
        assert told in page


def test_in_words() -> None:
    asked = variance("pay")
    assert asked.asked() == "variance of pay"
    assert asked.unit(DOMAIN) == "EUR² (sum of squares)"
    assert asked.off_by("3", "", DOMAIN) == "The sum of squares behind the variance is typically off by 3 EUR²."
    assert asked.drawing(DOMAIN, ()).title == "variance of pay (EUR²)"
