"""What an analyst can ask of one item."""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
import pytest
from tests.releases.conftest import POLICY
from tests.releases.made import release_with, silent

import tetraodon as td
from tetraodon.releases.report import report_html


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
    with pytest.raises((td.QueryError, td.DomainError), match=words):
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
        with pytest.raises(td.QueryError, match=r"in bins. Fix: ask about whole bins: 20..22; 23..24; 25..29"):
            made["bins"].between(low, high)
    with pytest.raises(td.QueryError, match="no ordered attribute"):
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
    with pytest.raises(td.QueryError, match=f"{library} is not installed. Fix: pip install {library}"):
        getattr(release["men"], f"to_{library}")()


@pytest.mark.parametrize("kind", ["mean", "variance", "standard deviation"])
def test_a_mean_of_nobody_is_said_to_say_nothing(kind: str) -> None:
    document = {
        "dataset": "few",
        "attributes": {"pay": {"integer": [0, 9]}, "region": ["n", "s", "w"]},
        "budget": {"epsilon": 1},
        "release": [{"name": "all", kind: "pay"}, {"name": "each", kind: "pay", "by": "region"}],
    }
    many = pl.DataFrame({"pay": [row % 10 for row in range(5000)], "region": ["n", "s"] * 2500})
    release = release_with(td.load_policy(document), many, silent)
    assert release["all"].remark == ""
    assert release["each"].remark.startswith("1 of 3 numbers says nothing: there may be nobody")
    page = report_html(release)
    assert page.count(release["each"].remark) == 1
    nobody = release_with(td.load_policy(document), many.head(0), silent)
    assert nobody["all"].remark.startswith("This number says nothing")
    assert nobody["each"].remark.startswith("3 of 3 numbers say nothing")
