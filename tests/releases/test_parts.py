"""Items about a part of the records: priced as a listing says, answered about them alone, verified, told in words."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.certificate.test_missing_apart import brute_force
from tests.policies import public_policy

import tetraodon as td
from tetraodon.certificate import oracle
from tetraodon.policy.policy import Item
from tetraodon.releases.estimates import estimate
from tetraodon.releases.report import report_html

CONDITIONS = ("s = 'f'", "a >= 2", "a < 3 and s = 'm'", "a = 1 or s = 'f'", "r <> 'x'")
SECRETS: list[tuple[Any, str]] = [
    ({"a": {"within": 1}, "s": "public"}, "one attribute at a time"),
    ({"a": {"blocks": [[0, 1], [2, 3]]}}, "one attribute at a time"),
    ({"a": {"within": 2}, "r": "public"}, "all at once"),
    ({}, "all at once"),
]
ASKED: list[dict[str, Any]] = [
    {"count": "all"},
    {"count": "all", "by": "r"},
    {"histogram": "a"},
    {"mean": "a", "by": "r"},
    {"total": "a"},
    {"variance": "a"},
    {"cdf": "a", "by": "r"},
    {"ranges": "a"},
    {"median": "a", "bounds": True},
    {"rectangles": ["a", "b"]},
]


def policy(release: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return (
        public_policy(
            dataset="parts",
            attributes={"a": {"integer": [0, 3]}, "s": ["f", "m"], "r": ["x", "y", "z"], "b": {"integer": [0, 1]}},
            secrets={"a": {"within": 1}, "s": "public"},
            together="one attribute at a time",
            release=[{"name": f"i{number}", **item} for number, item in enumerate(release)],
        )
        | more
    )


@pytest.mark.parametrize("where", CONDITIONS)
@pytest.mark.parametrize("number", range(len(SECRETS)))
def test_every_kind_costs_what_a_listing_says(where: str, number: int) -> None:
    (secrets, together), presence = SECRETS[number], "secret" if (len(where) + number) % 2 else "public"
    for asked in ASKED[number % 2 :: 2]:  # each kind with each condition, under half of the secrets
        document = policy([{**asked, "where": where}], secrets=secrets, together=together, presence=presence)
        plan = td.plan(document)
        [item] = plan
        noisy = [m for m in item.measurements if m.scale]
        exact = [m.query for m in item.measurements if not m.scale]
        assert plan.epsilon == brute_force(plan.policy, [m.query for m in noisy], [m.scale for m in noisy])
        assert plan.certificate.exact
        assert brute_force(plan.policy, exact, [Fraction(1)] * len(exact)) == 0


def test_many_parts_together_cost_what_a_listing_says() -> None:
    asked = [{"histogram": "a"}, {"mean": "b", "where": "a >= 2"}, {"cdf": "a", "where": "s = 'f'"}]
    asked += [{"histogram": "r", "where": "a < 2"}, {"total": "b", "where": "r = 'x' and a > 0"}]
    for secrets, together in SECRETS:
        plan = td.plan(policy(asked, secrets=secrets, together=together))
        noisy = [m for item in plan for m in item.measurements if m.scale]
        assert plan.epsilon == brute_force(plan.policy, [m.query for m in noisy], [m.scale for m in noisy]) == 1


def test_disjoint_parts_do_not_add_up() -> None:
    """Each may use the whole budget where no secret moves a record between them."""
    halves = [{"histogram": "a", "where": "s = 'f'"}, {"histogram": "a", "where": "s = 'm'"}]
    apart = td.plan(policy(halves))
    assert [item.epsilon for item in apart] == [1, 1]
    assert apart.epsilon == 1
    joined = td.plan(policy(halves, secrets={"a": {"within": 1}, "s": "everything"}))
    assert [item.epsilon for item in joined] == [1, 1]  # a step between them takes one from each
    same = td.plan(policy([halves[0], halves[0]]))
    assert sum(item.epsilon for item in same) == same.epsilon == 1  # measured once
    assert same.items[0].expected_error == same.items[1].expected_error < 1.001 * apart.items[0].expected_error


@pytest.mark.parametrize("where", ["a >= 2", "s = 'f' and a < 3", "s = 'm'"])
@pytest.mark.parametrize("known", [{"marginal": ["s"]}, {"count": "a = 1"}, {"count": "a < 2 and s = 'f'"}])
def test_what_is_known_is_priced(where: str, known: Any) -> None:
    small = {"attributes": {"a": {"integer": [0, 3]}, "s": ["f", "m"]}, "known": [known]}
    for query in (td.queries.histogram("a"), td.queries.count(), td.queries.mean("a")):
        made = td.load_policy({**policy([], **small), "secrets": {"a": {"within": 1}, "s": "everything"}})
        found = td.sensitivity(made, query, where=where)
        asked = Item("i", query, where=where).linear(made.domain)
        near = oracle.changes(oracle.world(made.graph, made.known, 4))
        truth = oracle.largest(near, asked, made.domain)
        assert found.value == truth if found.exact else found.value >= truth


def test_groups_attackers_rows_and_delta_are_priced_or_refused() -> None:
    asked = [{"mean": "b", "where": "a >= 2"}, {"histogram": "r", "where": "s = 'f'"}]
    groups = {"groups": {"by": "s", "rules": {"m": "none"}}}
    free = td.plan(policy(asked, **groups))
    noisy = [m for item in free for m in item.measurements if m.scale]
    assert free.epsilon == brute_force(free.policy, [m.query for m in noisy], [m.scale for m in noisy])
    households = td.plan(policy(asked, attackers=["independent", {"groups": "home", "at most": 3}]))
    assert households.epsilon <= 1
    rows = td.plan(policy(asked, individuals={"key": "id", "at most": 4}))
    plain = td.plan(policy(asked, presence="secret"))
    assert rows["i0"].scale == 4 * plain["i0"].scale
    gaussian = td.plan(policy(asked, budget={"epsilon": 1, "delta": "1e-6"}), noise="gaussian")
    assert gaussian.certificate.rho is not None
    assert gaussian.certificate.exact
    with pytest.raises(td.errors.Refused, match="kmeans"):
        td.load_policy(policy([{"kmeans": ["a", "b"], "clusters": 2, "where": "s = 'f'"}]))


TABLE = pl.DataFrame(
    {
        "a": np.arange(600) % 4,
        "s": np.where(np.arange(600) % 7 < 3, "f", "m"),
        "r": np.array(["x", "y", "z"])[np.arange(600) // 5 % 3],
        "b": np.arange(600) // 11 % 2,
    }
)
ITEMS = [
    {"histogram": ["a", "r"], "where": "a >= 2 and r <> 'y'"},
    {"count": "b = 1", "where": "s = 'f'", "by": "r"},
    {"mean": "a", "where": "a > 0"},
    {"total": "b", "where": "s = 'm'"},
    {"variance": "a", "where": "r = 'x'"},
    {"cdf": "a", "where": "s = 'f'"},
    {"ranges": {"a": [[1, 2], [3, 3]]}, "where": "a >= 1"},
    {"quantiles": "a", "bounds": True, "where": "a <> 0 and b = 0"},
    {"histogram": "a", "bins": {"a": [[1, 1], [2, 3]]}, "where": "a >= 1"},
    {"rectangles": ["a", "b"], "where": "a < 3"},
    {"histogram": "a"},
]


@pytest.fixture
def released(ledger: td.Ledger, tmp_path: Path) -> td.Release:
    document = policy(ITEMS, dataset="parts", budget={"epsilon": 600})
    ledger.open("parts", 600, document)
    return td.release(td.plan(document), TABLE, ledger=ledger, out=tmp_path / "out")


def test_answers_are_about_the_part(released: td.Release) -> None:
    """At an epsilon that leaves no noise worth the name, against what polars says.

    False alarms: the noise moves the variance by 0.02 with less than 1e-9, and any other number with 1e-10 in all.
    """
    t, c = TABLE, pl.col
    cells = t.filter((c("a") >= 2) & (c("r") != "y")).group_by("a", "r").len().sort("a", "r")
    assert released["i0"].columns["a"].tolist() == [2, 2, 3, 3]
    assert released["i0"].columns["r"].tolist() == ["x", "z"] * 2
    assert np.round(released["i0"].columns["count"]).tolist() == cells["len"].to_list()
    women = t.filter((c("s") == "f") & (c("b") == 1)).group_by("r").len().sort("r")
    assert np.round(released["i1"].columns["count"]).tolist() == women["len"].to_list()
    assert released["i2"].columns["mean"][0] == pytest.approx(t.filter(c("a") > 0)["a"].mean(), abs=1e-3)
    assert released["i3"].columns["total"][0] == pytest.approx(t.filter(c("s") == "m")["b"].sum(), abs=0.1)
    assert released["i4"].columns["variance"][0] == pytest.approx(t.filter(c("r") == "x")["a"].var(ddof=0), abs=0.02)
    below = [t.filter((c("s") == "f") & (c("a") <= value)).height for value in range(4)]
    assert np.round(released["i5"].columns["at_most"]).tolist() == below
    assert np.round(released["i6"].columns["count"]).tolist() == [
        t.filter(c("a").is_between(1, 2)).height,
        t.filter(c("a") == 3).height,
    ]
    part = t.filter((c("a") != 0) & (c("b") == 0))["a"]
    wanted = [int(np.sort(part.to_numpy())[int(np.ceil(q * len(part))) - 1]) for q in (0.25, 0.5, 0.75)]
    assert released["i7"].columns["a"].tolist() == wanted
    assert released["i8"].columns["a"].tolist() == ["1..1", "2..3"]
    assert float(released["i9"].rectangle(a=(1, 2), b=(0, 1))) == pytest.approx(
        t.filter(c("a").is_between(1, 2)).height, abs=0.1
    )


def test_a_part_is_verified_read_back_and_told(released: td.Release, tmp_path: Path) -> None:
    assert all(check.passed for check in td.verify(tmp_path / "out") if not check.what.startswith("signature"))
    again = td.load_release(tmp_path / "out")
    for answer in released.values():
        assert {n: v.tolist() for n, v in again[answer.name].columns.items()} == {
            n: v.tolist() for n, v in answer.columns.items()
        }
    page = report_html(released)
    assert "among those with a &gt; 0" in page
    assert "Only records with r = &#39;x&#39; count." in page


def test_parts_and_everybody_are_kept_apart(released: td.Release) -> None:
    """What is asked of a release is about everybody: a table of a part answers what holds for nobody else."""
    assert released.ask("a = 3").source == "i10"
    assert released[released.ask("r = 'x'").source].item.item.where == "r = 'x'"
    with pytest.raises(td.errors.QueryError, match="the released tables that count by r are about some of the records"):
        released.ask("r = 'x' or r = 'y'")


def test_tables_of_one_part_agree_and_those_of_others_are_left_alone() -> None:
    where = {"where": "a >= 2"}
    plan = td.plan(policy([{"histogram": ["a", "r"], **where}, {"histogram": "a", **where}, {"histogram": "a"}]))
    rng = np.random.default_rng(5)
    measured = {
        item.name: tuple(rng.integers(0, 50, m.query.shape(plan.policy.domain)) for m in item.measurements)
        for item in plan
    }
    alone = td.plan(policy([{"histogram": ["a", "r"], **where}, {"histogram": "a", **where}]))
    tables = estimate(plan, measured).tables
    assert np.allclose(tables["i0", None].unbiased.sum(axis=1), tables["i1", None].unbiased)
    without = estimate(alone, measured).tables
    assert np.array_equal(tables["i0", None].published, without["i0", None].published)
