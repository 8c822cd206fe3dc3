"""Covariances: intervals against every data set that noise may have hidden, the price against enumeration.

False alarms: `check_coverage` compares six numbers with a quantile at 1e-10: by chance it fails with less than 1e-9.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.query.released import answered, check_coverage

import tetraodon as td
from tetraodon.certificate import oracle
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.query.kinds import covariance

DOMAIN = Domain((Attribute("age", Integers(2, 6), unit="years"), Attribute("pay", Integers(-3, 4), unit="EUR")))
ITEMS: list[dict[str, object]] = [
    {"name": "both", "covariance": ["age", "pay"]},
    {"name": "by-sex", "covariance": ["pay", "age"], "by": "sex"},
]
records_of = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 7)), min_size=1, max_size=12)


def policy(**changes: Any) -> td.Policy:
    base = {
        "dataset": "d",
        "presence": "public",
        "attributes": {
            "age": {"integer": [2, 6], "unit": "years"},
            "pay": {"integer": [-3, 4], "unit": "EUR"},
            "sex": ["f", "m"],
        },
        "secrets": {"age": {"within": 1}, "pay": {"within": 2}, "sex": "public"},
        "budget": {"epsilon": 2},
        "release": ITEMS,
    }
    return td.load_policy(base | changes)


def people(count: int) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    age = rng.integers(2, 7, count)
    pay = (age + rng.integers(-3, 3, count) - 3).clip(-3, 4)
    return pl.DataFrame({"age": age, "pay": pay, "sex": (["f", "m", "m", "m"] * count)[:count]})


# -- the interval ------------------------------------------------------------------------------


@given(st.data())
def test_where_the_noise_is_within_its_reach_the_interval_holds_the_truth(data: st.DataObject) -> None:
    records = np.array(data.draw(records_of))
    reach = data.draw(st.tuples(st.integers(0, 40), st.integers(0, 20), st.integers(0, 20), st.integers(0, 4)))
    noise = tuple(data.draw(st.integers(-far, far)) for far in reach)
    query = covariance("age", "pay")
    columns = query.columns(answered(query, DOMAIN, records, noise, reach))  # type: ignore[arg-type]
    [lower], [value], [upper] = columns["lower"], columns["covariance"], columns["upper"]
    assert -7 <= lower <= value <= upper <= 7
    truth = np.cov(records.T, bias=True)[0, 1]
    assert lower - 1e-9 <= truth <= upper + 1e-9


@given(records_of)
def test_without_noise_it_is_the_covariance_itself(records: list[tuple[int, int]]) -> None:
    query = covariance("age", "pay")
    columns = query.columns(answered(query, DOMAIN, np.array(records), (0,) * 4, (0,) * 4))  # type: ignore[arg-type]
    assert columns["covariance"][0] == pytest.approx(np.cov(np.array(records).T, bias=True)[0, 1], abs=1e-9)
    assert columns["upper"][0] - columns["lower"][0] < 1e-9


@pytest.mark.parametrize("presence", ["public", "secret"])
def test_intervals_cover(presence: str) -> None:
    table = people(80)
    parts = [table.filter(pl.col("sex") == sex) for sex in ("f", "m")]
    truth = [np.cov(part["age"], part["pay"], bias=True)[0, 1] for part in (table, *parts)]
    check_coverage(policy(presence=presence), table, {"both": truth[:1], "by-sex": truth[1:]})


# -- what it costs -----------------------------------------------------------------------------


@pytest.mark.parametrize("presence", ["public", "secret"])
@pytest.mark.parametrize("together", ["all at once", "one attribute at a time"])
@pytest.mark.parametrize("secret", ["everything", {"within": 2}, {"blocks": [[-3, 0], [1, 4]]}, "public"])
def test_products_move_as_far_as_enumeration_says(secret: object, together: str, presence: str) -> None:
    secrets = {"age": {"within": 1}, "pay": secret, "sex": "public"}
    here = policy(secrets=secrets, together=together, presence=presence, release=[])
    asked = td.queries.covariance("age", "pay")
    assert td.sensitivity(here, asked).value == oracle.sensitivity(here, asked, 1)


def test_a_record_moves_products_from_the_middle_less_than_from_nought() -> None:
    secrets = {"age": "public", "pay": {"within": 1}, "sex": "public"}
    here = policy(secrets=secrets, release=[])
    assert (
        td.sensitivity(here, td.queries.covariance("age", "pay")).value == 2
    )  # half the range of ages, not the oldest
    assert here.domain["age"].number(4) == 6


def test_what_no_secret_changes_is_exact_wherever_it_stands() -> None:
    secrets = {"age": "public", "pay": {"within": 1}, "sex": "public"}
    strategy = td.plan(policy(secrets=secrets))["both"].strategy
    assert [query.names for query in strategy.noisy] == [("age", "pay"), ("pay",)]
    assert [query.names for query in strategy.exact] == [("age",), ()]
    assert td.plan(policy(secrets=dict.fromkeys(("age", "pay", "sex"), "public")))["both"].mechanism == "exact"
    assert len(td.plan(policy(presence="secret"))["both"].strategy.noisy) == 4


def test_incomes_that_are_all_secret_are_planned_beside_their_quantiles() -> None:
    attributes = {"age": {"integer": [0, 119]}, "pay": {"integer": [0, 99_999]}, "sex": ["f", "m"]}
    items = [{"name": "both", "covariance": ["age", "pay"]}, {"name": "q", "quantiles": "pay"}]
    plan = td.plan(policy(attributes=attributes, secrets={}, release=items))
    assert Fraction(19, 10) < plan.epsilon <= 2
    assert plan["both"].certificate.exact


# -- released, told, verified --------------------------------------------------------------------


def test_it_is_released_verified_and_told(tmp_path: Path) -> None:
    here = policy(secrets={"age": "public", "sex": "public"})
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    with td.Ledger(ledger) as book:
        book.open("d", 2, here.document)
    td.release(td.plan(here), people(20), ledger=ledger, out=tmp_path / "out")
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    again = td.load_release(tmp_path / "out")
    assert list(again["by-sex"].columns) == ["sex", "covariance", "lower", "upper"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for told in (
        "The covariance of pay in EUR and age in years, for each sex.",
        "was added to the sum of products of age and pay.",
        "The sum of pay was measured with such noise as well. The number of records is exact",
    ):
        assert told in page


def test_in_words() -> None:
    asked = covariance("age", "pay")
    assert asked.asked() == "covariance of age and pay"
    assert asked.unit(DOMAIN) == "years·EUR (sum of products)"
    assert asked.off_by("3", "", DOMAIN) == "The sum of products behind the covariance is typically off by 3 years·EUR."
    assert asked.drawing(DOMAIN, ()).title == "covariance of age and pay"
