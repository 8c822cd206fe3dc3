"""What a view loses is what its neighbours can move, counted against enumeration."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from tests.policy.test_build_attackers import CHAIN, read
from tests.releasing.conftest import POLICY

import tetraodon as td
from tetraodon.certificate import oracle
from tetraodon.certificate.view import certify_view
from tetraodon.errors import Refused


@pytest.mark.parametrize("entry", [{"groups": "home", "at most": 2}, {"chain": CHAIN}])
def test_views_are_refused_where_rows_depend_on_each_other(entry: dict[str, object]) -> None:
    here = read([entry])
    with pytest.raises(Refused, match="a published view is priced"):
        certify_view(here, Fraction(1), Fraction(1))


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
    assert certify_view(policy, Fraction(3), Fraction(5)).epsilon == loss


def test_rows_that_come_and_go_are_priced_whatever_presence_is() -> None:
    policy = td.load_policy({**POLICY, "release": [], "individuals": {"key": "id", "at most": 3}})
    assert policy.presence == "public"
    assert certify_view(policy, Fraction(7), Fraction(5)).epsilon == 21


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
    assert certify_view(policy, presence, replaced).epsilon == worst
    fixed = td.load_policy({**policy.document, "known": [*policy.document["known"], {"count": "all"}]})
    moved = fixed.sensitivity(td.histogram("v")).value
    assert certify_view(fixed, presence, replaced).epsilon == moved / 2 * replaced
