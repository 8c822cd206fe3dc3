"""Every two things that a policy can say: priced, and not below what each costs alone, or refused with a fix."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import pytest
from tests.policies import public_policy

import tetraodon as td
from tetraodon.errors import Refused

SHARE = {"x": {"within": "20%"}, "s": "public"}
SAID: dict[str, dict[str, Any]] = {
    "rows": {"individuals": {"key": "person", "at most": 2}},
    "some rows": {"individuals": {"key": "person", "secret": 2}},
    "presence": {"presence": "secret"},
    "share": {"secrets": SHARE},
    "known": {"known": [{"count": "x > 12"}]},
    "inequality": {"known": [{"count": "x > 12", "at most": 9}]},
    "own secrets": {"groups": {"by": "s", "rules": {"f": {"secrets": {"x": {"within": 3}}}}}},
    "households": {"attackers": [{"groups": "home", "at most": 2}]},
    "contacts": {"attackers": [{"contacts": {"at most": 3, "influence": "1.5", "source": "a study"}}]},
    "delta": {"budget": {"epsilon": 1, "delta": "1e-6"}},
    "rho": {"budget": {"rho": "1/2"}},
    "where": {"release": [{"name": "h", "histogram": "x", "where": "s = 'f'"}]},
    "each record": {"secrets": SHARE, "release": [{"name": "h", "total": "x", "noise": "each record"}]},
    "levels": {"secrets": SHARE, "release": [{"name": "h", "total": "x", "noise": "levels"}]},
}
ONE_ROW = "priced for people with one row each"
INDEPENDENT = "to whom people are independent only"
REFUSED = {
    ("rows", "known"): ONE_ROW,
    ("rows", "inequality"): ONE_ROW,
    ("rows", "own secrets"): "groups are for people with one row each",
    ("rows", "households"): INDEPENDENT,
    ("rows", "contacts"): INDEPENDENT,
    ("rows", "each record"): "shows how many records",
    ("rows", "levels"): "shows how many records",
    ("some rows", "known"): ONE_ROW,
    ("some rows", "inequality"): ONE_ROW,
    ("some rows", "own secrets"): "groups are for people with one row each",
    ("some rows", "households"): INDEPENDENT,
    ("some rows", "contacts"): INDEPENDENT,
    ("some rows", "each record"): "shows how many records",
    ("some rows", "levels"): "shows how many records",
    ("presence", "each record"): "shows how many records",
    ("presence", "levels"): "shows how many records",
    ("own secrets", "households"): INDEPENDENT,
    ("known", "contacts"): "known counts have no price beside contacts",
    ("inequality", "contacts"): "known counts have no price beside contacts",
    ("own secrets", "contacts"): INDEPENDENT,
    ("contacts", "delta"): "a delta is not priced",
    ("contacts", "rho"): "a delta is not priced",
    ("rho", "each record"): "a budget in rho has Gaussian noise",
    ("rho", "levels"): "a budget in rho has Gaussian noise",
}
PAIRS = [pair for pair in combinations(SAID, 2) if not SAID[pair[0]].keys() & SAID[pair[1]].keys()]


@cache
def scale(*said: str) -> Fraction:
    document: dict[str, Any] = public_policy(
        attributes={"x": {"integer": [10, 16]}, "s": ["f", "m"]},
        secrets={"x": {"within": 2}, "s": "public"},
        release=[{"name": "h", "histogram": "x"}],
    )
    for one in said:
        document |= SAID[one]
    plan = td.plan(td.load_policy(document))
    assert plan.epsilon <= plan.policy.epsilon
    return plan["h"].scale


@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_two_things_are_priced_or_refused(pair: tuple[str, str]) -> None:
    if pair in REFUSED:
        with pytest.raises(Refused, match=REFUSED[pair]) as refusal:
            scale(*pair)
        assert refusal.value.fix
        return
    in_shares = [one for one in pair if one in ("each record", "levels")]
    alone = in_shares or list(pair)
    if "rho" in pair:  # another unit of noise than that of the other alone
        alone = ["rho"]
    if "delta" in pair and in_shares:
        assert scale(*pair) == scale(*in_shares)
        return
    assert scale(*pair) >= max(scale(one) for one in alone)


def test_all_that_is_refused_is_a_pair() -> None:
    assert REFUSED.keys() <= set(PAIRS)
