"""The studio over HTTP: access from one browser, addresses, bodies."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import urlencode

from tests.services import needs_browser
from tests.web.studio_fixtures import POLICY, Visitor

from tetraodon.web.studio import Studio


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
