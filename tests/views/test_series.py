"""Series of views: the ratio over all transcripts by enumeration; the naive way and Algorithm 7 breach."""

from __future__ import annotations

import itertools
import json
import math
import shutil
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import tetraodon as td
from tests.noise.walk import Script
from tests.views.test_publish import POLICY, people
from tests.views.test_sampling import coin_strings
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import QueryError, Refused
from tetraodon.noise.coins import system_coins
from tetraodon.policy.adversary import Adversary, largest_ratio
from tetraodon.views.channel import CopyChannel, SetChannel, ViewChannel, best_channel
from tetraodon.views.series import Series, best_series, fresh_cells, seen_cells
from tetraodon.views.series import _tight as tight
from tetraodon.views.series_state import shown_cells
from tetraodon.views.tuple_files import write_tuples
from tetraodon.views.view import Seen, View, combined, planned_variance

F = Fraction
SETS = [
    Series(SetChannel(F(2, 5), F(1, 10)), SetChannel(F(1, 10), F(2, 5)), 3),
    Series(SetChannel(F(1, 5), F(1, 100)), SetChannel(F(1, 50), F(19, 100)), 4),
]


def likelihood(series: Series, shown: tuple[int, ...], there: tuple[int, ...]) -> Fraction:
    """P(one tuple is shown in just these views), when it is in the table in just those."""
    chance, seen = F(1), False
    for now, record in zip(shown, there, strict=True):
        channel = series.seen if seen else series.fresh
        p = channel.shown if record else channel.noise
        chance *= p if now else 1 - p
        seen = seen or bool(now)
    return chance


@pytest.mark.parametrize("series", SETS)
def test_the_worst_ratio_is_that_of_every_transcript(series: Series) -> None:
    for views in range(1, series.views + 1):
        never = (0,) * views
        ratios = [
            likelihood(series, shown, there) / likelihood(series, shown, never)
            for shown in itertools.product((0, 1), repeat=views)
            for there in itertools.product((0, 1), repeat=views)
        ]
        assert max(ratios) == series.ratio_up(views)
        assert min(ratios) == series.ratio_down(views)


def test_copies_add_up_the_same_way() -> None:
    """One record among others that have the value too: the ratio of each view lies in its channel's bounds."""
    series = Series(CopyChannel(F(1, 2), F(1, 50)), CopyChannel(F(1, 2), F(9, 10)), 2)
    fresh, seen = series.fresh, series.seen
    assert series.ratio_up(2) == (1 - F(1, 2) + F(1, 2) * 50) * (1 - F(1, 2) + F(1, 2) / F(9, 10))
    assert series.ratio_up(2) == fresh.ratio_up * seen.ratio_up
    assert series.ratio_down(2) == F(1, 4)
    assert fresh.loss_presence >= seen.loss_presence
    assert fresh.loss_replace >= seen.loss_replace


@pytest.mark.parametrize("rows", ["distinct", "repeated"])
@pytest.mark.parametrize("kind", ["independent", "exclusive"])
def test_the_planned_series_withstands_and_the_naive_way_does_not(rows: Any, kind: Any) -> None:
    d = F(1, 2000)
    adversary = Adversary(d=d, gamma="0.2", views=6, rows=rows, kind=kind)
    series = best_series(adversary, d, F(10**5), 10**9)
    assert series.withstands(adversary, d)
    assert series.ratio_up(6) <= largest_ratio(d, F(1, 5))
    single = best_channel(adversary, d, d)
    assert single.ratio_up**2 > largest_ratio(d, F(1, 5))
    prior_to = d * single.ratio_up**2 / (d * single.ratio_up**2 + 1 - d)
    assert prior_to > F(9, 10)  # two views of their own: from 1/2000 to near certainty


def test_the_least_loss_is_taken_within_three_per_cent_of_the_least_error() -> None:
    """Against every pair of the grid, one by one."""
    d, n, m = F(1, 2000), F(10**5), 10**9
    adversary = Adversary(d=d, gamma="0.2", views=6, rows="distinct", kind="exclusive")
    grid = [tight(adversary, d, F(s, 100), 1 + F(k, 25)) for s in range(2, 100, 2) for k in range(1, 60)]
    good = [series for series in grid if series is not None and series.withstands(adversary, d)]
    errors = [math.sqrt(sum(float(series.variance(i, n, m)) for i in range(1, 7))) for series in good]
    near = [series for series, error in zip(good, errors, strict=True) if error <= 1.03 * min(errors)]
    found, best = best_series(adversary, d, n, m), good[errors.index(min(errors))]
    assert found.fresh.loss_replace == min(series.fresh.loss_replace for series in near) < best.fresh.loss_replace
    assert found in near


def test_algorithm_7_does_not_keep_its_promise() -> None:
    """[RS07] Algorithm 7 at alpha = .4, beta = .1 and six views, for a table that never changes: 5 becomes 11.5."""
    a, b, v = 0.4, 0.1, 6
    worst = 0.0
    for shown in itertools.product((0, 1), repeat=v):
        seen, ratio = False, 1.0
        for i, now in enumerate(shown):
            p = a + b
            q = (a + b) * math.exp(-1 / v) if seen else (1 - a - b) ** i * b
            ratio *= p / q if now else (1 - p) / (1 - q)
            seen = seen or bool(now)
        worst = max(worst, ratio)
    assert worst == pytest.approx(11.5, abs=0.05)
    entering = (a + b) / ((1 - a - b) ** (v - 1) * b)  # a record that enters before the last view
    assert entering == pytest.approx(160)


def test_too_many_views_are_refused() -> None:
    with pytest.raises(Refused, match="over 1000 views"):
        best_series(Adversary(d="0.1", gamma="0.2", views=1000), F(1, 10), F(10), 1000)


# -- series state ------------------------------------------------------------------------------------
# A series is published month by month, refuses other terms and more views than planned, and survives a crash.

TERMS: dict[str, Any] = {"prior": {"d": "0.02"}, "posterior": 0.6, "views": 3}
SERIES = {**POLICY, "adversary": TERMS, "budget": {"epsilon": 20}}


@pytest.fixture
def book(tmp_path: Path) -> Iterator[td.Ledger]:
    with td.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open("people", 100, td.load_policy(SERIES).document)
        yield ledger


def test_month_by_month(tmp_path: Path, book: td.Ledger) -> None:
    policy, out = td.load_policy(SERIES), tmp_path / "series"
    first = td.publish(policy, people(40), ledger=book, accept_exposure=True, out=out)
    assert first.seen is None
    second = td.publish(policy, people(60), ledger=book, accept_exposure=True, out=out)
    assert second.seen is not None
    third = td.publish(policy, people(120), ledger=book, accept_exposure=True, out=out)
    assert [path.name for path in sorted(out.glob("view-*"))] == ["view-1", "view-2", "view-3"]
    assert td.load_view(out / "view-3") == third
    assert third.ask("age < 30").interval
    shown = {row for number in (1, 2) for row in polars.read_parquet(out / f"view-{number}/tuples.parquet").rows()}
    assert third.seen is not None
    assert set(polars.read_parquet(third.seen.before).rows()) == shown
    assert not shown & set(polars.read_parquet(third.rows).rows())
    whole = polars.read_parquet(out / "view-3/tuples.parquet")
    assert len(whole) == len(polars.read_parquet(third.rows)) + len(polars.read_parquet(third.seen.rows))
    charges = {entry.charged for entry in book.entries("people")}
    assert len(charges) == 1
    assert charges == {max(first.channel.loss_replace, third.seen.channel.loss_replace)}
    with pytest.raises(td.errors.Refused, match="all 3 planned views"):
        td.publish(policy, people(), ledger=book, accept_exposure=True, out=out)
    assert len(book.entries("people")) == 3
    assert len(shown_cells(out, policy.domain)) >= len(shown)


def test_other_terms_are_refused(tmp_path: Path, book: td.Ledger) -> None:
    out = tmp_path / "series"
    td.publish(td.load_policy(SERIES), people(40), ledger=book, accept_exposure=True, out=out)
    other = td.load_policy({**SERIES, "adversary": {**TERMS, "posterior": 0.7}})
    with pytest.raises(td.errors.Refused, match="earlier views"):
        td.publish(other, people(40), ledger=book, accept_exposure=True, out=out)
    shutil.rmtree(out / "view-1")
    with pytest.raises(td.errors.ReleaseError, match="view 1 of the series is missing"):
        td.publish(td.load_policy(SERIES), people(40), ledger=book, accept_exposure=True, out=out)
    (out / "series.json").write_text("{")
    with pytest.raises(td.errors.ReleaseError, match="cannot be read"):
        td.publish(td.load_policy(SERIES), people(40), ledger=book, accept_exposure=True, out=out)


def test_a_growing_prior_is_refused(tmp_path: Path, book: td.Ledger) -> None:
    def said(records: int) -> td.Policy:
        return td.load_policy({**SERIES, "adversary": {**TERMS, "prior": {"k": 1}, "records": records}})

    td.publish(said(24), people(24), ledger=book, accept_exposure=True, out=tmp_path / "series")
    with pytest.raises(td.errors.Refused, match="has grown"):
        td.publish(said(240), people(40), ledger=book, accept_exposure=True, out=tmp_path / "series")


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, book: td.Ledger) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").touch()
    with pytest.raises(td.errors.ReleaseError, match="not a series"):
        td.publish(td.load_policy(SERIES), people(40), ledger=book, accept_exposure=True, out=tmp_path / "photos")


def test_a_view_that_was_begun_counts(tmp_path: Path, book: td.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    policy, out = td.load_policy(SERIES), tmp_path / "series"

    def full(*_: object, **__: object) -> str:
        raise OSError(28, "no space")

    with monkeypatch.context() as patch:
        patch.setattr("tetraodon.views.publish.fill_folder", full)
        with pytest.raises(td.errors.ReleaseError, match="disk is full"):
            td.publish(policy, people(40), ledger=book, accept_exposure=True, out=out)
    with pytest.raises(td.errors.ReleaseError, match="--resume"):
        td.publish(policy, people(40), ledger=book, accept_exposure=True, out=out)
    first = td.publish(policy, people(40), ledger=book, accept_exposure=True, out=out, resume=True)
    assert first.rows.parts[-2:] == ("view-1", "tuples.parquet")
    assert len(book.entries("people")) == 1
    assert (
        td.publish(policy, people(40), ledger=book, accept_exposure=True, out=out, resume=True) == first
    )  # nothing is left to be finished
    assert len(book.entries("people")) == 1
    view = td.publish(policy, people(40), ledger=book, accept_exposure=True, out=out)
    assert view.rows.parts[-3:] == ("view-2", "parts", "fresh.parquet")
    state = json.loads((out / "series.json").read_text())
    assert (state["begun"], state["published"]) == (2, [1, 2])


def test_a_view_that_was_begun_by_version_0_1_counts(tmp_path: Path, book: td.Ledger) -> None:
    """It kept nothing to be resumed, so its number is spent."""
    policy, out = td.load_policy(SERIES), tmp_path / "series"
    td.publish(policy, people(40), ledger=book, accept_exposure=True, out=out)
    state = json.loads((out / "series.json").read_text())
    (out / "series.json").write_text(json.dumps({**state, "begun": 2}))
    assert td.publish(policy, people(40), ledger=book, accept_exposure=True, out=out).rows.parts[-3] == "view-3"


# -- series view -------------------------------------------------------------------------------------
# Later views: their law by enumeration, their estimates without bias, whatever the table was before.


DOMAIN = Domain((Attribute("x", Integers(0, 199)),))
PLANNED = Series(SetChannel(F(1, 2), F(1, 20)), SetChannel(F(1, 10), F(9, 20)), 3)
COPIES = Series(CopyChannel(F(1, 2), F(1, 20)), CopyChannel(F(1, 2), F(9, 10)), 3)


def test_the_fresh_part_has_its_law_and_shows_nothing_seen() -> None:
    """Three tuples, of which the second was shown before; records 0 and 1."""
    series = Series(SetChannel(F(1, 2), F(1, 3)), SetChannel(F(1, 10), F(2, 5)), 2)
    law: Counter[tuple[int, ...]] = Counter()
    cells, counts, seen = np.array([0, 1], np.uint64), np.ones(2, np.int64), np.array([1], np.uint64)
    for chance, words in coin_strings(series.fresh, 1, 3, 3):
        coins = Script([*words, *[0] * 40])
        found = list(fresh_cells(series, 3, cells, counts, seen, coins=coins))
        law[tuple(np.concatenate(found).tolist())] += chance  # type: ignore[assignment]
    for shown in ((), (0,), (2,), (0, 2)):
        mine = F(5, 6) if 0 in shown else F(1, 6)
        other = F(1, 3) if 2 in shown else F(2, 3)
        assert law[shown] == mine * other


def test_the_seen_part_has_its_law() -> None:
    channel = PLANNED.seen
    kept = channel.keep / (1 - channel.noise)
    law: Counter[tuple[int, ...]] = Counter()
    for record, first, second in itertools.product((True, False), repeat=3):
        words = [0 if heads else 2**64 - 1 for heads in (record, first, second)]
        found = seen_cells(
            PLANNED,
            np.array([3], np.uint64),
            np.ones(1, np.int64),
            np.array([3, 5], np.uint64),
            coins=Script(words),
        )
        chance = (kept if record else 1 - kept) * math.prod(
            (channel.noise if heads else 1 - channel.noise for heads in (first, second)), start=F(1)
        )
        law[tuple(found.tolist())] += chance  # type: ignore[assignment]
    assert law[(3,)] + law[(3, 5)] == channel.shown
    assert law[(5,)] + law[(3, 5)] == channel.noise


def views_of(series: Series, tables: list[np.ndarray], folder: Path) -> list[View]:
    """A series of views of a table as it changes, in files."""
    found, shown = [], np.zeros(0, np.uint64)
    for number, table in enumerate(tables, 1):
        counts = np.ones(len(table), np.int64)
        fresh = np.concatenate(list(fresh_cells(series, DOMAIN.size, table, counts, shown, coins=system_coins())))
        rows = seen_cells(series, table, counts, shown, coins=system_coins())
        files = [folder / f"{number}-{name}.parquet" for name in ("fresh", "rows", "before")]
        for file, cells in zip(files, (fresh, rows, shown), strict=True):
            write_tuples(DOMAIN, [cells], file)
        seen = Seen(series.seen, files[1], files[2]) if number > 1 else None
        found.append(View("t", DOMAIN, series.fresh, files[0], 100, {}, seen))
        shown = np.unique(np.concatenate([shown, fresh, rows]))
    return found


@pytest.mark.parametrize("series", [PLANNED, COPIES])
def test_estimates_are_unbiased_whatever_the_table_was_before(series: Series) -> None:
    """The third of three views, by its formula, over many series; false alarms below 1e-9 (a normal beyond 6.5)."""
    even, odd = np.arange(0, 200, 2, dtype=np.uint64), np.arange(1, 200, 2, dtype=np.uint64)
    values = []
    for _ in range(400):
        shown = np.zeros(0, np.uint64)
        for table in (even, odd, even[:50]):
            counts = np.ones(len(table), np.int64)
            fresh = np.concatenate(list(fresh_cells(series, 200, table, counts, shown, coins=system_coins())))
            rows = seen_cells(series, table, counts, shown, coins=system_coins())
            last, shown = shown, np.unique(np.concatenate([shown, fresh, rows]))
        value = series.fresh.estimate(len(fresh), 200 - len(last)) + series.seen.estimate(len(rows), len(last))
        values.append(float(value))
    assert abs(np.mean(values) - 50) < 6.5 * np.std(values) / math.sqrt(400)


def test_a_later_view_is_asked_like_any_other(tmp_path: Path) -> None:
    table = np.arange(0, 200, 2, dtype=np.uint64)
    views = views_of(PLANNED, [table] * 3, tmp_path)
    for view in views:
        found = view.ask("x < 100")
        assert found.lower <= max(found.value, 0) <= found.upper  # no interval of a count begins below zero
    last = views[-1]
    assert last.seen is not None
    import polars

    def below(path: Path) -> int:
        return len(polars.read_parquet(path).filter(polars.col("x") < 100))

    before = below(last.seen.before)
    exact = last.channel.estimate(below(last.rows), 100 - before) + PLANNED.seen.estimate(below(last.seen.rows), before)
    assert last.ask("x < 100").value == pytest.approx(float(exact))
    by, each = last.ask("select x, count(*) from t group by x"), last.ask("select sum(x), avg(x) from t where x < 100")
    assert isinstance(by, dict)
    assert isinstance(each, dict)
    assert sum(by[x] for x in range(100)) == pytest.approx(float(exact))
    assert each["sum(x)"] == pytest.approx(sum(x * by[x] for x in range(100)))
    assert each["avg(x)"].lower <= 49 <= each["avg(x)"].upper


def test_the_combined_estimate_weighs_by_precision(tmp_path: Path) -> None:
    table = np.arange(0, 200, 2, dtype=np.uint64)
    views = views_of(PLANNED, [table] * 2, tmp_path)
    one, two = (float(view.ask("x < 100").value) for view in views)
    first, second = (float(1 / planned_variance(view, number)) for number, view in enumerate(views, 1))
    found = combined(views, "x < 100")
    assert found.value == pytest.approx((one * first + two * second) / (first + second))
    assert found.lower <= found.value <= found.upper
    with pytest.raises(QueryError, match="no view"):
        combined([], "x < 100")


@pytest.mark.parametrize("channel", [PLANNED.seen, COPIES.seen])
def test_nothing_seen_gives_nothing(channel: ViewChannel) -> None:
    none = np.zeros(0, np.uint64)
    series = Series(channel, channel, 2)
    assert len(seen_cells(series, np.array([1], np.uint64), np.ones(1, np.int64), none, coins=system_coins())) == 0
