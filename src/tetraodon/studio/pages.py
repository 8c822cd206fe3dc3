"""What each page shows: values for its template, worked out from the text of the file alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tetraodon.domain import Attribute
from tetraodon.errors import LedgerError, TetraodonError
from tetraodon.exact.rational import decimal_text
from tetraodon.ledger import Ledger, shown_above, shown_below
from tetraodon.policy.attackers import Chain, Contacts, DependentGroups, TableSecret
from tetraodon.policy.attribute_graph import Everything
from tetraodon.policy.explain import explain
from tetraodon.policy.joint_graph import METRICS
from tetraodon.policy.load import Held
from tetraodon.policy.policy import Policy
from tetraodon.policy.publication import NOBODY
from tetraodon.policy.source import Plain
from tetraodon.releases.plan import Plan
from tetraodon.releases.pricing import quote
from tetraodon.report.odds import MOST_CHIPS, OddsStrip, odds_maps, odds_strips
from tetraodon.report.page import FOLDER as REPORT
from tetraodon.report.page import templates as report_templates
from tetraodon.studio.child import Child
from tetraodon.studio.figures import figures
from tetraodon.studio.forms import KINDS, QUESTIONS, as_line
from tetraodon.studio.locked_cells import fitting_attacks, household, locked_cells
from tetraodon.studio.workbench import Workbench, plan_of

if TYPE_CHECKING:
    from jinja2 import Environment

HERE = Path(__file__).parent
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
ASSETS = dict.fromkeys(("studio.js", "map.js", "blocks.js", "studio.css"), HERE)
ASSETS |= {"strips.js": REPORT, "style.css": REPORT}
MOST_VALUES = 10_000
"""How many values blocks are made of by dragging; of more they are typed."""
MOST_PEOPLE = 12
"""How many people of a household are drawn."""


@cache
def templates() -> Environment:
    """Ours, and the parts of reports."""
    from jinja2 import FileSystemLoader

    return report_templates().overlay(loader=FileSystemLoader([HERE / "templates", REPORT / "templates"]))


def asset(name: str) -> tuple[bytes, str] | None:
    """A script or a style sheet of ours, with its kind."""
    folder = ASSETS.get(name)
    if folder is None:
        return None
    return (folder / name).read_bytes(), "text/javascript" if name.endswith("js") else "text/css"


def page(name: str, bench: Workbench, child: Child, error: TetraodonError | None = None) -> str:
    """A page of the studio, with what went wrong with the last change, if anything did."""
    held = bench.held
    made = templates().get_template(f"{name}.html.j2")
    own = _CONTENTS.get(name)
    values = own(bench, held) if own is not None else {}
    if name == "release":
        values = _release(bench, held) | {"child": child.document()}
    return made.render(
        publisher=NOBODY,
        words={},
        pages=PAGES,
        here=name,
        file=bench.path.name,
        text=bench.text,
        held=held,
        difference=bench.changed_elsewhere(),
        epsilon=None if held.policy is None else decimal_text(held.policy.epsilon),
        undoable=bool(bench.before),
        error=error,
        **values,
    )


def _columns(bench: Workbench, held: Held) -> dict[str, Any]:
    columns = []
    for name, said in bench.map_of("attributes").items():
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


def _secrets(bench: Workbench, held: Held) -> dict[str, Any]:
    said, policy = bench.map_of("secrets"), held.policy
    shown: list[dict[str, Any]] = []
    together = bench.map_of("together")
    over = together.get("over")
    for name in bench.map_of("attributes"):
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
        "together": _together(bench),
        "map": together if isinstance(over, list) and len(over) == 2 and {"metric", "within"} <= {*together} else None,
        "maps": [] if policy is None else odds_maps(policy),
        "metrics": METRICS,
        "coordinates": [one["name"] for one in shown if one["attribute"] is not None and one["attribute"].adds_up],
    }


def _block_maker(attribute: Attribute | None) -> dict[str, Any] | None:
    """What blocks of an attribute's values are made of by dragging; None where they are typed."""
    if attribute is None or attribute.separate or not 1 < attribute.size <= MOST_VALUES:
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


def _together(bench: Workbench) -> str:
    said = bench.data.get("together")
    return said if isinstance(said, str) else "all at once" if said is None else "other"


def _known(bench: Workbench, held: Held) -> dict[str, Any]:
    policy, said = held.policy, bench.list_of("known")
    facts = policy.known if policy is not None and len(policy.known) == len(said) else ()
    attackers = None if policy is None else policy.attackers
    rows = household(policy)
    return {
        "presence": bench.data.get("presence") or "secret",
        "locked": [locked_cells(fact, policy.domain) for fact in facts] if policy is not None else [],
        "unreadable": len(said) - len(facts),
        "names": [*bench.map_of("attributes")],
        "groups": attackers if isinstance(attackers, DependentGroups) else None,
        "other": {Chain: "a chain", Contacts: "a network of contacts"}.get(type(attackers), ""),
        "share": isinstance(attackers, TableSecret),
        "rows": rows,
        "people": min(rows, MOST_PEOPLE),
        "attacks": fitting_attacks(policy),
        "told": [] if policy is None else list(explain(policy).parts),
    }


def _choose(bench: Workbench, held: Held) -> dict[str, Any]:
    items = [
        {"number": number, "name": entry.get("name") or f"item {number + 1}", "error": entry.get("error")}
        for number, entry in enumerate(bench.list_of("release"))
        if isinstance(entry, dict)
    ]
    return _secrets(bench, held) | _known(bench, held) | {"items": items}


def _questions(bench: Workbench, held: Held) -> dict[str, Any]:
    items = []
    for number, entry in enumerate(bench.list_of("release")):
        name = entry.get("name") if isinstance(entry, dict) else None
        asked = next((i.asked for i in held.policy.items if i.name == name), "") if held.policy is not None else ""
        wrong = [one for one in held.problems if one.path[:2] == ("release", number)]
        items.append({"number": number, "name": name or f"item {number + 1}", "asked": asked, "problems": wrong})
    return {
        "items": items,
        "kinds": QUESTIONS,
        "names": [*bench.map_of("attributes")],
        "figures": figures(bench.text, bench.path.parent),
    }


def _budget(bench: Workbench, held: Held) -> dict[str, Any]:
    epsilon = held.policy.epsilon if held.policy is not None else Fraction(1)
    return {"figures": figures(bench.text, bench.path.parent), "start": float(epsilon)}


def _release(bench: Workbench, held: Held) -> dict[str, Any]:
    values: dict[str, Any] = {"table": bench.table, "ledger": bench.ledger, "gauge": None, "closed": "", "dataset": ""}
    values |= {"unopened": False, "refusal": None, "changes": bench.changes}
    plan = plan_of(bench.text, bench.path.parent)
    if held.problems or held.policy is None or not isinstance(plan, Plan):
        return values | {"closed": str(plan) if isinstance(plan, TetraodonError) else "The file is not finished."}
    values["dataset"] = held.policy.dataset
    values["told"] = list(explain(held.policy).parts)
    try:
        with Ledger(bench.ledger) as ledger:
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


_CONTENTS: dict[str, Callable[[Workbench, Held], dict[str, Any]]] = {
    "choose": _choose,
    "columns": _columns,
    "secrets": _secrets,
    "known": _known,
    "questions": _questions,
    "budget": _budget,
}
