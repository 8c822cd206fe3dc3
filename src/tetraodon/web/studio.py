"""The studio: one browser of this machine edits a policy file by looking at what it promises and costs.

It writes the file that the command line reads. Of a table it reads the names and types of the columns, when it drafts
the file, and nothing else before a release.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any
from urllib.parse import parse_qs

import uvicorn
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from tetraodon.domain import Attribute
from tetraodon.errors import LedgerError, PolicyError, TetraodonError
from tetraodon.exact.rational import decimal_text
from tetraodon.ledger import Ledger, shown_above, shown_below
from tetraodon.policy.attackers import Chain, Contacts, DependentGroups, TableSecret
from tetraodon.policy.attribute_graph import Everything
from tetraodon.policy.edit import edit_policy
from tetraodon.policy.explain import explain
from tetraodon.policy.joint_graph import METRICS
from tetraodon.policy.load import Held
from tetraodon.policy.policy import Policy
from tetraodon.policy.source import Plain
from tetraodon.releases.plan import Plan
from tetraodon.releases.pricing import quote
from tetraodon.report.odds import MOST_CHIPS, OddsStrip, odds_maps, odds_strips
from tetraodon.web import forms
from tetraodon.web.app import REPORT_POLICY, WebApp, asset, document, read_body, redirect, render, respond
from tetraodon.web.auth import LoopbackAuth
from tetraodon.web.forms import KINDS, QUESTIONS, FieldLists, as_line, one
from tetraodon.web.http_errors import HttpError, status_of
from tetraodon.web.policy_editor import PolicyEditor, ReleaseProcess, plan_of
from tetraodon.web.slow_client_limits import uvicorn_config
from tetraodon.web.studio_figures import (
    figures,
    fitting_attacks,
    household,
    locked_cells,
    needed,
    played,
    simulated,
)

PAGES = {
    "columns": "Columns",
    "choose": "Choose",
    "secrets": "Secrets",
    "known": "Known and attackers",
    "questions": "Questions",
    "budget": "Budget",
    "release": "Release",
    "text": "The file",
}
FIRST, MAX_BYTES = "columns", 2_000_000
MAX_VALUES = 10_000
"""How many values blocks are made of by dragging; of more they are typed."""
MAX_PEOPLE = 12
"""How many people of a household are drawn."""


class Studio(WebApp):
    """A policy editor on a port of 127.0.0.1, for the one browser that opens `address` first. Nothing is logged."""

    def __init__(self, editor: PolicyEditor, port: int = 0) -> None:
        super().__init__()
        self.editor, self.process = editor, ReleaseProcess()
        self._socket = socket.create_server(("127.0.0.1", port))
        self.auth = LoopbackAuth(self._socket.getsockname()[1])
        app = self.application([("/{path:path}", ["GET", "POST"], self._answer)])
        self._server = uvicorn.Server(uvicorn_config(app))
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        return self.auth.address

    def serve(self) -> None:
        """Serve until `close`, or until a signal ends it."""
        self._server.run(sockets=[self._socket])

    def start(self) -> None:
        """Serve in a thread."""
        self._thread = threading.Thread(target=self.serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
        self._socket.close()

    async def _answer(self, request: Request) -> Response:
        query, method = request.scope["query_string"].decode("latin-1"), request.method
        target = request.scope["raw_path"].decode("latin-1") + f"?{query}" * bool(query)
        entering = method == "GET" and target.startswith("/?") and self.auth.host_matches(request.headers)
        if entering and self.auth.redeem(target):
            return redirect(self.auth.root + FIRST)
        if not self.auth.allows(method, target, request.headers):
            raise HttpError(403, "this page is for the browser that the studio opened", fix="start the studio again")
        name = self.auth.name(target)
        if method == "POST":
            return await to_thread.run_sync(self._act, name, await read_body(request, MAX_BYTES))
        return await to_thread.run_sync(self._show, name, query)

    def refusal(self, error: TetraodonError) -> Response:
        return respond(str(error), status_of(error), kind="text/plain")

    async def _broken(self, request: Request, error: Exception) -> Response:
        print(f"internal error: {type(error).__name__}", file=sys.stderr)
        return await super()._broken(request, error)

    def _act(self, name: str, body: bytes) -> Response:
        """Carry out a form, and go back to its page."""
        try:
            fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=200)
        except ValueError:
            raise HttpError(400, "that is not a form of the studio", fix="load the page again") from None
        back = one(fields, "back")
        back = back if back in PAGES else FIRST
        try:
            forms.act(name, self.editor, self.process, fields)
        except TetraodonError as error:
            return respond(page(back, self.editor, self.process, error), 400)
        return redirect(self.auth.root + back)

    def _show(self, name: str, query: str) -> Response:
        """A page, an asset, or a picture of what a policy would promise."""
        if name in PAGES:
            return respond(page(name, self.editor, self.process))
        if name.startswith("assets/"):
            return asset(name.removeprefix("assets/"), scripts=True)
        if (
            name == "report"
            and self.process.folder is not None
            and (report := self.process.folder / "report.html").exists()
        ):
            return respond(report.read_bytes(), policy=REPORT_POLICY)
        try:
            fields = parse_qs(query, max_num_fields=50)
            if name in PICTURES:
                return respond(PICTURES[name](self, fields))
            if name in FIGURES:
                return document(FIGURES[name](self, fields))
        except TetraodonError as error:
            return document({"items": [], "problem": str(error)}, 400)
        except ValueError:
            raise HttpError(400, "that is not an address of the studio", fix="load the page again") from None
        raise HttpError(404, "there is no such page", fix="go back to the studio")

    # -- what changes while something is dragged ------------------------------------------------------

    def strip(self, fields: FieldLists) -> str:
        """The odds strips of one column, with the secrets of a form."""
        name = one(fields, "name")
        held = self.editor.tried(("secrets", name), forms.secret(fields))
        wrong = [problem for problem in held.problems if problem.path[:2] == ("secrets", name)]
        return render("strip", strips=strips_of(held.policy, name), name=name, problems=wrong, nothing="")

    def map(self, fields: FieldLists) -> str:
        """The odds map of two columns, with the joint metric of a form."""
        held = self.editor.tried(("together",), forms.joint(fields))
        return render("map", maps=[] if held.policy is None else odds_maps(held.policy), problems=held.problems)

    def figures(self, fields: FieldLists) -> dict[str, Any]:
        """Errors and odds at another epsilon."""
        path, value = self.editor.budget_with(one(fields, "epsilon"))
        return figures(edit_policy(self.editor.text, path, value), self.editor.path.parent)

    def simulate(self, fields: FieldLists) -> dict[str, Any]:
        """Three simulated releases."""
        plan = plan_of(self.editor.text, self.editor.path.parent)
        if not isinstance(plan, Plan):
            return {"items": [], "problem": "" if plan is None else str(plan)}
        people = one(fields, "people") or "1000"
        if not people.isascii() or not people.isdigit() or len(people) > 7:
            raise PolicyError("the number of people is invalid", fix="write a whole number such as 1000")
        return simulated(plan, one(fields, "shape") or "hump", int(people))

    def status(self) -> dict[str, Any]:
        """Whether a release runs, and whether another program changed the file."""
        return {**self.process.document(), "changed": bool(self.editor.changed_elsewhere())}


PICTURES: Mapping[str, Callable[[Studio, FieldLists], str]] = {
    "strip": Studio.strip,
    "map": Studio.map,
    "attack": lambda _, fields: render("attack", **played(one(fields, "name"))),
}
FIGURES: Mapping[str, Callable[[Studio, FieldLists], dict[str, Any]]] = {
    "figures": Studio.figures,
    "simulate": Studio.simulate,
    "needed": lambda studio, _: needed(studio.editor.text, studio.editor.path.parent),
    "status": lambda studio, _: studio.status(),
}


# -- pages -----------------------------------------------------------------------------------------


def page(name: str, editor: PolicyEditor, process: ReleaseProcess, error: TetraodonError | None = None) -> str:
    """A page of the studio, with the reason why the last form was refused, if it was."""
    held = editor.held
    values = VIEWS[name](editor, held) if name in VIEWS else {}
    return render(
        name,
        menu=PAGES,
        root="",
        here=name,
        file=editor.path.name,
        text=editor.text,
        held=held,
        child=process.document(),
        difference=editor.changed_elsewhere(),
        epsilon=None if held.policy is None else decimal_text(held.policy.epsilon),
        undoable=bool(editor.before),
        error=error,
        **values,
    )


def _columns(editor: PolicyEditor, held: Held) -> dict[str, Any]:
    columns = []
    for name, said in editor.map_of("attributes").items():
        form = (
            said
            if isinstance(said, dict)
            else {"categories": said}
            if isinstance(said, list)
            else {"boolean": "true"}
            if said == "boolean"
            else {}
        )
        kind = next((kind for kind in KINDS if kind in form), "")
        values = form.get(kind)
        listed = [part for part in values if isinstance(part, str)] if isinstance(values, list) else []
        columns.append(
            {
                "name": name,
                "kind": kind,
                "other": bool(form) and not kind,
                "low": listed[0] if listed and kind in ("integer", "real", "date") else "",
                "high": listed[-1] if listed and kind in ("integer", "real", "date") else "",
                "step": form.get("step") or "",
                "listed": as_line(listed) if kind in ("categories", "ordered") else "",
                "missing": form.get("missing") or "",
                "elsewhere": form.get("other") or "",
                "problems": [one for one in held.problems if one.path[:2] == ("attributes", name)],
            }
        )
    return {"columns": columns, "kinds": KINDS}


def _secrets(editor: PolicyEditor, held: Held) -> dict[str, Any]:
    said, policy = editor.map_of("secrets"), held.policy
    shown: list[dict[str, Any]] = []
    together = editor.map_of("together")
    over = together.get("over")
    for name in editor.map_of("attributes"):
        entry = said.get(name)
        form = (
            entry if isinstance(entry, dict) else {entry: "true"} if isinstance(entry, str) else {"everything": "true"}
        )
        kind = next((kind for kind in ("everything", "public", "within", "blocks") if kind in form), "other")
        if str(form.get("within")).endswith("%"):
            kind = "other"
        if isinstance(over, list) and name in over:
            kind = "map" if "metric" in together and len(over) == 2 else "other"
        attribute = policy.domain[name] if policy is not None and name in policy.domain.names else None
        shown.append(
            {
                "name": name,
                "kind": kind,
                "within": form.get("within") or "",
                "blocks": _block_lines(form.get("blocks")),
                "attribute": attribute,
                "maker": _block_maker(attribute),
                "longest": decimal_text((attribute.size - 1 - attribute.separate) * attribute.step)
                if attribute is not None and attribute.adds_up
                else "",
                "step": decimal_text(attribute.step) if attribute is not None and attribute.adds_up else "1",
                "strips": strips_of(policy, name),
                "problems": [one for one in held.problems if one.path[:2] == ("secrets", name)],
            }
        )
    return {
        "secrets": shown,
        "whole": policy.attackers if policy is not None and isinstance(policy.attackers, TableSecret) else None,
        "together": _together(editor),
        "map": together if isinstance(over, list) and len(over) == 2 and {"metric", "within"} <= {*together} else None,
        "maps": [] if policy is None else odds_maps(policy),
        "metrics": METRICS,
        "coordinates": [one["name"] for one in shown if one["attribute"] is not None and one["attribute"].adds_up],
    }


def _block_maker(attribute: Attribute | None) -> dict[str, Any] | None:
    """What blocks of an attribute's values are made of by dragging; None where they are typed."""
    if attribute is None or attribute.separate or not 1 < attribute.size <= MAX_VALUES:
        return None
    strip = OddsStrip(attribute, Everything(attribute.size), Fraction(1))
    if strip.ruler:
        return {"words": False, **strip.document()}
    if attribute.size > MOST_CHIPS:
        return None
    return {"words": True, "texts": [attribute.text(code) for code in range(attribute.size)]}


def _block_lines(blocks: Plain) -> str:
    """One line for each block of a file."""
    found = [block for block in blocks if isinstance(block, list)] if isinstance(blocks, list) else []
    return "\n".join(as_line([str(part) for part in block]) for block in found)


def strips_of(policy: Policy | None, name: str) -> list[Any]:
    """The strips of an attribute; none where nothing about it is secret, or the policy is not finished."""
    return [] if policy is None else [strip for strip in odds_strips(policy) if strip.attribute.name == name]


def _together(editor: PolicyEditor) -> str:
    said = editor.data.get("together")
    return said if isinstance(said, str) else "all at once" if said is None else "other"


def _known(editor: PolicyEditor, held: Held) -> dict[str, Any]:
    policy, said = held.policy, editor.list_of("known")
    facts = policy.known if policy is not None and len(policy.known) == len(said) else ()
    attackers = None if policy is None else policy.attackers
    rows = household(policy)
    return {
        "presence": editor.data.get("presence") or "secret",
        "locked": [locked_cells(fact, policy.domain) for fact in facts] if policy is not None else [],
        "unreadable": len(said) - len(facts),
        "names": [*editor.map_of("attributes")],
        "groups": attackers if isinstance(attackers, DependentGroups) else None,
        "other": {Chain: "a chain", Contacts: "a network of contacts"}.get(type(attackers), ""),
        "share": isinstance(attackers, TableSecret),
        "rows": rows,
        "people": min(rows, MAX_PEOPLE),
        "attacks": fitting_attacks(policy),
        "told": [] if policy is None else list(explain(policy).parts),
    }


def _choose(editor: PolicyEditor, held: Held) -> dict[str, Any]:
    items = [
        {"number": number, "name": entry.get("name") or f"item {number + 1}", "error": entry.get("error")}
        for number, entry in enumerate(editor.list_of("release"))
        if isinstance(entry, dict)
    ]
    return _secrets(editor, held) | _known(editor, held) | {"items": items}


def _questions(editor: PolicyEditor, held: Held) -> dict[str, Any]:
    items = []
    for number, entry in enumerate(editor.list_of("release")):
        name = entry.get("name") if isinstance(entry, dict) else None
        asked = next((i.asked for i in held.policy.items if i.name == name), "") if held.policy is not None else ""
        wrong = [one for one in held.problems if one.path[:2] == ("release", number)]
        items.append({"number": number, "name": name or f"item {number + 1}", "asked": asked, "problems": wrong})
    return {
        "items": items,
        "kinds": QUESTIONS,
        "names": [*editor.map_of("attributes")],
        "figures": figures(editor.text, editor.path.parent),
    }


def _budget(editor: PolicyEditor, held: Held) -> dict[str, Any]:
    epsilon = held.policy.epsilon if held.policy is not None else Fraction(1)
    return {"figures": figures(editor.text, editor.path.parent), "start": float(epsilon)}


def _release(editor: PolicyEditor, held: Held) -> dict[str, Any]:
    values: dict[str, Any] = {
        "table": editor.table,
        "ledger": editor.ledger,
        "gauge": None,
        "closed": "",
        "dataset": "",
    }
    values |= {"unopened": False, "refusal": None, "changes": editor.changes}
    plan = plan_of(editor.text, editor.path.parent)
    if held.problems or held.policy is None or not isinstance(plan, Plan):
        return values | {"closed": str(plan) if isinstance(plan, TetraodonError) else "The file is not finished."}
    values["dataset"] = held.policy.dataset
    values["told"] = list(explain(held.policy).parts)
    try:
        with Ledger(editor.ledger) as ledger:
            account = ledger.account(held.policy.account)
            asked = quote(plan, ledger)
            total = account.total
            values["gauge"] = _gauge(total, account.left, asked.charge)
            values["refusal"] = asked.refusal
    except LedgerError as error:
        values["closed"] = str(error)
        values["unopened"] = True
    return values


def _gauge(total: Fraction, left: Fraction, this: Fraction | None) -> Mapping[str, Any]:
    spent = total - left
    return {
        "total": decimal_text(total),
        "spent": shown_above(spent),
        "left": shown_below(left),
        "this": "?" if this is None else shown_above(this),
        "spent_share": float(100 * spent / total),
        "this_share": float(min(100 * (this or 0) / total, 100 - 100 * spent / total)),
    }


VIEWS: dict[str, Callable[[PolicyEditor, Held], dict[str, Any]]] = {
    "choose": _choose,
    "columns": _columns,
    "secrets": _secrets,
    "known": _known,
    "questions": _questions,
    "budget": _budget,
    "release": _release,
}
"""What pages show besides the file, under the names of their templates."""
