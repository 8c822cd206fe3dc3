"""From the `attributes` of a policy file to the domain."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from pydantic_core import PydanticCustomError

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers, Values
from tetraodon.domain.domain import MISSING
from tetraodon.errors import DomainError, PolicyError, did_you_mean
from tetraodon.policy.attribute_graph import categories_of
from tetraodon.policy.document import AttributeSection, PolicyDocument
from tetraodon.policy.section import exact, shown
from tetraodon.policy.source import Problems

VALUES_LIMIT = 10**18
LABEL_LIMIT = 1000
SEPARATE = "separate"
"""What `missing` says where missing values have a cell of their own."""
LISTED_LIMIT = 5_000_000
"""The most values an attribute can have if each of them is put into a block or bin."""


def build_domain(document: PolicyDocument, problems: Problems) -> Domain:
    """The declared domain. Stops with every problem of the attributes."""
    attributes = []
    if not document.attributes:
        problems.add(("attributes",), PolicyError("there is no attribute", fix="declare at least one attribute"))
    for name, section in document.attributes.items():
        with problems.at("attributes", name):
            attributes.append(_attribute(name, section))
            taken = [*document.attributes, *(level.name for one in attributes[:-1] for level in one.levels)]
            if twice := [level.name for level in attributes[-1].levels if level.name in taken]:
                raise PolicyError(
                    f"a level is called {twice[0]!r}, and so is something else", fix="rename it in `levels`"
                )
    problems.stop()
    return Domain(tuple(attributes))


def _attribute(name: str, section: AttributeSection) -> Attribute:
    if section.name not in (None, name):
        raise PolicyError("the name is not the key", fix="drop `name:` here")
    values = _values(section)
    if values.size > VALUES_LIMIT:
        raise PolicyError("this attribute has more than 10^18 values", fix="use a narrower range or a wider step")
    if section.step is not None and section.kind != "real":
        raise PolicyError("only real attributes have a step", fix="drop `step:`, or write {real: [low, high], step: 1}")
    clamps = isinstance(values, Integers | Grid | Dates)
    if section.levels and section.kind != "tree":
        raise PolicyError("only trees have levels", fix="drop `levels:`, or write {tree: {East: [ON, QC]}}")
    if section.format is not None and section.kind != "date":
        raise PolicyError("only dates have a format", fix="drop `format:`")
    if section.trim and isinstance(values, Categories) and any(label != label.strip(" ") for label in values.labels):
        raise PolicyError("a category has blanks around it, and they are trimmed", fix="write it without the blanks")
    bare = Attribute(name, values, other=None if clamps else 0)
    listed = isinstance(values, Categories) and SEPARATE in values.codes
    separate = section.missing == SEPARATE and not listed
    missing = values.size if separate else 0 if section.missing is None else code_of(bare, section.missing)
    other = bare.other if section.other is None else code_of(bare, section.other)
    declared = tuple(role for role in ("missing", "other") if getattr(section, role) is not None)
    return Attribute(
        name,
        values,
        missing,
        other,
        section.unit[-1] if section.unit else "",
        section.format or "",
        trim=section.trim,
        separate=separate,
        singular=section.unit[0] if len(section.unit) > 1 else "",
        declared=declared,
    )


def _values(section: AttributeSection) -> Values:
    match section.kind:
        case "integer":
            low, high = section.integer
            return Integers(low, high)
        case "real":
            if section.step is None:
                raise PolicyError("a real attribute needs a grid", fix="add `step:`, such as step: 0.1")
            bottom, top = section.real
            return Grid(bottom, top, section.step)
        case "date":
            first, last = section.date
            return Dates(_day(first), _day(last))
        case "ordered":
            return Categories(_labels(section.ordered), ordered=True)
        case "categories":
            return Categories(_labels(section.categories))
        case "tree":
            _labels([label for path in section.tree for label in path])
            return categories_of(section.tree, section.levels)
        case _:
            if not section.boolean:
                raise PolicyError("`boolean: false` says nothing", fix="write `boolean`")
            return Booleans()


def _labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Labels that every engine, file and report can hold: a release that was paid for must not fail over one."""
    for label in labels:
        if len(label) > LABEL_LIMIT:
            raise PolicyError(
                f"the category {shown(label)} has more than {LABEL_LIMIT:,} characters",
                fix="write a short one here and in the table",
            )
        if "\0" in label or any("\ud800" <= character <= "\udfff" for character in label):
            raise PolicyError(
                f"the category {shown(label)} holds a character that no database can store",
                fix="remove the character",
            )
    return tuple(labels)


def _day(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise PolicyError(f"{shown(text)} is not a day", fix="write days as 2026-01-31") from None


def code_of(attribute: Attribute, text: str) -> int:
    """The position of a value that was typed in the policy file; a number must lie on the grid."""
    try:
        if not attribute.adds_up or (attribute.separate and text == MISSING):
            return attribute.code(text)
        number = exact(text)
        code = attribute.code(number)
        if attribute.number(code) == number:
            return code
    except (DomainError, PydanticCustomError):  # `exact` speaks to pydantic, and may be asked by others
        pass
    raise PolicyError(f"{shown(text)} is not a value of {attribute.name}", fix=_nearest(attribute, text))


def _nearest(attribute: Attribute, text: str) -> str:
    match attribute.values:
        case Categories(labels):
            return did_you_mean(text, labels)
        case Booleans():
            return "write true or false"
        case _:
            step = f" in steps of {attribute.step}" if isinstance(attribute.values, Grid) else ""
            return f"use values from {attribute.text(0)} to {attribute.text(attribute.values.size - 1)}{step}"
