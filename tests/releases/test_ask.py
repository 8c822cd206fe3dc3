"""A condition is answered by the released table that answers it best."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom
from tests.policies import policy_document
from tests.releases.made import release_with, silent

import tetraodon as td
from tetraodon.gate import without_ledger
from tetraodon.releases.answer import cells_where, truth_of
from tetraodon.releases.counting import count
from tetraodon.releases.release import infer
from tetraodon.releases.run import noisy


@pytest.mark.parametrize("condition", ["age between 22 and 26", "age <= 23", "age = 20"])
@pytest.mark.parametrize(
    "noise", [silent, lambda shape: np.full(shape, -500), lambda shape: np.arange(np.prod(shape)).reshape(shape)]
)
def test_the_table_with_the_least_planned_error_wins_whatever_the_noise(
    policy: td.Policy, table: pl.DataFrame, condition: str, noise: Any
) -> None:
    release = release_with(policy, table, noise)
    found = release.ask(condition)
    names, holds = truth_of(condition, policy.domain)
    tables = {n: release[n].table for n in ("ages", "older", "bands", "middle")}
    reach = {n: t.reach(cells_where(t, names, holds)) for n, t in tables.items()}
    assert reach[found.source] == min(reach.values())
    assert found.source == release_with(policy, table, silent).ask(condition).source
    answered = release[found.source].count(condition)
    assert (found, found.interval) == (answered, answered.interval)


def test_only_a_table_that_knows_all_attributes_is_asked(policy: td.Policy, table: pl.DataFrame) -> None:
    release = release_with(policy, table, silent)
    assert release.ask("sex = 'Male' and age < 25").source == "ages"


def test_a_public_attribute_is_known_exactly(policy: td.Policy, table: pl.DataFrame) -> None:
    found = release_with(policy, table, lambda _: 7).ask("sex = 'Male'")
    assert found == table.filter(pl.col("sex") == "Male").height
    assert (found.interval, found.confidence) == ((found.value, found.value), 1)


@pytest.mark.parametrize(
    "everybody", ["true", " TRUE ", "age >= 0", "SELECT count(*) FROM survey;", "sex in ('Female', 'Male')"]
)
def test_the_public_number_of_records_is_known_exactly(policy: td.Policy, table: pl.DataFrame, everybody: str) -> None:
    release = release_with(policy, table, lambda _: 7)
    found = release.ask(everybody)
    assert (found, found.confidence) == (table.height, 1)
    if "FROM" not in everybody:
        assert release["ages"].count(everybody) == table.height


def in_bands(policy: td.Policy, table: pl.DataFrame) -> td.Release:
    bands = [{"name": "decades", "histogram": ["sex", "age"], "bins": {"age": [[20, 24], [25, 29]]}}]
    return release_with(td.load_policy({**policy.document, "release": bands}), table, silent)


def test_whole_bins_can_be_asked_about(policy: td.Policy, table: pl.DataFrame) -> None:
    found = in_bands(policy, table).ask("age < 25 and sex = 'Male'")
    assert found.source == "decades"
    assert found == pytest.approx(table.filter((pl.col("age") < 25) & (pl.col("sex") == "Male")).height)


def test_a_part_of_a_bin_cannot_be_told(policy: td.Policy, table: pl.DataFrame) -> None:
    with pytest.raises(
        td.errors.QueryError, match=r"age was released in bins. Fix: ask about whole bins: 20.*24; 25.*29"
    ):
        in_bands(policy, table).ask("age < 23")


def test_what_no_table_knows_is_told_with_what_they_know(policy: td.Policy, table: pl.DataFrame) -> None:
    with pytest.raises(
        td.errors.QueryError, match=r"records by age and sex and region together. Fix: .* decades \(sex, age\)"
    ):
        in_bands(policy, table).ask("age < 25 and region = 'north' and sex = 'Male'")


def test_groups_are_asked_one_by_one(policy: td.Policy, table: pl.DataFrame) -> None:
    release = release_with(policy, table, silent)
    by = release.ask("select age, count(*) from survey where age < 25 group by age")
    below = [age for age in by if age < 25]
    assert below
    assert all(by[age] == release.ask(f"age = {age}") for age in below)
    assert all(by[age].interval == (0, 0) for age in by if age >= 25)
    chosen = release.ask(
        "select age, count(*) n, count(age) m from survey group by age having n > 0 order by n desc limit 2"
    )
    counts = table.group_by("age").len().sort("len", descending=True)["len"][:2].to_list()
    assert [row["n"] for row in chosen.values()] == [row["m"] for row in chosen.values()] == counts
    for age, row in chosen.items():
        alone = release.ask(f"age = {age}")
        assert row["n"].lower <= alone.lower <= alone.upper <= row["n"].upper
        assert row["n"].confidence == alone.confidence


def test_a_question_in_sql_asks_for_its_condition(policy: td.Policy, table: pl.DataFrame) -> None:
    release = release_with(policy, table, silent)
    assert release.ask("select count(*) from survey where age < 25") == release.ask("age < 25")
    assert release.ask("select count(*) as n from survey /* all */ where true -- of them") == table.height
    for question, refusal in {
        "select sum(age) from survey": "counts only",
        "select count(*) from people": "survey is asked here, not people",
        "select count(distinct age) from survey": "counts only",
        "select count(*), count(*) from survey": "two columns have one name",
        "select count(*) from survey, survey": "kind of join",
        "select count(*) from survey join regions on country = age": "not a public table",
        "select count(*) from survey limit 3": "one group",
        "select count(*) from (select 1)": "does not ask one table",
        "select count(*)": "does not ask one table",
        "select count(*) from survey; select 1": "more than one SELECT",
        "select": "more than one SELECT|cannot be read|does not ask one table",
    }.items():
        with pytest.raises(td.errors.QueryError, match=refusal):
            release.ask(question)


def test_a_long_question_is_read_in_one_pass(policy: td.Policy, table: pl.DataFrame) -> None:
    """Two hundred thousand blanks took hours when every one of them might have been where the condition ends."""
    release = release_with(policy, table, silent)
    assert release.ask("select count(*) from survey where age < 25" + " " * 200_000 + ";") == release.ask("age < 25")
    with pytest.raises(td.errors.QueryError, match="too long"):
        release.ask("age < 25" + " " * 2_000_000)


RUNS = 60
CUT = int(binom.ppf(1e-8, RUNS, 0.95))


def test_small_counts_of_84_tables_are_covered() -> None:
    """All 84 tables of three of nine attributes, asked about a value of three attributes that hardly anybody has.

    A table that is chosen for its short interval covers three quarters of them. False alarms: each of 3 conditions is
    compared with the 1e-8 quantile of Binomial(60, 0.95), so that the test fails by chance with at most 3e-8.
    """
    names = [f"a{n}" for n in range(9)]
    items = [{"name": "_".join(three), "histogram": list(three)} for three in itertools.combinations(names, 3)]
    policy = td.load_policy(
        policy_document(
            dataset="many", attributes={name: ["x", "z"] for name in names}, budget={"epsilon": 10}, release=items
        )
    )
    plan = td.plan(policy)
    table = pl.DataFrame({name: ["x"] * 90 + ["z"] * (n % 3) + ["x"] * (2 - n % 3) for n, name in enumerate(names)})
    exact = count(plan, table)
    held = dict.fromkeys(names[:3], 0)
    for _ in range(RUNS):
        permit = without_ledger(plan.certificate)
        release = infer(plan, {i.name: noisy(i, exact[i.name], permit) for i in plan}, "", "")
        for name in names[:3]:  # none, one and two have the value
            low, high = release.ask(f"{name} = 'z'").interval
            held[name] += low - 1e-9 <= table.filter(pl.col(name) == "z").height <= high + 1e-9
    assert min(held.values()) >= CUT, held


@pytest.mark.parametrize("nobody", ["1 = 0", "age = null", "age / 0 = 1", "null", "age < 0 and true"])
def test_a_condition_that_holds_for_nobody_is_answered(policy: td.Policy, table: pl.DataFrame, nobody: str) -> None:
    found = release_with(policy, table, silent).ask(nobody)
    assert (found.value, found.lower, found.upper) == (0, 0, 0)


@pytest.mark.parametrize("everybody", ["1 = 1", "age = null or true", "not false"])
def test_a_condition_that_holds_for_all_counts_all(policy: td.Policy, table: pl.DataFrame, everybody: str) -> None:
    assert release_with(policy, table, silent).ask(everybody).value == table.height


@pytest.mark.parametrize("question", [None, 5, b"age < 30"])
def test_a_question_is_a_text(policy: td.Policy, table: pl.DataFrame, question: Any) -> None:
    with pytest.raises(td.errors.QueryError, match="a question is a text"):
        release_with(policy, table, silent).ask(question)


PARTS: list[dict[str, Any]] = [
    {"name": "older", "cdf": "age"},
    {"name": "women", "histogram": ["age", "region"], "where": "sex = 'f'"},
    {"name": "earning", "mean": "pay"},
    {"name": "grown", "count": "all", "where": "age >= 3", "by": "sex"},
]
DIRTY = pl.DataFrame(
    {
        "age": [None if row % 7 == 3 else row * row % 6 for row in range(200)],
        "sex": ["fm"[row % 3 % 2] for row in range(200)],
        "region": ["ns"[row % 5 % 2] for row in range(200)],
        "pay": [None if row % 4 == 1 else row % 5 for row in range(200)],
    }
)


def with_parts(items: list[dict[str, Any]], noise: Any = silent, epsilon: float = 1) -> td.Release:
    apart = {"missing": "separate"}
    policy = policy_document(
        dataset="dirty",
        attributes={
            "age": {"integer": [0, 5], **apart},
            "sex": ["f", "m"],
            "region": {"categories": ["n", "s"]},
            "pay": {"integer": [0, 4], **apart},
        },
        budget={"epsilon": epsilon},
        release=items,
    )
    return release_with(td.load_policy(policy), DIRTY, noise)


@pytest.mark.parametrize(
    ("asked", "by", "true"),
    [
        ("age < 3", "older", pl.col("age") < 3),
        ("age is not null", "older", pl.col("age").is_not_null()),
        ("age between 2 and 4 and sex = 'f' and region = 's'", "women", None),
        ("sex = 'f'", "women", pl.col("sex") == "f"),
        ("sex = 'f' and age is null", "women", (pl.col("sex") == "f") & pl.col("age").is_null()),
        ("pay is not null", "earning", pl.col("pay").is_not_null()),
        ("age >= 3 and sex = 'm'", "grown", (pl.col("age") >= 3) & (pl.col("sex") == "m")),
    ],
)
def test_an_item_about_a_part_is_asked_where_it_knows(asked: str, by: str, true: Any) -> None:
    if true is None:
        true = pl.col("age").is_between(2, 4) & (pl.col("sex") == "f") & (pl.col("region") == "s")
    found = with_parts(PARTS).ask(asked)
    assert (found, found.source) == (DIRTY.filter(true).height, by)


@pytest.mark.parametrize(
    "asked", ["age is null", "age < 3 or pay > 2", "sex = 'm' and age < 3", "region = 'n'", "true"]
)
def test_what_a_part_does_not_tell_is_refused(asked: str) -> None:
    with pytest.raises(td.errors.QueryError, match=r"women \(age, region, among those with"):
        with_parts(PARTS).ask(asked)


@pytest.mark.parametrize("question", ["age < 3", "sex = 'f' and region = 'n'", "age >= 3 and sex = 'm'"])
def test_a_confidence_is_kept_and_longer_intervals_are_surer(question: str) -> None:
    release = with_parts(PARTS, lambda shape: np.arange(np.prod(shape)).reshape(shape) % 5)
    found = [release.ask(question, confidence=sure) for sure in (50, 0.95, "99.9%", "0.999999999")]
    assert [float(one.confidence) for one in found] == [0.5, 0.95, 0.999, 0.999999999]
    assert len({(one.source, one.value) for one in found}) == 1
    lengths = [one.upper - one.lower for one in found]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]
    for wrong in (0, 1, "much", "0.9999999999"):
        with pytest.raises(td.errors.QueryError, match="confidence"):
            release.ask(question, confidence=wrong)


def test_noise_that_is_mostly_none_is_still_noise() -> None:
    """At epsilon 12 noise is 0 with more than 95%: the interval is a point, and not known exactly."""
    items = [{"name": "a", "histogram": ["sex"]}, {"name": "b", "histogram": ["sex", "region"]}]
    found = with_parts(items, epsilon=12).ask("sex = 'f'")
    assert found.confidence < 1
