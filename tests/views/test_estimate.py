"""Asking a view: estimates are unbiased, groups are complete, intervals cover, and nothing else can be asked."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from tetraodon.domain import Attribute, Categories, Domain, Grid, Integers
from tetraodon.errors import QueryError, Refused, ReleaseError
from tetraodon.inference.estimate import Estimate
from tetraodon.noise.coins import system_coins
from tetraodon.query.condition.select import read_question
from tetraodon.query.condition.syntax import Names
from tetraodon.views.channel import CopyChannel, SetChannel, ViewChannel
from tetraodon.views.estimate import Asked, ShownPart, TupleFile, share_interval, uniform_codes
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
    for number, shown in enumerate(itertools.product((False, True), repeat=4)):
        rows = [cell for cell, yes in zip(cells, shown, strict=True) if yes]
        weight = math.prod(
            float(SET.shown if cell in table else SET.noise)
            if yes
            else float(1 - (SET.shown if cell in table else SET.noise))
            for cell, yes in zip(cells, shown, strict=True)
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
