"""Attributes of a policy file: values, trees, open text."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.policy.mistakes import small
from tests.releases.made import release_with, silent

import tetraodon as td
from tetraodon.domain import Attribute, Booleans, Categories, Dates, Grid, Integers
from tetraodon.errors import PolicyError
from tetraodon.policy.attribute_graph import Blocks
from tetraodon.policy.build import code_of
from tetraodon.policy.document import read_tree
from tetraodon.policy.load import load_policy, tree_document
from tetraodon.policy.policy import NamesItem, OpenText

# -- build domain -----------------------------------------------------------------------------------
# Values as they are typed in the policy file.


ATTRIBUTES = {
    "integer": Attribute("a", Integers(5, 9)),
    "grid": Attribute("a", Grid(Fraction(0), Fraction(1), Fraction(1, 10))),
    "categories": Attribute("a", Categories(("low", "high", "1.0")), other=0),
    "boolean": Attribute("a", Booleans(), other=0),
}


@pytest.mark.parametrize(
    ("kind", "typed", "code"),
    [("integer", "7", 2), ("integer", "7.0", 2), ("grid", "0.3", 3), ("categories", "1.0", 2), ("boolean", "true", 1)],
)
def test_positions(kind: str, typed: str, code: int) -> None:
    assert code_of(ATTRIBUTES[kind], typed) == code


@pytest.mark.parametrize(
    ("kind", "typed", "fix"),
    [
        ("integer", "10", "from 5 to 9"),
        ("integer", "7.5", "from 5 to 9"),
        ("grid", "0.25", "in steps of 1/10"),
        ("grid", "1.01", "from 0 to 1"),
        ("categories", "hihg", "did you mean 'high'"),
        ("categories", "1", "did you mean|use one of"),
        ("boolean", "yes", "true or false"),
    ],
)
def test_values_outside_are_refused_and_never_rounded(kind: str, typed: str, fix: str) -> None:
    with pytest.raises(PolicyError, match=fix):
        code_of(ATTRIBUTES[kind], typed)


def test_how_a_column_is_written() -> None:
    attributes = {
        "d": {"date": ["2026-01-01", "2026-12-31"], "format": "DD.MM.YYYY", "trim": True},
        "c": {"categories": ["a", "b"], "missing": "b"},
    }
    policy = load_policy(small(attributes=attributes, secrets={}, release=[], table={"unreadable": "5%"}))
    assert (policy.domain["d"].format, policy.domain["d"].trim) == ("DD.MM.YYYY", True)
    assert [policy.domain[name].declared for name in "dc"] == [(), ("missing",)]
    again = load_policy(policy.document)
    assert (again, again.unreadable, again.table_hints) == (policy, Fraction(1, 20), {})
    assert again.domain["d"].format == "DD.MM.YYYY"


@pytest.mark.parametrize(
    ("attribute", "what"),
    [
        ({"integer": [0, 9], "format": "DD.MM.YYYY"}, "only dates have a format"),
        ({"date": ["2026-01-01", "2026-12-31"], "format": "DD.MM.YY"}, "is not understood"),
        ({"categories": [" a", "b"], "trim": True}, "blanks around it"),
    ],
)
def test_what_cannot_be_written_so(attribute: dict[str, object], what: str) -> None:
    with pytest.raises(PolicyError, match=what):
        load_policy(small(attributes={"x": attribute}, secrets={}, release=[]))


def test_kinds_of_attributes() -> None:
    domain = load_policy(
        small(
            attributes={
                "i": {"integer": [-3, 1_000_000_000_000]},
                "r": {"real": ["0", "10"], "step": 0.1},
                "d": {"date": ["2020-01-01", "2020-12-31"]},
                "o": {"ordered": ["low", "high"]},
                "b": "boolean",
                "c": {"categories": ["a", "b", "other"], "missing": "b", "other": "other", "unit": "kind"},
                "n": ["Yes", "No", "on", "007", 1.5],
                "z": {"integer": [0, 9], "missing": 9, "other": 5},
            }
        )
    ).domain
    assert domain["i"].values == Integers(-3, 10**12)
    assert domain["r"].values == Grid(Fraction(0), Fraction(10), Fraction(1, 10))
    assert isinstance(domain["d"].values, Dates)
    assert domain["o"].values == Categories(("low", "high"), ordered=True)
    assert domain["b"].values == Booleans()
    assert (domain["c"].missing, domain["c"].other, domain["c"].unit) == (1, 2, "kind")
    assert domain["n"].labels == ("Yes", "No", "on", "007", "1.5")
    assert (domain["z"].missing, domain["z"].other) == (9, 5)
    assert (domain["i"].missing, domain["i"].other) == (0, None)
    assert (domain["b"].missing, domain["b"].other) == (0, 0)


# -- category tree ----------------------------------------------------------------------------------
# Trees of categories: read, written, secret up to a level, asked at any level, and adding up.


PROVINCES = {"East": {"Ontario": ["Toronto", "Ottawa"], "Quebec": ["Montreal"]}, "West": {"BC": ["Victoria"]}}
ITEMS: list[dict[str, Any]] = [
    {"name": "cities", "histogram": "city"},
    {"name": "regions", "histogram": "city", "bins": {"city": "region"}},
    {"name": "provinces", "histogram": ["province", "sex"]},
    {"name": "pay", "mean": "pay", "by": "region"},
]


def policy(**changes: Any) -> td.Policy:
    base = {
        "dataset": "d",
        "presence": "public",
        "attributes": {
            "city": {"tree": PROVINCES, "levels": ["region", "province"]},
            "sex": ["f", "m"],
            "pay": {"integer": [0, 9]},
        },
        "secrets": {"sex": "public"},
        "budget": {"epsilon": 1},
        "release": ITEMS,
    }
    return td.load_policy(base | changes)


TABLE = pl.DataFrame(
    {
        "city": ["Toronto", "Ottawa", "Ottawa", "Montreal", "Victoria", "Victoria"],
        "sex": ["f", "m", "f", "f", "m", "m"],
        "pay": [1, 2, 3, 6, 8, 9],
    }
)


def test_it_is_read_and_written_in_its_order() -> None:
    here = policy()
    assert here.domain["city"].labels == ("Toronto", "Ottawa", "Montreal", "Victoria")
    assert [level.name for level in here.domain["city"].levels] == ["region", "province"]
    assert here.domain["city"].levels[1].of == ("Ontario", "Ontario", "Quebec", "BC")
    written = here.document["attributes"][0]
    assert written["tree"] == [
        ["East", [["Ontario", ["Toronto", "Ottawa"]], ["Quebec", ["Montreal"]]]],
        ["West", [["BC", ["Victoria"]]]],
    ]
    assert td.load_policy(here.document) == here
    plain = policy(attributes={"city": ["Toronto"], "pay": {"integer": [0, 9]}}, release=[], secrets={})
    assert plain.domain["city"].levels == ()


def test_every_level_is_asked_and_adds_up() -> None:
    release = release_with(policy(), TABLE, silent)
    regions = release["regions"].columns
    assert dict(zip(regions["city"], regions["count"].round(6), strict=True)) == {"East": 4, "West": 2}
    provinces = release["provinces"].columns
    assert provinces["city"].tolist()[::2] == ["Ontario", "Quebec", "BC"]
    assert provinces["count"].round(6).tolist() == [2, 1, 1, 0, 0, 2]
    assert release["pay"].columns["mean"].round(6).tolist() == [3, 8.5]
    rng = np.random.default_rng(1)
    noisy = release_with(policy(), TABLE, lambda shape: rng.integers(-9, 10, shape))
    cities, coarse, middle = (noisy[name].table.values for name in ("cities", "regions", "provinces"))
    assert [cities[:3].sum(), cities[3]] == pytest.approx(coarse.tolist())
    by_province = [cities[:2].sum(), cities[2], cities[3]]
    assert by_province == pytest.approx(middle.sum(axis=1).tolist())


def test_it_may_be_secret_up_to_a_level() -> None:
    here = policy(secrets={"city": {"level": "region"}, "sex": "public"}, release=ITEMS[:3])
    assert here.graph.factor_of("city").graph == Blocks((0, 0, 0, 1))
    assert here.document["secrets"]["city"] == {"blocks": [["Toronto", "Ottawa", "Montreal"], ["Victoria"]]}
    plan = td.plan(here)
    assert [plan[name].mechanism for name in ("cities", "regions", "provinces")] == ["identity", "exact", "identity"]


def test_missing_values_that_stand_apart_are_apart_from_every_branch() -> None:
    attributes = {
        "city": {"tree": PROVINCES, "levels": ["region", "province"], "missing": "separate"},
        "sex": ["f", "m"],
    }
    here = policy(attributes=attributes, release=[{"name": "it", "histogram": "region"}])
    table = TABLE.with_columns(city=pl.Series(["Toronto", None, "Ottawa", None, None, "Victoria"]))
    columns = release_with(here, table, silent)["it"].columns
    assert dict(zip(columns["city"], columns["count"].round(6), strict=True)) == {"East": 2, "West": 1, "missing": 3}
    with pytest.raises(td.errors.Refused, match="in no branch of its tree"):
        policy(attributes=attributes, secrets={"city": {"level": "region"}}, release=[])


def test_a_part_of_the_records_has_the_branches_that_it_can_be_in() -> None:
    items = [
        {"name": "some", "histogram": "province", "where": "city <> 'Montreal'"},
        {"name": "east", "mean": "pay", "by": "province", "where": "city in ('Ottawa', 'Montreal')"},
    ]
    release = release_with(policy(release=items), TABLE, silent)
    assert release["some"].columns["city"].tolist() == ["Ontario", "BC"]
    assert release["some"].columns["count"].tolist() == [3, 2]
    assert release["east"].columns["city"].tolist() == ["Ontario", "Quebec"]
    assert release["east"].columns["mean"].tolist() == [2.5, 6]


def test_it_is_released_and_verified(tmp_path: Path) -> None:
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    with td.Ledger(ledger) as book:
        book.open("d", 1, policy().document)
    td.release(td.plan(policy()), TABLE, ledger=ledger, out=tmp_path / "out")
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    assert td.load_release(tmp_path / "out")["regions"].columns["city"].tolist() == ["East", "West"]


@pytest.mark.parametrize(
    ("attribute", "what"),
    [
        ({"tree": ["ON", "QC"]}, "not equally deep, or there are none"),
        ({"tree": {"East": ["ON"], "West": {"Coast": ["BC"]}}}, "not equally deep"),
        ({"tree": {"East": []}}, "no tree of categories"),
        ({"tree": {"East": "ON"}}, "no tree of categories"),
        ({"tree": [["East", ["ON"]], ["East", ["QC"]]]}, "two branches share a name"),
        ({"tree": {"East": {"Rest": ["ON"]}, "West": {"Rest": ["BC"]}}}, "two branches at level 2 share a name"),
        ({"tree": {"East": ["ON"], "West": ["ON"]}}, "listed twice"),
        ({"tree": {"East": ["ON"]}, "levels": ["a", "b"]}, "does not name each of them once"),
        ({"tree": {"East": ["ON"]}, "levels": ["sex"]}, "so is something else"),
        ({"categories": ["ON"], "levels": ["region"]}, "only trees have levels"),
    ],
)
def test_mistakes_are_told(attribute: dict[str, Any], what: str) -> None:
    with pytest.raises(td.errors.PolicyError, match=what):
        policy(attributes={"city": attribute, "sex": ["f", "m"]}, release=[])


def test_a_level_that_is_none_is_told() -> None:
    with pytest.raises(td.errors.PolicyError, match="did you mean 'region'"):
        policy(secrets={"city": {"level": "regoin"}}, release=[])
    with pytest.raises(td.errors.PolicyError, match="declare it as"):
        policy(secrets={"sex": {"level": "region"}}, release=[])


def test_deep_trees_are_refused() -> None:
    deep: Any = ["x"]
    for _ in range(12):
        deep = {"a": deep}
    with pytest.raises(td.errors.PolicyError, match="too deep"):
        policy(attributes={"city": {"tree": deep}}, secrets={}, release=[])


def test_normal_forms_are_read_alike() -> None:
    values = policy().domain["city"].values
    assert read_tree(tree_document(values)["tree"]) == read_tree(PROVINCES)  # type: ignore[arg-type]


# -- open text --------------------------------------------------------------------------------------
# Columns of open text: what a policy may say of them, and that saying it again changes nothing.


BASE: dict[str, Any] = {
    "dataset": "d",
    "attributes": {"age": {"integer": [0, 99]}, "postcode": {"open": "text", "longest": 8, "trim": True}},
    "budget": {"epsilon": 1, "delta": "1e-6"},
    "release": [{"name": "areas", "names": "postcode", "share": 2}],
}


def test_it_is_read_and_written() -> None:
    policy = td.load_policy(BASE)
    assert policy.open == (OpenText("postcode", 8, trim=True),)
    assert policy.names == (NamesItem("areas", "postcode", Fraction(2)),)
    assert policy.domain.names == ("age",)
    assert td.load_policy(policy.document) == policy
    assert td.load_policy(policy.document).document == policy.document


def test_what_is_left_out_is_secret_and_of_a_usual_length() -> None:
    policy = td.load_policy(BASE | {"attributes": {"age": {"integer": [0, 99]}, "postcode": {"open": "text"}}})
    assert policy.open == (OpenText("postcode", 100, trim=False, secret=True),)
    public = td.load_policy({**policy.document, "secrets": {"postcode": "public"}})
    assert not public.open[0].secret
    assert td.load_policy(public.document) == public


def test_other_policies_say_what_they_said() -> None:
    document = td.load_policy({"dataset": "d", "attributes": {"x": ["a"]}, "budget": {"epsilon": 1}}).document
    assert document["secrets"] == {"x": "everything"}
    assert document["release"] == []


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"attributes": {"age": {"integer": [0, 9]}, "postcode": {"open": "number"}}}, "write one of: text"),
        ({"attributes": {"age": {"integer": [0, 9]}, "postcode": {"open": "text", "unit": "m"}}}, "has no unit"),
        ({"attributes": {"age": {"integer": [0, 9]}, "postcode": {"open": "text", "longest": 0}}}, "longest"),
        ({"attributes": {"postcode": {"open": "text"}}}, "there is no attribute"),
        ({"secrets": {"postcode": {"within": 3}}}, "all or nothing"),
        ({"individuals": {"key": "postcode", "at most": 2}}, "says whose row it is"),
        ({"release": [{"name": "areas", "names": "age"}]}, "age is not declared as open text"),
        ({"release": [{"name": "areas", "names": "postcode", "whole": True}]}, "means nothing for `names`"),
        ({"release": [{"name": "areas", "names": "postcode", "count": "all"}]}, "both"),
        ({"release": [{"name": "a/b", "names": "postcode"}]}, "name of a file"),
        ({"release": [{"name": "areas", "names": "postcode", "share": 0}]}, "share"),
        ({"release": [{"name": "one", "count": "all"}, {"name": "one", "names": "postcode"}]}, "two items"),
        ({"release": [{"name": "one", "histogram": "postcode"}]}, "no attribute 'postcode'"),
        ({"release": [{"name": "one", "count": "postcode = 'N1'"}]}, "postcode"),
    ],
)
def test_what_it_cannot_be_is_refused(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(td.errors.TetraodonError, match=match):
        td.load_policy(BASE | changes)


def test_a_length_is_checked_in_python_too() -> None:
    with pytest.raises(td.errors.PolicyError, match="longest"):
        OpenText("postcode", 1001)
    with pytest.raises(td.errors.PolicyError, match="name of a file"):
        NamesItem("../x", "postcode")


def test_the_promise_says_what_happens_to_names() -> None:
    text = td.explain(BASE).text
    assert "Names that nobody listed" in text
    assert "only if enough people have it" in " ".join(text.split())
    assert "1e-06" in text
    assert "Names that nobody listed" not in td.explain({**BASE, "attributes": {"x": ["a"]}, "release": []}).text


def test_open_text_alone_may_be_the_secret() -> None:
    document = BASE | {"presence": "public", "secrets": {"age": "public"}}
    assert "This policy has no secret" not in td.explain(document).text
    assert (
        "This policy has no secret" in td.explain(document | {"secrets": {"age": "public", "postcode": "public"}}).text
    )
