"""What notebooks show: short texts, and HTML that holds the numbers and nothing that runs."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

import polars as pl
import pytest

import tetraodon as td
from tests.releases.conftest import POLICY
from tests.releases.made import release_with, silent
from tetraodon.inference.estimate import Estimate
from tetraodon.notebook import html
from tetraodon.releases.codec import plan_rows
from tetraodon.releases.release import Release

TABLE = pl.DataFrame(
    {
        "age": [20 + row % 10 for row in range(90)],
        "sex": ["Female", "Male", "Male"] * 30,
        "income": [row % 11 / 2 for row in range(90)],
        "region": ["north", "south", "east"] * 30,
    }
)
EVIL = "</p><script>alert(1)</script><img src=x onerror=alert(1)>"


class Seen(HTMLParser):
    """The elements of a page, and whether every one of them is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(value: Any) -> Seen:
    return Seen(value._repr_html_())


@pytest.fixture(scope="module")
def release() -> Release:
    return release_with(td.load_policy(POLICY), TABLE, silent)


def test_a_policy_shows_its_promise() -> None:
    policy = td.load_policy(POLICY)
    page = shown(policy)
    first, *others = td.explain(policy).parts
    assert all(sentence in page.text for part in (first, *others) for sentence in part.sentences)
    assert [tag for tag, _ in page.found].count("details") == len(others)
    assert shown(td.explain(policy)).text.split()[1:] == page.text.split()[3:], "but for its title"


def test_a_plan_shows_its_table() -> None:
    plan = td.plan(POLICY)
    page = shown(plan)
    assert [tag for tag, _ in page.found].count("tr") == 1 + len(plan)
    assert all(cell in page.text for row in plan_rows(plan) for cell in row)


def test_a_release_shows_a_chart_for_every_answer_of_more_than_one_number(release: Release) -> None:
    page = shown(release)
    pictures = [attributes for tag, attributes in page.found if tag == "img"]
    assert len(pictures) == sum(len(answer.columns["lower"]) > 1 for answer in release.values())
    for picture in pictures:
        kind, _, data = str(picture["src"]).partition(",")
        assert kind == "data:image/svg+xml;base64"
        assert base64.b64decode(data).startswith(b"<svg")
        assert picture["alt"]
    assert len([tag for tag, _ in shown(release["ages"]).found if tag == "img"]) == 1


def test_an_answer_without_a_chart_shows_its_rows() -> None:
    attributes = {name: {"integer": [0, 12]} for name in "abcd"}
    document = {"dataset": "d", "attributes": attributes, "budget": {"epsilon": 1}}
    policy = td.load_policy({**document, "release": [{"name": "all", "histogram": list(attributes)}]})
    made = release_with(policy, pl.DataFrame({name: [1, 2] for name in attributes}), silent)
    tags = [tag for tag, _ in shown(made["all"]).found]
    assert "img" not in tags
    assert tags.count("tr") == 13


def test_an_estimate_shows_its_interval(release: Release) -> None:
    found = release["ages"].between(22, 24)
    assert shown(found.of("ages")).text.split() == f"{found.words}, from ages".split()
    assert shown(Estimate.certain(5)).text.strip() == "exactly 5"


def test_a_check_shows_what_is_the_curators_alone() -> None:
    found = td.check(POLICY, TABLE.with_columns(sex=pl.lit("x")))
    page = shown(found)
    assert "For the curator only" in page.text
    assert "sex: 100.0% of the rows are not listed" in page.text
    assert "For the curator only" not in shown(td.check(POLICY)).text


@pytest.mark.parametrize("value", ["policy", "plan", "release", "answer", "estimate", "check"])
def test_nothing_in_it_runs_or_is_fetched(value: str) -> None:
    categories = [EVIL, "plain"]
    evil: Mapping[str, Any] = {
        "dataset": "d",
        "title": EVIL,
        "attributes": {"kind": {"categories": categories, "unit": EVIL}},
        "budget": {"epsilon": 1},
        "release": [{"name": "kinds", "histogram": "kind"}, {"name": "one", "count": f"kind = '{EVIL}'"}],
    }
    made = release_with(td.load_policy(evil), pl.DataFrame({"kind": categories * 9}), silent)
    values = {"policy": made.plan.policy, "plan": made.plan, "release": made, "answer": made["kinds"]}
    values |= {"estimate": made["kinds"].count("true").of(EVIL), "check": td.check(evil)}
    page = shown(values[value])
    allowed = {"div", "p", "h4", "details", "summary", "figure", "img", "figcaption"}
    allowed |= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert {tag for tag, _ in page.found} <= allowed
    assert {name for _, attributes in page.found for name in attributes} <= {"style", "src", "alt", "scope"}
    assert all(str(a["src"]).startswith("data:image/svg+xml;base64,") for _, a in page.found if "src" in a)


def test_what_is_not_ours_is_not_shown() -> None:
    with pytest.raises(TypeError, match="int"):
        html(3)


def test_texts_are_short() -> None:
    names = [f"value {number}" for number in range(20_000)]
    long = {"dataset": "long", "attributes": {"name": names}, "budget": {"epsilon": "0.1"}}
    policy = td.load_policy({**long, "release": [{"name": "names", "histogram": "name"}]})
    made = release_with(policy, pl.DataFrame({"name": names}), silent)
    assert repr(policy) == "<Policy long: 1 attribute, 1 item, epsilon 0.1>"
    assert repr(made.plan) == "<Plan long: 1 item, epsilon 0.1>"
    assert repr(made) == "<Release long of 2026-01-01: names>"
    assert re.fullmatch(r"<PlannedItem names: identity, expected error [\d.]+>", repr(made.plan["names"]))
    assert repr(made["names"]) == "<Answer names: histogram, 20000 rows>"
    assert len(repr(td.explain(policy))) < 200
    assert repr(td.check(policy)) == "<Checked long: 1 item>"
