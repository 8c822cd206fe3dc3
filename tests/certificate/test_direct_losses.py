"""Losses of one number, of a view and of replaced values, against everything that can be shown."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from tests.policy.test_build_attackers import CHAIN, read
from tests.releases.conftest import POLICY

import tetraodon as td
from tetraodon.certificate import oracle
from tetraodon.certificate.direct_losses import certify_replacement, certify_shift, certify_view, worst_ratio
from tetraodon.errors import NoiseError, Refused
from tetraodon.noise.laws import LAPLACE, NoiseLaw


def test_it_is_steps_over_scale() -> None:
    found = certify_shift(3, LAPLACE, Fraction(6), method="here", exact=False)
    assert (found.epsilon, found.exact, found.method) == (Fraction(1, 2), False, "here")


def test_what_never_moves_needs_no_noise() -> None:
    assert certify_shift(0, LAPLACE, Fraction(0), method="here", exact=True).epsilon == 0


def test_a_law_without_a_loss_is_refused() -> None:
    with pytest.raises(NoiseError, match="no known privacy loss"):
        certify_shift(1, NoiseLaw("uniform", "uniform"), Fraction(2), method="here", exact=True)


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
    moved = td.sensitivity(fixed, td.queries.histogram("v")).value
    assert certify_view(fixed, presence, replaced).epsilon == moved / 2 * replaced


F = Fraction
MATRICES = {
    "x": ((F(1, 2), F(1, 4), F(1, 4)), (F(1, 4), F(1, 2), F(1, 4)), (F(1, 8), F(1, 8), F(3, 4))),
    "y": ((F(2, 3), F(1, 3)), (F(1, 6), F(5, 6))),
}


def policy_of(**changed: Any) -> td.Policy:
    return td.load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"x": {"integer": [0, 2]}, "y": {"integer": [0, 1]}},
            "budget": {"epsilon": 9},
        }
        | changed
    )


@pytest.mark.parametrize("together", ["one attribute at a time", "all at once"])
@pytest.mark.parametrize("secrets", [{}, {"x": {"within": 1}}, {"y": "public"}, {"x": {"blocks": [[0, 1], [2]]}}])
def test_it_is_the_worst_ratio_over_all_edges(together: str, secrets: dict[str, Any]) -> None:
    policy = policy_of(secrets=secrets, together=together)
    worst = F(1)
    for a, b in zip(*policy.graph.edge_cells(), strict=True):
        first, second = policy.domain.codes_of(int(a)), policy.domain.codes_of(int(b))
        for shown in itertools.product(range(3), range(2)):
            chances = [
                math.prod(MATRICES[n][c][w] for n, c, w in zip("xy", r, shown, strict=True)) for r in (first, second)
            ]
            worst = max(worst, chances[0] / chances[1], chances[1] / chances[0])
    found = certify_replacement(policy, MATRICES)
    assert float(found.epsilon) == pytest.approx(math.log(worst), abs=1e-11)
    assert found.epsilon >= math.log(worst) - 1e-15
    assert found.exact


def test_an_attribute_that_is_not_shown_loses_nothing() -> None:
    shown = {"x": MATRICES["x"]}
    alone = certify_replacement(policy_of(secrets={"y": "public"}), MATRICES).epsilon
    assert certify_replacement(policy_of(), shown).epsilon == alone


def test_what_is_told_for_certain_costs_infinity() -> None:
    policy = policy_of()
    sure = {**MATRICES, "y": ((F(1), F(0)), (F(0), F(1)))}
    assert worst_ratio(sure["y"], policy.graph.factor_of("y").graph) is None
    assert not certify_replacement(policy, sure).finite
    assert certify_replacement(policy_of(secrets={"y": "public"}), sure).finite


def likelihoods(rows: int) -> list[list[F]]:
    """Of everything that may be shown of y, by records."""
    every = list(itertools.product(range(2), repeat=rows))
    return [
        [math.prod(MATRICES["y"][a][b] for a, b in zip(one, shown, strict=True)) for shown in every] for one in every
    ]


def test_rows_that_depend_on_each_other() -> None:
    """Brothers who are alike lose twice as much; contacts whose odds differ by 9, no more than certified."""
    here = {"attributes": {"y": {"integer": [0, 1]}}, "secrets": {}}
    shown = {"y": MATRICES["y"]}
    single = certify_replacement(policy_of(**here), shown).epsilon
    brothers = certify_replacement(policy_of(**here, attackers=[{"groups": "home", "at most": 2}]), shown)
    told = likelihoods(2)
    alike = max(abs(math.log(a / b)) for a, b in zip(told[0], told[3], strict=True))
    assert (brothers.epsilon, brothers.exact) == (2 * single, True)
    assert float(brothers.epsilon) == pytest.approx(alike)
    network = {"at most": 1, "influence": 9, "source": "a study"}
    contacts = certify_replacement(policy_of(**here, attackers=[{"contacts": network}]), shown)
    assert contacts.epsilon == single * F(3, 2)
    for chance in (
        F(1, 10),
        F(1, 4),
        F(1, 2),
        F(3, 5),
    ):  # of the other's being ill, if this one is not; the odds are 9 times
        ill = 9 * chance / (9 * chance + 1 - chance)
        given = [
            [(1 - p) * told[2 * x][n] + p * told[2 * x + 1][n] for n in range(4)] for x, p in ((0, chance), (1, ill))
        ]
        worst = max(abs(math.log(a / b)) for a, b in zip(*given, strict=True))
        assert single < worst <= contacts.epsilon


def test_an_answer_about_others_that_is_told_for_certain_costs_infinity() -> None:
    sure = {**MATRICES, "y": ((F(1), F(0)), (F(0), F(1)))}
    grouped = policy_of(secrets={"y": "public"}, attackers=[{"groups": "home", "at most": 2}])
    assert not certify_replacement(grouped, sure).finite


def test_chains_of_records_are_not_replaced() -> None:
    with pytest.raises(td.errors.Refused, match="rows follow each other"):
        certify_replacement(read([{"chain": CHAIN}]), {"on": MATRICES["y"]})


@pytest.mark.parametrize("changed", [{"presence": "secret"}, {"known": [{"count": "x = 1"}]}])
def test_losses_that_are_not_known_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(td.errors.Refused, match="Fix:"):
        certify_replacement(policy_of(**changed), MATRICES)
