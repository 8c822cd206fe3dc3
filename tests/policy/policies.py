"""Random policy documents over tiny worlds, in all the forms that the file allows."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import Any

from hypothesis import strategies as st

LABELS = ["a", "b", "No", "true", "1.0", "", "other", "ü"]
WORDS = st.text(alphabet="abc xyzåß'\"{}:#,", min_size=1, max_size=6).filter(lambda word: word.strip())


@st.composite
def _attribute(draw: st.DrawFn) -> tuple[Any, list[Any], str]:
    """A form, its values in order, and whether they are numbers, ordered or neither."""
    kind = draw(st.sampled_from(["integer", "real", "date", "ordered", "categories", "list", "boolean"]))
    size = draw(st.integers(1, 5))
    low = draw(st.integers(-3, 3))
    if kind == "integer":
        return {"integer": [low, low + size - 1]}, list(range(low, low + size)), "number"
    if kind == "real":
        step = draw(st.sampled_from(["0.1", "1/3", "2"]))
        top = {"0.1": f"{low * 10 + size - 1}/10", "1/3": f"{low * 3 + size - 1}/3", "2": str(low + 2 * (size - 1))}[
            step
        ]
        values = {
            "0.1": [f"{low * 10 + i}/10" for i in range(size)],
            "1/3": [f"{low * 3 + i}/3" for i in range(size)],
            "2": [low + 2 * i for i in range(size)],
        }[step]
        return {"real": [low, top], "step": step}, values, "number"
    if kind == "date":
        days = [(dt.date(2020, 2, 27) + dt.timedelta(days=i)).isoformat() for i in range(size)]
        return {"date": [days[0], days[-1]]}, days, "date"
    if kind == "boolean":
        return draw(st.sampled_from(["boolean", {"boolean": True}])), [False, True], "category"
    labels = draw(st.permutations(LABELS))[:size]
    if kind == "list":
        return labels, labels, "category"
    return {kind: labels}, labels, "order" if kind == "ordered" else "category"


@st.composite
def _secret(draw: st.DrawFn, values: list[Any], kind: str) -> Any:
    choices = ["everything", "public", "blocks"]
    choices += ["within"] * (kind != "category") + ["pairs"] * (len(values) > 1)
    word = draw(st.sampled_from(choices))
    if word in ("everything", "public"):
        return word
    if word == "within":
        return {"within": draw(st.sampled_from(["2", "5/2", 4, 1000]))}
    if word == "pairs":
        pair = st.lists(st.sampled_from(range(len(values))), min_size=2, max_size=2, unique=True)
        return {"pairs": [[values[x], values[y]] for x, y in draw(st.lists(pair, min_size=1, max_size=4))]}
    cuts = sorted({0, len(values), *draw(st.lists(st.integers(0, len(values)), max_size=2))})
    groups = [values[a:b] for a, b in itertools.pairwise(cuts)]
    if kind in ("number", "date"):
        return {"blocks": draw(st.permutations([[group[0], group[-1]] for group in groups]))}
    return {"blocks": draw(st.permutations(groups))}


@st.composite
def _item(draw: st.DrawFn, shapes: dict[str, tuple[list[Any], str]]) -> dict[str, Any]:
    name = draw(st.sampled_from(sorted(shapes)))
    values, kind = shapes[name]
    others = [other for other in shapes if other != name]
    by = {"by": draw(st.lists(st.sampled_from(others), unique=True, max_size=2))} if others else {}
    choices: list[dict[str, Any]] = [{"count": "all", **by}, {"histogram": [name, *by.get("by", [])]}]
    if kind in ("number", "date"):
        choices.append({"histogram": name, "bins": {name: 2}})
        choices.append({"histogram": name, "bins": {name: [[values[0], values[-1]]]}})
    if kind != "category":
        choices += [{"cdf": name, **by}, {"ranges": name, **by}, {"quantiles": name, "at": ["0.1", "1/3"], **by}]
        choices += [{"ranges": {name: [[values[0], values[-1]]]}}, {"ranges": {name: {"z": values[:1] * 2}}}]
    if kind == "number":
        choices += [{"total": name, **by}, {"sum": name}, {"mean": name, **by}]
    share = draw(st.sampled_from([{}, {"share": 2}, {"share": "1/3"}, {"share": 0.5}]))
    chosen = draw(st.sampled_from(choices))
    able = chosen.keys() & {"count", "histogram", "cdf", "ranges"}
    return {**chosen, **share, "whole": bool(able) and draw(st.booleans())}


@st.composite
def _groups(draw: st.DrawFn, by: str, shapes: dict[str, tuple[list[Any], str]], named: list[str]) -> dict[str, Any]:
    """Own secrets for some of the values of an attribute."""
    rules: dict[str, Any] = {}
    others = [name for name in shapes if name != by and name not in named]
    values = [value for value in shapes[by][0] if value != ""]  # a key is never empty
    for value in draw(st.lists(st.sampled_from(values), unique=True)) if values else []:
        choices: list[Any] = ["none", {"together": "one attribute at a time"}]
        if named:
            choices = choices[:1]
        if others:
            choices.append({"secrets": {others[0]: draw(_secret(*shapes[others[0]]))}})
        rules[str(value).lower() if isinstance(value, bool) else str(value)] = draw(st.sampled_from(choices))
    return {"groups": {"by": by, "rules": rules}}


@st.composite
def policies(draw: st.DrawFn, most: int = 3, *, groups: bool = True) -> dict[str, Any]:
    """A document that `load_policy` takes."""
    names = draw(st.lists(WORDS, min_size=1, max_size=most, unique=True))
    drawn = {name: draw(_attribute()) for name in names}
    attributes: dict[str, Any] = {}
    for name, (form, values, _) in drawn.items():
        options = {"missing": draw(st.sampled_from(values)), "unit": "USD"} if draw(st.booleans()) else {}
        attributes[name] = {**form, **options} if isinstance(form, dict) else form
    together: Any = draw(st.sampled_from(["one attribute at a time", "all at once", {"at most": 2}]))
    numbers = [name for name, (_, _, kind) in drawn.items() if kind == "number"]
    if numbers and draw(st.integers(0, 2)) == 0:
        metric = draw(st.sampled_from(["l1", "l2", "linf"]))
        together = {"metric": metric, "over": numbers, "within": draw(st.sampled_from([2, "7/2"]))}
    named = [] if isinstance(together, str) else together.get("over", [])
    secrets = {
        name: draw(_secret(values, kind))
        for name, (_, values, kind) in drawn.items()
        if name not in named and draw(st.booleans())
    }
    shapes = {name: (values, kind) for name, (_, values, kind) in drawn.items()}
    items = draw(st.lists(_item(shapes), max_size=3))
    individuals = draw(st.sampled_from(["one row each", {"key": "who", "at most": "3 rows"}]))
    own: dict[str, Any] = {}
    if groups and individuals == "one row each" and set(names) - set(named) and draw(st.booleans()):
        by = draw(st.sampled_from(sorted(set(names) - set(named))))
        secrets[by] = "public"
        own = draw(_groups(by, shapes, named))
    return {
        "dataset": draw(WORDS),
        "presence": draw(st.sampled_from(["public", "secret"])),
        "individuals": individuals,
        "attributes": attributes,
        "secrets": secrets,
        "together": together,
        **own,
        "budget": {"epsilon": draw(st.sampled_from([1, 0.1, "1/3", 2.5, 40]))},
        "release": [{"name": f"item{number}", **item} for number, item in enumerate(items)],
    }
