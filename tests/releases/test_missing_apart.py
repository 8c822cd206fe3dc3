"""Missing values that stand apart: the journey of a table with 44% missing wages, and what is refused."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.certificate.test_missing_apart import brute_force
from tests.releases.made import kept

import tetraodon as td
from tetraodon.query.condition.read import truth_table

WAGE = {"real": [0, 50], "step": "0.1", "missing": "separate", "unit": "USD"}
AGE = {"integer": [0, 3], "missing": "separate"}


def policy(*items: dict[str, Any], **more: Any) -> td.Policy:
    base = {"dataset": "d", "presence": "public", "budget": {"epsilon": 20}, "attributes": {"wage": WAGE, "age": AGE}}
    return td.load_policy({**base, "release": [{"name": f"q{n}", **item} for n, item in enumerate(items)], **more})


def test_the_mean_is_that_of_the_earners(tmp_path: Path) -> None:
    """A missing wage counted as 0, and the mean of 8.7 had an interval far from the earners' 15.6.

    Each of the four intervals fails with a chance below e^-20: they are those of 95% ten times wider.
    """
    draw = random.Random(4)
    wages = [None if draw.random() < 0.44 else round(min(50, max(0, draw.gauss(15.6, 5))), 1) for _ in range(4000)]
    ages = [draw.choice([0, 1, 2, 3, None]) for _ in wages]
    earned = [wage for wage in wages if wage is not None]
    made = policy({"mean": "wage"}, {"total": "wage"}, {"variance": "wage"}, {"histogram": "age"})
    assert td.load_policy(made.document) == made
    with td.Ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.open("d", 20, made)
        released = td.release(
            made, pl.DataFrame({"wage": wages, "age": ages}), ledger=ledger, out=tmp_path / "out", warn=pytest.fail
        )
    truth = sum(earned) / len(earned)
    spread = sum((wage - truth) ** 2 for wage in earned) / len(earned)
    for name, column, exact in (("q0", "mean", truth), ("q1", "total", sum(earned)), ("q2", "variance", spread)):
        found = released[name].columns
        reach = float(found["upper"][0] - found["lower"][0]) / 2
        assert abs(float(found[column][0]) - exact) <= 10 * reach
        assert reach < exact / 10
    ages_found = released["q3"].columns
    assert list(ages_found["age"]) == ["0", "1", "2", "3", "missing"]
    assert abs(float(ages_found["count"][4]) - ages.count(None)) < 100
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    assert "over those whose wage is not missing" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("item", [{"kmeans": ["age", "wage"], "clusters": 2}])
def test_what_has_no_place_for_them_is_refused(item: dict[str, Any]) -> None:
    with pytest.raises(td.errors.TetraodonError, match=r"(stand apart|age is not a number).*Fix:"):
        td.plan(policy(item))


@pytest.mark.parametrize(
    "more",
    [
        {"together": {"metric": "l1", "over": ["age", "wage"], "within": 2}},
        {"known": [{"count": "all"}]},
        {"attackers": [{"groups": "house", "at most": 2}]},
        {"adversary": {"prior": {"d": "1e-4"}, "posterior": "0.2"}},
        {"secrets": {"age": {"blocks": [[0, "missing"]]}}},
    ],
)
def test_what_is_not_priced_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(td.errors.TetraodonError, match=r"(stand apart|missing values and others).*Fix:"):
        policy({"histogram": "age"}, **more)


def test_a_category_of_that_name_is_meant_by_it() -> None:
    listed = {"categories": ["a", "separate"], "missing": "separate", "other": "a"}
    attribute = td.load_policy({"dataset": "d", "attributes": {"x": listed}, "budget": {"epsilon": 1}}).domain["x"]
    assert (attribute.separate, attribute.missing, attribute.size) == (False, 1, 2)
    with pytest.raises(td.errors.TetraodonError, match="a category called missing"):
        policy(attributes={"x": {"categories": ["a", "missing"], "missing": "separate", "other": "a"}})


@pytest.mark.parametrize("secrets", [{"within": 1}, "public", {"blocks": [[0, 1], [2, 3], ["missing"]]}])
@pytest.mark.parametrize(
    "item",
    [
        {"cdf": "age"},
        {"ranges": "age"},
        {"ranges": {"age": [[0, 1], [2, 3]]}},
        {"median": "age", "bounds": True, "by": "sex"},
        {"rectangles": ["age", "wage"]},
        {"cdf": "age", "where": "sex = 'f'"},
        {"histogram": "age", "where": "age is not missing"},
        {"histogram": "age", "bins": {"age": [[0, 1], [2, 3]]}},
        {"histogram": "age", "bins": {"age": 2}, "where": "sex = 'f'"},
        {"count": "age > 2"},
        {"count": "age is missing and sex = 'f'"},
        {"mean": "wage", "where": "age <= 2"},
    ],
)
def test_questions_about_order_are_about_those_who_answered(item: dict[str, Any], secrets: Any) -> None:
    small = {"age": {"integer": [0, 3], "missing": "separate"}, "wage": {"integer": [0, 1]}, "sex": ["f", "m"]}
    plan = td.plan(policy(item, attributes=small, secrets={"age": secrets}))
    noisy = [m for m in plan.items[0].measurements if m.scale]
    exact = [m.query for m in plan.items[0].measurements if not m.scale]
    assert plan.epsilon == brute_force(plan.policy, [m.query for m in noisy], [m.scale for m in noisy])
    assert brute_force(plan.policy, exact, [Fraction(1)] * len(exact)) == 0


def test_conditions_hold_for_no_missing_value_unless_they_say_so() -> None:
    made = policy({"count": "all"}, attributes={"age": {"integer": [0, 2], "missing": "separate"}})
    for condition, wanted in {
        "age > 1": [0, 0, 1, 0],
        "age <> 1": [1, 0, 1, 0],
        "not age > 1": [1, 1, 0, 0],
        "age is missing": [0, 0, 0, 1],
        "age is not missing": [1, 1, 1, 0],
        "age is null or age = 0": [1, 0, 0, 1],
        "coalesce(age, 2) = 2": [0, 0, 1, 1],
    }.items():
        assert truth_table(condition, made.domain)[1].astype(int).tolist() == wanted
    words = policy({"count": "all"}, attributes={"r": {"categories": ["a", "b"], "missing": "separate", "other": "a"}})
    assert truth_table("r <> 'a'", words.domain)[1].tolist() == [False, True, False]
    assert truth_table("lower(r) = 'missing' or r is missing", words.domain)[1].tolist() == [False, False, True]
    with pytest.raises(td.errors.QueryError, match=r"write `r is missing`"):
        truth_table("r = 'missing'", words.domain)


def test_running_counts_leave_out_those_who_did_not_answer(tmp_path: Path) -> None:
    table = pl.DataFrame({"age": [0, 1, 1, 3, None, None, None, 2, 2, 2]})
    made = policy(
        {"cdf": "age"},
        attributes={"age": {"integer": [0, 3], "missing": "separate"}},
        budget={"epsilon": 200},
        table={"unreadable": "100%"},
    )
    release = kept(td.plan(made), table, tmp_path)
    [answer] = release.values()
    assert np.round(answer.columns["at_most"]).tolist() == [1, 3, 6, 7]
    assert "age that is not missing" in answer.sentence
    assert all(check.passed for check in td.verify(tmp_path / "out") if not check.what.startswith("signature"))


def test_a_missing_value_is_a_secret_from_every_other() -> None:
    made = policy({"cdf": "age"}, secrets={"age": {"within": 1}}, attributes={"age": AGE})
    assert td.load_policy(made.document) == made
    values = [0, 1, 2, 3, "missing"]
    edges = {(x, y) for x in values for y in values if made.graph.is_edge((x,), (y,))}
    near = {(x, y) for x in range(4) for y in range(4) if abs(x - y) == 1}
    assert edges == near | {(x, "missing") for x in range(4)} | {("missing", x) for x in range(4)}
    for x in values:
        for y in values:  # the length of the shortest chain of edges
            chain = 0 if x == y else 1 if (x, y) in edges else 2
            assert made.graph.distance((x,), (y,)) == chain
    cells, others = (ends.tolist() for ends in made.graph.edge_cells())
    listed = {(values[a], values[b]) for a, b in zip(cells, others, strict=True)}
    assert listed | {(y, x) for x, y in listed} == edges
    [factor] = made.graph.factors
    found = [(x, y) for a, b in factor.graph.edges() for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert len(found) == len(set(found)) == factor.graph.edge_count == len(edges) // 2
    told = " ".join(sentence for part in td.explain(made).parts for sentence in part.sentences)
    assert "a missing value is one step from every other" in told


def test_missing_values_are_a_bin_of_their_own() -> None:
    made = policy({"histogram": "age", "bins": {"age": [[0, 1], [2, 3]]}})
    assert td.load_policy(made.document) == made
    [split] = made.items[0].query.table(made.domain)
    assert split.bins == (0, 0, 1, 1, 2)
    assert split.labels == ("0..1", "2..3", "missing")
    [again] = td.queries.histogram("age", bins={"age": [[0, 1], [2, 3], ["missing"]]}).table(made.domain)
    assert again == split
