"""Answers as tables, columns and quantiles."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.policies import policy_document, public_policy
from tests.releases.conftest import POLICY
from tests.releases.made import drawn, release_with, silent

import tetraodon as td
from tetraodon.noise.laws import LAPLACE
from tetraodon.releases.release import Release
from tetraodon.releases.report import report_html

# -- answer -----------------------------------------------------------------------------------------
# What an analyst can ask of one item.


def test_without_noise_every_answer_is_the_truth(policy: td.Policy, table: pl.DataFrame) -> None:
    release = release_with(policy, table, silent)
    twenties = table.filter(pl.col("age").is_between(22, 26)).height
    assert release["ages"].between(22, 26) == pytest.approx(twenties)
    assert release["older"].between(22, 26) == pytest.approx(twenties)
    men = table.filter((pl.col("sex") == "Male") & (pl.col("age") > 24)).height
    assert release["men"].to_polars()["count"].item() == men
    assert release["ages"].count("sex = 'Male' and age > 24") == pytest.approx(men)
    assert release["mean_pay"].to_polars()["mean"].item() == pytest.approx(table["income"].mean())
    pay = release["pay"].to_polars()
    for sex, total in zip(pay["sex"], pay["total"], strict=True):
        assert total == pytest.approx(table.filter(pl.col("sex") == sex)["income"].sum())
    ages = np.sort(table["age"].to_numpy())
    for share in (0, 0.25, 0.5, 0.9, 1):
        expected = ages[max(int(np.ceil(share * len(ages))) - 1, 0)]
        assert release["ages"].quantile(share) == expected
        assert release["older"].quantile(share) == expected


def test_an_estimate_is_a_number_with_an_interval(policy: td.Policy, table: pl.DataFrame) -> None:
    found = release_with(policy, table, silent)["ages"].between(20, 29)
    assert isinstance(found, float)
    assert found.interval == (found.lower, found.upper)
    assert found.lower <= found.value <= found.upper


def test_tables_of_one_release_agree(policy: td.Policy, table: pl.DataFrame) -> None:
    release = release_with(policy, table, lambda shape: np.random.default_rng(5).integers(-9, 9, shape))
    ages = release["ages"].to_polars().group_by("age", maintain_order=True).agg(pl.col("count").sum())["count"]
    older = np.diff(release["older"].columns["at_most"], prepend=0)
    np.testing.assert_allclose(ages.to_numpy(), older, atol=1e-6)
    for low in range(20, 30):
        assert release["ages"].between(low, 29) == pytest.approx(release["older"].between(low, 29), abs=1e-6)


def test_running_counts_never_fall_and_end_at_the_known_total(policy: td.Policy, table: pl.DataFrame) -> None:
    release = release_with(policy, table, lambda shape: np.random.default_rng(7).integers(-30, 30, shape))
    running = release["older"].columns["at_most"]
    assert (np.diff(running) >= -1e-9).all()
    assert running[0] >= 0
    assert running[-1] == pytest.approx(table.height)


def test_counts_are_whole_agree_and_have_what_was_measured_beside_them(table: pl.DataFrame) -> None:
    release = [
        {"name": "ages", "histogram": ["age", "sex"]},
        {"name": "older", "cdf": "age"},
        {"name": "some", "ranges": {"age": [[20, 24], [25, 29]]}},
        {"name": "all", "count": "age > 21"},
    ]
    policy = td.load_policy({**POLICY, "release": release})
    made = release_with(policy, table, lambda shape: np.random.default_rng(3).integers(-60, 40, shape))
    for answer in made.values():
        for name in ("count", "at_most", "lower", "upper"):
            if name in answer.columns:
                assert answer.columns[name].dtype == np.int64
                assert answer.columns[name].min() >= 0
                assert answer.columns[name].max() <= table.height or answer.name == "all"
    counts, unbiased = made["ages"].table.values, made["ages"].columns["measured"]
    assert counts.sum() == table.height
    assert unbiased.min() < 0
    assert unbiased.sum() == pytest.approx(table.height)
    np.testing.assert_array_equal(np.cumsum(counts.sum(axis=1)), made["older"].columns["at_most"])
    np.testing.assert_allclose(np.cumsum(unbiased.reshape(counts.shape).sum(axis=1)), made["older"].columns["measured"])


def test_an_answer_that_is_exact_has_nothing_beside_it(table: pl.DataFrame) -> None:
    items = [{"name": "men", "histogram": ["sex"]}]
    made = release_with(td.load_policy({**POLICY, "release": items}), table, silent)
    assert list(made["men"].columns) == ["sex", "count", "lower", "upper"]
    assert made["men"].columns["count"].dtype == np.int64


def test_real_numbers_when_asked(table: pl.DataFrame) -> None:
    policy = td.load_policy({**POLICY, "release": [{"name": "ages", "histogram": ["age"], "whole": False}]})
    made = release_with(policy, table, lambda shape: np.resize([-90, 70], shape))
    assert "measured" not in made["ages"].columns
    assert made["ages"].columns["count"].min() < 0


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda r: r["ages"].between(26, 22), "smaller end"),
        (lambda r: r["ages"].between(10, 22), "not in the domain"),
        (lambda r: r["ages"].quantile(1.5), "between 0 and 1"),
        (lambda r: r["ages"].count("income > 2"), "does not know income"),
        (lambda r: r["pay"].between(1, 2), "not a table"),
        (lambda r: r["blocks"].between("north", "south"), "ordered attribute"),
        (lambda r: r["ages"].between("Female", "Male", attribute="sex"), "cannot be ranged"),
        (lambda r: r["agess"], "did you mean 'ages'"),
        (lambda r: r.ask("income > 2 and age > 21"), "no released table"),
        (lambda r: r.ask("region = 'north'"), "region was released in bins"),
    ],
)
def test_questions_that_cannot_be_answered(ask: object, words: str, policy: td.Policy, table: pl.DataFrame) -> None:
    release = release_with(policy, table, silent)
    with pytest.raises((td.errors.QueryError, td.errors.DomainError), match=words):
        ask(release)  # type: ignore[operator]


def test_frames_hold_every_answer_with_its_interval(policy: td.Policy, table: pl.DataFrame) -> None:
    release = release_with(policy, table, lambda shape: np.random.default_rng(5).integers(-9, 9, shape))
    assert release["ages"].to_polars().shape == (20, 6)
    assert len(release["ages"].document()["age"]) == 20
    for answer in release.values():
        polars, pandas = answer.to_polars(), answer.to_pandas()
        assert polars.columns == list(pandas.columns) == list(answer.columns)
        word = polars.columns[polars.columns.index("lower") - 1]
        assert [name for name in polars.columns if name != "measured"][-2:] == ["lower", "upper"]
        assert pl.from_pandas(pandas).equals(polars)
        assert (polars["lower"] <= polars[word]).all()


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_keep_days_and_truth_values(kind: str) -> None:
    attributes = {"day": {"date": ["2026-01-01", "2026-01-03"]}, "member": "boolean"}
    document = {"dataset": "d", "attributes": attributes, "budget": {"epsilon": 1}}
    release = [{"name": "all", "histogram": ["day", "member"]}, {"name": "middle", "median": "day", "bounds": True}]
    rows = pl.DataFrame({"day": ["2026-01-02"], "member": [True]})
    made = release_with(td.load_policy({**document, "release": release}), rows, silent)
    frame = getattr(made["all"], f"to_{kind}")()
    assert str(frame["day"][2])[:10] == "2026-01-02"
    assert frame["member"].to_list() == [False, True] * 3
    middle = getattr(made["middle"], f"to_{kind}")()
    assert str(middle["lower"][0])[:10] <= str(middle["day"][0])[:10] == "2026-01-02" <= str(middle["upper"][0])[:10]


def test_ranges_of_a_table_in_bins_are_whole_bins(table: pl.DataFrame) -> None:
    bins = {"age": [[20, 22], [23, 24], [25, 29]]}
    item = {"name": "bins", "histogram": ["age", "sex"], "bins": bins}
    made = release_with(td.load_policy({**POLICY, "release": [item]}), table, silent)
    for low, high in ((20, 22), (23, 29), (20, 29), (25, 29)):
        truth = table.filter(pl.col("age").is_between(low, high)).height
        assert made["bins"].between(low, high) == pytest.approx(truth)
        assert made["bins"].between(low, high, attribute="age") == made["bins"].between(low, high)
    for low, high in ((21, 22), (20, 23), (23, 25)):
        with pytest.raises(td.errors.QueryError, match=r"in bins. Fix: ask about whole bins: 20..22; 23..24; 25..29"):
            made["bins"].between(low, high)
    with pytest.raises(td.errors.QueryError, match="no ordered attribute"):
        made["bins"].quantile(0.5)


def test_ranges_off_the_grid_hold_what_lies_in_them(table: pl.DataFrame) -> None:
    release = [{"name": "h", "histogram": ["income"]}]
    made = release_with(td.load_policy({**POLICY, "release": release}), table, silent)
    for low, high in ((0.2, 0.3), (0.2, 0.9), (0.4, 2.6), (0.5, 2.5)):
        assert made["h"].between(low, high) == pytest.approx(made.ask(f"income between {low} and {high}"))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_for_frames_that_is_missing_is_named(
    library: str, policy: td.Policy, table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = release_with(policy, table, silent)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(td.errors.QueryError, match=f"{library} is not installed. Fix: pip install {library}"):
        getattr(release["men"], f"to_{library}")()


@pytest.mark.parametrize("kind", ["mean", "variance", "standard deviation"])
def test_a_mean_of_nobody_is_said_to_say_nothing(kind: str) -> None:
    document = policy_document(
        dataset="few",
        attributes={"pay": {"integer": [0, 9]}, "region": ["n", "s", "w"]},
        release=[{"name": "all", kind: "pay"}, {"name": "each", kind: "pay", "by": "region"}],
    )
    many = pl.DataFrame({"pay": [row % 10 for row in range(5000)], "region": ["n", "s"] * 2500})
    release = release_with(td.load_policy(document), many, silent)
    assert release["all"].remark == ""
    assert release["each"].remark.startswith("1 of 3 numbers says nothing: there may be nobody")
    page = report_html(release)
    assert page.count(release["each"].remark) == 1
    nobody = release_with(td.load_policy(document), many.head(0), silent)
    assert nobody["all"].remark.startswith("This number says nothing")
    assert nobody["each"].remark.startswith("3 of 3 numbers say nothing")


# -- table answer -----------------------------------------------------------------------------------
# Parts of a table: the interval is that of the noise which the part contains.

SURE = Fraction(95, 100)


def answer(item: dict[str, object], table: pl.DataFrame, **changes: object) -> td.Release:
    return release_with(td.load_policy({**POLICY, "release": [{"name": "q", **item}], **changes}), table, silent)


def test_cells_of_a_histogram_add_up_their_noise(table: pl.DataFrame) -> None:
    found = answer({"histogram": ["age"]}, table)["q"].table
    scale = found.item.scale
    for cells in (1, 3, 5):
        mask = np.arange(10) < cells
        part = found.add_up(mask)
        assert part.upper - part.value == pytest.approx(LAPLACE.sum_quantile(scale, cells, SURE), abs=1e-6)


def test_most_of_a_known_total_is_known_by_the_rest(table: pl.DataFrame) -> None:
    found = answer({"histogram": ["age"]}, table)["q"].table
    nearly_all, one = found.add_up(np.arange(10) < 9), found.add_up(np.arange(10) == 9)
    assert nearly_all.upper - nearly_all.lower == pytest.approx(one.upper - one.lower)
    everybody = found.add_up(np.ones(10, np.bool_))
    assert everybody.interval == (table.height, table.height)


def test_a_range_of_running_counts_needs_two_of_them(table: pl.DataFrame) -> None:
    secrets = {**POLICY["secrets"], "age": {"within": 1}}
    found = answer({"cdf": "age"}, table, secrets=secrets)["q"]
    assert found.item.mechanism == "ordered"
    reach = [LAPLACE.sum_quantile(found.item.scale, terms, SURE) for terms in (1, 2)]
    start, inside = found.between(20, 24), found.between(22, 24)
    assert start.upper - start.value == pytest.approx(reach[0])
    assert inside.upper - inside.value == pytest.approx(reach[1])


def test_all_cells_at_once_are_the_cells_one_by_one(table: pl.DataFrame) -> None:
    found = answer({"histogram": ["age", "sex"]}, table)["q"].table
    lower, upper = found.cells()
    for place in np.ndindex(found.values.shape):
        mask = np.zeros(found.values.shape, np.bool_)
        mask[place] = True
        single = found.add_up(mask)
        assert (lower[place], upper[place]) == (pytest.approx(single.lower), pytest.approx(single.upper))


@pytest.mark.parametrize("mechanism", ["hierarchical", "ordered", "identity"])
def test_what_no_noise_is_left_in_is_a_whole_number(mechanism: str) -> None:
    """A public total is the sum of many floats; it comes out as the number that it is."""
    within = {"hierarchical": 30, "ordered": 1, "identity": 999}[mechanism]
    document = public_policy(
        attributes={"x": {"integer": [0, 999]}},
        secrets={"x": {"within": within}},
        release=[{"name": "q", **({"histogram": "x"} if mechanism == "identity" else {"cdf": "x"})}],
    )
    rows = pl.DataFrame({"x": [(7 * row) % 1000 for row in range(701)]})
    made = release_with(td.load_policy(document), rows, lambda shape: np.arange(np.prod(shape)).reshape(shape) % 3)["q"]
    assert made.item.mechanism == mechanism
    everybody = made.table.add_up(np.ones(1000, np.bool_))
    assert (everybody, everybody.confidence) == (701, 1)
    assert [float(column[-1]) for column in made.table.running()] == [701, 701, 701]
    assert made.table.add_up(np.arange(1000) < 500).confidence == SURE


# -- table quantile ---------------------------------------------------------------------------------
# Quantiles of one attribute of a whole table, whichever way its counts were measured.

TABLE = pl.DataFrame({"x": [0, 1, 1, 2, 3, 3, 3, 3], "y": [0, 1, 2, 0, 1, 2, 0, 1]})


def release_of(item: dict[str, object], secrets: dict[str, object], noise: object = silent) -> td.Release:
    policy = public_policy(
        attributes={"x": {"integer": [0, 3]}, "y": {"integer": [0, 2]}},
        secrets=secrets,
        release=[{"name": "it", **item}],
    )
    return release_with(td.load_policy(policy), TABLE, noise)


@pytest.mark.parametrize("item", [{"histogram": ["x", "y"]}, {"rectangles": ["x", "y"]}, {"cdf": "x", "by": "y"}])
@pytest.mark.parametrize("secrets", [{}, {"x": {"within": 1}}, {"x": "public", "y": "public"}])
def test_without_noise_it_is_the_quantile_of_the_sample(item: dict[str, object], secrets: dict[str, object]) -> None:
    answer = release_of(item, secrets)["it"]
    for share in (0.25, 0.5, 0.75):
        found, low, high = answer.quantile_interval(share, attribute="x")
        assert found == np.sort(TABLE["x"].to_numpy())[int(np.ceil(share * len(TABLE))) - 1]
        assert low <= found <= high


# -- many ranges ------------------------------------------------------------------------------------
# Many ranges at once are the ranges one at a time, for every mechanism.


def made(changes: Mapping[str, Any], table: pl.DataFrame) -> Release:
    return drawn(td.load_policy({**POLICY, **changes}), table, 1)[0]


@pytest.mark.parametrize("secret", [{"within": 1}, "everything", "public", {"within": 4}])
def test_they_agree_with_one_at_a_time(secret: Any, table: pl.DataFrame) -> None:
    changes = {"secrets": POLICY["secrets"] | {"age": secret}, "release": [{"name": "q", "cdf": "age"}]}
    answer = made(changes, table)["q"]
    low = [low for low in range(20, 30) for _ in range(low, 30)]
    high = [high for low in range(20, 30) for high in range(low, 30)]
    many = answer.between_many(low, high)
    for number, (first, last) in enumerate(zip(low, high, strict=True)):
        one = answer.between(first, last)
        assert many["count"][number] == pytest.approx(float(one), abs=1e-9)
        assert many["lower"][number] <= many["count"][number] <= many["upper"][number]
        if answer.item.mechanism != "identity":  # there, a known total moves the interval of a single range
            assert many["lower"][number] <= one.lower + 1e-9
            assert many["upper"][number] >= one.upper - 1e-9


def test_bad_ranges_are_refused(table: pl.DataFrame) -> None:
    release = made({"release": [{"name": "q", "cdf": "age"}, {"name": "by", "cdf": "age", "by": "sex"}]}, table)
    with pytest.raises(td.errors.QueryError, match="empty"):
        release["q"].between_many([25], [24])
    with pytest.raises(td.errors.QueryError, match="as many"):
        release["q"].between_many([25], [26, 27])
    with pytest.raises(td.errors.QueryError, match="split"):
        release["by"].between_many([25], [26])
    with pytest.raises(td.errors.TetraodonError):
        release["q"].between_many([19], [26])


# -- columns ----------------------------------------------------------------------------------------
# Answers as columns: natural types, one row per answer, intervals around every number.

COLUMNS_POLICY = public_policy(
    dataset="types",
    attributes={
        "day": {"date": ["2020-02-27", "2020-03-02"]},
        "size": {"real": [0, 1], "step": "0.25"},
        "ok": "boolean",
        "grade": {"ordered": ["low", "middle", "high"]},
    },
    release=[
        {"name": "days", "cdf": "day"},
        {"name": "sizes", "ranges": "size"},
        {"name": "oks", "count": "all", "by": ["ok"]},
        {"name": "grades", "quantiles": "grade", "bounds": True, "at": [0.5], "by": "ok"},
        {"name": "named", "ranges": {"grade": {"fair": ["low", "middle"], "top": ["high", "high"]}}, "by": "ok"},
        {"name": "everybody", "count": "all"},
    ],
)
COLUMNS_TABLE = pl.DataFrame(
    {
        "day": [dt.date(2020, 2, 29), dt.date(2020, 3, 1), dt.date(2020, 3, 1), dt.date(2020, 2, 27)],
        "size": [0.25, 0.5, 1.0, 0.0],
        "ok": [True, False, True, True],
        "grade": ["high", "low", "middle", "low"],
    }
)


def test_each_kind_has_its_columns() -> None:
    release = release_with(td.load_policy(COLUMNS_POLICY), COLUMNS_TABLE, silent)
    days = release["days"].to_polars()
    assert days["day"].to_list() == [dt.date(2020, 2, 27) + dt.timedelta(days=d) for d in range(5)]
    np.testing.assert_allclose(days["at_most"].to_numpy(), [1, 1, 2, 4, 4], atol=1e-9)
    assert release["sizes"].to_polars()["size"].to_list() == [0, 0.25, 0.5, 0.75, 1]
    oks = release["oks"].to_polars()
    assert dict(zip(oks["ok"], oks["count"].round(6), strict=True)) == {False: 1.0, True: 3.0}
    grades = release["grades"].to_polars()
    assert dict(zip(grades["ok"], grades["grade"], strict=True)) == {False: "low", True: "middle"}
    named = release["named"].to_polars()
    assert named.columns == ["ok", "range", "low", "high", "count", "lower", "upper", "measured"]
    np.testing.assert_allclose(named["count"].to_numpy(), [1, 0, 2, 1], atol=1e-9)
    everybody = release["everybody"].to_polars()
    assert everybody.row(0) == (4.0, 4.0, 4.0)  # the number of records is public


def test_intervals_hold_their_estimates() -> None:
    rng = np.random.default_rng(3)
    release = release_with(td.load_policy(COLUMNS_POLICY), COLUMNS_TABLE, lambda shape: rng.integers(-20, 20, shape))
    for answer in release.values():
        columns = answer.columns
        number = next((columns[word] for word in ("count", "at_most") if word in columns), None)
        if number is not None:
            assert (columns["lower"] <= number).all()
            assert (number <= columns["upper"]).all()


def test_an_attribute_may_be_called_like_an_answer() -> None:
    policy = td.load_policy(
        public_policy(
            dataset="names",
            attributes={"count": {"integer": [1, 3]}, "lower": ["a", "b"]},
            release=[
                {"name": "h", "histogram": ["count", "lower"]},
                {"name": "q", "quantiles": "count", "bounds": True, "at": [0.5]},
            ],
        )
    )
    release = release_with(policy, pl.DataFrame({"count": [1, 3, 3], "lower": ["a", "b", "b"]}), silent)
    assert release["h"].to_polars().columns == ["count_value", "lower_value", "count", "lower", "upper", "measured"]
    assert release["q"].to_polars()["count_value"].to_list() == [3]


def test_a_weighted_mean_and_a_histogram_by_an_attribute() -> None:
    policy = td.load_policy(
        public_policy(
            dataset="weights",
            attributes={"x": {"integer": [0, 10]}, "w": {"real": [0, 2], "step": "0.5"}, "s": ["a", "b"]},
            secrets={"w": "public", "s": "public"},
            release=[
                {"name": "m", "mean": "x", "weight": "w", "by": "s"},
                {"name": "h", "histogram": ["x"], "by": "s"},
            ],
        )
    )
    table = pl.DataFrame({"x": [2, 4, 9], "w": [0.5, 1.5, 2.0], "s": ["a", "a", "b"]})
    release = release_with(policy, table, silent)
    assert release["m"].to_polars()["mean"].to_list() == [3.5, 9.0]
    assert release["h"].to_polars().columns[:2] == ["x", "s"] or release["h"].to_polars().columns[:2] == ["s", "x"]
    assert td.sensitivity(policy, td.queries.mean("x", weight="w")).value == 20
    assert td.load_policy(policy.document) == policy


def test_a_weight_that_can_be_negative_cannot_weigh_a_mean() -> None:
    attributes = {"x": {"integer": [0, 10]}, "w": {"integer": [-1, 1]}}
    policy = td.load_policy({**COLUMNS_POLICY, "attributes": attributes, "release": []})
    with pytest.raises(td.errors.QueryError, match="negative"):
        td.sensitivity(policy, td.queries.mean("x", weight="w"))


def test_no_interval_of_a_count_begins_below_zero(tmp_path: Path) -> None:
    """Where counts are published as they were estimated, noise takes some below zero, and no count can be there."""
    policy = td.load_policy(
        policy_document(
            attributes={"x": ["a", "b", "c"], "age": {"integer": [0, 9]}, "y": {"integer": [0, 3]}},
            budget={"epsilon": "0.5"},
            release=[
                {"name": "xs", "histogram": "x", "whole": False},
                {"name": "ages", "cdf": "age", "whole": False},
                {"name": "boxes", "rectangles": ["age", "y"]},
                {"name": "few", "count": "x = 'a' and age > 7", "whole": False},
            ],
        )
    )
    table, below = pl.DataFrame({"x": ["a", "b"], "age": [1, 2], "y": [0, 1]}), 0
    with td.Ledger(tmp_path / "ledger.db") as book:
        book.open("d", 50, policy)
        for _ in range(6):
            made = td.release(td.plan(policy), table, ledger=book)
            asked = [made.ask(f"x = '{x}'") for x in "abc"] + [made["ages"].between(low, 9) for low in (5, 8)]
            below += sum(one < 0 for one in asked)
            assert all(0 <= one.lower <= one.upper for one in asked)
            assert all(answer.columns["lower"].min() >= 0 for answer in made.values())
    assert below
