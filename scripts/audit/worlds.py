"""A made-up policy: what its file says, and beside it what the file means, over all of its keys together."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from scripts.audit.questions import Fact, make_fact, make_item
from scripts.audit.steps import Record, Steps, in_file, make_steps, with_groups
from scripts.audit.values import Attribute, make_attribute

SHAPES = ((6,), (5,), (3, 3), (4, 2), (3, 4), (2, 2, 2), (2, 3, 2))
FORMS = ("plain", "plain", "key", "key", "known", "known", "groups", "groups", "known groups", "attackers")


@dataclass(frozen=True, slots=True)
class Layout:
    """How the CSV file is written. `marks` are its decimal marks, `stray` a character that stands for a byte that is no
    text, if there is one in this encoding.
    """

    header: tuple[str, ...]
    separator: str
    marks: str
    encoding: str
    stray: str
    end: str


@dataclass(frozen=True, slots=True)
class World:
    """A policy file, as plain data, and its meaning.

    `whose` is the column that says whose row it is, if any: a person's (`people`) or a household's, of whom at most
    `rows` rows are counted.
    """

    document: dict[str, Any]
    attributes: tuple[Attribute, ...]
    steps: Steps
    secret_presence: bool
    whose: str
    people: bool
    rows: int
    facts: tuple[Fact, ...]
    layout: Layout

    @property
    def households(self) -> bool:
        return bool(self.whose) and not self.people

    def record(self, dice: random.Random) -> Record:
        return tuple(dice.choice(a.values) for a in self.attributes)

    def records(self) -> list[Record]:
        """Every record there can be."""
        found: list[Record] = [()]
        for attribute in self.attributes:
            found = [(*record, value) for record in found for value in attribute.values]
        return found


def make_world(dice: random.Random) -> World:
    """A policy over all keys. Some are refused when they are loaded or planned."""
    sizes = dice.choice(SHAPES)
    attributes = tuple(make_attribute(dice, name, size) for name, size in zip("xyz", sizes, strict=False))
    steps, presence = make_steps(dice, attributes), dice.choice(["public", "public", "secret", None])
    document: dict[str, Any] = {"dataset": "d", "attributes": {a.name: a.declared for a in attributes}}
    if dice.random() < 0.1:
        document["attributes"] = [{"name": a.name, **_braces(a)} for a in attributes]
    whose, people, rows, facts = "", False, 1, list[Fact]()
    match dice.choice(FORMS):
        case "key":
            whose, people, rows = "person id", True, dice.randint(1, 3)
            most = dice.choice([rows, f"{rows} rows" if rows > 1 else 1])
            document["individuals"] = {"key": whose, "at most": most}
        case "attackers":
            whose, rows = "home", dice.randint(1, 3)
            document["attackers"] = ["independent"] * dice.randint(0, 1) + [{"groups": whose, "at most": rows}]
        case "known" | "known groups" | "groups" as form:
            if form != "groups":
                facts = [make_fact(dice, attributes) for _ in range(dice.choice([1, 1, 2]))]
            if form != "known":
                steps, document["groups"] = with_groups(dice, steps)
                if document["groups"] is None:
                    del document["groups"]
    if facts:
        document["known"] = [dict(fact.declared) for fact in facts]
    document["secrets"] = in_file(steps)
    if steps.together is not None:
        document["together"] = steps.together
    if presence:
        document["presence"] = presence
    delta = dice.choice([0, 0, 0, 0, "1e-6", "rho"]) if not whose or people else 0
    epsilon = dice.choice(["1", "0.5", "1/3", "2"])
    document["budget"] = {"epsilon": epsilon, "delta": delta} if delta not in (0, "rho") else {"epsilon": epsilon}
    if delta == "rho":
        document["budget"] = {"rho": epsilon}
    items = [make_item(dice, attributes, f"item{n}") for n in range(dice.choice([1, 1, 2, 3]))]
    document["release"] = items
    layout, hints = make_layout(dice, (*(a.name for a in attributes), *([whose] if whose else [])))
    document["table"] = {**hints, "unreadable": "100%"}  # else one record may decide whether the curator is refused
    return World(document, attributes, steps, presence != "public", whose, people, rows, tuple(facts), layout)


def _braces(attribute: Attribute) -> dict[str, Any]:
    if isinstance(attribute.declared, dict):
        return attribute.declared
    return {"boolean": True} if attribute.kind == "boolean" else {"categories": list(attribute.values)}


def make_layout(dice: random.Random, names: tuple[str, ...]) -> tuple[Layout, dict[str, str]]:
    """How a table with these columns is written, and the hints that a policy needs to say so."""
    header = list(names) + ["remark"] * (dice.random() < 0.5)
    dice.shuffle(header)
    hints: dict[str, str] = {}
    separator = dice.choice([",", ",", ";", "\t", "|", ":", " ", "§"])
    if separator in ": §" or dice.random() < 0.2:
        hints["separator"] = separator
    elif len(header) == 1:
        separator = ","
    marks = "." if separator == "," else ".,"
    if dice.random() < 0.2:
        hints["decimal"] = marks = dice.choice([".", ",", ","]) if separator != "," else "."
    encoding, stray = dice.choice(
        [("utf-8", "\udcff")] * 4 + [("utf-8-sig", "\udce9"), ("latin-1", ""), ("cp1252", "\udc81"), ("utf-16", "")]
    )
    if encoding in ("latin-1", "cp1252") or dice.random() < 0.1:
        hints["encoding"] = "utf-8" if encoding == "utf-8-sig" else encoding
    return Layout(tuple(header), separator, marks, encoding, stray, dice.choice(["\n", "\n", "\r\n"])), hints
