"""A policy is checked with and without a table, as the command does it, and nothing is spent."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from tests.releases.conftest import POLICY

import tetraodon as td


def test_every_item_has_its_sensitivity(policy: td.Policy) -> None:
    found = td.check(policy)
    assert {name: one.value for name, one in found.sensitivities.items()} == {
        item.name: td.sensitivity(policy, item.query).value for item in policy.items
    }
    assert found.sensitivities["pay"].value == Fraction(1)
    assert (found.columns, found.becomes, found.refusals) == ((), (), ())


def test_a_table_that_fits_and_one_that_does_not(policy: td.Policy, table: pl.DataFrame) -> None:
    found = td.check(policy, table)
    assert [column.name for column in found.columns] == list(policy.domain.names)
    assert all(column.fits for column in found.columns)
    assert found.refusals == ()
    worse = td.check(policy, table.with_columns(region=pl.lit("nowhere")))
    [refusal] = worse.refusals
    assert refusal.where == "region"
    assert worse.becomes == ("region: 100.0% of the rows are not listed and count as north.",)


def test_what_is_no_policy_is_refused() -> None:
    with pytest.raises(td.errors.PolicyError):
        td.check({**POLICY, "budget": {"epsilon": -1}})
