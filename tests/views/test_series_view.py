"""Later views: their law by enumeration, their estimates without bias, whatever the table was before."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.noise.walk import Script
from tests.views.test_sampling import coin_strings
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import QueryError
from tetraodon.noise.coins import system_coins
from tetraodon.views.channel import CopyChannel, SetChannel, ViewChannel
from tetraodon.views.series import Series, fresh_cells, seen_cells
from tetraodon.views.tuple_files import write_tuples
from tetraodon.views.view import Seen, View, combined, planned_variance

F = Fraction
DOMAIN = Domain((Attribute("x", Integers(0, 199)),))
SETS = Series(SetChannel(F(1, 2), F(1, 20)), SetChannel(F(1, 10), F(9, 20)), 3)
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
    channel = SETS.seen
    kept = channel.keep / (1 - channel.noise)
    law: Counter[tuple[int, ...]] = Counter()
    for record, first, second in itertools.product((True, False), repeat=3):
        words = [0 if heads else 2**64 - 1 for heads in (record, first, second)]
        found = seen_cells(
            SETS, np.array([3], np.uint64), np.ones(1, np.int64), np.array([3, 5], np.uint64), coins=Script(words)
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


@pytest.mark.parametrize("series", [SETS, COPIES])
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
    views = views_of(SETS, [table] * 3, tmp_path)
    for view in views:
        found = view.ask("x < 100")
        assert found.lower <= max(found.value, 0) <= found.upper  # no interval of a count begins below zero
    last = views[-1]
    assert last.seen is not None
    import polars

    def below(path: Path) -> int:
        return len(polars.read_parquet(path).filter(polars.col("x") < 100))

    before = below(last.seen.before)
    exact = last.channel.estimate(below(last.rows), 100 - before) + SETS.seen.estimate(below(last.seen.rows), before)
    assert last.ask("x < 100").value == pytest.approx(float(exact))
    by, each = last.ask("select x, count(*) from t group by x"), last.ask("select sum(x), avg(x) from t where x < 100")
    assert isinstance(by, dict)
    assert isinstance(each, dict)
    assert sum(by[x] for x in range(100)) == pytest.approx(float(exact))
    assert each["sum(x)"] == pytest.approx(sum(x * by[x] for x in range(100)))
    assert each["avg(x)"].lower <= 49 <= each["avg(x)"].upper


def test_the_combined_estimate_weighs_by_precision(tmp_path: Path) -> None:
    table = np.arange(0, 200, 2, dtype=np.uint64)
    views = views_of(SETS, [table] * 2, tmp_path)
    one, two = (float(view.ask("x < 100").value) for view in views)
    first, second = (float(1 / planned_variance(view, number)) for number, view in enumerate(views, 1))
    found = combined(views, "x < 100")
    assert found.value == pytest.approx((one * first + two * second) / (first + second))
    assert found.lower <= found.value <= found.upper
    with pytest.raises(QueryError, match="no view"):
        combined([], "x < 100")


@pytest.mark.parametrize("channel", [SETS.seen, COPIES.seen])
def test_nothing_seen_gives_nothing(channel: ViewChannel) -> None:
    none = np.zeros(0, np.uint64)
    series = Series(channel, channel, 2)
    assert len(seen_cells(series, np.array([1], np.uint64), np.ones(1, np.int64), none, coins=system_coins())) == 0
