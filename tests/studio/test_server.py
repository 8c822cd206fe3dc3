"""The studio's server: one browser on this machine, pages and forms, and a little JSON for what moves."""

from __future__ import annotations

from urllib.parse import urlencode

from tests.studio.conftest import POLICY, Visitor

from tetraodon.studio.server import Studio


def test_nobody_else_comes_in(studio: Studio, visitor: Visitor) -> None:
    for target in ("/columns", "/text", "/status", "/assets/studio.js", "/?token=guess", "/"):
        assert visitor.ask("GET", target, Cookie="")[0] == 403
        assert visitor.ask("GET", target, Host="evil.example")[0] == 403
    assert visitor.ask("POST", "/undo", "", **{"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert visitor.ask("POST", "/text", "", **{"Content-Length": "3000000"})[0] == 413
    assert visitor.ask("GET", "/elsewhere")[0] == visitor.ask("GET", "/report")[0] == 404
    assert visitor.ask("GET", "/assets/../server.py")[0] == 404
    assert studio.bench.text == POLICY


def test_a_body_that_is_no_form(visitor: Visitor) -> None:
    assert visitor.ask("POST", "/set", urlencode([("a", "b")] * 500))[0] == 400
