"""Past releases under another policy: certified again from what the ledger keeps, exactly."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from tests.releases.conftest import POLICY

import tetraodon as td
from tetraodon.certificate.correlated_records import certify_release
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.errors import LedgerError
from tetraodon.ledger.charging import Bill
from tetraodon.releases.pricing import merged, reprice, repriced

ONE = Fraction(1)


def other(**changed: Any) -> td.Policy:
    return td.load_policy({**POLICY, **changed})


@pytest.fixture
def made(policy: td.Policy, table: pl.DataFrame, ledger: td.Ledger) -> list[td.Release]:
    first = td.release(td.plan(policy), table, ledger=ledger)
    ages = other(release=[{"name": "ages", "histogram": ["age"]}], budget={"epsilon": "1/2"})
    return [first, td.release(td.plan(ages), table, ledger=ledger)]


@pytest.mark.usefixtures("made")
def test_the_same_policy_costs_what_was_charged(policy: td.Policy, ledger: td.Ledger) -> None:
    found = reprice(ledger, policy)
    assert reprice(ledger, dict(policy.document)) == found
    assert [release.certificate.epsilon for release in found.releases] == [1, Fraction(1, 2)]
    assert found.charged == found.added_up == Fraction(3, 2)
    assert found.together.epsilon <= found.added_up
    assert found.releases[1].items == ("ages",)
    assert ledger.account(policy.dataset).charged == Fraction(3, 2)


def test_it_is_the_certificate_of_the_stored_measurements(made: list[td.Release], ledger: td.Ledger) -> None:
    stricter = other(secrets={**POLICY["secrets"], "age": {"within": 5}}, together="all at once", release=[])
    found = reprice(ledger, stricter)
    measured = [[m for item in release.plan for m in item.measurements] for release in made]
    for release, measurements in zip(found.releases, measured, strict=True):
        assert release.certificate.epsilon == certify_measurements(stricter.graph, measurements).epsilon
    everything = [m for measurements in measured for m in measurements]
    assert found.together.epsilon == certify_measurements(stricter.graph, everything).epsilon
    assert found.added_up > found.charged


@pytest.mark.usefixtures("made")
def test_an_exact_answer_costs_infinity_where_it_must(ledger: td.Ledger) -> None:
    """The blocks of regions were told exactly; under a policy that protects regions altogether that cannot be."""
    found = reprice(ledger, other(secrets={**POLICY["secrets"], "region": "everything"}, release=[]))
    assert found.releases[0].certificate.epsilon == math.inf
    assert found.releases[1].certificate.finite
    assert found.added_up == found.together.epsilon == math.inf


@pytest.mark.usefixtures("made")
def test_one_more_known_table(ledger: td.Ledger) -> None:
    """Once a count is known, neighbours change several records. The table by age, and no other, was told with noise."""
    entries = ledger.entries("survey")[1:]
    before = repriced(entries, other(release=[]), ONE).together.epsilon
    after = repriced(entries, other(release=[], known=[{"count": "age <= 24"}]), ONE).together.epsilon
    assert after == 2 * Fraction(before)


@pytest.mark.usefixtures("made")
def test_another_data_set_or_another_meaning_is_refused(ledger: td.Ledger) -> None:
    entries = ledger.entries("survey")
    with pytest.raises(td.errors.Refused, match="for data set 'other'"):
        repriced(entries, other(dataset="other"), ONE)
    with pytest.raises(td.errors.Refused, match="age is declared otherwise"):
        repriced(entries, other(attributes={**POLICY["attributes"], "age": {"integer": [20, 30]}}, release=[]), ONE)


def test_an_entry_that_says_nothing(policy: td.Policy, ledger: td.Ledger) -> None:
    empty = {"policy": policy.document, "plan": {}, "certificate": td.plan(policy).certificate}
    ledger.reserve(policy.dataset, Bill(asked=1, charged=1, item=empty))
    with pytest.raises(LedgerError, match="does not say what was measured"):
        reprice(ledger, policy)


def test_nothing_released_costs_nothing(policy: td.Policy, ledger: td.Ledger) -> None:
    found = reprice(ledger, policy)
    assert (found.charged, found.added_up, found.together.epsilon) == (0, 0, 0)


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "1/2", "delta": "1e-6"}], ids=["Laplace", "Gaussian"])
def test_merged_measurements_lose_the_same(budget: dict[str, Any]) -> None:
    """Of several releases of two plans, with exact answers, values chosen by rank and a condition among them."""
    few = {"name": "q", "quantiles": "age", "at": [0.5], "bounds": False}
    items = [{"name": "h", "histogram": ["age"]}, {"name": "s", "histogram": ["sex"]}, {"name": "t", "total": "age"}]
    first = td.plan(other(budget=budget, release=items))
    second = td.plan(other(budget=budget, release=[{"name": "w", "histogram": ["age"], "where": "sex = 'Female'"}]))
    plans = [first, second, first, *([td.plan(other(release=[few]))] * 2 if "epsilon" in budget else []), first]
    everything = [m for plan in plans for item in plan for m in item.measurements]
    found = merged(everything)
    whole, fewer = (certify_release(first.policy, each, delta=Fraction(1, 10**6)) for each in (everything, found))
    assert (whole.epsilon, whole.rho, whole.exact) == (fewer.epsilon, fewer.rho, fewer.exact)
    assert len(found) < len(everything)
