"""The report of a release and its charts."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import vl_convert
from tests.policies import public_policy
from tests.releases.conftest import POLICY
from tests.releases.made import release_with

import tetraodon as td
from tetraodon.releases.names import NamesAnswer
from tetraodon.releases.release import Release
from tetraodon.releases.report import MOST_NAMES as MOST_ROWS
from tetraodon.releases.report import chart_spec, chart_svg, error, named_answer, picture_of, report_html
from tetraodon.report.chart import MOST_POINTS
from tetraodon.report.odds import odds_strips
from tetraodon.report.page import vega_bundle
from tetraodon.report.picture import about

# -- report -----------------------------------------------------------------------------------------
# The report: everything is there, nothing is fetched, text stays text, and only released numbers appear.

ATTACK = "</script><script>alert(1)</script>"
NASTY = "<b>&\"'\u2028"
VOID = {"meta", "br", "hr", "input"}


@pytest.fixture(autouse=True)
def small_bundle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """A cache of the test's own, and a bundle that costs nothing to make; how often it was made is returned."""
    made: list[str] = []

    def bundle() -> str:
        made.append("made")
        return 'window.vegaEmbed = null; // "https://vega.github.io" < &'

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    return made


def noise(shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(3).integers(-4, 5, shape)


@pytest.fixture
def release(policy: td.Policy, table: pl.DataFrame) -> Release:
    return release_with(policy, table, noise)


def page_of(table: pl.DataFrame, **changes: Any) -> str:
    return report_html(release_with(td.load_policy(dict(POLICY) | changes), table, noise))


class Reader(HTMLParser):
    """Tags, attributes and the text that a person sees; fails on elements that are not closed in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[str, str]] = []
        self.data: dict[str, Any] = {}
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            said = self.tags[-1][1]
            self.scripts.append((said.get("type") or "", data))
            if said.get("type") == "application/json":
                self.data[str(said["id"])] = json.loads(data)
        elif self.open and self.open[-1] != "style":
            self.seen.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.seen))

    @property
    def specs(self) -> list[dict[str, Any]]:
        return [data for name, data in self.data.items() if name.startswith("spec-")]


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


# -- the page --------------------------------------------------------------------------------------


def test_every_answer_has_a_section_a_chart_a_table_and_its_files(release: Release) -> None:
    reader = read(report_html(release))
    ids = {attributes.get("id") for _, attributes in reader.tags}
    links = {attributes.get("href") for _, attributes in reader.tags}
    for answer in release.values():
        single = len(answer.columns["lower"]) == 1
        assert f"answer-{answer.name}" in ids
        assert (f"spec-{answer.name}" in ids) is not single
        assert {f"#answer-{answer.name}", f"answers/{answer.name}.csv", f"answers/{answer.name}.parquet"} <= links
    assert 0 < len(reader.specs) < len(release)
    assert sum(tag == "caption" for tag, _ in reader.tags) == sum(tag == "table" for tag, _ in reader.tags)
    charts = [attributes for _, attributes in reader.tags if attributes.get("class") == "chart"]
    assert all(chart["role"] == "img" and chart["aria-label"] for chart in charts)
    assert {link[1:] for link in links if link and link.startswith("#")} <= ids


def test_the_page_says_what_was_promised_and_what_it_cost(release: Release) -> None:
    text = read(report_html(release)).text
    for sentence in td.explain(release.plan.policy).parts[0].sentences:
        assert sentence in text
    assert "A small survey" in text
    assert "1 January 2026" in text
    assert "Charged to the budget 1 " in text
    assert "Its promise is stronger" in text
    assert "tetraodon verify FOLDER" in text
    assert "for each number alone" in text
    assert "made consistent" in text
    assert "The worst step changes one person's" in text


def test_items_that_do_not_add_up_are_explained(release: Release, table: pl.DataFrame) -> None:
    assert sum((item.epsilon for item in release.plan), Fraction(0)) > release.plan.epsilon
    assert "They need not add up" in read(report_html(release)).text
    alone = [{"name": "ages", "histogram": ["age"]}]
    assert "They need not add up" not in read(page_of(table, release=alone)).text


def test_exact_answers_say_so(release: Release) -> None:
    exact = [answer.name for answer in release.values() if answer.item.mechanism == "exact"]
    assert exact
    assert read(report_html(release)).text.count("Published exactly: no secret changes it") == len(exact)


def test_the_bias_of_whole_counts_is_stated_where_there_are_any(table: pl.DataFrame) -> None:
    items = [{"name": "ages", "histogram": ["age"]}, {"name": "older", "cdf": "age", "whole": False}]
    text = read(page_of(table, release=items)).text
    assert "small counts are too large on average" in text
    assert "In older real numbers were asked for" in text
    assert "may differ by a few records" not in text
    real = [{"name": "ages", "histogram": ["age"], "whole": False}]
    assert "bias" not in read(page_of(table, release=real)).text


def test_long_answers_show_their_first_rows(table: pl.DataFrame) -> None:
    items = [{"name": "all", "histogram": ["age", "sex", "income", "region"]}]
    reader = read(page_of(table, release=items))
    assert "too many attributes or values for a chart" in reader.text
    assert "the first 200 of 660 rows" in reader.text
    assert reader.specs == []
    rows = next(attributes for tag, attributes in reader.tags if tag == "details")
    assert "open" in rows
    assert "class" not in rows


# -- what the office says, and the picture of the promise ------------------------------------------------

OFFICE = {"name": "Amt <1>", "source": "Survey", "contact": "a@b.example", "licence": "CC BY 4.0", "language": "de"}


def test_the_office_speaks_for_itself(table: pl.DataFrame) -> None:
    items = [{"name": "n", "title": "Wie viele", "notes": ["Nur hier.", "<b>"], "count": "age > 21"}]
    page = page_of(table, release=items, publisher=OFFICE)
    reader = read(page)
    assert '<html lang="de">' in page
    assert "<h2>Wie viele</h2>" in page
    assert '<p class="theirs">&lt;b&gt;</p>' in page
    assert '<p class="question" lang="en">How many records' in page
    for words in ("Amt <1>", "Survey", "a@b.example", "CC BY 4.0", "Nur hier.", "2026-01-01"):
        assert words in reader.text
    unnamed = read(page_of(table, release=[{"name": "n", "count": "age > 21"}])).text
    assert "Records where age > 21 How many records satisfy" in unnamed


def test_the_promise_is_drawn_for_every_secret(release: Release) -> None:
    strips = {name: data for name, data in read(report_html(release)).data.items() if name.startswith("strip-")}
    assert [data["name"] for data in strips.values()] == ["age", "income", "region"]
    assert list(strips.values()) == [strip.document() for strip in odds_strips(release.plan.policy)]


def test_both_errors_are_told_where_other_answers_help(release: Release) -> None:
    text, told = read(report_html(release)).text, release.joint_errors
    assert {"ages", "older", "men"} <= {*told}
    for item in release.plan:
        sentence = error(item, release.plan.policy.domain, told.get(item.name))
        assert sentence in text
        assert ("its own noise" in sentence) == (item.name in told)
    ages = release.plan["ages"]
    assert error(ages, release.plan.policy.domain, ages.expected_error / 2).endswith(
        f"as it is here, by {about(ages.expected_error / 2)}."
    )


def test_what_takes_back_a_part_of_the_promise_is_not_folded(table: pl.DataFrame) -> None:
    page = page_of(table, budget={"epsilon": 1, "delta": "1e-6"}, release=[{"name": "ages", "histogram": "age"}])
    promise = page[page.index('id="promise"') :]
    assert promise.index("Delta is 1 in 1,000,000") < promise.index('class="strip"') < promise.index("<details")


def test_fractions_are_decimals_and_stand_exactly_where_one_looks(table: pl.DataFrame) -> None:
    items = [{"name": "ages", "histogram": "age"}]
    reader = read(page_of(table, release=items, budget={"epsilon": "1/3"}))
    assert "Epsilon 0.3334." in reader.text
    assert "Epsilon of the release 0.3334" in reader.text
    assert "Exactly epsilon 1/3" in reader.text


# -- nothing else is on it ---------------------------------------------------------------------------


def test_nothing_is_fetched_from_anywhere(release: Release, small_bundle: list[str]) -> None:
    page = report_html(release)
    assert small_bundle == ["made"]
    ours = page.replace(vega_bundle(), "")
    assert not re.search(r"""(?:src|href|action|data)\s*=\s*["']?\s*(?:[a-z]+:)?//""", ours, re.IGNORECASE)
    assert not re.search(r"@import|url\(|\bfetch\(|XMLHttpRequest|https?:", ours)
    assert {tag for tag, _ in read(page).tags}.isdisjoint({"link", "img", "iframe", "object", "embed", "form", "base"})


def test_only_our_own_scripts_may_run(release: Release) -> None:
    reader = read(report_html(release))
    (rules,) = [a["content"] for _, a in reader.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert rules is not None
    assert "default-src 'none'" in rules
    assert "unsafe-eval" not in rules
    codes = [code for kind, code in reader.scripts if not kind]
    assert len(codes) == 2
    for code in codes:
        assert base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() in rules


def test_no_text_of_the_policy_is_read_as_html_or_script(table: pl.DataFrame) -> None:
    attributes = dict(POLICY["attributes"]) | {"region": [NASTY, ATTACK, "east"], "a<i>ge": {"integer": [0, 3]}}
    secrets = {"age": {"within": 2}, "region": {"blocks": [[NASTY, ATTACK], ["east"]]}}
    items = [
        {"name": "regions", "histogram": ["region", "a<i>ge"]},
        {"name": "n", "quantiles": "age", "bounds": True, "by": "region"},
    ]
    odd = table.with_columns(pl.lit(1).alias("a<i>ge"), pl.lit(NASTY).alias("region"))
    changes = {"title": ATTACK, "dataset": "<i>data</i>", "attributes": attributes, "secrets": secrets}
    page = page_of(odd, release=items, **changes)
    assert "alert(1)" in page
    assert ATTACK not in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert "\u2028" not in re.sub(r"<(td|li|p|dd|label)\b.*?</\1>", "", page)
    reader = read(page)
    assert len([kind for kind, _ in reader.scripts if not kind]) == 2
    assert ATTACK in reader.text
    assert {row["a0"] for row in reader.specs[0]["data"]["values"]} | {
        row["a1"] for row in reader.specs[0]["data"]["values"]
    } >= {NASTY, ATTACK, "east", 0, 3}


def test_what_is_only_in_the_table_never_appears(table: pl.DataFrame) -> None:
    marked = table.with_columns(
        pl.when(pl.int_range(pl.len()) == 5).then(pl.lit("MARKER-4711")).otherwise(pl.col("region")).alias("region"),
        pl.when(pl.int_range(pl.len()) == 6).then(987_654_321).otherwise(pl.col("age")).alias("age"),
        pl.lit("MARKER-COLUMN").alias("unused"),
    )
    page = page_of(marked)
    assert "MARKER" not in page
    assert "unused" not in page
    assert "987654321" not in page.replace(",", "")


def test_true_counts_appear_only_where_they_are_released(policy: td.Policy, table: pl.DataFrame) -> None:
    """With noise that no release would have, every noisy number on the page is far from the truth."""
    shifted = release_with(policy, table.head(397), lambda shape: np.full(shape, 100_000, np.int64))
    text = read(report_html(shifted)).text.replace(",", "")
    true_men = table.head(397).filter((pl.col("sex") == "Male") & (pl.col("age") > 24)).height
    assert abs(float(shifted["men"].columns["count"][0]) - true_men) > 10  # it may be no more than all or none of them
    assert not re.search(rf"(?<![\d.]){true_men}(?![\d.])", text)


# -- names report -----------------------------------------------------------------------------------
# Names on the page of a release: the first of many, the office's own title, and nothing read as HTML.

BASE: dict[str, Any] = {
    "dataset": "d",
    "attributes": {"x": {"integer": [0, 3]}, "word": {"open": "text"}},
    "budget": {"epsilon": 1, "delta": "1e-6"},
}


def shown(told: tuple[tuple[str, int], ...], **more: Any) -> dict[str, Any]:
    (item,) = td.plan(BASE | {"release": [{"name": "words", "names": "word", **more}]}).names
    answer = NamesAnswer(item, told)
    return named_answer(answer) | {"title": answer.title, "question": answer.sentence, "notes": answer.item.item.notes}


def test_what_does_not_appear_is_said() -> None:
    page = shown((("b", 500), ("a", 400)))
    assert page["title"] == "Names in word"
    assert "do not appear" in page["question"]
    assert page["table"].rows[0][:2] == ("b", "500")
    assert page["chart"]["data"]["values"][0].items()
    assert "delta" in page["facts"]["Certificate"]


def test_the_office_has_its_own_words() -> None:
    page = shown((("b", 500),), title="What people wrote", notes="Translated.")
    assert (page["title"], page["notes"]) == ("What people wrote", ("Translated.",))
    assert page["chart"] is None


def test_the_first_of_many_names_are_shown() -> None:
    page = shown(tuple((f"w{place:04}", 9000 - place) for place in range(MOST_ROWS + 5)))
    assert len(page["table"].rows) == MOST_ROWS
    assert "the first 200 of 205 names" in page["table"].caption


def test_no_name_is_said_in_words() -> None:
    page = shown(())
    assert page["figures"][0]["number"] == "No name"
    assert page["table"].rows == []


# -- chart ------------------------------------------------------------------------------------------
# Charts: the right kind for every answer, only released numbers in them, and never too much of it.

CHART_NASTY = "<b>&\"'\\"
ATTRIBUTES: Mapping[str, Any] = {
    "age": {"integer": [17, 90], "unit": "years"},
    "sex": ["Female", "Male"],
    "grade": {"ordered": ["low", "middle", "high"]},
    "region": [CHART_NASTY, "south", "east", "west"],
    "loss": {"integer": [0, 4999], "unit": "USD"},
    "day": {"date": ["2026-01-01", "2026-03-31"]},
    "town": [f"town {n}" for n in range(70)],
    "mark": {"real": [0, 10], "step": 0.5},
}
ROWS = 500


def noise_of_chart(shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(7).integers(-9, 10, shape)


def made(*items: Mapping[str, Any], **changes: Any) -> Release:
    document = public_policy(
        dataset="charts",
        attributes=ATTRIBUTES,
        secrets={"age": {"within": 5}, "sex": "public"},
        together="one attribute at a time",
        release=list(items),
    )
    rng = np.random.default_rng(11)
    table = pl.DataFrame(
        {
            "age": rng.integers(17, 91, ROWS),
            "sex": rng.choice(["Female", "Male"], ROWS),
            "grade": rng.choice(["low", "middle", "high"], ROWS),
            "region": rng.choice([CHART_NASTY, "south", "east", "west"], ROWS),
            "loss": rng.integers(0, 5000, ROWS),
            "day": pl.Series(np.datetime64("2026-01-01") + rng.integers(0, 90, ROWS)).cast(pl.Date),
            "town": [f"town {n}" for n in rng.integers(0, 70, ROWS)],
            "mark": rng.integers(0, 21, ROWS) / 2,
        }
    )
    return release_with(td.load_policy(document | changes), table, noise_of_chart)


def spec_of(item: Mapping[str, Any]) -> dict[str, Any]:
    (answer,) = made({"name": "it"} | item).values()
    spec = chart_spec(answer)
    assert spec is not None
    return spec


def marks_of(spec: Mapping[str, Any]) -> list[str]:
    inner = spec.get("spec", spec)
    return [layer["mark"] if isinstance(layer["mark"], str) else layer["mark"]["type"] for layer in inner["layer"]]


KINDS: dict[str, tuple[Mapping[str, Any], list[str]]] = {
    "few names": ({"histogram": ["region"]}, ["bar", "rule"]),
    "few ranks": ({"histogram": ["grade"]}, ["bar", "rule"]),
    "bins": ({"histogram": ["age"], "bins": {"age": [[17, 29], [30, 90]]}}, ["bar", "rule"]),
    "few numbers": ({"histogram": ["mark"]}, ["bar", "rule"]),
    "many numbers": ({"histogram": ["age"]}, ["area", "line", "point"]),
    "many days": ({"histogram": ["day"]}, ["area", "line", "point"]),
    "many names": ({"histogram": ["town"]}, ["bar", "rule"]),
    "coloured bars": ({"histogram": ["region", "sex"]}, ["bar", "rule"]),
    "coloured steps": ({"histogram": ["age", "sex"]}, ["area", "line", "point"]),
    "heat map": ({"histogram": ["age", "mark"]}, ["rect"]),
    "long heat map": ({"histogram": ["loss", "mark"]}, ["rect"]),
    "three": ({"histogram": ["age", "sex", "grade"]}, ["area", "line", "point"]),
    "cdf": ({"cdf": "age"}, ["area", "line", "point"]),
    "cdf of days": ({"cdf": "day", "by": "sex"}, ["area", "line", "point"]),
    "cdf of ranks": ({"cdf": "grade"}, ["area", "line", "point"]),
    "cdf by two": ({"cdf": "age", "by": ["sex", "region"]}, ["area", "line", "point"]),
    "every range": ({"ranges": "age"}, ["area", "line", "point"]),
    "named ranges": ({"ranges": {"age": {"young": [17, 29], "old": [60, 90]}}, "by": "sex"}, ["rule", "point"]),
    "count by": ({"count": "age > 30", "by": "sex"}, ["rule", "point"]),
    "total": ({"total": "loss", "by": "region"}, ["rule", "point"]),
    "mean": ({"mean": "mark", "by": "sex"}, ["rule", "point"]),
    "mean by age": ({"mean": "mark", "by": "age"}, ["area", "line", "point"]),
    "quantiles": ({"quantiles": "age", "bounds": True}, ["rule", "point"]),
    "quantiles by": ({"quantiles": "age", "bounds": True, "by": ["sex", "region"]}, ["rule", "point"]),
    "quantiles of ranks": ({"quantiles": "grade", "bounds": True, "by": "sex"}, ["rule", "point"]),
    "quantiles of days": ({"quantiles": "day", "bounds": True}, ["rule", "point"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_answer_has_a_chart_that_vega_lite_accepts(kind: str) -> None:
    item, marks = KINDS[kind]
    spec = spec_of(item)
    assert marks_of(spec) == marks
    assert spec["description"].endswith(".")
    assert "95%" in spec["usermeta"]["caption"]
    assert json.loads(json.dumps(spec, allow_nan=False)) == spec
    compiled = vl_convert.vegalite_to_vega(spec | ({} if "facet" in spec else {"width": 600}))
    assert compiled["marks"]
    assert len(spec["data"]["values"]) <= 6000


def test_pictures_for_the_documentation() -> None:
    (answer,) = made({"name": "it", "histogram": ["region", "sex"]}).values()
    svg = chart_svg(answer)
    assert svg is not None
    assert svg.startswith("<svg")
    assert "&lt;b&gt;&amp;" in svg
    assert "currentColor" not in svg


@pytest.mark.parametrize("item", [{"count": "age > 30"}, {"mean": "mark"}, {"median": "day", "bounds": True}])
def test_a_single_number_has_no_chart(item: Mapping[str, Any]) -> None:
    (answer,) = made({"name": "it"} | item).values()
    assert chart_spec(answer) is None


def test_beyond_three_attributes_there_is_only_a_table() -> None:
    (answer,) = made({"name": "it", "histogram": ["sex", "grade", "region", "mark"]}).values()
    assert chart_spec(answer) is None
    assert chart_svg(answer) is None


@pytest.mark.parametrize("attributes", [["town", "sex"], ["town", "age"], ["town", "mark", "age"]])
def test_too_many_names_in_a_table_are_not_drawn(attributes: list[str]) -> None:
    (answer,) = made({"name": "it", "histogram": attributes}).values()
    assert chart_spec(answer) is None


def test_numbers_drawn_are_the_released_ones() -> None:
    (answer,) = made({"name": "it", "histogram": ["age", "sex"]}).values()
    spec = chart_spec(answer)
    assert spec is not None
    columns = answer.columns
    rows = {(row["a0"], row["a1"]): row for row in spec["data"]["values"]}
    assert len(rows) == 148
    drawn = zip(columns["age"], columns["sex"], columns["count"], columns["lower"], columns["upper"], strict=True)
    for age, sex, count, lower, upper in drawn:
        row = rows[(age, sex)]
        assert (row["v"], row["lo"], row["hi"]) == pytest.approx((count, lower, upper), abs=0.06)


def test_a_long_cdf_is_thinned_keeps_its_ends_and_says_so() -> None:
    (answer,) = made({"name": "it", "cdf": "loss"}).values()
    spec = chart_spec(answer)
    assert spec is not None
    values = spec["data"]["values"]
    assert len(values) <= MOST_POINTS
    assert (values[0]["a0"], values[-1]["a0"]) == (0, 4999)
    assert values[-1]["v"] == ROWS
    assert f"Drawn at {len(values):,} of 5,000 values" in spec["usermeta"]["caption"]
    assert "5,000 steps" in spec["description"]


def test_long_histograms_are_averaged_and_their_intervals_hold_the_truth() -> None:
    (answer,) = made({"name": "it", "histogram": ["loss"]}).values()
    spec = chart_spec(answer)
    assert spec is not None
    values = spec["data"]["values"]
    assert len(values) == 500
    assert "10 at a time" in spec["usermeta"]["caption"]
    assert values[0]["t0"] == "0..9"
    assert values[0]["a0"] == 4.5
    assert values[0]["v"] == pytest.approx(answer.columns["count"][:10].mean(), abs=0.01)
    whole = answer.between(0, 9)
    assert values[0]["hi"] - values[0]["lo"] <= (whole.upper - whole.lower) / 10 + 0.02
    assert values[0]["lo"] <= values[0]["v"] <= values[0]["hi"]


def test_only_the_largest_of_many_names_are_drawn() -> None:
    (answer,) = made({"name": "it", "histogram": ["town"]}).values()
    spec = chart_spec(answer)
    assert spec is not None
    counts = sorted(answer.columns["count"], reverse=True)[:60]
    assert [row["v"] for row in spec["data"]["values"]] == pytest.approx(counts, abs=0.06)
    assert "Only the 60 largest of 70" in spec["usermeta"]["caption"]


def test_exact_answers_have_no_error_bars() -> None:
    spec = spec_of({"histogram": ["sex"]})
    assert all(row["lo"] == row["v"] == row["hi"] for row in spec["data"]["values"])
    assert spec["usermeta"]["caption"] == "Exact numbers, without error bars."


# -- blocks drawn -----------------------------------------------------------------------------------
# What is drawn of an answer: its numbers, and for blocks of neighbours the interval that the answer itself gives.

ITEMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "identity": ({"histogram": ["age", "region"]}, {}),
    "grid": ({"rectangles": ["age", "income"]}, {"age": {"within": 1}, "income": {"within": 1}}),
    "exact": ({"histogram": ["sex"]}, {}),
}


@pytest.mark.parametrize("mechanism", ITEMS)
def test_blocks_have_the_intervals_that_adding_up_gives(mechanism: str, table: pl.DataFrame) -> None:
    item, secrets = ITEMS[mechanism]
    presence = "public" if mechanism == "exact" else "secret"
    changed = {"release": [{"name": "it", **item}], "presence": presence, "secrets": POLICY["secrets"] | secrets}
    noise = lambda shape: np.random.default_rng(2).integers(-4, 5, shape)  # noqa: E731
    (answer,) = release_with(td.load_policy({**POLICY, **changed}), table, noise).values()
    assert answer.item.mechanism == mechanism
    whole = picture_of(answer)
    assert whole.sums is not None
    starts = [np.append(np.arange(0, axis.size, 3), axis.size) for axis in whole.axes]
    lower, upper = whole.sums(starts)
    for place in np.ndindex(lower.shape):
        mask = np.zeros(whole.values.shape, bool)
        mask[tuple(slice(at[n], at[n + 1]) for n, at in zip(place, starts, strict=True))] = True
        found = answer.table.add_up(mask.reshape(answer.table.values.shape))
        ends = max(lower[place], 0), max(upper[place], 0)
        if mechanism == "grid":  # very many blocks at once have a bound that is a little wider
            assert ends[0] <= found.lower + 1e-9
            assert found.upper - 1e-9 <= ends[1] <= found.upper + (found.upper - found.lower) / 2
        else:
            assert ends == pytest.approx((found.lower, found.upper))
