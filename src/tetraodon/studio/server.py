"""The studio's server: one browser on this machine, pages and forms, and a little JSON for what moves."""

from __future__ import annotations

import json
import sys
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tetraodon.errors import PolicyError, TetraodonError
from tetraodon.policy.edit import edit_policy
from tetraodon.policy.publication import NOBODY
from tetraodon.releases.plan import Plan
from tetraodon.report.odds import odds_maps
from tetraodon.studio import forms, pages
from tetraodon.studio.actions import act
from tetraodon.studio.child import Child
from tetraodon.studio.choosing import needed
from tetraodon.studio.doorkeeper import HEADERS, REPORT_RULES, RULES, Doorkeeper
from tetraodon.studio.figures import figures, simulated
from tetraodon.studio.locked_cells import played
from tetraodon.studio.workbench import Workbench, plan_of

MOST_BYTES = 2_000_000
FIRST = "columns"


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

    # -- what moves -----------------------------------------------------------------------------------

    def strip(self, fields: forms.Fields) -> str:
        """The picture of one column as its secrets would be."""
        name = forms.one(fields, "name")
        held = self.bench.tried(("secrets", name), forms.secret(fields))
        made = pages.templates().get_template("strip.html.j2")
        strips = pages.strips_of(held.policy, name)
        wrong = [one for one in held.problems if one.path[:2] == ("secrets", name)]
        return made.render(publisher=NOBODY, words={}, strips=strips, name=name, problems=wrong, nothing="")

    def map(self, fields: forms.Fields) -> str:
        """The map of two columns as it would be."""
        held = self.bench.tried(("together",), forms.joint(fields))
        made = pages.templates().get_template("map.html.j2")
        maps = [] if held.policy is None else odds_maps(held.policy)
        return made.render(publisher=NOBODY, words={}, maps=maps, problems=held.problems)

    def figures(self, fields: forms.Fields) -> dict[str, Any]:
        """Errors and odds at another epsilon."""
        return figures(
            edit_policy(self.bench.text, *self.bench.budget_with(forms.one(fields, "epsilon"))), self.bench.path.parent
        )

    def needed(self, fields: forms.Fields) -> dict[str, Any]:
        """The least epsilon that keeps the errors of the file."""
        del fields
        return needed(self.bench.text, self.bench.path.parent)

    def attack(self, fields: forms.Fields) -> str:
        """An attack of the gallery, played."""
        return pages.templates().get_template("attack.html.j2").render(**played(forms.one(fields, "name")))

    def simulate(self, fields: forms.Fields) -> dict[str, Any]:
        """Three releases that could come out."""
        plan = plan_of(self.bench.text, self.bench.path.parent)
        if not isinstance(plan, Plan):
            return {"items": [], "problem": "" if plan is None else str(plan)}
        people = forms.one(fields, "people") or "1000"
        if not people.isascii() or not people.isdigit() or len(people) > 7:
            raise PolicyError("that is no number of people", fix="write one such as 1000")
        return simulated(plan, forms.one(fields, "shape") or "hump", int(people))


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
        door = self.studio.door
        if urlsplit(self.path).path == "/" and door.for_us(self.headers) and door.welcome(self.path):
            self._send(303, b"", headers={"Location": door.root + FIRST})
            return
        if not door.lets_in("GET", self.path, self.headers):
            self._refuse(403, "This page is for the browser that the studio opened. Start the studio anew.")
            return
        try:
            self._show(door.name(self.path), parse_qs(urlsplit(self.path).query, max_num_fields=50))
        except TetraodonError as error:
            self._json({"items": [], "problem": str(error)}, 400)
        except ValueError:
            self._refuse(400, "That is no address of the studio.")

    def _show(self, name: str, query: forms.Fields) -> None:
        studio = self.studio
        if name in pages.PAGES:
            self._html(pages.page(name, studio.bench, studio.child))
        elif name.startswith("assets/") and (found := pages.asset(name.removeprefix("assets/"))) is not None:
            self._send(200, found[0], kind=found[1])
        elif name in ("strip", "map", "attack"):
            self._html(getattr(studio, name)(query))
        elif name in ("figures", "simulate", "needed"):
            self._json(getattr(studio, name)(query))
        elif name == "status":
            self._json({**studio.child.document(), "changed": bool(studio.bench.changed_elsewhere())})
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
        if not self.studio.door.lets_in("POST", self.path, self.headers):
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
        name, back = self.studio.door.name(self.path), forms.one(fields, "back")
        back = back if back in pages.PAGES else FIRST
        try:
            act(name, self.studio.bench, self.studio.child, fields)
        except TetraodonError as error:
            self._html(pages.page(back, self.studio.bench, self.studio.child, error), 400)
            return
        self._send(303, b"", headers={"Location": self.studio.door.root + back})

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
