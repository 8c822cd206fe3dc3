"""What the forms of the pages do: each of them is one change to the file, or one step towards a release."""

from __future__ import annotations

from tests.studio.conftest import POLICY, Visitor

import tetraodon as td


def test_forms_edit_the_file_and_nothing_else_in_it(visitor: Visitor) -> None:
    bench = visitor.studio.bench
    assert visitor.send("secret", name="age", secret="within", within="9", reason="nearly", back="secrets") == (303, "")
    assert visitor.send("column", name="sex", kind="categories", values="Female, Male, other", back="columns")[0] == 303
    assert visitor.send("question", kind="mean", about=["age"], by="sex", name="m", back="questions")[0] == 303
    assert visitor.send("remove", path='["release", 0]')[0] == 303
    assert visitor.send("set", path='["budget", "epsilon"]', value="0.5")[0] == 303
    meant = POLICY.replace("  age: {within: 5}", "  # nearly\n  age: {within: 9}").replace("epsilon: 1", "epsilon: 0.5")
    meant = meant.replace("[Female, Male]", "{categories: [Female, Male, other]}").replace(
        "- {name: ages, histogram: age}\n", ""
    )
    assert bench.path.read_text() == meant + "- {name: m, mean: age, by: sex}\n"
    for _ in range(5):
        visitor.send("undo")
    assert bench.path.read_text() == POLICY
    assert visitor.send("text", text=POLICY.replace("1}", "2}").replace("\n", "\r\n"))[0] == 303
    assert td.load_policy(bench.path).epsilon == 2


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
    assert visitor.studio.bench.text == POLICY
    found = visitor.json("/figures?epsilon=much")
    assert found["problem"]
    assert not found["items"]
    assert visitor.ask("GET", "/simulate?people=-3")[0] == 400
