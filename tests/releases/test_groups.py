"""People with secrets of their own, from the policy file to the release, its check and its price later."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.releases.conftest import POLICY

import tetraodon as td
from tetraodon.errors import Refused
from tetraodon.mechanism.kmeans.lloyd import require_same_secrets
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.releases.pricing import reprice

GROUPS = {"by": "sex", "rules": {"Female": {"secrets": {"age": {"within": 5}}}, "Male": "none"}}


def policy_with(**changed: Any) -> td.Policy:
    return td.load_policy({**POLICY, **changed})


def test_a_release_is_charged_for_the_worst_group_and_verifies(table: pl.DataFrame, tmp_path: Path) -> None:
    policy = policy_with(groups=GROUPS)
    ledger = td.Ledger(tmp_path / "ledger.db")
    ledger.open(policy.dataset, Fraction(3), policy.document)
    made = td.release(td.plan(policy), table, ledger=ledger, out=tmp_path / "out")
    [entry] = ledger.entries(policy.dataset)
    assert entry.charged == made.plan.certificate.epsilon == policy.epsilon
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    men = made["men"].to_polars()  # those who do not mind are counted exactly
    assert men["count"].to_list() == [table.filter((pl.col("sex") == "Male") & (pl.col("age") > 24)).height]
    assert made.plan["men"].mechanism == "exact"
    assert made.plan["older"].mechanism != "exact"


@pytest.mark.parametrize("query", [item["name"] for item in POLICY["release"]])
def test_a_group_is_never_dearer_than_the_strictest_graph_for_all(query: str) -> None:
    groups = {"by": "sex", "rules": {"Female": {"secrets": {"age": {"within": 5}}}}}
    [item] = [item for item in POLICY["release"] if item["name"] == query]
    asked = td.load_policy({**POLICY, "release": [item]}).items[0].query
    strict = policy_with(secrets={**POLICY["secrets"], "age": {"within": 5}})
    if hasattr(asked, "at") or query == "mean_pay":
        return
    loose, own, all_strict = (
        td.sensitivity(p, asked).value for p in (policy_with(), policy_with(groups=groups), strict)
    )
    assert loose <= own <= all_strict


def test_what_was_released_costs_more_once_others_mind(table: pl.DataFrame, tmp_path: Path) -> None:
    policy = policy_with(groups=GROUPS)
    ledger = td.Ledger(tmp_path / "ledger.db")
    ledger.open(policy.dataset, Fraction(3), policy.document)
    td.release(td.plan(policy), table, ledger=ledger)
    assert reprice(ledger, policy).together.epsilon == 1
    assert reprice(ledger, policy_with()).together.epsilon == math.inf  # the men were counted exactly
    nobody = policy_with(groups={"by": "sex", "rules": {"Female": "none", "Male": "none"}})
    assert reprice(ledger, nobody).together.epsilon == 0


def test_a_governing_policy_decides_for_its_groups(table: pl.DataFrame, ledger: td.Ledger) -> None:
    """The ledger's policy has no groups: whoever asks with some is charged, or refused, by its own."""
    with pytest.raises(Refused, match="tell for certain"):
        td.release(td.plan(policy_with(groups=GROUPS)), table, ledger=ledger)


def test_the_plan_tells_what_every_group_loses() -> None:
    from tetraodon.cli.plan_words import notes

    told = " ".join(notes(td.plan(policy_with(groups=GROUPS)), None))
    assert "By sex: people whose sex is Female lose 1; people whose sex is Male do not mind." in told
    assert "By sex" not in " ".join(notes(td.plan(policy_with()), None))


def test_what_is_not_certified_for_groups_is_refused() -> None:
    policy = policy_with(groups=GROUPS)
    assert isinstance(policy.graph, SecretGraph)
    with pytest.raises(Refused, match="everybody has the same secrets"):
        td.compare(policy, theta=[1, 2], attribute="age")
    with pytest.raises(Refused, match="secrets of their own"):
        require_same_secrets(policy)
