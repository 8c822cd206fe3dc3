"""Quantiles by rank: when they are planned, released, read back, and how far off they are."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from tests.policies import public_policy

import tetraodon as td
from benchmarks.data import adult
from tetraodon.errors import QueryError, ReleaseError
from tetraodon.mechanism.ranks import certain_ends, cut_errors, ends_around
from tetraodon.noise.coins import system_coins
from tetraodon.noise.joint_exponential import draw_by_rank
from tetraodon.query.linear import LinearQuery, Measurement
from tetraodon.query.ranks import RankEnds, Ranks

DECILES = [f"0.{n}" for n in range(1, 10)]


def policy(*items: dict[str, Any], **changes: Any) -> td.Policy:
    document = public_policy(
        attributes={"x": {"integer": [0, 99999]}, "s": ["f", "m"]},
        secrets={"s": "public"},
        release=[{"bounds": False, **item} if {*item} & {"median", "quantiles"} else item for item in items],
    )
    return td.load_policy({**document, **changes})


def released(asked: td.Policy | td.Plan, values: np.ndarray[Any, Any], out: str | None = None) -> td.Release:
    table = polars.DataFrame({"x": values, "s": np.where(np.arange(len(values)) % 2, "f", "m")})
    document = asked.document if isinstance(asked, td.Policy) else asked.policy.document
    with td.Ledger("sqlite:///ledger.db") as ledger:
        ledger.open("d", 1000, document)
    return td.release(asked, table, ledger="sqlite:///ledger.db", out=out)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("item", "changes", "mechanism"),
    [
        ({"median": "x"}, {}, "ranks"),
        ({"quantiles": "x", "at": DECILES}, {}, "ranks"),
        ({"quantiles": "x", "at": DECILES}, {"presence": "secret"}, "ranks"),
        ({"median": "x", "by": "s"}, {}, "ranks"),
        ({"median": "x", "where": "s = 'f'"}, {}, "ranks"),
        ({"median": "x", "bounds": True}, {}, "ranks"),
        ({"quantiles": "x", "bounds": True}, {"presence": "secret"}, "ranks"),
        ({"quantiles": "x", "at": DECILES, "bounds": True}, {}, "hierarchical"),
        ({"median": "x", "bounds": True}, {"attributes": {"x": {"integer": [0, 99]}, "s": ["f", "m"]}}, "identity"),
        ({"median": "x", "error": 100}, {}, "hierarchical"),
        ({"median": "x"}, {"secrets": {"x": {"within": 1}, "s": "public"}}, "ordered"),
        ({"median": "x"}, {"secrets": {"x": "public", "s": "public"}}, "exact"),
        ({"quantiles": "x", "at": [f"{n / 100}" for n in range(1, 100)]}, {}, "hierarchical"),
        ({"cdf": "x"}, {}, "hierarchical"),
    ],
)
def test_the_planner_takes_what_errs_less(item: dict[str, Any], changes: dict[str, Any], mechanism: str) -> None:
    plan = td.plan(policy({"name": "q", **item}, **changes))
    assert plan["q"].mechanism == mechanism
    assert plan.epsilon == (mechanism != "exact")


def test_with_delta_it_is_chosen_beside_gaussian_noise() -> None:
    plan = td.plan(policy({"name": "q", "median": "x"}, budget={"epsilon": 1, "delta": "1e-6"}))
    assert (plan["q"].mechanism, plan.certificate.delta) == ("ranks", 0)


def test_where_no_step_moves_both_it_need_not_share() -> None:
    both = [{"name": "q", "median": "x"}, {"name": "h", "histogram": "s"}]
    plan = td.plan(policy(*both, secrets={}, together="one attribute at a time"))
    assert [item.epsilon for item in plan] == [1, 1]
    assert plan.epsilon == 1


def test_it_is_released_verified_and_read_back() -> None:
    values = np.random.default_rng(5).integers(0, 100_000, 4_000)
    asked = policy(
        {"name": "all", "quantiles": "x", "at": ["0.5", "0.25", "0.75"]},
        {"name": "each", "median": "x", "by": "s"},
        {"name": "some", "median": "x", "where": "s = 'f'"},
    )
    made = released(asked, values, "out")
    assert {item.mechanism for item in made.plan} == {"ranks"}
    assert all(check.passed for check in td.verify("out"))
    back = td.load_release("out")
    for answer in made.values():
        assert back[answer.name].document() == answer.document()
    columns = made["all"].columns
    assert list(columns) == ["quantile", "x", "lower", "upper"]
    middle, low, high = columns["x"].tolist()
    assert low < middle < high
    assert list(made["each"].columns) == ["s", "quantile", "x", "lower", "upper"]
    assert len(made["some"].columns["x"]) == 1
    with pytest.raises(QueryError, match="not a table of counts"):
        made["all"].between(0, 10)
    with pytest.raises(QueryError, match="counts records by x"):
        made.ask("x < 10")
    report = Path("out/report.html").read_text(encoding="utf-8")
    assert "drawn at random" in report
    measured = json.loads(Path("out/release.json").read_text(encoding="utf-8"))["plan"]["queries"][0]["measurements"]
    assert measured[0]["counts"] == {"kind": "ranks", "attribute": "x", "shares": ["1/4", "1/2", "3/4"]}


def test_codes_that_nobody_would_have_drawn_are_refused() -> None:
    released(policy({"name": "q", "quantiles": "x"}), np.arange(4_000), "out")
    path = Path("out/measurements/q.parquet")
    frame = polars.read_parquet(path)
    frame.with_columns(value=frame["value"].reverse()).write_parquet(path)
    with pytest.raises(ReleaseError, match="do not fit"):
        td.load_release("out")


def test_an_interval_ends_at_values_that_surely_lie_beyond() -> None:
    """40,000 records at epsilon 20: a tenth of them is more than any rank is off."""
    values = np.random.default_rng(6).integers(0, 100_000, 40_000)
    made = released(policy({"name": "q", "quantiles": "x", "at": DECILES}, budget={"epsilon": 20}), values)
    columns = made["q"].columns
    found, truth = columns["x"], np.sort(values)[[4_000 * n - 1 for n in range(1, 10)]]
    assert columns["lower"].tolist() == [0, *found[:-1]]
    assert columns["upper"].tolist() == [*found[1:], 99_999]
    assert ((columns["lower"] <= truth) & (truth <= columns["upper"])).all()


def test_where_the_number_of_records_is_a_secret_no_interval_ends_before_the_values_do() -> None:
    asked = policy({"name": "q", "quantiles": "x"}, presence="secret")
    columns = released(asked, np.arange(9_000)).answers["q"].columns
    assert columns["lower"].tolist() == [0] * 3
    assert columns["upper"].tolist() == [99_999] * 3


# -- intervals --------------------------------------------------------------------------------------


WORLDS = [world for n in range(1, 4) for world in combinations_with_replacement(range(3), n)]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("share", "scale", "tried"), [("1/2", "2/5", 3), ("1/3", "1/3", 3), ("0", "1/3", 3), ("1", "1/3", 3)]
)
def test_intervals_hold_with_95_percent_whatever_was_drawn(share: str, scale: str, tried: int, known: bool) -> None:
    """For every table of up to three records in a world of three codes, and all codes that may be drawn: the chances of
    all noise on five counts that leads to an interval which holds the quantile. Larger noise is counted as a failure.
    """
    ranks = Ranks("x", 3, (Fraction(share),), ends=RankEnds(Fraction(1), Fraction(1)))
    assert ranks.ends is not None
    ratio, values = math.exp(-1 / Fraction(scale)), np.arange(-tried, tried + 1)
    chance = (1 - ratio) / (1 + ratio) * ratio ** np.abs(values)
    noise = np.stack(np.meshgrid(*[values] * 5, indexing="ij"), axis=-1).reshape(-1, 5)
    chances = np.prod(chance[noise + tried], axis=1)
    for codes in combinations_with_replacement(range(3), 3):
        borders = ranks.ends.borders(np.array(codes), 3)
        for world in WORLDS:
            counts = np.bincount(np.searchsorted(borders, world, side="right"), minlength=5)
            numbers = np.column_stack([np.tile(codes, (len(noise), 1)), counts + noise])
            totals = np.full(len(noise), len(world)) if known else None
            code, low, high = (one[:, 0] for one in certain_ends(ranks, Fraction(scale), numbers, totals))
            quantile = world[max(1, math.ceil(Fraction(share) * len(world))) - 1]
            assert chances[(low <= quantile) & (quantile <= high)].sum() >= 0.95, (codes, world)
            assert ((low <= code) & (code <= high)).all()


def test_intervals_of_a_real_column_are_short_and_hold() -> None:
    """Capital losses above 0 among 10,000 values: 100 draws of two quantiles. With 95% coverage 25 intervals of either
    fail with a chance below 10^-10.
    """
    lost = adult("capital_loss")
    values = np.sort(lost[lost > 0])
    occupied = np.empty((), object)
    occupied[()] = np.column_stack(np.unique(values, return_counts=True))
    shares, at = (Fraction(1, 2), Fraction(9, 10)), Fraction(1)
    ranks = Ranks("x", 10_000, shares, ends=ends_around(shares, known=True))
    measured = Measurement(LinearQuery(ranks), at)
    truth = np.array([values[math.ceil(share * len(values)) - 1] for share in shares])
    failed, inside = np.zeros(2), []
    for _ in range(100):
        numbers = ranks.measured(occupied, measured, lambda _, s, n: td.noise.discrete_laplace(s, n), system_coins)
        _, low, high = certain_ends(ranks, at, numbers, np.array(len(values)))
        failed += (truth < low) | (truth > high)
        inside += (np.searchsorted(values, high) - np.searchsorted(values, low, "right")).tolist()
    assert failed.max() < 25
    assert ranks.ends is not None
    assert np.median(inside) < 2.5 * float(ranks.ends.away * at)


@pytest.mark.parametrize("at", [["0.5"], ["0.2", "0.4", "0.6", "0.8"]])
def test_typical_errors_are_those_that_were_planned(at: list[str]) -> None:
    """Of evenly spread records: a hundred draws. A false alarm, once in 10^8 runs, is six standard deviations away."""
    values = np.arange(0, 100_000, 10)
    plan = td.plan(policy({"name": "q", "quantiles": "x", "at": at}))
    planned, shares = plan["q"].expected_error, tuple(map(Fraction, at))
    assert planned**2 == pytest.approx(float(np.mean(np.square(cut_errors(len(at))))) * 16 + 1 / 2)
    occupied = np.empty(1, object)
    occupied[0] = np.column_stack([values, np.ones_like(values)])
    drawn = [draw_by_rank(occupied, 100_000, shares, plan["q"].scale, system_coins())[0] for _ in range(100)]
    off = np.searchsorted(values, drawn) - np.array(shares, np.float64) * 10_000
    assert 0.4 * planned < float(np.sqrt(np.mean(np.square(off)))) < 1.9 * planned


def test_missing_values_stand_apart() -> None:
    attributes = {"x": {"integer": [0, 9_999], "missing": "separate"}, "s": ["f", "m"]}
    asked = policy({"name": "q", "median": "x"}, attributes=attributes)
    assert td.plan(asked)["q"].mechanism == "ranks"
    table = polars.DataFrame({"x": [None, *range(4_000, 6_000)], "s": ["f"] * 2_001})
    with td.Ledger("sqlite:///ledger.db") as ledger:
        ledger.open("d", 100, asked.document)
    found = td.release(asked, table, ledger="sqlite:///ledger.db")["q"].columns["x"][0]
    assert 4_000 <= found < 6_000  # anything else has a chance below 10^-30


def test_releases_that_could_come_out_are_simulated() -> None:
    plan = td.plan(policy({"name": "q", "median": "x", "by": "s"}))
    found = td.editor.simulate(plan, "flat", 2_000, times=2)
    truth = found.truth["q"].columns["x"]
    assert all(abs(int(value) - 50_000) < 1_000 for value in truth)
    for release in found.releases:
        assert release["q"].columns["x"].shape == truth.shape
