"""What a release costs is decided by the policy that governs the data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from tests.policy.test_build_attackers import CHAIN, read
from tests.releasing.conftest import POLICY

import tetraodon as td
from tetraodon.certificate import oracle
from tetraodon.errors import Refused
from tetraodon.ledger import Account, document_hash
from tetraodon.publishing.plan import plan_view
from tetraodon.releasing.charge import charge_of, governing_certificate, view_loss


def account(**changes: Any) -> Account:
    document = td.load_policy({**POLICY, "release": [], **changes}).document
    return Account("survey", Fraction(10), Fraction(0), document, document_hash(document), "2026-01-01T00:00:00Z")


def asked(**changes: Any) -> td.Plan:
    return td.plan(td.load_policy({**POLICY, "release": [{"name": "h", "histogram": ["age"]}], **changes}))


def test_the_same_policy_charges_what_was_planned() -> None:
    plan = asked()
    assert charge_of(governing_certificate(plan, account())) == plan.certificate.epsilon


def test_a_weaker_governing_policy_charges_less() -> None:
    plan = asked(release=[{"name": "t", "total": "age"}])
    narrower = account(secrets={**POLICY["secrets"], "age": {"within": 1}})
    assert charge_of(governing_certificate(plan, narrower)) == plan.certificate.epsilon / 2


def test_a_secret_presence_makes_a_known_total_infinitely_dear() -> None:
    with pytest.raises(td.Refused, match="governs"):
        governing_certificate(asked(), account(presence="secret"))


def test_attributes_may_be_left_out_but_not_redeclared() -> None:
    few = {name: POLICY["attributes"][name] for name in ("age", "sex")}
    secrets = {name: POLICY["secrets"][name] for name in ("age", "sex")}
    assert governing_certificate(asked(attributes=few, secrets=secrets), account()).finite
    with pytest.raises(td.Refused, match="declared otherwise"):
        governing_certificate(asked(attributes={**POLICY["attributes"], "age": {"integer": [19, 29]}}), account())


@pytest.mark.parametrize("entry", [{"groups": "home", "at most": 2}, {"chain": CHAIN}])
def test_views_are_refused_where_rows_depend_on_each_other(entry: dict[str, object]) -> None:
    here = read([entry])
    with pytest.raises(Refused, match="a published view is priced"):
        view_loss(here, Fraction(1), Fraction(1))
    with pytest.raises(Refused, match="a published view is priced"):
        plan_view(here)


@pytest.mark.parametrize(
    ("changes", "loss"),
    [
        ({}, 5),  # one record replaced
        ({"presence": "secret"}, 5),
        ({"presence": "secret", "secrets": dict.fromkeys(POLICY["secrets"], "public")}, 3),
        ({"secrets": dict.fromkeys(POLICY["secrets"], "public")}, 0),
        ({"individuals": {"key": "id", "at most": 3}}, 15),
    ],
)
def test_a_view_loses_what_its_neighbours_can_move(changes: dict[str, Any], loss: int) -> None:
    policy = td.load_policy({**POLICY, "release": [], "together": "all at once", **changes})
    assert view_loss(policy, Fraction(3), Fraction(5)) == loss


def test_a_view_of_people_who_come_and_go_under_known_counts() -> None:
    """Three counts overlap in one value: whoever leaves it may be made up for by three who come, not by two."""
    policy = td.load_policy(
        {
            "dataset": "d",
            "presence": "secret",
            "attributes": {"v": {"integer": [0, 3]}},
            "known": [{"count": f"v in (0, {k})"} for k in (1, 2, 3)],
            "budget": {"epsilon": 9},
        }
    )
    presence, replaced = Fraction(3), Fraction(5)
    worst = Fraction(0)
    for change in oracle.changes(oracle.world(policy.graph, policy.known, 4)):
        come, go = sum(max(c, 0) for c in change[:4]), sum(max(-c, 0) for c in change[:4])
        worst = max(worst, min(come, go) * replaced + abs(come - go) * presence)
    assert worst == replaced + 2 * presence
    assert view_loss(policy, presence, replaced) == worst
    fixed = td.load_policy({**policy.document, "known": [*policy.document["known"], {"count": "all"}]})
    moved = fixed.sensitivity(td.histogram("v")).value
    assert view_loss(fixed, presence, replaced) == moved / 2 * replaced
