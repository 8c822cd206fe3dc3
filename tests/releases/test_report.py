"""The report: everything is there, nothing is fetched, text stays text, and only released numbers appear."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import vl_convert
from tests.releases.conftest import POLICY
from tests.releases.made import release_with

import tetraodon as td
from tetraodon.releases.release import Release
from tetraodon.releases.report import error, report_html
from tetraodon.report.odds import odds_strips
from tetraodon.report.page import vega_bundle
from tetraodon.report.picture import about

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


def test_the_answers_come_first(release: Release) -> None:
    page = report_html(release)
    places = [page.index(f'id="answer-{answer.name}"') for answer in release.values()]
    assert sorted(places) == places
    assert places[-1] < page.index('id="promise"') < page.index('id="together"') < page.index('id="reading"')


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


def test_odds_beyond_all_sense_are_called_what_they_are(table: pl.DataFrame) -> None:
    text = read(page_of(table, budget={"epsilon": 300})).text
    assert "more than 1 × 10^100 times no protection worth the name" in text
    assert "100.0%" not in text


def test_items_that_do_not_add_up_are_explained(release: Release, table: pl.DataFrame) -> None:
    assert sum((item.epsilon for item in release.plan), Fraction(0)) > release.plan.epsilon
    assert "They need not add up" in read(report_html(release)).text
    alone = [{"name": "ages", "histogram": ["age"]}]
    assert "They need not add up" not in read(page_of(table, release=alone)).text


def test_exact_answers_say_so(release: Release) -> None:
    exact = [answer.name for answer in release.values() if answer.item.mechanism == "exact"]
    assert exact
    assert read(report_html(release)).text.count("Published exactly: no secret changes it") == len(exact)


def test_a_single_number_is_shown_with_its_interval(release: Release) -> None:
    (count,) = release["men"].columns["count"]
    assert re.search(rf"{count:.0f} records between \d+ and \d+ with 95% confidence", read(report_html(release)).text)


def test_the_bias_of_whole_counts_is_stated_where_there_are_any(table: pl.DataFrame) -> None:
    items = [{"name": "ages", "histogram": ["age"]}, {"name": "older", "cdf": "age", "whole": False}]
    text = read(page_of(table, release=items)).text
    assert "small counts are too large on average" in text
    assert "In older real numbers were asked for" in text
    assert "may differ by a few records" not in text
    real = [{"name": "ages", "histogram": ["age"], "whole": False}]
    assert "bias" not in read(page_of(table, release=real)).text


def test_presence_that_is_a_secret_has_a_witness_in_words(table: pl.DataFrame) -> None:
    text = read(page_of(table, presence="secret")).text
    assert "is in the data, or is not" in text
    assert "not being in it" in text
    assert "Published exactly" not in text


def test_plain_differential_privacy_is_not_compared_with_itself(table: pl.DataFrame) -> None:
    items = [{"name": "ages", "histogram": ["age"]}]
    everything = {"secrets": {}, "together": "all at once", "presence": "secret", "release": items}
    text = read(page_of(table, **everything)).text
    assert "the promise of this policy is that of plain differential privacy" in text
    assert "Its promise is stronger" not in text


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


def test_one_is_not_several(table: pl.DataFrame) -> None:
    attributes = {
        "age": {"integer": [20, 29], "unit": "years"},
        "income": {"integer": [0, 5], "unit": ["euro", "euros"]},
    }
    secrets = {"age": {"within": 1}, "income": {"within": 1}}
    items = [{"name": "pay", "histogram": "income"}]
    changes = {"attributes": attributes, "secrets": secrets, "release": items, "title": "T"}
    text = read(page_of(table.with_columns(pl.col("income").cast(pl.Int64)), **changes)).text
    assert "at most 1 year apart" in text
    assert "at most 1 euro apart" in text
    assert "1 years" not in text
    assert "1 euros" not in text


@pytest.mark.parametrize(
    ("item", "told"),
    [
        ({"histogram": "age"}, "Each number is typically off by 1 record."),
        ({"mean": "income"}, "The sum behind the average is typically off by 1 euro."),
        ({"total": "age"}, "The number is typically off by 1 year."),
        ({"quantiles": "age", "bounds": True}, "are typically off by 1 record."),
    ],
)
def test_an_error_of_one_is_not_of_several(item: dict[str, Any], told: str) -> None:
    euros = {"integer": [0, 5], "unit": ["euro", "euros"]}
    attributes = {"age": {"integer": [20, 29], "unit": "years"}, "income": euros}
    changes = {"attributes": attributes, "secrets": {}, "release": [{"name": "it", **item}]}
    policy = td.load_policy({**POLICY, **changes})
    planned = replace(td.plan(policy)["it"], expected_error=1.0)
    assert error(planned, policy.domain).endswith(told)


def test_both_errors_are_told_where_other_answers_help(release: Release) -> None:
    text, told = read(report_html(release)).text, release.errors_together
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
