"""What the forms of the pages do: each of them is one change to the file, or one step towards a release."""

from __future__ import annotations

from typing import Any

import pytest
from tests.web.studio_fixtures import GROUPED, KNOWING, MAPPED, POLICY, Visitor

import tetraodon as td
from tetraodon.web.studio import PAGES


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


def test_what_cannot_be_done_is_said_on_the_page(visitor: Visitor) -> None:
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
