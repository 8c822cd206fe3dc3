"""What each page shows: values for its template, worked out from the text of the file alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tetraodon.errors import LedgerError, TetraodonError
from tetraodon.ledger import Ledger, shown_above, shown_below
from tetraodon.policy.explain import explain
from tetraodon.policy.held import Held
from tetraodon.policy.policy import Policy
from tetraodon.policy.publisher import NOBODY
from tetraodon.policy.source import Plain, read_source
from tetraodon.policy.words import chance, odds, times
from tetraodon.rational import decimal_text
from tetraodon.releasing.answer import Answer
from tetraodon.releasing.chart import value_column
from tetraodon.releasing.plan import Plan
from tetraodon.releasing.plan_table import error_in_words
from tetraodon.releasing.pricing import quote
from tetraodon.releasing.simulated import simulate
from tetraodon.report.odds_strip import odds_strips
from tetraodon.report.page import FOLDER as REPORT
from tetraodon.report.page import templates as report_templates
from tetraodon.studio.child import Child
from tetraodon.studio.forms import KINDS, QUESTIONS
from tetraodon.studio.workbench import Workbench, held_of, plan_of

if TYPE_CHECKING:
    from jinja2 import Environment

HERE = Path(__file__).parent
PAGES = {
    "columns": "Columns",
    "secrets": "Secrets",
    "known": "Known and attackers",
    "questions": "Questions",
    "budget": "Budget",
    "release": "Release",
    "text": "The file",
}
MOST_POINTS = 300
"""How many numbers of an answer are drawn."""


@cache
def templates() -> Environment:
    """Ours, and the parts of reports."""
    from jinja2 import FileSystemLoader

    return report_templates().overlay(loader=FileSystemLoader([HERE / "templates", REPORT / "templates"]))


def asset(name: str) -> tuple[bytes, str] | None:
    """A script or a style sheet of ours, with its kind."""
    folder = {"studio.js": HERE, "studio.css": HERE, "strips.js": REPORT, "style.css": REPORT}.get(name)
    if folder is None:
        return None
    return (folder / name).read_bytes(), "text/javascript" if name.endswith("js") else "text/css"


def page(name: str, bench: Workbench, child: Child, error: TetraodonError | None = None) -> str:
    """A page of the studio, with what went wrong with the last change, if anything did."""
    held = bench.held
    made = templates().get_template(f"{name}.html.j2")
    own = {"columns": _columns, "secrets": _secrets, "known": _known, "questions": _questions, "budget": _budget}
    values = own[name](bench, held) if name in own else {}
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
        undoable=bool(bench.before),
        error=error,
        **values,
    )


def data_of(bench: Workbench) -> dict[str, Plain]:
    """The file as plain data; empty where it cannot be read."""
    try:
        found = read_source(bench.text if "\n" in bench.text else bench.text + "\n").data
    except TetraodonError:
        return {}
    return found if isinstance(found, dict) else {}


def _maps(bench: Workbench, key: str) -> dict[str, Plain]:
    found = data_of(bench).get(key)
    return found if isinstance(found, dict) else {}


def _columns(bench: Workbench, held: Held) -> dict[str, Any]:
    columns = []
    for name, said in _maps(bench, "attributes").items():
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
                "listed": ", ".join(listed) if kind in ("categories", "ordered") else "",
                "missing": form.get("missing") or "",
                "elsewhere": form.get("other") or "",
                "problems": [one for one in held.problems if one.path[:2] == ("attributes", name)],
            }
        )
    return {"columns": columns, "kinds": KINDS}


def _secrets(bench: Workbench, held: Held) -> dict[str, Any]:
    said, policy, shown = _maps(bench, "secrets"), held.policy, []
    for name in _maps(bench, "attributes"):
        entry = said.get(name)
        form = (
            entry if isinstance(entry, dict) else {entry: "true"} if isinstance(entry, str) else {"everything": "true"}
        )
        kind = next((kind for kind in ("everything", "public", "within", "blocks") if kind in form), "other")
        blocks = form.get("blocks")
        attribute = policy.domain[name] if policy is not None and name in policy.domain.names else None
        shown.append(
            {
                "name": name,
                "kind": kind,
                "within": form.get("within") or "",
                "blocks": "\n".join(", ".join(map(str, block)) for block in blocks if isinstance(block, list))
                if isinstance(blocks, list)
                else "",
                "attribute": attribute,
                "longest": decimal_text((attribute.size - 1 - attribute.separate) * attribute.step)
                if attribute is not None and attribute.adds_up
                else "",
                "step": decimal_text(attribute.step) if attribute is not None and attribute.adds_up else "1",
                "strips": strips_of(policy, name),
                "problems": [one for one in held.problems if one.path[:2] == ("secrets", name)],
            }
        )
    return {"secrets": shown, "together": _together(bench)}


def strips_of(policy: Policy | None, name: str) -> list[Any]:
    """The strips of an attribute; none where nothing about it is secret, or the policy is not finished."""
    return [] if policy is None else [strip for strip in odds_strips(policy) if strip.attribute.name == name]


def _together(bench: Workbench) -> str:
    said = data_of(bench).get("together")
    return said if isinstance(said, str) else "all at once" if said is None else "other"


def _known(bench: Workbench, held: Held) -> dict[str, Any]:
    said = data_of(bench)
    told = [] if held.policy is None else list(explain(held.policy).parts)
    return {"presence": said.get("presence") or "secret", "told": told}


def _questions(bench: Workbench, held: Held) -> dict[str, Any]:
    said = data_of(bench).get("release")
    items = []
    for number, entry in enumerate(said if isinstance(said, list) else []):
        name = entry.get("name") if isinstance(entry, dict) else None
        asked = next((i.asked for i in held.policy.items if i.name == name), "") if held.policy is not None else ""
        wrong = [one for one in held.problems if one.path[:2] == ("release", number)]
        items.append({"number": number, "name": name or f"item {number + 1}", "asked": asked, "problems": wrong})
    return {"items": items, "kinds": QUESTIONS, "names": [*_maps(bench, "attributes")], "figures": figures(bench.text)}


def _budget(bench: Workbench, held: Held) -> dict[str, Any]:
    epsilon = held.policy.epsilon if held.policy is not None else Fraction(1)
    return {"figures": figures(bench.text), "epsilon": float(epsilon)}


def figures(text: str) -> dict[str, Any]:
    """What a text promises and costs: odds and guesses of one step, and the error of every item beside plain DP."""
    for problem in held_of(text).problems:
        if problem.path[:1] == ("budget",):  # an epsilon that was filled in would be taken for the file's
            return {"items": [], "problem": f"{problem.what}. Fix: {problem.fix}.", "epsilon": None}
    found = plan_of(text)
    if found is None or isinstance(found, TetraodonError):
        return {"items": [], "problem": "" if found is None else str(found), "epsilon": None}
    policy = found.policy
    return {
        "problem": "",
        "epsilon": decimal_text(policy.epsilon),
        "odds": times(odds(policy.epsilon, 1)),
        "guessers": guessers(policy.epsilon),
        "items": [
            {
                "name": item.name,
                "asked": item.item.asked,
                "error": item.expected_error,
                "plain": item.baseline_error,
                "told": error_in_words(item.expected_error, item.item.query.unit(policy.domain)),
                "told_plain": error_in_words(item.baseline_error, ""),
            }
            for item in found
        ],
    }


def guessers(epsilon: Fraction) -> int:
    """Of a hundred people who guess between two values one step apart, how many can be right at most.

    >>> guessers(Fraction(1))
    74
    """
    return math.ceil(100 * chance(epsilon, 1))


def simulated(plan: Plan, shape: str, n: int) -> dict[str, Any]:
    """Three releases that could come out, and the truth about the made-up people, as numbers to draw."""
    found = simulate(plan, shape, n)
    items = []
    for name in found.truth.answers:
        drawn = [_numbers(one[name]) for one in (found.truth, *found.releases)]
        every = max(1, -(-len(drawn[0]) // MOST_POINTS))
        truth, *releases = (numbers[::every] for numbers in drawn)
        items.append({"name": name, "truth": truth, "releases": releases})
    return {"people": n, "shape": shape, "items": items}


def _numbers(answer: Answer) -> list[float]:
    """What is drawn of an answer: its table of counts, which needs no interval, or else its numbers."""
    values = answer.values
    if values is None:
        return [float(number) for number in answer.columns[value_column(answer.columns)]]
    longest = int(np.argmax(values.shape))
    along = np.moveaxis(values, longest, -1)  # one line for each group, one behind the other
    drawn = np.cumsum(along, axis=-1) if answer.kind == "cdf" else along
    return [float(number) for number in drawn.ravel()]


def _release(bench: Workbench, held: Held) -> dict[str, Any]:
    values: dict[str, Any] = {"table": bench.table, "ledger": bench.ledger, "gauge": None, "closed": "", "dataset": ""}
    values |= {"unopened": False, "refusal": None}
    plan = plan_of(bench.text)
    if held.problems or held.policy is None or not isinstance(plan, Plan):
        return values | {"closed": str(plan) if isinstance(plan, TetraodonError) else "The file is not finished."}
    values["dataset"] = held.policy.dataset
    values["epsilon"] = shown_above(plan.epsilon)
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
