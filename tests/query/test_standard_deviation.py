"""Standard deviations: the roots of variances, and intervals that cover.

False alarms: coverage over `RUNS` releases is compared with the 1e-10 quantile of Binomial(RUNS, 0.95), for six
numbers: the whole file fails by chance with probability below 1e-9.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.query.released import check_coverage
from tests.query.test_variance import DOMAIN, answered, policy

import tetraodon as td
from tetraodon.query.kinds import standard_deviation, variance

ITEMS = [{"name": "sd", "standard deviation": "pay"}, {"name": "by-sex", "standard deviation": "pay", "by": "sex"}]


@given(st.data())
def test_where_the_noise_is_within_its_reach_the_interval_holds_the_truth(data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(-3, 6), min_size=1, max_size=12))
    reach = data.draw(st.tuples(st.integers(0, 60), st.integers(0, 20), st.integers(0, 4)))
    noise = tuple(data.draw(st.integers(-far, far)) for far in reach)
    columns = standard_deviation("pay").columns(answered(values, noise, reach))  # type: ignore[arg-type]
    [lower], [value], [upper] = columns["lower"], columns["standard_deviation"], columns["upper"]
    assert 0 <= lower <= value <= upper <= 4.5
    assert lower - 1e-6 <= np.std(values) <= upper + 1e-6


@pytest.mark.parametrize("presence", ["public", "secret"])
def test_intervals_cover(presence: str) -> None:
    rng = np.random.default_rng(7)
    table = pl.DataFrame({"pay": rng.integers(-3, 7, 60).clip(-3, 4), "sex": ["f", "m", "m", "m"] * 15})
    groups = [table.filter(pl.col("sex") == sex)["pay"].to_numpy() for sex in ("f", "m")]
    truth = {"sd": [np.std(table["pay"].to_numpy())], "by-sex": [np.std(group) for group in groups]}
    check_coverage(policy(presence=presence, release=ITEMS), table, truth)


def test_it_costs_what_the_variance_costs() -> None:
    found, other = (
        td.plan(policy(release=[{"name": "x", word: "pay"}])) for word in ("standard deviation", "variance")
    )
    assert found.certificate == other.certificate
    assert standard_deviation("pay").sums(DOMAIN) == variance("pay").sums(DOMAIN)
    assert standard_deviation("pay") != variance("pay")


def test_it_is_released_verified_and_told(tmp_path: Path) -> None:
    table = pl.DataFrame({"pay": [-3, 0, 1, 6, 2, 2], "sex": ["f", "m"] * 3})
    ledger = f"sqlite:///{tmp_path / 'ledger.db'}"
    with td.Ledger(ledger) as book:
        book.open("d", 2, policy().document)
    td.release(td.plan(policy(release=ITEMS)), table, ledger=ledger, out=tmp_path / "out")
    assert all(check.passed for check in td.verify(tmp_path / "out"))
    again = td.load_release(tmp_path / "out")
    assert list(again["by-sex"].columns) == ["sex", "standard_deviation", "lower", "upper"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "The standard deviation of pay in EUR, for each sex." in page


def test_in_words() -> None:
    asked = standard_deviation("pay")
    assert asked.asked() == "standard deviation of pay"
    assert asked.off_by("3", "", DOMAIN) == (
        "The sum of squares behind the standard deviation is typically off by 3 EUR²."
    )
    assert asked.drawing(DOMAIN, ()).title == "standard deviation of pay (EUR)"
