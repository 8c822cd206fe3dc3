"""What the fields of a form say, as values of a policy file."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from typing import Any

from tetraodon.errors import PolicyError
from tetraodon.policy.joint_graph import METRICS
from tetraodon.policy.source import Plain

Fields = Mapping[str, Sequence[str]]
KINDS = ("integer", "real", "date", "categories", "ordered", "boolean")
"""Kinds of columns that have a form; others are edited in the text."""
QUESTIONS = ("histogram", "cdf", "ranges", "quantiles", "median", "mean", "total", "count")


def one(fields: Fields, name: str) -> str:
    """The only value of a field, without spaces around; empty if it was left out."""
    return (fields.get(name) or [""])[0].strip()


def listed(line: str) -> list[str]:
    """What stands between the commas of a line; what has a comma in it stands in quotes.

    >>> listed('north, "south, with islands",')
    ['north', 'south, with islands']
    """
    (parts,) = csv.reader([line], skipinitialspace=True)
    return [part.strip() for part in parts if part.strip()]


def as_line(values: Sequence[str]) -> str:
    """The line that `listed` reads.

    >>> as_line(["north", "south, with islands"])
    'north, "south, with islands"'
    """
    quoted = (
        value if value and not any(sign in value for sign in ',"') else '"' + value.replace('"', '""') + '"'
        for value in values
    )
    return ", ".join(quoted)


def lines(text: str) -> list[str]:
    """What stands on each line, or between commas of a single line."""
    parts = text.splitlines() if "\n" in text.strip() else listed(text)
    return [part.strip() for part in parts if part.strip()]


def path_of(fields: Fields) -> tuple[str | int, ...]:
    """The path in a field, as JSON."""
    try:
        found = json.loads(one(fields, "path"))
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(part, str | int) for part in found) or not found:
        raise PolicyError("the form names no place in the file", fix="load the page again")
    return tuple(found)


def attribute(fields: Fields, before: Plain) -> dict[str, Any]:
    """A column: its kind and values; what the form does not show stays as it was."""
    kind = one(fields, "kind")
    if kind not in KINDS:
        raise PolicyError("the form names no kind of values", fix="choose one")
    kept = (
        {key: value for key, value in before.items() if key in ("unit", "format", "trim")}
        if isinstance(before, dict)
        else {}
    )
    if kind in ("integer", "real", "date"):
        values: dict[str, Any] = {kind: [one(fields, "low"), one(fields, "high")]}
        if kind == "real":
            values["step"] = one(fields, "step")
    elif kind == "boolean":
        values = {"boolean": "true"}
    else:
        values = {kind: lines(one(fields, "values"))}
    rest = {word: one(fields, word) for word in ("missing", "other") if one(fields, word)}
    return values | rest | kept


def secret(fields: Fields) -> object:
    """What is secret about a column."""
    match one(fields, "secret"):
        case "everything" | "public" as word:
            return word
        case "within":
            return {"within": one(fields, "within")}
        case "blocks":
            blocks = [listed(line) for line in one(fields, "blocks").splitlines() if line.strip()]
            return {"blocks": [block for block in blocks if block]}
    raise PolicyError("the form does not say what is secret", fix="choose one")


def joint(fields: Fields) -> dict[str, Any]:
    """Two columns that are measured as one."""
    over = [part for part in fields.get("over", ()) if part]
    if one(fields, "metric") not in METRICS or len(over) != 2:
        raise PolicyError("the form names no metric of two columns", fix="load the page again")
    return {"metric": one(fields, "metric"), "over": over, "within": one(fields, "within")}


def fact(fields: Fields) -> dict[str, Any]:
    """An exact figure, or a table of them, that was published before."""
    about = [part for part in fields.get("about", ()) if part]
    condition = one(fields, "condition")
    if bool(about) == bool(condition):
        raise PolicyError("the form does not say what is known", fix="choose columns, or write a condition")
    return {"marginal": about} if about else {"count": condition}


def attackers(fields: Fields) -> list[Any]:
    """Who might attack: people to whom records are independent, or who know of households."""
    match one(fields, "who"):
        case "independent":
            return ["independent"]
        case "groups" if one(fields, "column") and one(fields, "most"):
            return [{"groups": one(fields, "column"), "at most": one(fields, "most")}]
    raise PolicyError(
        "the form does not say who depends on whom",
        fix="choose one; of households, name the column that tells them apart and how many rows one has at most",
    )


def target(fields: Fields) -> object:
    """How far off an item may be; None where nothing is wanted of it any more."""
    error, records = one(fields, "error"), one(fields, "records")
    return {"within": error, "records": records} if error and records else error or None


def question(fields: Fields) -> dict[str, Any]:
    """An item to release."""
    kind, name = one(fields, "kind"), one(fields, "name")
    if kind not in QUESTIONS:
        raise PolicyError("the form names no kind of question", fix="choose one")
    about = [part for part in fields.get("about", ()) if part]
    asked: object = one(fields, "condition") or "all" if kind == "count" else about[0] if len(about) == 1 else about
    item: dict[str, Any] = {"name": name or "_".join([kind, *about]).replace(" ", "_"), kind: asked}
    if kind == "quantiles":
        item["at"] = ["0.25", "0.5", "0.75"]
    if by := one(fields, "by"):
        item["by"] = by
    if where := one(fields, "where"):
        item["where"] = where
    return item
