"""The studio's server: one browser on this machine, pages and forms, and a little JSON for what moves."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.studio.conftest import POLICY, Visitor

import tetraodon as td
from tetraodon.studio.doorkeeper import RULES
from tetraodon.studio.pages import PAGES
from tetraodon.studio.server import Studio

MOVING = ("strip?name=age&secret=within&within=9", "figures?epsilon=0.5", "simulate?people=50", "status")


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_shown_with_strict_rules(visitor: Visitor, page: str) -> None:
    status, text, headers = visitor.ask("GET", f"/{page}")
    assert status == 200
    assert headers["Content-Security-Policy"] == RULES
    assert headers["Cache-Control"] == "no-store"
    assert f'<a href="/{page}" aria-current="page">' in text
    assert "//" not in text.replace("http://127.0.0.1", "").replace(str(visitor.studio.bench.table), "").replace(
        visitor.studio.bench.ledger, ""
    )


def test_nobody_else_comes_in(studio: Studio, visitor: Visitor) -> None:
    for target in ("/columns", "/text", "/status", "/assets/studio.js", "/?token=guess", "/"):
        assert visitor.ask("GET", target, Cookie="")[0] == 403
        assert visitor.ask("GET", target, Host="evil.example")[0] == 403
    assert visitor.ask("POST", "/undo", "", **{"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert visitor.ask("POST", "/text", "x" * 3_000_000)[0] == 413
    assert visitor.ask("GET", "/elsewhere")[0] == visitor.ask("GET", "/report")[0] == 404
    assert visitor.ask("GET", "/assets/../server.py")[0] == 404
    assert studio.bench.text == POLICY


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


def test_figures_are_those_of_the_plan(visitor: Visitor) -> None:
    found = visitor.json("/figures?epsilon=0.5")
    plan = td.plan(POLICY, epsilon="0.5")
    assert [(item["name"], item["error"], item["plain"]) for item in found["items"]] == [
        (item.name, item.expected_error, item.baseline_error) for item in plan
    ]
    assert (found["guessers"], found["odds"]) == (63, "1.65")
    assert visitor.studio.bench.text == POLICY


def test_nothing_but_a_release_reads_the_table(studio: Studio, visitor: Visitor) -> None:
    table = Path(studio.bench.table)
    table.unlink()
    os.mkfifo(table)  # whoever opens it waits for ever
    for target in (*PAGES, *MOVING):
        visitor.see(f"/{target}")
    assert visitor.send("secret", name="age", secret="public", back="secrets")[0] == 303
    assert visitor.send("undo")[0] == 303
    assert visitor.send("run", confirm="people", back="release")[0] == 303
    for _ in range(600):
        with suppress(OSError):  # nobody reads yet
            os.close(os.open(table, os.O_WRONLY | os.O_NONBLOCK))
        if not visitor.json("/status")["running"]:
            break
        time.sleep(0.1)
    found = visitor.json("/status")
    assert not found["running"]
    assert not found["done"]
    assert found["told"].startswith("Refused")


def test_a_release_from_the_page_verifies(studio: Studio, visitor: Visitor) -> None:
    assert visitor.send("run", confirm="people", out="out", back="release")[0] == 303
    for _ in range(600):
        if not visitor.json("/status")["running"]:
            break
        time.sleep(0.1)
    assert "Charged epsilon 1; 2 left" in visitor.see("/release")
    status, text, headers = visitor.ask("GET", "/report")
    assert status == 200
    assert "sandbox" in headers["Content-Security-Policy"]
    assert "<html" in text
    td.verify(studio.bench.path.parent / "out")


def test_hostile_files_do_no_harm(visitor: Visitor) -> None:
    name = "<script>alert(1)</script>"
    text = POLICY.replace("sex:", f'"{name}":').replace("histogram: sex", f'histogram: "{name}"')
    assert visitor.send("text", text=text)[0] == 303
    for page in PAGES:
        assert "<script>alert" not in visitor.see(f"/{page}")
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


def test_a_body_that_is_no_form(visitor: Visitor) -> None:
    assert visitor.ask("POST", "/set", urlencode([("a", "b")] * 500))[0] == 400
