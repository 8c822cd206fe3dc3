"""Asking about what count items counted."""

from __future__ import annotations

import pytest
from tests.releases.test_combined import TABLE, made

import tetraodon as td


def test_a_condition_that_was_counted_is_answered() -> None:
    release = made([{"count": "age < 24 and sex = 'F'", "by": "region"}, {"histogram": "pay"}], "secret", {})
    found = release.ask("sex = 'F' and age < 24")
    assert found.source == "q0"
    assert found.value == pytest.approx(release["q0"].columns["count"].sum())
    assert found.lower < found.value < found.upper
    with pytest.raises(td.errors.QueryError, match="no released table counts records by"):
        release.ask("age < 23 and sex = 'F'")


def test_counts_by_an_attribute_and_of_all_are_asked() -> None:
    release = made([{"mean": "pay", "by": "region"}], "secret", {})
    assert release.ask("region = 'n'").source == "q0"
    assert release.ask("true").value == pytest.approx(sum(release.ask(f"region = '{r}'") for r in "nsw"))


def test_what_is_public_is_certain() -> None:
    found = made([{"mean": "pay"}], "public", {}).ask("true")
    assert (found.value, found.confidence) == (len(TABLE), 1)
