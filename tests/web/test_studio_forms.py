"""Forms of the studio: the values that they read, and the changes that they make to the file."""

from __future__ import annotations

from typing import Any

import pytest
from tests.web.studio_fixtures import GROUPED, KNOWING, MAPPED, POLICY, Visitor

import tetraodon as td
from tetraodon.errors import PolicyError
from tetraodon.web import forms
from tetraodon.web.studio import PAGES


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
