"""Secrets of the whole table in a policy file: what is read, and all that has no price beside one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import tetraodon as td
from tetraodon.errors import PolicyError, Refused, TetraodonError
from tetraodon.policy.attackers import Chances, TableSecret
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy

TABLE = {
    "share": "smoker = true",
    "within": "5%",
    "records": 1000,
    "chances": {"smoker": ["0.8", "0.2"], "ill": {"given": "smoker", "are": [["0.95", "0.05"], ["0.7", "0.3"]]}},
    "source": "a national survey",
}


def clinic(table: dict[str, Any] | None = None, **changes: Any) -> Policy:
    """A clinic whose share of smokers is a secret."""
    base: dict[str, Any] = {
        "dataset": "clinic",
        "presence": "public",
        "attributes": {"smoker": "boolean", "ill": "boolean"},
        "secrets": {"table": TABLE | (table or {})},
        "budget": {"epsilon": "0.5", "once": True},
        "release": [{"name": "ill", "count": "ill = true"}],
    }
    return load_policy(base | changes)


def test_what_a_file_says_is_read_and_written_back() -> None:
    policy = clinic()
    half = Fraction(1, 20)
    rows = ((1 - half, half), (Fraction(7, 10), Fraction(3, 10)))
    chances = (Chances("smoker", (), ((Fraction(4, 5), Fraction(1, 5)),)), Chances("ill", ("smoker",), rows))
    assert policy.attackers == TableSecret("smoker = true", half, 1000, chances, "a national survey")
    assert policy.once
    assert policy.graph.complete
    assert load_policy(policy.document) == policy
    assert load_policy(policy.document).document == policy.document
    beside = clinic(secrets={"table": TABLE, "ill": "everything"})
    assert beside == policy


def test_a_chance_may_be_the_secret_in_place_of_a_share() -> None:
    told = {key: value for key, value in TABLE.items() if key != "share"} | {
        "chance": "smoker = true",
        "within": "0.01%",
    }
    policy = clinic(secrets={"table": told})
    assert isinstance(policy.attackers, TableSecret)
    assert policy.attackers.drawn
    assert load_policy(policy.document) == policy != clinic()
    with pytest.raises(PolicyError, match="says both `share` and `chance`"):
        clinic({"chance": "ill = true"})
    with pytest.raises(PolicyError, match=r"secrets\.table: this does not say which kind it is"):
        clinic(secrets={"table": {key: value for key, value in TABLE.items() if key != "share"}})


def test_an_attribute_may_be_called_table() -> None:
    named = load_policy(
        {
            "dataset": "d",
            "attributes": [{"name": "table", "integer": [0, 9]}],
            "secrets": {"table": {"within": 2}},
            "budget": {"epsilon": 1},
        }
    )
    assert named.graph.is_edge(3, 5)
    assert not named.graph.is_edge(3, 6)


KEY = {"key": "person", "at most": 3}
THREE = {"smoker": "boolean", "ill": "boolean", "age": {"integer": [0, 2]}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"secrets": {"table": TABLE, "ill": "public"}}, "secrets.ill: `secrets` of this kind is not priced"),
        ({"secrets": {"table": TABLE}, "together": "one attribute at a time"}, "`together` of this kind"),
        (
            {"secrets": {"table": TABLE, "ill": "public"}, "groups": {"by": "ill", "rules": {"true": "none"}}},
            "`groups`",
        ),
        ({"individuals": KEY}, "`individuals` of this kind"),
        ({"presence": "secret"}, "`presence` of this kind"),
        ({"known": [{"count": "ill = true"}]}, "`known` of this kind"),
        ({"attackers": [{"groups": "home", "at most": 3}]}, "`attackers` of this kind"),
        ({"adversary": {"prior": {"d": "1e-4"}, "posterior": "0.2"}}, "`adversary` of this kind"),
        ({"population": "patients"}, "`population` of this kind"),
        ({"budget": {"epsilon": 1, "delta": "1e-6", "once": True}}, "`budget` of this kind"),
        ({"budget": {"rho": "0.1"}}, "`budget` of this kind"),
        ({"budget": {"epsilon": 1}}, r"does not add up, so that there is one. Fix: write \{epsilon: 1, once: true\}"),
        ({"attributes": {"smoker": "boolean", "ill": "boolean", "note": {"open": "text"}}}, "drop the columns of open"),
        ({"attributes": {"smoker": {"boolean": True, "missing": "separate"}, "ill": "boolean"}}, "stands apart is not"),
        ({"release": [{"name": "a", "count": "ill = true"}, {"name": "b", "count": "all"}]}, "several items"),
        ({"release": [{"name": "a", "count": "ill = true", "where": "smoker = true"}]}, "one number is"),
        ({"release": [{"name": "a", "count": "ill = true", "by": "smoker"}]}, "one number is"),
        ({"release": [{"name": "a", "histogram": "ill"}]}, "one number is"),
        ({"release": [{"name": "a", "synthetic": {"records": 5}}]}, "one number is"),
        ({"attributes": THREE, "release": [{"name": "a", "kmeans": ["age"], "clusters": 2}]}, "one number is"),
        ({"attributes": THREE, "release": [{"name": "a", "median": "age"}]}, "one number is"),
    ],
)
def test_what_is_not_priced_beside_it_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused, match=words):
        clinic(**changes)


@pytest.mark.parametrize(
    ("table", "kind", "words"),
    [
        ({"share": "ill = 3"}, TetraodonError, "ill"),
        ({"share": "smoker is not null"}, PolicyError, "for every record, or for none"),
        ({"share": "age > 1"}, TetraodonError, "age"),
        ({"within": "0.05%"}, PolicyError, "less than one record"),
        ({"within": "200%"}, PolicyError, "is not a share"),
        ({"records": 0}, PolicyError, "no number of records"),
        ({"source": "counted in this table"}, Refused, "estimated from the protected table"),
        ({"source": "clinic"}, Refused, "estimated from the protected table"),
        ({"colour": "red"}, PolicyError, "the key 'colour' is not known here"),
        ({"chances": {"smoker": {"are": ["0.8", "0.2"], "gven": "ill"}}}, PolicyError, "'given'"),
        ({"chances": {"smoker": ["0.8", "0.3"]}}, PolicyError, "sum to 1.1, not to 1"),
        ({"chances": {"smoker": ["0.8", "0.1", "0.1"]}}, PolicyError, "not 2 chances in each of 1 rows"),
        ({"chances": {"smoker": "often"}}, PolicyError, "a map of keys and values"),
        ({"chances": {"smoker": []}}, PolicyError, "a list of probabilities"),
        ({"chances": {"smoker": ["0.8", "0.2"], "wage": ["0.5", "0.5"]}}, TetraodonError, "wage"),
        ({"chances": {"smoker": ["0.8", "0.2"]}}, PolicyError, "the chances of ill are not stated"),
        (
            {"chances": {"smoker": {"given": "smoker", "are": [[1, 0], [0, 1]]}}},
            PolicyError,
            "names an attribute twice",
        ),
        (
            {"chances": {a: {"given": b, "are": [[1, 0], [0, 1]]} for a, b in (("ill", "smoker"), ("smoker", "ill"))}},
            PolicyError,
            "rest on themselves",
        ),
    ],
)
def test_mistakes_are_told(table: dict[str, Any], kind: type[TetraodonError], words: str) -> None:
    with pytest.raises(kind, match=words):
        clinic(table)


def test_a_missing_key_is_told_at_its_place() -> None:
    whole = {key: value for key, value in TABLE.items() if key != "records"}
    with pytest.raises(PolicyError, match=r"secrets\.table\.records: `records` is missing"):
        clinic(secrets={"table": whole})


def test_what_takes_several_sums_is_refused_by_the_plan_and_shares_are_not() -> None:
    ages = {"age": ["0.2", "0.3", "0.5"]}
    kinds = {"attributes": THREE, "table": {"chances": TABLE["chances"] | ages}}
    with pytest.raises(Refused, match="one release of one number"):
        td.plan(clinic(**kinds, release=[{"name": "v", "variance": "age"}]))
    for asked in ({"mean": "age"}, {"total": "age"}, {"proportion": "ill = true"}, {"count": "all"}):
        assert td.plan(clinic(**kinds, release=[{"name": "v", **asked}])).epsilon <= Fraction(1, 2)
