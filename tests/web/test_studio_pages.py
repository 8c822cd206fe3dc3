"""Pages of the studio: strict headers, unusual policies, hostile names."""

from __future__ import annotations

import pytest
from tests.web.studio_fixtures import MAPPED, MOVING, POLICY, Visitor

from tetraodon.web.app import PAGE_POLICY
from tetraodon.web.studio import PAGES


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
