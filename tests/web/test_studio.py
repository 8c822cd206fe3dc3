"""The studio over HTTP: access from one browser, addresses, bodies."""

from __future__ import annotations

import threading
from decimal import Decimal
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import urlencode

import pytest
from tests.services import needs_browser
from tests.web.studio_fixtures import GROUPED, KNOWING, MAPPED, MOVING, POLICY, Visitor

import tetraodon as td
from tetraodon.attacks.gallery import find
from tetraodon.errors import PolicyError, QueryError
from tetraodon.policy.explain import odds
from tetraodon.web import forms
from tetraodon.web.app import PAGE_POLICY
from tetraodon.web.studio import PAGES, Studio
from tetraodon.web.studio_figures import (
    MOST_COLUMNS,
    MOST_POINTS,
    BeliefAllowed,
    figures,
    fitting_attacks,
    guessers,
    household,
    locked_cells,
    needed,
    played,
)


def test_only_the_opened_browser_has_access(studio: Studio, visitor: Visitor) -> None:
    stranger = Visitor(studio, root="/guess")
    for target in ("/columns", "/text", "/status", "/assets/studio.js", "/?token=guess", "/"):
        assert stranger.ask("GET", target)[0] == 403
        assert visitor.ask("GET", target, Host="evil.example")[0] == 403
    assert stranger.send("undo")[0] == 403
    assert visitor.ask("POST", "/undo", "", **{"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert visitor.ask("POST", "/text", "", **{"Content-Length": "3000000"})[0] == 413
    assert visitor.ask("GET", "/elsewhere")[0] == visitor.ask("GET", "/report")[0] == 404
    assert visitor.ask("GET", "/assets/../server.py")[0] == 404
    assert studio.editor.text == POLICY


class _Listening(BaseHTTPRequestHandler):
    """Another server of this machine: it keeps what a browser sends it."""

    heard: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.heard.extend([self.path, *map(str, self.headers.items())])
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@needs_browser
def test_another_server_of_this_machine_learns_no_way_in(studio: Studio, browser: Any) -> None:
    """A cookie of 127.0.0.1 goes to every port: whatever this browser sends elsewhere, it leads to no page."""
    _Listening.heard.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), _Listening) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        context = browser.new_context()
        page = context.new_page()
        page.goto(studio.address)
        page.goto(f"http://127.0.0.1:{other.server_address[1]}/favicon.ico")
        assert context.cookies() == []
        context.close()
        other.shutdown()
    assert _Listening.heard
    assert studio.auth.root.strip("/") not in str(_Listening.heard)


def test_addresses_that_are_none(visitor: Visitor) -> None:
    for target in ("/strip?" + "&".join(["a=b"] * 60), "/strip?name=%ff", "/figures?epsilon=nan", "/map?metric=l1"):
        assert visitor.ask("GET", target)[0] in (200, 400), target


def test_a_body_that_is_no_form(visitor: Visitor) -> None:
    assert visitor.ask("POST", "/set", urlencode([("a", "b")] * 500))[0] == 400


# -- studio figures ----------------------------------------------------------------------------------
# Figures of the studio: errors, odds, beliefs, locked cells, attacks.


def test_figures_are_those_of_the_plan(visitor: Visitor) -> None:
    found = visitor.json("/figures?epsilon=0.5")
    plan = td.plan(POLICY, epsilon="0.5")
    assert [(item["name"], item["error"], item["plain"]) for item in found["items"]] == [
        (item.name, item.expected_error, item.baseline_error) for item in plan
    ]
    assert (found["guessers"], found["odds"]) == (63, "1.65")
    assert visitor.studio.editor.text == POLICY


def test_of_a_hundred_guessers_at_most_so_many_are_right() -> None:
    assert [guessers(Fraction(epsilon)) for epsilon in ("0.001", "1/2", "1", "3", "50")] == [51, 63, 74, 96, 100]


def test_a_file_that_cannot_be_planned_has_a_reason_and_no_figures() -> None:
    found = figures(POLICY.replace("epsilon: 1", "epsilon: 0"))
    assert (found["items"], found["epsilon"]) == ([], None)
    assert "Fix:" in found["problem"]
    assert figures(POLICY.partition("release:")[0]) == {"items": [], "problem": "", "epsilon": None}


def test_of_long_answers_some_numbers_are_drawn_and_all_lines_are_equally_long(visitor: Visitor) -> None:
    long = POLICY.replace("[20, 59]", "[0, 9999]").replace("histogram: age", "cdf: age")
    assert visitor.send("text", text=long)[0] == 303
    ages, sexes = visitor.json("/simulate?people=500&shape=flat")["items"]
    for item in (ages, sexes):
        assert len(item["releases"]) == 3
        assert {len(line) for line in item["releases"]} == {len(item["truth"])}
    assert MOST_POINTS // 2 <= len(ages["truth"]) <= MOST_POINTS
    assert sexes["truth"] == [250, 250]
    assert sexes["releases"] == [[250, 250]] * 3  # it is public, and exact


def test_quantiles_are_drawn_as_quantiles(visitor: Visitor) -> None:
    asked = POLICY.replace("- {name: sexes, histogram: sex}", "- {name: middle, median: age, by: sex}")
    assert visitor.send("text", text=asked)[0] == 303
    (item,) = (item for item in visitor.json("/simulate?people=4000&shape=flat")["items"] if item["name"] == "middle")
    assert len(item["truth"]) == 2
    assert all(20 <= value <= 59 for line in (item["truth"], *item["releases"]) for value in line)


# -- studio choosing -------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2)])
@pytest.mark.parametrize("after", [Fraction(51, 100), Fraction(9, 10), Fraction(999, 1000)])
@pytest.mark.parametrize(("steps", "releases"), [(1, 1), (3, 1), (2, 7)])
def test_the_allowed_epsilon_keeps_the_belief_and_a_little_more_does_not(
    before: Fraction, after: Fraction, steps: int, releases: int
) -> None:
    belief = BeliefAllowed(before, after, steps, releases)
    epsilon = Fraction(belief.allowed_text)
    assert epsilon == Fraction(belief.allowed)
    a_bit = Fraction(Decimal(1).scaleb(belief.allowed.adjusted() - 2))

    def believed(epsilon: Fraction) -> Fraction:
        grown = before / (1 - before) * Fraction(odds(epsilon, steps * releases))
        return grown / (1 + grown)

    assert before < believed(epsilon) <= after < believed(epsilon + a_bit)


def test_beliefs_that_do_not_grow_are_refused() -> None:
    for said in (("50", "50", "1", "1"), ("0", "50", "", ""), ("10", "100", "", ""), ("10", "20", "0", "1")):
        with pytest.raises(PolicyError):
            BeliefAllowed.read(*said)
    for said in (("ten", "50", "", ""), ("10", "50", "1.5", ""), ("10", "50", "", "-1")):
        with pytest.raises(PolicyError):
            BeliefAllowed.read(*said)
    assert BeliefAllowed.read("10", "25", "2", "") == BeliefAllowed(Fraction(1, 10), Fraction(1, 4), 2, 1)


def test_the_epsilon_that_errors_need_is_that_of_the_plan() -> None:
    assert needed(POLICY) == {"problem": "", "needed": None}
    for error, enough in (("40", True), ("4", False)):
        text = POLICY.replace("histogram: age}", f"histogram: age, error: {error}}}")
        found = needed(text)
        least = td.plan_for_error(text)
        assert (found["needed"], found["driven"]) == (str(float(least.policy.epsilon)), ["ages"])
        assert found["enough"] is enough is (least.policy.epsilon <= 1)
    assert needed("dataset: [")["problem"]
    assert needed(POLICY.replace("histogram: age}", "mean: age, error: 1}"))["problem"]  # of how many records?


def test_every_answer_is_a_change_with_its_reason(visitor: Visitor) -> None:
    sent = (
        ("secret", {"name": "age", "secret": "everything", "reason": "they might lose their job"}),
        ("set", {"path": '["presence"]', "value": "secret", "reason": "only patients are in it"}),
        ("attackers", {"who": "groups", "column": "home", "most": "4", "reason": "families answer alike"}),
        ("target", {"path": '["release", 0]', "error": "40", "reason": "below 40 the school closes"}),
        ("belief", {"before": "10", "after": "25", "steps": "1", "releases": "2", "reason": "so agreed"}),
    )
    for form, fields in sent:
        assert visitor.send(form, back="choose", **fields) == (303, "")
    meant = POLICY
    for old, new in (
        ("  age: {within: 5}", "  # they might lose their job\n  age: everything"),
        ("presence: public", "# only patients are in it\npresence: secret"),
        ("- {name: ages, histogram: age}", "# below 40 the school closes\n- {name: ages, histogram: age, error: 40}"),
        (
            "budget: {epsilon: 1}",
            "# belief may grow from 10% to 25% between values 1 step(s) apart, after 2 such release(s)\n# so agreed\n"
            "budget: {epsilon: 0.549}",
        ),
    ):
        assert old in meant
        meant = meant.replace(old, new)
    assert visitor.studio.editor.text == meant + "# families answer alike\nattackers: [{groups: home, at most: 4}]\n"
    assert "allows epsilon 0.549" in visitor.see("/choose")


def test_published_figures_are_one_of_the_answers_and_end_chains_of_steps(visitor: Visitor) -> None:
    assert visitor.send("known", about=["sex"], reason="yearbook", back="choose")[0] == 303
    assert visitor.send("known", condition="age < 30", back="choose")[0] == 303
    assert (
        td.load_policy(visitor.studio.editor.text).known
        == td.load_policy(POLICY + "known: [{marginal: [sex]}, {count: age < 30}]\n").known
    )
    assert visitor.send("known", about=["sex"], condition="age < 30", back="choose")[0] == 400
    assert visitor.send("belief", before="10", after="25", steps="2", releases="1", back="choose")[0] == 400
    assert visitor.send("belief", before="10", after="25", steps="1", releases="1", back="choose")[0] == 303
    assert "the exact table by sex" in visitor.see("/choose")


def test_a_budget_in_zcdp_gives_way_and_a_delta_stays(visitor: Visitor) -> None:
    editor = visitor.studio.editor
    editor.replace(POLICY.replace("{epsilon: 1}", "{rho: 0.1, delta: 1e-7}"))
    assert visitor.send("belief", before="10", after="25", back="choose")[0] == 303
    assert "budget: {epsilon: 1.09, delta: 1e-7}" in editor.text
    editor.replace(POLICY.replace("{epsilon: 1}", "{epsilon: 1, delta: 1e-7}"))
    gaussian = td.plan(editor.text, epsilon="0.5")
    assert gaussian.policy.delta > 0
    found = visitor.json("/figures?epsilon=0.5")
    assert [item["error"] for item in found["items"]] == [item.expected_error for item in gaussian]


# -- studio locked cells ---------------------------------------------------------------------------


def knowing(*known: dict[str, Any]) -> td.Policy:
    return td.load_policy(
        {
            "dataset": "d",
            "presence": "public",
            "attributes": {"age": {"integer": [0, 29]}, "sex": ["F", "M"], "area": ["n", "s", "e"]},
            "budget": {"epsilon": 1},
            "known": list(known),
        }
    )


@pytest.mark.parametrize(
    ("fact", "heads", "first", "cells"),
    [
        ({"marginal": ["sex", "area"], "is": [1, 2, 3, 4, 5, 6]}, ("n", "s", "e"), ("F", ("1", "2", "3")), 6),
        ({"marginal": ["area"]}, ("n", "s", "e"), ("records", ("", "", "")), 3),
        ({"count": "age < 10", "is": 1200}, ("",), ("records", ("1,200",)), 1),
        ({"blocks": {"age": [[0, 9], [10, 29]]}}, ("0..9", "10..29"), ("records", ("", "")), 2),
        ({"rectangle": {"age": [3, 5]}}, ("",), ("records", ("",)), 1),
        ({"marginal": ["sex", "area", "age"]}, tuple("01234567"), ("F and n", ("",) * MOST_COLUMNS), 180),
    ],
)
def test_known_figures_are_drawn_as_cells(
    fact: dict[str, Any], heads: tuple[str, ...], first: tuple[str, tuple[str, ...]], cells: int
) -> None:
    policy = knowing(fact)
    drawn = locked_cells(policy.known[0], policy.domain)
    assert (drawn.heads, drawn.rows[0], drawn.cells) == (heads, first, cells)
    assert drawn.left == cells - sum(len(row) for _, row in drawn.rows)
    assert (drawn.left > 0) is (cells > 6)


def test_known_figures_are_seen_and_taken_out_by_themselves(visitor: Visitor) -> None:
    editor = visitor.studio.editor
    editor.replace(POLICY + "known:\n- {marginal: [sex]}  # yearbook\n- {count: age < 30}\n")
    page = visitor.see("/known")
    assert page.count('class="lock"') == 3
    assert page.index("Everybody is taken to know the exact table by sex: 2 locked cells") < page.index(
        "satisfy age &lt; 30: 1 locked cell."
    )
    assert visitor.send("remove", path='["known", 0]', back="known")[0] == 303
    assert editor.text == POLICY + "known:\n- {count: age < 30}\n"
    editor.replace(POLICY + "known:\n- {count: nonsense}\n")
    assert "1 known figure of the file cannot be drawn yet" in visitor.see("/known")


def test_a_household_is_drawn_with_all_its_rows(visitor: Visitor) -> None:
    assert visitor.see("/known").count("<circle") == 1
    assert visitor.send("attackers", who="groups", column="home", most="5", back="known")[0] == 303
    page = visitor.see("/known")
    assert page.count("<circle") == 5
    assert "all 5 rows of a home" in page
    assert household(td.load_policy(visitor.studio.editor.path)) == 5
    assert visitor.send("attackers", who="groups", column="home", most="500", back="known")[0] == 303
    assert "12 are drawn" in visitor.see("/known")
    assert visitor.send("attackers", who="groups", back="known")[0] == 400
    assert visitor.send("attackers", who="independent", back="known")[0] == 303
    assert household(td.load_policy(visitor.studio.editor.path)) == household(None) == 1


def test_the_fitting_attack_is_played_as_in_the_gallery(visitor: Visitor) -> None:
    assert [attack.name for attack in fitting_attacks(None)] == ["known-sums", "all-or-none"]
    story = find("all-or-none").run()
    page = visitor.see("/attack?name=all-or-none")
    assert f"{story.attacked:.3g}" in page
    assert f"{story.defended:.3g}" in page
    got, allowed, left = (share for _, _, share in played("all-or-none")["bars"])
    assert got == 100
    assert left <= allowed < got
    with pytest.raises(QueryError):
        played("nonsense")
    assert visitor.ask("GET", "/attack?name=nonsense")[0] == 400


# -- studio forms ------------------------------------------------------------------------------------
# Forms of the studio: the values that they read, and the changes that they make to the file.


def fields(**said: str | list[str]) -> dict[str, list[str]]:
    return {name: value if isinstance(value, list) else [value] for name, value in said.items()}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"kind": "integer", "low": " 0 ", "high": "99"}, {"integer": ["0", "99"]}),
        (
            {"kind": "real", "low": "0", "high": "1", "step": "0.1", "missing": "separate"},
            {"real": ["0", "1"], "step": "0.1", "missing": "separate"},
        ),
        ({"kind": "categories", "values": "a, b c"}, {"categories": ["a", "b c"]}),
        ({"kind": "categories", "values": '"b, c", a'}, {"categories": ["b, c", "a"]}),
        ({"kind": "ordered", "values": "low\nhigh, indeed"}, {"ordered": ["low", "high, indeed"]}),
        ({"kind": "boolean"}, {"boolean": "true"}),
    ],
)
def test_columns(said: dict[str, str], meant: dict[str, Any]) -> None:
    assert forms.attribute(fields(**said), None) == meant
    kept = {"unit": ["year", "years"], "trim": "true"}
    assert forms.attribute(fields(**said), {"date": ["a", "b"], **kept}) == meant | kept


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"secret": "public"}, "public"),
        ({"secret": "within", "within": "5"}, {"within": "5"}),
        ({"secret": "blocks", "blocks": "a, b\n\nc\n"}, {"blocks": [["a", "b"], ["c"]]}),
        ({"secret": "blocks", "blocks": '"a, b", c\n"say ""d"""\n'}, {"blocks": [["a, b", "c"], ['say "d"']]}),
    ],
)
def test_secrets(said: dict[str, str], meant: object) -> None:
    assert forms.secret(fields(**said)) == meant


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"kind": "histogram", "about": ["age", "sex"]}, {"name": "histogram_age_sex", "histogram": ["age", "sex"]}),
        ({"kind": "cdf", "about": ["age"], "by": "sex", "name": "x"}, {"name": "x", "cdf": "age", "by": "sex"}),
        ({"kind": "count", "condition": "age < 3", "name": "n"}, {"name": "n", "count": "age < 3"}),
        ({"kind": "count", "where": "age < 3", "name": "n"}, {"name": "n", "count": "all", "where": "age < 3"}),
        (
            {"kind": "quantiles", "about": ["age"], "name": "q"},
            {"name": "q", "quantiles": "age", "at": ["0.25", "0.5", "0.75"]},
        ),
    ],
)
def test_questions(said: dict[str, Any], meant: dict[str, Any]) -> None:
    assert forms.question(fields(**said)) == meant


@pytest.mark.parametrize("values", [["a", "b, c"], ['say "d"', "e"], ["it's", "x"], [",", '"']])
def test_lists_are_read_as_they_are_written(values: list[str]) -> None:
    assert forms.listed(forms.as_line(values)) == values


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({"metric": "l2", "over": ["x", "y"], "within": "3"}, {"metric": "l2", "over": ["x", "y"], "within": "3"}),
        ({"metric": "l2", "over": ["x"], "within": "3"}, None),
        ({"metric": "nonsense", "over": ["x", "y"], "within": "3"}, None),
    ],
)
def test_maps(said: dict[str, Any], meant: dict[str, Any] | None) -> None:
    if meant is not None:
        assert forms.joint(fields(**said)) == meant
        return
    with pytest.raises(PolicyError, match="two columns"):
        forms.joint(fields(**said))


def test_targets() -> None:
    assert forms.target(fields(error="5% from 1000")) == "5% from 1000"
    assert forms.target(fields(error="0.5", records="800")) == {"within": "0.5", "records": "800"}
    assert forms.target({}) is None


def test_values_outside_the_forms_are_refused() -> None:
    for wrong in (lambda: forms.attribute({}, None), lambda: forms.secret({}), lambda: forms.question({})):
        with pytest.raises(PolicyError, match="choose one"):
            wrong()
    for path in ("", "[]", "{}", '[{"a": 1}]', "[[1]]", "nonsense"):
        with pytest.raises(PolicyError, match="load the page again"):
            forms.path_of(fields(path=path))
    assert forms.path_of(fields(path='["release", 0]')) == ("release", 0)


# -- studio actions --------------------------------------------------------------------------------


def test_forms_edit_the_file_and_nothing_else_in_it(visitor: Visitor) -> None:
    editor = visitor.studio.editor
    assert visitor.send("secret", name="age", secret="within", within="9", reason="nearly", back="secrets") == (303, "")
    assert visitor.send("column", name="sex", kind="categories", values="Female, Male, other", back="columns")[0] == 303
    assert visitor.send("question", kind="mean", about=["age"], by="sex", name="m", back="questions")[0] == 303
    assert visitor.send("remove", path='["release", 0]')[0] == 303
    assert visitor.send("set", path='["budget", "epsilon"]', value="0.5")[0] == 303
    meant = POLICY.replace("  age: {within: 5}", "  # nearly\n  age: {within: 9}").replace("epsilon: 1", "epsilon: 0.5")
    meant = meant.replace("[Female, Male]", "{categories: [Female, Male, other]}").replace(
        "- {name: ages, histogram: age}\n", ""
    )
    assert editor.path.read_text() == meant + "- {name: m, mean: age, by: sex}\n"
    for _ in range(5):
        visitor.send("undo")
    assert editor.path.read_text() == POLICY
    assert visitor.send("text", text=POLICY.replace("1}", "2}").replace("\n", "\r\n"))[0] == 303
    assert td.load_policy(editor.path).epsilon == 2


def test_a_refused_form_shows_its_reason_on_the_page(visitor: Visitor) -> None:
    for form, fields in (
        ("secret", {"name": "age"}),
        ("column", {"name": "age", "kind": "nonsense"}),
        ("remove", {"path": '["release", 9]'}),
        ("nonsense", {}),
        ("run", {"confirm": "other"}),
        ("open", {"confirm": ""}),
    ):
        status, text = visitor.send(form, back="secrets", **fields)
        assert status == 400
        assert 'role="alert"' in text
    assert visitor.studio.editor.text == POLICY
    found = visitor.json("/figures?epsilon=much")
    assert found["problem"]
    assert not found["items"]
    assert visitor.ask("GET", "/simulate?people=-3")[0] == 400


@pytest.mark.parametrize(
    ("before", "form", "fields", "old", "new"),
    [
        (
            MAPPED,
            "map",
            {"metric": "l1", "over": ["north", "east"], "within": "4.5"},
            "{metric: l2, over: [north, east], within: 3}",
            "{metric: l1, over: [north, east], within: 4.5}",
        ),
        (
            MAPPED,
            "secret",
            {"name": "area", "secret": "blocks", "blocks": 'n, s, "e, far"\r\nw'},
            '[[n, s], ["e, far", w]]',
            "[[n, s, 'e, far'], [w]]",
        ),
        (
            GROUPED,
            "secret",
            {"name": "age", "secret": "within", "within": "7"},
            "  age: {within: 5}",
            "  age: {within: 7}",
        ),
        (GROUPED, "epsilon", {"value": "0.5"}, "epsilon: 1", "epsilon: 0.5"),
        (KNOWING, "remove", {"path": '["known", 1]'}, "- {count: age < 30, is: 40}   # and from the press\n", ""),
        (KNOWING, "column", {"name": "age", "kind": "integer", "low": "20", "high": "69"}, "[20, 59]", "[20, 69]"),
    ],
)
def test_policies_with_more_in_them_are_changed_without_loss(
    visitor: Visitor, before: str, form: str, fields: dict[str, Any], old: str, new: str
) -> None:
    editor = visitor.studio.editor
    editor.replace(before)
    for page in PAGES:
        visitor.see(f"/{page}")
    assert editor.path.read_text() == before  # looking changes nothing
    assert visitor.send(form, **fields)[0] == 303
    assert before.count(old) == 1
    assert editor.path.read_text() == before.replace(old, new)
    td.load_policy(editor.path)
    assert visitor.send("undo")[0] == 303
    assert editor.path.read_text() == before


def test_two_columns_are_measured_as_one_and_undone_as_one_change(visitor: Visitor) -> None:
    editor = visitor.studio.editor
    apart = MAPPED.replace("  # the law", "  north: {within: 2}\n  # the law").replace(
        "together: {metric: l2, over: [north, east], within: 3}   # three kilometres\n", ""
    )
    editor.replace(apart)
    assert visitor.send("map", metric="linf", over=["north", "east"], within="2", reason="as maps are drawn")[0] == 303
    policy = td.load_policy(editor.path)
    assert policy.graph.is_edge((0, 0, "n", 20), (2, 2, "n", 20))
    assert "# as maps are drawn\ntogether: {metric: linf, over: [north, east], within: 2}\n" in editor.text
    assert visitor.send("undo")[0] == 303
    assert editor.path.read_text() == apart
    assert visitor.send("map", metric="linf", over=["north"], within="2")[0] == 400


# -- studio pages ------------------------------------------------------------------------------------
# Pages of the studio: strict headers, unusual policies, hostile names.


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_shown_with_strict_rules(visitor: Visitor, page: str) -> None:
    status, text, headers = visitor.ask("GET", f"/{page}")
    assert status == 200
    assert headers["Content-Security-Policy"] == PAGE_POLICY
    assert headers["Cache-Control"] == "no-store"
    assert f'<a href="{page}" aria-current="page">' in text
    assert "//" not in text.replace("http://127.0.0.1", "").replace(str(visitor.studio.editor.table), "").replace(
        visitor.studio.editor.ledger, ""
    )


@pytest.mark.parametrize(
    "together",
    [
        "{over: [age, sex], blocks: [" + ", ".join(["[a, b]"] * 40) + "]}",
        "{metric: l1, over: [age]}",
        "{over: [age, sex]}",
        "{metric: l1, over: age}",
        "{at most: 2}",
        "nonsense",
    ],
)
def test_every_form_of_together_can_be_looked_at(visitor: Visitor, together: str) -> None:
    secrets = "secrets:\n  age: {within: 5}\n  sex: public\ntogether: one attribute at a time\n"
    assert visitor.send("text", text=POLICY.replace(secrets, f"together: {together}\n"))[0] == 303
    for page in ("choose", "secrets", "release"):
        visitor.see(f"/{page}")


WHOLE = """secrets:
  table:
    share: sex = 'Male'
    within: 10%
    records: 200
    chances: {sex: [0.5, 0.5]}
    source: a register
"""


def test_a_secret_of_the_whole_table_is_shown_by_its_name(visitor: Visitor) -> None:
    secrets = "secrets:\n  age: {within: 5}\n  sex: public\ntogether: one attribute at a time\n"
    assert visitor.send("text", text=POLICY.replace(secrets, WHOLE))[0] == 303
    assert "there is one" in visitor.see("/budget") + visitor.see("/release")  # refused as long as `once` is not said
    start, rest = POLICY.replace(secrets, WHOLE).split("budget:")
    once = "budget: {epsilon: 1, once: true}\nrelease:\n  - {name: men, count: \"sex = 'Male'\"}\n"
    assert "release" in rest
    assert visitor.send("text", text=start + once)[0] == 303
    told = visitor.see("/secrets")
    assert "For how many of all 200 records <code>sex = &#39;Male&#39;</code> holds is a secret: up to 20 more" in told
    assert visitor.send("text", text=(start + once).replace("share: sex", "chance: sex"))[0] == 303
    assert "is a secret: up to 10% more or less must not be told apart" in visitor.see("/secrets")
    for page in ("known", "choose"):
        assert "given the share of the whole table that is a secret" in visitor.see(f"/{page}")


def test_hostile_files_do_no_harm(visitor: Visitor) -> None:
    name = "<script>alert(1)</script>"
    text = POLICY.replace("sex:", f'"{name}":').replace("histogram: sex", f'histogram: "{name}"')
    assert visitor.send("text", text=text)[0] == 303
    for page in PAGES:
        assert "<script>alert" not in visitor.see(f"/{page}")
    assert (
        visitor.send(
            "text", text=MAPPED.replace("area:", f'"{name}":').replace("area}", f'"{name}"}}').replace("39]", "999999]")
        )[0]
        == 303
    )
    for target in (*PAGES, "map?metric=l1&over=north&over=east&within=2"):
        assert "<script>alert" not in visitor.see(f"/{target}")
    many = ", ".join(f"c{number}" for number in range(60_000))
    assert visitor.send("text", text=POLICY.replace("Female, Male", many))[0] == 303
    for target in (*PAGES, "figures?epsilon=2"):
        visitor.see(f"/{target}")
    wide = "\n".join(f"  a{number}: boolean" for number in range(200))
    assert (
        visitor.send("text", text=POLICY.replace("  sex: [Female, Male]", f"{wide}\n  sex: [Female, Male]"))[0] == 303
    )
    for target in (*PAGES, *MOVING):
        visitor.see(f"/{target}")
    assert visitor.send("text", text="[: {")[0] == 303
    for page in PAGES:
        visitor.see(f"/{page}")


def test_the_release_page_shows_the_diff_to_the_opened_file(visitor: Visitor) -> None:
    assert "Nothing was changed" in visitor.see("/release")
    assert visitor.send("set", path='["budget", "epsilon"]', value="0.5")[0] == 303
    page = visitor.see("/release")
    assert '<span class="old">-budget: {epsilon: 1}</span>' in page
    assert '<span class="new">+budget: {epsilon: 0.5}</span>' in page
    assert "one step apart" in page  # the promise


def test_a_network_is_named_and_left_to_the_file(visitor: Visitor) -> None:
    network = 'attackers: [{contacts: {at most: 3, influence: 1.2, source: "a survey"}}]\n'
    assert visitor.send("text", text=POLICY + network)[0] == 303
    page = visitor.see("/known")
    assert "The file names a network of contacts, which is edited" in page
    assert "Save who depends on whom" not in page
