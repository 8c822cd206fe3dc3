"""Asking a view: estimates are unbiased, groups are complete, intervals cover, and nothing else can be asked."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from tests.views.test_publish import POLICY
from tetraodon.domain import Attribute, Categories, Domain, Grid, Integers
from tetraodon.errors import QueryError, Refused, ReleaseError
from tetraodon.exact.arrays import Floats
from tetraodon.inference.estimate import Estimate
from tetraodon.noise.coins import system_coins
from tetraodon.policy.adversary import Adversary
from tetraodon.policy.load import load_policy
from tetraodon.query.condition.select import read_question
from tetraodon.query.condition.syntax import Names
from tetraodon.views import estimate as aggregates
from tetraodon.views.channel import CopyChannel, SetChannel, ViewChannel
from tetraodon.views.estimate import Asked, Records, ShownPart, TupleFile, share_interval, uniform_codes
from tetraodon.views.exposure import Exposure, shown
from tetraodon.views.plan import plan_view
from tetraodon.views.report import error_rows as errors
from tetraodon.views.report import estimator, exposure_ahead, plan_in_words, what_it_is
from tetraodon.views.report import exposure_in_words as exposed
from tetraodon.views.view import View

NATIONS = ("American", "British", "Indian")
SCORES = Domain(
    (
        Attribute("age", Integers(20, 39)),
        Attribute("nationality", Categories(NATIONS), other=0),
        Attribute("score", Integers(81, 100)),
    )
)
PRINTED = [
    (25, "British", 99), (21, "British", 99), (22, "Indian", 89), (32, "Indian", 90), (28, "Indian", 99),
    (29, "American", 81), (33, "American", 94), (27, "American", 94), (32, "British", 83), (36, "American", 94),
    (26, "American", 99), (39, "Indian", 94),
]  # fmt: skip
"""Table 1(d) of [RS07]."""


def view_of(
    folder: Path, rows: Iterable[tuple[object, ...]], domain: Domain, channel: ViewChannel, n: int | None = None
) -> View:
    frame = pl.DataFrame(list(rows), schema=list(domain.names), orient="row")
    frame.write_parquet(folder / "tuples.parquet")
    (folder / "regions.csv").write_text("country,gdp\nBritish,20000\nIndian,5000\n")
    return View("people", domain, channel, folder / "tuples.parquet", n, {"regions": folder / "regions.csv"})


@pytest.fixture
def printed(tmp_path: Path) -> View:
    return view_of(tmp_path, PRINTED, SCORES, SetChannel(Fraction(2, 3), Fraction(1, 150)), 6)


def test_example_of_the_paper_with_the_right_numbers(printed: View) -> None:
    """[RS07] Example 4.1: (6 - 549/150) / (2/3) = 3.51; the truth is 3."""
    found = printed.ask("select count(*) from people where score < 3 * age")
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(3.51, abs=1e-12)
    assert found.lower <= 3 <= found.upper <= 6
    assert printed.ask("score < 3*age") == found
    assert printed.ask("select count(*) n from People as p where p.score < 3 * p.age") == found


def test_groups_are_those_of_the_domain(printed: View) -> None:
    found = printed.ask("select nationality, count(*) from people where age > 30 group by nationality")
    assert isinstance(found, dict)
    assert list(found) == list(NATIONS)
    for nation in NATIONS:
        assert found[nation] == printed.ask(f"age > 30 and nationality = '{nation}'")
    pairs = printed.ask("select count(*) from people group by nationality, age")
    assert isinstance(pairs, dict)
    assert len(pairs) == 60
    assert pairs["British", 21] == printed.ask("age = 21 and nationality = 'British'")
    assert printed.ask("select nationality, count(*) from people group by 1") == printed.ask(
        "select count(*) from people group by nationality"
    )


def test_side_tables(printed: View) -> None:
    poor = printed.ask("nationality in (select country from regions where gdp < 10000)")
    assert poor == printed.ask("nationality = 'Indian'")
    assert poor == printed.ask("exists (select 1 from regions where country = nationality and gdp < 10000)")


def test_sums_and_averages(printed: View) -> None:
    total = printed.ask("select sum(score) from people where age > 30")
    count = printed.ask("age > 30")
    average = printed.ask("select avg(score) from people where age > 30")
    assert isinstance(total, Estimate)
    assert isinstance(count, Estimate)
    assert isinstance(average, Estimate)
    seen = sum(score for age, _, score in PRINTED if age > 30)
    there = 9 * 3 * sum(range(81, 101))
    assert total.value == pytest.approx((seen - there / 150) * 1.5)
    assert average.value == pytest.approx(min(max(total / count, 81), 100))
    assert 81 <= average.lower <= average.upper <= 100
    by = printed.ask("select nationality, sum(score) from people group by nationality")
    assert isinstance(by, dict)
    assert sum(by.values()) == pytest.approx(printed.ask("select sum(score) from people"))


TINY = Domain((Attribute("a", Integers(0, 1)), Attribute("b", Grid(Fraction(0), Fraction(1, 2), Fraction(1, 2)))))
SET = SetChannel(Fraction(1, 2), Fraction(1, 5))


@pytest.mark.parametrize("sql", ["b > a / 10", "select sum(b) from people where a < 2", "b < 0.1 or a = 0"])
def test_it_is_unbiased_exactly(sql: str, tmp_path: Path) -> None:
    """The mean over all views of a table, weighted by their probabilities, is the truth."""
    cells = list(itertools.product((0, 1), (0.0, 0.5)))
    table = {(1, 0.5), (0, 0.5), (0, 0.0)}
    truths = {"b > a / 10": 2.0, "select sum(b) from people where a < 2": 1.0, "b < 0.1 or a = 0": 2.0}
    mean = 0.0
    for number, drawn in enumerate(itertools.product((False, True), repeat=4)):
        rows = [cell for cell, yes in zip(cells, drawn, strict=True) if yes]
        weight = math.prod(
            float(SET.shown if cell in table else SET.noise)
            if yes
            else float(1 - (SET.shown if cell in table else SET.noise))
            for cell, yes in zip(cells, drawn, strict=True)
        )
        folder = tmp_path / str(number)
        folder.mkdir()
        frame = pl.DataFrame(rows, schema={"a": pl.Int64, "b": pl.Float64}, orient="row")
        frame.write_parquet(folder / "t.parquet")
        found = View("people", TINY, SET, folder / "t.parquet").ask(sql)
        assert isinstance(found, Estimate)
        mean += weight * found
    assert mean == pytest.approx(truths[sql], abs=1e-9)


@pytest.mark.parametrize("in_domain", range(1, 7))
def test_a_public_number_of_records_serves_questions_about_most_of_the_domain(in_domain: int) -> None:
    """By enumeration: unbiased, never varying more than without n, and the interval holds."""
    domain = Domain((Attribute("x", Integers(1, 6)),))
    channel, n = SetChannel(Fraction(1, 3), Fraction(1, 5)), 2
    question = read_question("x > 0", Names(domain, "t", {}))
    asked = Asked(TupleFile(domain, Path("none")), channel, n, question, Fraction(4, 5))
    for held in itertools.combinations(range(6), n):
        true = sum(cell < in_domain for cell in held)
        mean = square = holds = Fraction(0)
        for view in itertools.product((0, 1), repeat=6):
            shown = (channel.shown if cell in held else channel.noise for cell in range(6))
            chance = math.prod((p if seen else 1 - p for p, seen in zip(shown, view, strict=True)), start=Fraction(1))
            shown_there = ShownPart(
                channel, *(np.array([count], object) for count in (sum(view[:in_domain]), in_domain))
            )
            found = asked.count(shown_there, sum(view))
            mean += chance * Fraction(found.value)
            square += chance * Fraction(found.value) ** 2
            holds += chance * (found.lower <= true <= found.upper)
        assert float(mean) == pytest.approx(true)
        assert float(square - mean**2) <= float(channel.variance(true, in_domain)) + 1e-9
        assert holds >= Fraction(4, 5)
        assert in_domain < 6 or float(square) == pytest.approx(n * n)


def test_all_records_are_as_many_as_is_public(printed: View) -> None:
    found = printed.ask("select count(*) from people")
    assert isinstance(found, Estimate)
    assert (found.value, *found.interval, found.confidence) == (6, 6, 6, 1)
    nobody = printed.ask("age > 39")
    assert isinstance(nobody, Estimate)
    assert (nobody.value, *nobody.interval, nobody.confidence) == (0, 0, 0, 1)


def test_more_confidence_is_a_wider_interval(printed: View) -> None:
    narrow, wide = (printed.ask("score < 3 * age", confidence=level) for level in ("0.8", "0.999"))
    assert isinstance(narrow, Estimate)
    assert isinstance(wide, Estimate)
    assert wide.lower <= narrow.lower <= narrow.upper <= wide.upper


BROAD = Domain(tuple(Attribute(f"x{i}", Integers(1, 1000)) for i in range(5)))


def test_too_wide_is_refused_or_sampled(tmp_path: Path) -> None:
    rows = [(i, i, i, i, i) for i in range(1, 101)]
    view = view_of(tmp_path, rows, BROAD, SetChannel(Fraction(1, 2), Fraction(1, 10**13)))
    asked = "x0 + x1 + x2 + x3 + x4 < 300"
    with pytest.raises(Refused, match="allow a sampled count"):
        view.ask(asked)
    found = view.ask(asked, sample=20_000)
    assert isinstance(found, Estimate)
    assert found.lower <= 118 <= found.upper < 300
    with pytest.raises(QueryError, match="one count only"):
        view.ask(f"select x0, count(*) from people where {asked} group by x0", sample=100)


def test_sampled_codes_are_uniform() -> None:
    """A chi-squared test at a false-alarm rate of one in a billion."""
    codes = uniform_codes(6, 60_000, system_coins())
    assert len(codes) == 60_000
    assert stats.chisquare(np.bincount(codes, minlength=6)).pvalue > 1e-9
    with pytest.raises(Refused):
        uniform_codes(2**63, 1, system_coins())


def test_shares() -> None:
    low, high = share_interval(30, 100, Fraction(1, 20))
    assert (float(low), float(high)) == pytest.approx((0.2124, 0.3998), abs=1e-4)
    assert share_interval(0, 10, Fraction(1, 20))[0] == 0
    assert share_interval(10, 10, Fraction(1, 20))[1] == 1


@pytest.mark.parametrize("confidence", [0, 1, "150"])
def test_confidence_is_a_share(printed: View, confidence: object) -> None:
    with pytest.raises(QueryError, match="between 0 and 100%"):
        printed.ask("age > 30", confidence=confidence)  # type: ignore[arg-type]


def test_a_view_without_its_tuples(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="cannot be read"):
        View("people", SCORES, SET, tmp_path / "nothing.parquet").ask("age > 30")
    (tmp_path / "bad.parquet").write_text("no")
    with pytest.raises(ReleaseError, match="cannot be read"):
        View("people", SCORES, SET, tmp_path / "bad.parquet").ask("age > 30")


def test_groups_that_were_chosen_are_covered(tmp_path: Path) -> None:
    """The three largest of forty groups that are all alike: with intervals of 80% each, hardly one view would hold.

    Forty views; a true coverage of 80% raises alarm once in a billion.
    """
    rng, channel = np.random.default_rng(5), CopyChannel(Fraction(1, 2), Fraction(1, 3))
    domain = Domain((Attribute("g", Integers(0, 39)), Attribute("x", Integers(0, 4))))
    held = alone = 0
    for number in range(40):
        shown = rng.binomial(4, 0.5, (40, 5)) + rng.geometric(2 / 3, (40, 5)) - 1  # four records of each tuple
        rows = [(g, x) for g in range(40) for x in range(5) for _ in range(shown[g, x])]
        (tmp_path / str(number)).mkdir()
        view = view_of(tmp_path / str(number), rows, domain, channel)
        found = view.ask("select g, count(*) n from people group by g order by n desc limit 3", confidence="0.8")
        every = view.ask("select g, count(*) from people group by g", confidence="0.8")
        assert isinstance(found, dict)
        assert isinstance(every, dict)
        assert list(found.values()) == sorted(every.values(), reverse=True)[:3]
        held += all(one.lower <= 20 <= one.upper for one in found.values())
        alone += all(every[group].lower <= 20 <= every[group].upper for group in found)
    assert alone < stats.binom.ppf(1e-9, 40, 0.8) <= held


def test_a_select_is_each_of_its_parts(printed: View) -> None:
    both = printed.ask(
        "select nationality, count(*) as n, avg(score + age) from people group by 1 having n > 1 order by n"
    )
    assert isinstance(both, dict)
    assert list(both) == ["Indian", "American"]
    assert both["American"]["n"].value == printed.ask("nationality = 'American'")
    alone = printed.ask("select avg(score + age) from people where nationality = 'Indian'")
    assert both["Indian"]["avg(score + age)"].value == alone
    assert printed.ask("select count(case when age > 30 then 1 end) from people") == printed.ask("age > 30")
    assert printed.ask("select sum(case when age > 30 then 2 end) from people") == pytest.approx(2 * 2.1)
    assert printed.ask("select count(distinct nationality) from people").interval == (0, 3)  # type: ignore[union-attr]


def test_joins_with_public_tables(printed: View, tmp_path: Path) -> None:
    joined = "select count(*) from people p join regions r on r.country = p.nationality"
    assert printed.ask(f"{joined} where r.gdp < 10000 and age > 30") == printed.ask(
        "age > 30 and nationality = 'Indian'"
    )
    assert printed.ask(joined) == printed.ask("nationality in ('British', 'Indian')")
    (tmp_path / "twice.csv").write_text("country,gdp\nBritish,20000\nBritish,5000\n")
    twice = replace(printed, public={"regions": tmp_path / "twice.csv"})
    with pytest.raises(QueryError, match="counts records twice"):
        twice.ask(joined)


# -- aggregates --------------------------------------------------------------------------------------
# Counts, sums, averages and numbers of values: unbiased by enumeration, and intervals that cover.

F = Fraction
PAIRS = [
    (SetChannel(F(1, 2), F(1, 20)), SetChannel(F(1, 4), F(3, 10))),
    (CopyChannel(F(1, 2), F(1, 20)), CopyChannel(F(1, 2), F(1, 2))),
]


def total(records: Records, parts: list[ShownPart], values: Floats) -> Estimate:
    return records.totals([part.in_rows(np.arange(len(values))[None]) for part in parts], values[None])[0]


def mean(records: Records, parts: list[ShownPart], values: Floats) -> Estimate:
    return records.means(
        [part.in_rows(np.arange(len(values))[None]) for part in parts], values[None], np.ones((1, len(values)), bool)
    )[0]


def test_two_parts_are_unbiased() -> None:
    """Three tuples, of which the last was shown before; the first and the last are records."""
    fresh, seen = PAIRS[0]
    records, values = Records(F(1, 10), None, F(9, 10)), np.array([3.0, 5.0, 7.0])
    chances = [fresh.shown, fresh.noise, seen.shown]
    counted = added = 0.0
    for view in itertools.product((0, 1), repeat=3):
        chance = math.prod(float(p if yes else 1 - p) for p, yes in zip(chances, view, strict=True))
        parts = [
            ShownPart(fresh, np.array([view[0], view[1], 0], object), np.array([1, 1, 0], object)),
            ShownPart(seen, np.array([0, 0, view[2]], object), np.array([0, 0, 1], object)),
        ]
        counted += chance * records.count(parts)
        added += chance * total(records, parts, values)
    assert (counted, added) == pytest.approx((2, 10))


def drawn(channel: ViewChannel, counts: Any, rng: np.random.Generator) -> Any:
    if isinstance(channel, SetChannel):
        return (rng.random(counts.shape) < np.where(counts > 0, float(channel.shown), float(channel.noise))).astype(int)
    return rng.binomial(counts, float(channel.keep)) + rng.geometric(1 - float(channel.noise), counts.shape) - 1


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(("later", "views"), [(False, 100), (True, 30)])
def test_intervals_cover(pair: tuple[ViewChannel, ViewChannel], later: bool, views: int) -> None:
    """A true coverage of 90% raises alarm once in a billion; numbers of values, which take long, in 30 views each."""
    rng, labels = np.random.default_rng(3), np.arange(-2.0, 6.0)
    counts = np.zeros((8, 100), int)
    if isinstance(pair[0], SetChannel):
        counts.flat[rng.choice(600, 200, replace=False)] = 1
    else:
        counts.flat[:600] = np.bincount(rng.choice(600, 200), minlength=600)
    each = counts.sum(axis=1)
    truths = {"count": 200.0, "total": each @ labels, "mean": each @ labels / 200, "distinct": float((each > 0).sum())}
    assert truths["distinct"] == 6
    before = np.broadcast_to((np.arange(100) % 5 == 0) & later, (8, 100))
    records, drawings = Records(F(1, 10), None, F(9, 10)), []
    for _ in range(views):
        parts = []
        for channel, where in zip(pair, (~before, before), strict=True):
            seen = np.where(where, drawn(channel, counts * where, rng), 0)
            parts.append(ShownPart(channel, *(np.array(one.sum(axis=1).tolist(), object) for one in (seen, where))))
        drawings.append(parts if later else parts[:1])
    together = [
        ShownPart(
            parts[0].channel, *(np.stack([getattr(part, name) for part in parts]) for name in ("in_view", "in_domain"))
        )
        for parts in zip(*drawings, strict=True)
    ]
    values = np.tile(labels, (views, 1))
    found = {
        "count": [records.count(parts) for parts in drawings],
        "total": records.totals(together, values),
        "mean": records.means(together, values, np.ones(values.shape, bool)),
        "distinct": [records.distinct(parts, labels) for parts in drawings[:30]],
    }
    for name, told in found.items():
        held = sum(one.lower <= truths[name] + 1e-9 and truths[name] - 1e-9 <= one.upper for one in told)
        assert held >= stats.binom.ppf(1e-9, len(told), 0.9)


def test_where_nothing_can_be() -> None:
    none = [ShownPart(PAIRS[0][0], np.array([0, 0], object), np.array([0, 0], object))]
    records, values = Records(F(1, 10), 5, F(9, 10)), np.array([2.0, 4.0])
    assert (records.count(none).interval, records.distinct(none, values).interval) == ((0, 0), (0, 0))
    assert mean(records, none, values).interval == (2, 4)


def test_values_that_surely_occur_and_those_that_may() -> None:
    part = ShownPart(PAIRS[0][0], np.array([60, 5, 4, 0], object), np.array([100, 100, 100, 0], object))
    found = Records(F(1, 20), None, F(19, 20)).distinct([part], np.array([1.0, 2.0, 3.0, 4.0]))
    assert (found.lower, found.value, found.upper) == (1, 1, 3)
    assert Records(F(1, 20), 2, F(19, 20)).distinct([part], np.array([1.0, 2.0, 3.0, 4.0])).upper == 2


@pytest.mark.parametrize("pair", PAIRS)
def test_many_groups_at_once_are_as_each_by_itself(
    pair: tuple[ViewChannel, ViewChannel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups of which other values are known, one that nobody can be in, and two groups being looked at together."""
    monkeypatch.setattr(aggregates, "AT_ONCE", 12)
    rng = np.random.default_rng(9)
    in_domain, values = rng.integers(0, 40, (2, 6, 5)), rng.normal(0, 9, (6, 5))
    known = rng.random((6, 5)) < 0.7
    known[0], in_domain[:, 1] = True, 0
    in_view = rng.binomial(in_domain, 0.4)
    parts = [
        ShownPart(one, v.astype(object), d.astype(object)) for one, v, d in zip(pair, in_view, in_domain, strict=True)
    ]
    records = Records(F(1, 10), 90, F(9, 10))
    shown, told = [part.where(known) for part in parts], np.where(known, values, 0.0)
    sums, means = records.totals(shown, told), records.means(shown, told, known)
    for at in range(6):
        alone = [part.at((at, known[at])) for part in parts]
        for found, one in (
            (sums[at], total(records, alone, values[at, known[at]])),
            (means[at], mean(records, alone, values[at, known[at]])),
        ):
            assert [found.value, *found.interval] == pytest.approx([one.value, *one.interval])
    assert means[1].interval == (values[1, known[1]].min(), values[1, known[1]].max())


# -- grouping ----------------------------------------------------------------------------------------
# Groups by columns of public tables: the same answers as conditions that list what is in each group.

DOMAIN = Domain(
    (
        Attribute("age", Integers(20, 24)),
        Attribute("nation", Categories(("American", "British", "Indian", "Other")), other=0),
        Attribute("score", Integers(1, 6)),
    )
)
LANDS = "country,continent,gdp\nBritish,Europe,20000\nIndian,Asia,5000\nAmerican,America,30000\nFrench,Europe,1\n"
PLACES = "who,years,set\nIndian,20,a\nBritish,21,a\nIndian,22,b\nBritish,20,b\n"
JOIN = "from people p join lands l on l.country = p.nation"


@pytest.fixture
def view(tmp_path: Path) -> View:
    rows = [(20 + n % 5, ("American", "British", "Indian", "Other")[n % 4], 1 + n % 6) for n in range(0, 60, 2)]
    pl.DataFrame(rows, schema=list(DOMAIN.names), orient="row").write_parquet(tmp_path / "tuples.parquet")
    (tmp_path / "lands.csv").write_text(LANDS)
    (tmp_path / "sets.csv").write_text(PLACES)
    public = {"lands": tmp_path / "lands.csv", "sets": tmp_path / "sets.csv"}
    return View("people", DOMAIN, SetChannel(Fraction(1, 2), Fraction(1, 10)), tmp_path / "tuples.parquet", 40, public)


@pytest.mark.parametrize("asked", ["count(*)", "sum(score)", "avg(score + age)", "count(distinct score)"])
def test_a_group_is_what_meets_its_rows(view: View, asked: str) -> None:
    found = view.ask(f"select l.continent, {asked} {JOIN} where age > 20 group by l.continent")
    listed = {"America": "American", "Asia": "Indian", "Europe": "British"}
    alone = {
        land: view.ask(f"select {asked} from people where age > 20 and nation = '{nation}'")
        for land, nation in listed.items()
    }
    assert {key: [one.value, *one.interval] for key, one in found.items()} == {
        key: pytest.approx([one.value, *one.interval]) for key, one in alone.items()
    }


def test_several_cells_are_one_group_and_attributes_group_beside(view: View) -> None:
    found = view.ask(
        "select s.set, age, count(*) as n from people join sets s on s.who = nation and s.years = age group by 1, age"
    )
    assert len(found) == 10
    assert found["a", 20] == pytest.approx(view.ask("age = 20 and nation = 'Indian'"))
    assert found["b", 24] == 0
    both = view.ask("select s.set, count(*) from people join sets s on s.years = age and nation = s.who group by set")
    assert both["b"] == view.ask("(age = 22 and nation = 'Indian') or (age = 20 and nation = 'British')")


def test_groups_are_chosen_and_ordered(view: View) -> None:
    ordered = view.ask(f"select continent, count(*) as n {JOIN} group by continent order by continent desc limit 2")
    assert list(ordered) == ["Europe", "Asia"]
    chosen = view.ask(f"select gdp, count(*) as n {JOIN} group by gdp having n > -1000 order by n")
    assert set(chosen) == {"20000", "30000", "5000"}


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        (f"select l.planet, count(*) {JOIN} group by l.planet", "no column planet"),
        (f"select l.gdp, count(*) {JOIN} group by l.continent", "selected but not grouped by"),
        (f"select count(*) {JOIN} group by l.gdp + 1", "no attribute"),
    ],
)
def test_what_is_not_there_is_refused(view: View, asked: str, what: str) -> None:
    with pytest.raises(QueryError, match=what):
        view.ask(asked)


def test_tables_with_gaps_or_nobody_are_refused(view: View, tmp_path: Path) -> None:
    question = f"select l.continent, count(*) {JOIN} group by l.continent"
    for lands, what in (
        ("country,continent\nBritish,\nIndian,Asia\n", "gaps"),
        ("country,continent\nx,y\n", "no value"),
    ):
        (tmp_path / f"{what}.csv").write_text(lands)
        with pytest.raises(QueryError, match=what):
            replace(view, public={"lands": tmp_path / f"{what}.csv"}).ask(question)


# -- distinct tuples ---------------------------------------------------------------------------------


def test_tuples_are_counted_over_the_ends_of_parts() -> None:
    parts = [np.array(part, np.uint64) for part in ([1, 1, 2], [], [2], [2, 3], [3, 5])]
    found = shown(parts)
    assert found.cells.tolist() == [1, 2, 3, 5]
    assert found.copies.tolist() == [2, 3, 2, 1]


def test_of_very_many_tuples_evenly_spaced_ones_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tetraodon.views.exposure.MOST", 4)
    for cut in range(1, 11):
        found = shown([np.arange(0, cut, dtype=np.uint64), np.arange(cut, 11, dtype=np.uint64)])
        assert (found.every, found.cells.tolist()) == (4, [0, 4, 8])


# -- words -------------------------------------------------------------------------------------------

PLAN = plan_view(load_policy(POLICY))


def test_the_plan_for_the_terminal() -> None:
    told = " ".join(plan_in_words(PLAN))
    for words in ("1,200 possible tuples", "keep 1413/2500", "(repeated rows)", "more than 50% after", "n/sqrt(m)"):
        assert words in told


def test_a_number_that_is_not_public_is_not_made_up() -> None:
    plan = plan_view(load_policy(POLICY), Adversary(d="0.1", gamma="0.5"))
    assert "not public" in plan_in_words(plan)[-1]
    assert errors(plan)[0][1] == "records at most"


def test_errors_stop_at_single_tuples() -> None:
    assert [row[0] for row in errors(PLAN)[1:]] == ["100% of all", "10% of all", "1% of all", "0.1% of all"]


def test_the_formula() -> None:
    told = estimator(CopyChannel(Fraction(1, 2), Fraction(1, 101)))
    assert told == "(rows of the view - 0.01 * tuples of the domain) / 0.5"


def test_a_chance_below_one_does_not_read_as_certainty() -> None:
    plan = plan_view(load_policy(POLICY))
    nearly = replace(plan, channel=CopyChannel(Fraction(99997, 100000), Fraction(1, 10**6)))
    assert "probability 99.997%," in what_it_is(nearly)
    closer = replace(plan, channel=CopyChannel(1 - Fraction(1, 10**9), Fraction(1, 10**6)))
    assert "probability more than 99.9999%," in what_it_is(closer)


def test_what_is_exposed() -> None:
    told = exposed(Exposure(named=13900, right=0.9843, records=0.7985, new=10170, new_records=0.4))
    for words in ("names 13,900 of its tuples", "98.4% of these", "79.8% of all records", "10,170 of the tuples"):
        assert words in told
    assert "can name none" in exposed(Exposure(0, 0.0, 0.0, 0, 0.0))


def test_what_can_be_said_of_it_beforehand() -> None:
    told = exposure_ahead(PLAN)
    assert "dense regime" in told[0]
    assert "Several copies may" in told[0]
    assert re.search(
        r"20 made-up tables .* attributes are independent, .* expose 0% to .* and \d+ would be held", told[1]
    )
    assert re.search(r"half of the records repeat another, .* and \d+ would be held back", told[2])
    assert "a smaller view is charged by itself" in told[-1]
    sparse = plan_view(load_policy({**POLICY, "budget": {"epsilon": 20}}), Adversary(d="0.001", gamma="0.5"))
    assert "--accept-exposure" in exposure_ahead(sparse)[-1]
