"""What knowing a table costs, said in words with the plan."""

from __future__ import annotations

from fractions import Fraction

import tetraodon as td
from tetraodon.cli.plan_words import notes
from tetraodon.releases.pricing import price_of_known
from tetraodon.releases.report import baseline

POLICY = {
    "dataset": "d",
    "presence": "public",
    "attributes": {"sex": ["F", "M"], "region": ["N", "S"], "age": {"integer": [0, 9]}},
    "together": "one attribute at a time",
    "known": [{"marginal": ["sex", "region"]}],
    "budget": {"epsilon": 1},
    "release": [{"name": "all", "histogram": ["sex", "region", "age"]}, {"name": "known", "histogram": ["sex"]}],
}


def test_a_known_table_multiplies_the_noise_by_its_size() -> None:
    plan = td.plan(td.load_policy(POLICY))
    assert price_of_known(plan) == {"all": Fraction(4)}
    told = " ".join(notes(plan, None))
    assert "Because everybody knows the exact table by sex and region, the noise of all is 4 times larger than" in told
    assert plan["known"].mechanism == "exact"
    assert "buys nothing" not in told  # plain differential privacy would promise less here, not more
    assert "It takes nothing for known" in told
    words = baseline(plan["all"], plan.policy)
    assert "only. But it takes nothing for known" in words
    assert "about the same" not in words


def test_knowing_nothing_costs_nothing() -> None:
    plan = td.plan(td.load_policy({**POLICY, "known": []}))
    assert set(price_of_known(plan).values()) == {1}
    assert "Because everybody knows" not in " ".join(notes(plan, None))
    still = {**POLICY, "known": [{"count": "all"}], "release": [{"name": "ages", "histogram": ["age"]}]}
    assert "nothing costs more" in " ".join(notes(td.plan(td.load_policy(still)), None))


def test_gaussian_noise_of_several_items_has_its_price_too() -> None:
    items = [*POLICY["release"], {"name": "older", "cdf": "age"}, {"name": "sum", "total": "age", "by": ["sex"]}]
    plan = td.plan(td.load_policy({**POLICY, "budget": {"rho": 0.3}, "release": items}))
    assert plan.certificate.rho <= Fraction(3, 10)
    prices = price_of_known(plan)
    assert set(prices) == {"all", "older", "sum"}
    assert all(price > 1 for price in prices.values())
    assert "the noise of all is" in " ".join(notes(plan, None))
    still = {**POLICY, "known": [{"count": "all"}], "budget": {"rho": 0.3}}
    plan = td.plan(td.load_policy(still))
    assert plan.certificate.exact
    assert set(price_of_known(plan).values()) == {1}


def test_what_would_be_exact_if_nothing_were_known() -> None:
    policy = {
        **POLICY,
        "attributes": {"v": {"integer": [0, 3]}},
        "secrets": {"v": {"blocks": [[0, 1], [2, 3]]}},
        "together": "all at once",
        "known": [{"count": "v in (1, 2)"}],
        "release": [{"name": "blocks", "histogram": ["v"], "bins": {"v": [[0, 1], [2, 3]]}}],
    }
    told = " ".join(notes(td.plan(td.load_policy(policy)), None))
    assert "noise is needed for blocks, which would be exact if nothing were known." in told
    assert "nothing costs more" not in told
