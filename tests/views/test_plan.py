"""Plans of views: the Adult numbers, the paper's choice, and what is refused without data."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import pytest

from tests.policy.test_build_attackers import CHAIN, read
from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.adversary import Adversary, Kind, Rows
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.views.plan import FACTORS, nearest_possible, other_attackers, plan_view
from tetraodon.views.report import boundary

SIZES = (72, 7, 16, 7, 14, 5, 2, 41, 2)


def adult(**changed: Any) -> Policy:
    adversary = {"prior": {"k": 10}, "posterior": 0.2, "records": 30162} | changed
    return load_policy(
        {
            "dataset": "adult",
            "attributes": {f"a{place}": {"integer": [1, size]} for place, size in enumerate(SIZES)},
            "budget": {"epsilon": 13},
            "adversary": adversary,
        }
    )


def test_the_adult_experiment() -> None:
    plan = plan_view(adult())
    assert plan.tuples == 648_023_040
    assert plan.prior == Fraction(301620, 648023040)
    assert float(plan.loss) == pytest.approx(9.13, abs=0.005)  # 12.35 with 3% less error
    wanted = 30162 * 40 * float(plan.channel.keep)  # k(1-gamma)/gamma noise tuples for a record that is kept
    assert float(plan.noise_tuples) == pytest.approx(wanted, rel=0.003)
    assert plan.error() < 1135 < 1.03 * 1102.02  # the error of the largest keep there is
    assert plan.error() < plan.error(channel=plan.paper) / 2


def test_the_error_is_the_standard_deviation() -> None:
    plan = plan_view(adult(rows="distinct"))
    assert plan.error() == pytest.approx(math.sqrt(plan.channel.variance(30162, plan.tuples)))
    assert plan.error(Fraction(1, 100)) == pytest.approx(plan.error() / 10)


def test_a_public_number_may_come_later() -> None:
    policy = adult()
    bare = Adversary(k=10, gamma="0.2")
    assert plan_view(policy, bare, records=30162) == plan_view(policy)
    with pytest.raises(PolicyError, match="public number"):
        plan_view(policy, bare)


def test_without_a_number_the_priors_bound_it() -> None:
    plan = plan_view(adult(), Adversary(d="1e-3", gamma="0.2"))
    assert plan.records is None
    assert plan.most_records == Fraction(648023040, 1000)


def test_what_cannot_be_published_is_refused() -> None:
    with pytest.raises(PolicyError, match="whom a view must withstand"):
        plan_view(load_policy({k: v for k, v in adult().document.items() if k != "adversary"}))
    with pytest.raises(Refused, match=r"a count of all 30 records .* off by about 36.*take a prior of at most"):
        plan_view(adult(), Adversary(k=10, gamma="0.2", records=30))
    with pytest.raises(Refused, match="more than the 13 that the policy asks for"):
        plan_view(adult(), Adversary(k=10, gamma="0.9", records=30162))


def test_the_boundary_in_words() -> None:
    """A threshold above 1 is compared with no prior; what is impossible for these views is said in numbers."""
    dense = boundary(plan_view(adult()))
    assert "n/sqrt(m) ([RS07] Theorem 3.3), which is 1 or more here and rules out no prior; a count of all" in dense
    assert "priors above about 0.08" in dense
    assert "n/sqrt(m) ([RS07] Theorem 3.3), which is about 0.79 here" in boundary(
        plan_view(adult(), Adversary(k=10, gamma="0.2", records=20_000))
    )


@pytest.mark.parametrize("kind", ["independent", "exclusive"])
@pytest.mark.parametrize("rows", ["repeated", "distinct"])
def test_the_nearest_attackers_are_possible_and_those_beyond_are_not(kind: Kind, rows: Rows) -> None:
    start = plan_view(adult(), Adversary(k=10, gamma="0.2", records=3000, kind=kind, rows=rows), over_budget=True)
    prior, gamma = nearest_possible(start)
    assert prior is not None
    assert gamma is not None
    assert start.prior < prior < Fraction(1, 5)
    assert start.prior < gamma < Fraction(1, 5)
    for d, posterior, possible in (
        (prior, Fraction(1, 5), True),
        (start.prior, gamma, True),
        (prior * Fraction(11, 10), Fraction(1, 5), False),
        (start.prior, gamma * Fraction(10, 11), False),
    ):
        attacker = Adversary(d=d, gamma=posterior, records=3000, kind=kind, rows=rows)
        if possible:
            assert plan_view(adult(), attacker, over_budget=True).worst_error <= 3000
        else:
            with pytest.raises(Refused, match="a count of all 3,000 records"):
                plan_view(adult(), attacker, over_budget=True)


def test_a_refusal_names_attackers_that_are_not_refused() -> None:
    with pytest.raises(Refused) as refused:
        plan_view(adult(), Adversary(k=10, gamma="0.2", records=30))
    found = re.search(r"prior of at most (\S+) or a posterior of at least ([\d.]+),", str(refused.value))
    assert found is not None
    for d, gamma in ((found[1], "0.2"), (Fraction(10 * 30, 648_023_040), found[2])):
        assert plan_view(adult(), Adversary(d=d, gamma=gamma, records=30), over_budget=True).worst_error <= 30


def test_other_attackers_are_planned_for() -> None:
    """A row for each prior, a column for each posterior: about what a policy with them would get, None if refused."""
    plan = plan_view(adult())
    rows = other_attackers(plan)
    assert [row[0].prior / plan.prior for row in rows] == list(FACTORS)
    for one in (one for row in rows[1:4] for one in row):
        try:
            other = plan_view(adult(), Adversary(d=one.prior, gamma=one.gamma, records=30162), over_budget=True)
        except Refused:
            assert one.epsilon is one.error is None
            continue
        assert one.epsilon is not None
        assert (float(one.epsilon), one.error) == pytest.approx((float(other.loss), other.error()), rel=0.02)
    assert (rows[2][1].epsilon, rows[2][1].error) == (plan.loss, plan.error())
    assert other_attackers(plan_view(adult(prior={"d": "0.0005"}, views=2), over_budget=True)) == []


def test_the_plan_as_data() -> None:
    document = plan_view(adult()).document()
    assert document["channel"]["rows"] == "repeated"
    assert Fraction(document["loss_replace"]) == Fraction(document["epsilon"])
    assert document["paper"]["error"] > document["errors"][0]["error"]


@pytest.mark.parametrize("entry", [{"groups": "home", "at most": 2}, {"chain": CHAIN}])
def test_views_are_refused_where_rows_depend_on_each_other(entry: dict[str, object]) -> None:
    with pytest.raises(Refused, match="a published view is priced"):
        plan_view(read([entry]))
