"""A secret of the whole table: read, refused, and its chances."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import tetraodon as td
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import PolicyError, Refused, TetraodonError
from tetraodon.policy.attackers import Chances, TableSecret, cells_having, joint_chances
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.policy.section import ChancesSection, TableSecretSection

# -- build table ------------------------------------------------------------------------------------
# Secrets of the whole table in a policy file: what is read, and all that has no price beside one.


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
        ({"chances": {"smoker": []}}, PolicyError, "this list is empty"),
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


# -- table secret -----------------------------------------------------------------------------------
# A Bayesian network over attributes, multiplied out; and the section of the file that says it.


HALF = Fraction(1, 2)
PAIR = Domain((Attribute("x", Integers(0, 1)), Attribute("y", Integers(0, 2))))


def test_chances_are_multiplied_whichever_attribute_rests_on_which() -> None:
    second = Chances("y", (), ((HALF, Fraction(1, 4), Fraction(1, 4)),))
    first = Chances("x", ("y",), ((HALF, HALF), (Fraction(0), Fraction(1)), (Fraction(1, 3), Fraction(2, 3))))
    secret = TableSecret("x = 1 and y < 2", HALF, 10, (first, second), "a study")
    joint = joint_chances(secret, PAIR)
    assert joint.tolist() == [[second.rows[0][y] * first.rows[y][x] for y in range(3)] for x in range(2)]
    assert joint.sum() == 1
    assert cells_having(secret, PAIR).tolist() == [[False] * 3, [True, True, False]]


def test_a_section_is_read_in_its_short_form_and_written_in_full() -> None:
    assert ChancesSection(are=["0.8", "0.2"]).are == ((Fraction(4, 5), Fraction(1, 5)),)
    read = TableSecretSection.model_validate({**TABLE, "records": "1000"})
    assert (read.within, read.records, read.chances["ill"].given) == (Fraction(1, 20), 1000, ("smoker",))
    secret = clinic().attackers
    assert isinstance(secret, TableSecret)
    assert secret.secret_document() == {
        **TABLE,
        "chances": {"smoker": {"are": [["0.8", "0.2"]]}, "ill": {**TABLE["chances"]["ill"], "given": ["smoker"]}},
    }


def test_too_many_cells_and_chances_of_nothing_are_refused() -> None:
    long = Domain((Attribute("x", Integers(0, 5000)),))
    flat = Chances("x", (), ((Fraction(1, 5001),) * 5001,))
    with pytest.raises(Refused, match="more than 4,096 cells"):
        joint_chances(TableSecret("x = 1", HALF, 10, (flat,), "a study"), long)
    with pytest.raises(PolicyError, match="rest on themselves, or on an attribute without any"):
        TableSecret("x = 1", HALF, 10, (Chances("x", ("z",), ()),), "a study")
