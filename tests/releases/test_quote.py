"""What the ledger would say to a release is what it then says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import polars as pl
import pytest
from tests.policy.test_build_attackers import CHAIN, read
from tests.releases.conftest import POLICY

import tetraodon as td
from tetraodon.releases.pricing import quote


def asked(**changes: Any) -> td.Plan:
    return td.plan(td.load_policy({**POLICY, "release": [{"name": "h", "histogram": ["age"]}], **changes}))


@pytest.fixture
def book(tmp_path: Path) -> Iterator[td.Ledger]:
    with td.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open("survey", 1, td.load_policy(POLICY).document)
        yield ledger


def test_what_is_quoted_is_charged_and_then_refused(book: td.Ledger, table: pl.DataFrame) -> None:
    plan = asked(budget={"epsilon": 0.75})
    found = quote(plan, book)
    assert (found.charge, found.refusal) == (plan.epsilon, None)
    assert book.entries("survey") == ()
    td.release(plan, table, ledger=book)
    assert book.entries("survey")[0].charged == found.charge
    after = quote(plan, book)
    assert after.charge == found.charge
    with pytest.raises(td.errors.BudgetExhausted) as refused:
        td.release(plan, table, ledger=book)
    assert str(after.refusal) == str(refused.value)
    assert len(book.entries("survey")) == 1


def test_what_the_governing_policy_cannot_price_is_refused(book: td.Ledger, table: pl.DataFrame) -> None:
    plan = asked(secrets={**POLICY["secrets"], "age": "public"})
    found = quote(plan, book)
    assert found.charge is None
    with pytest.raises(td.errors.Refused) as refused:
        td.release(plan, table, ledger=book)
    assert str(found.refusal) == str(refused.value)


def test_a_dearer_governing_policy_decides_the_price(book: td.Ledger) -> None:
    plan = asked(release=[{"name": "t", "total": "age"}], secrets={**POLICY["secrets"], "age": {"within": 1}})
    found = quote(plan, book)
    assert found.charge is not None
    assert found.charge > plan.epsilon
    assert isinstance(found.refusal, td.errors.BudgetExhausted)


def test_where_losses_do_not_add_up_the_past_counts(tmp_path: Path) -> None:
    chained = read([{"chain": CHAIN}], release=[{"name": "h", "histogram": "on"}])
    table = pandas.DataFrame({"on": [True, False] * 50, "time": range(100)})
    with td.Ledger(tmp_path / "l.db") as book:
        book.open("power", 5, chained.document)
        plan = td.plan(chained)
        for _ in range(2):
            found = quote(plan, book)
            td.release(plan, table, ledger=book)
            assert book.entries("power")[-1].charged == found.charge


def test_a_file_with_fewer_attributes_is_priced_by_the_worst_records_of_the_governing_one(
    book: td.Ledger, table: pl.DataFrame
) -> None:
    few, secrets = ({name: POLICY[part][name] for name in ("age", "sex")} for part in ("attributes", "secrets"))
    plan = asked(attributes=few, secrets=secrets)
    found = quote(plan, book)
    assert (found.charge, found.refusal) == (plan.epsilon, None)
    td.release(plan, table, ledger=book)
    [entry] = book.entries("survey")
    assert {"region"} <= set(entry.document["witness"][0])
