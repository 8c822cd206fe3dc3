"""The studio's server: one browser on this machine, pages and forms, and a little JSON for what moves."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tetraodon.errors import PolicyError, TetraodonError
from tetraodon.ledger import Ledger
from tetraodon.policy.edited import edited
from tetraodon.policy.publisher import NOBODY
from tetraodon.releasing.plan import Plan
from tetraodon.studio import forms, pages
from tetraodon.studio.child import Child
from tetraodon.studio.doorkeeper import HEADERS, REPORT_RULES, RULES, Doorkeeper
from tetraodon.studio.workbench import Workbench, plan_of

MOST_BYTES = 2_000_000
FIRST = "/columns"


class Studio:
    """A workbench behind a door on 127.0.0.1. `address` is where to begin, once."""

    def __init__(self, bench: Workbench, port: int = 0) -> None:
        self.bench, self.child = bench, Child()
        self._server = _Quiet(("127.0.0.1", port), partial(_Handler, self))
        self.door = Doorkeeper(self._server.server_address[1])

    @property
    def address(self) -> str:
        return self.door.address

    def serve(self) -> None:
        """Until `close`."""
        self._server.serve_forever(poll_interval=0.1)

    def start(self) -> None:
        """Serve beside the caller."""
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    # -- what the forms do ----------------------------------------------------------------------------

    def act(self, name: str, fields: forms.Fields) -> None:
        """Carry out what a form says. Raises TetraodonError where it cannot be."""
        action = _ACTIONS.get(name)
        if action is None:
            raise PolicyError("the studio has no such form", fix="load the page again")
        action(self, fields)

    def column(self, fields: forms.Fields) -> None:
        name = forms.one(fields, "name")
        attributes = pages.data_of(self.bench).get("attributes")
        before = attributes.get(name) if isinstance(attributes, dict) else None
        self.bench.edit(("attributes", name), forms.attribute(fields, before))

    def secret(self, fields: forms.Fields) -> None:
        self.bench.edit(("secrets", forms.one(fields, "name")), forms.secret(fields), forms.one(fields, "reason"))

    def question(self, fields: forms.Fields) -> None:
        listed = pages.data_of(self.bench).get("release")
        self.bench.edit(("release", len(listed) if isinstance(listed, list) else 0), forms.question(fields))

    def remove(self, fields: forms.Fields) -> None:
        self.bench.edit(forms.path_of(fields), None)

    def set(self, fields: forms.Fields) -> None:
        self.bench.edit(forms.path_of(fields), forms.one(fields, "value"), forms.one(fields, "reason"))

    def text(self, fields: forms.Fields) -> None:
        self.bench.replace((fields.get("text") or [""])[0])

    def undo(self, fields: forms.Fields) -> None:
        del fields
        self.bench.undo()

    def take(self, fields: forms.Fields) -> None:
        self.bench.take(theirs=forms.one(fields, "whose") == "theirs")

    def open_ledger(self, fields: forms.Fields) -> None:
        """Set the total, once: the name of the data set is typed, as for a release."""
        policy = self._finished(fields)
        with Ledger(self.bench.ledger) as ledger:
            ledger.open(policy.dataset, forms.one(fields, "total"), policy, delta=policy.delta)

    def run(self, fields: forms.Fields) -> None:
        self._finished(fields)
        if not self.bench.table:
            raise PolicyError(
                "the studio was started without a table", fix="start it as `tetraodon studio POLICY TABLE`"
            )
        out = self.bench.path.parent / (forms.one(fields, "out") or "release")
        self.child.start(self.bench.path, self.bench.table, self.bench.ledger, out)

    def _finished(self, fields: forms.Fields) -> Any:
        held = self.bench.held
        if held.problems or held.policy is None:
            raise PolicyError("the file is not finished", fix="see what it still lacks")
        if forms.one(fields, "confirm") != held.policy.dataset:
            raise PolicyError("the name of the data set was not typed", fix=f"type {held.policy.dataset}")
        return held.policy

    # -- what moves -----------------------------------------------------------------------------------

    def strip(self, fields: forms.Fields) -> str:
        """The picture of one column as its secrets would be."""
        name = forms.one(fields, "name")
        held = self.bench.tried(("secrets", name), forms.secret(fields))
        made = pages.templates().get_template("strip.html.j2")
        strips = pages.strips_of(held.policy, name)
        wrong = [one for one in held.problems if one.path[:2] == ("secrets", name)]
        return made.render(publisher=NOBODY, words={}, strips=strips, name=name, problems=wrong)

    def figures(self, fields: forms.Fields) -> dict[str, Any]:
        """Errors and odds at another epsilon."""
        return pages.figures(edited(self.bench.text, ("budget",), {"epsilon": forms.one(fields, "epsilon")}))

    def simulate(self, fields: forms.Fields) -> dict[str, Any]:
        """Three releases that could come out."""
        plan = plan_of(self.bench.text)
        if not isinstance(plan, Plan):
            return {"items": [], "problem": "" if plan is None else str(plan)}
        people = forms.one(fields, "people") or "1000"
        if not people.isascii() or not people.isdigit() or len(people) > 7:
            raise PolicyError("that is no number of people", fix="write one such as 1000")
        return pages.simulated(plan, forms.one(fields, "shape") or "hump", int(people))


_ACTIONS: dict[str, Callable[[Studio, forms.Fields], None]] = {
    "column": Studio.column,
    "secret": Studio.secret,
    "question": Studio.question,
    "remove": Studio.remove,
    "set": Studio.set,
    "text": Studio.text,
    "undo": Studio.undo,
    "take": Studio.take,
    "open": Studio.open_ledger,
    "run": Studio.run,
}


class _Quiet(ThreadingHTTPServer):
    """Says of what goes wrong its kind alone: what a request holds is nobody else's business."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        del request, client_address
        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError | TimeoutError):
            print(f"internal error: {type(error).__name__}", file=sys.stderr)


class _Handler(BaseHTTPRequestHandler):
    """One request. Nothing is logged: addresses carry what somebody is thinking about."""

    protocol_version = "HTTP/1.1"
    server_version = "tetraodon"
    sys_version = ""
    timeout = 30

    def __init__(self, studio: Studio, *rest: Any) -> None:
        self.studio = studio
        super().__init__(*rest)

    def log_message(self, *words: object) -> None:
        del words

    def do_GET(self) -> None:
        place, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query, max_num_fields=50)
        if place == "/" and self.studio.door.for_us(self.headers):
            cookie = self.studio.door.welcome(self.path)
            if cookie:
                self._send(303, b"", headers={"Set-Cookie": cookie, "Location": FIRST})
                return
        if not self.studio.door.lets_in("GET", self.headers):
            self._refuse(403, "This page is for the browser that the studio opened. Start the studio anew.")
            return
        try:
            self._show(place, query)
        except TetraodonError as error:
            self._json({"items": [], "problem": str(error)}, 400)

    def _show(self, place: str, query: forms.Fields) -> None:
        name = place.strip("/") or FIRST.strip("/")
        studio = self.studio
        if name in pages.PAGES:
            self._html(pages.page(name, studio.bench, studio.child))
        elif name.startswith("assets/") and (found := pages.asset(name.removeprefix("assets/"))) is not None:
            self._send(200, found[0], kind=found[1])
        elif name == "strip":
            self._html(studio.strip(query))
        elif name in ("figures", "simulate"):
            self._json(getattr(studio, name)(query))
        elif name == "status":
            self._json(studio.child.document())
        elif name == "report" and studio.child.folder is not None:
            self._report(studio.child.folder / "report.html")
        else:
            self._refuse(404, "There is no such page.")

    def _report(self, path: Path) -> None:
        try:
            self._send(200, path.read_bytes(), rules=REPORT_RULES)
        except OSError:
            self._refuse(404, "The report is gone.")

    def do_POST(self) -> None:
        if not self.studio.door.lets_in("POST", self.headers):
            self.close_connection = True
            self._refuse(403, "This page is for the browser that the studio opened.")
            return
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or len(length) > 9 or int(length) > MOST_BYTES:
            self.close_connection = True
            self._refuse(413, "That is too long.")
            return
        body = self.rfile.read(int(length)).decode("utf-8", "replace")
        try:
            fields = parse_qs(body, keep_blank_values=True, max_num_fields=200)
        except ValueError:
            self._refuse(400, "That is no form of the studio.")
            return
        name, back = urlsplit(self.path).path.strip("/"), forms.one(fields, "back")
        back = back if back in pages.PAGES else FIRST.strip("/")
        try:
            self.studio.act(name, fields)
        except TetraodonError as error:
            self._html(pages.page(back, self.studio.bench, self.studio.child, error), 400)
            return
        self._send(303, b"", headers={"Location": f"/{back}"})

    # -- answers --------------------------------------------------------------------------------------

    def _html(self, text: str, status: int = 200) -> None:
        self._send(status, text.encode())

    def _json(self, document: Any, status: int = 200) -> None:
        self._send(status, json.dumps(document, allow_nan=False).encode(), kind="application/json")

    def _refuse(self, status: int, told: str) -> None:
        self._send(status, told.encode(), kind="text/plain")

    def _send(
        self,
        status: int,
        body: bytes,
        *,
        kind: str = "text/html",
        rules: str = RULES,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Security-Policy": rules, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
