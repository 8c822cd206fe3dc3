"""A second policy file of the same data set: the first one with some of its keys changed, and items of its own."""

from __future__ import annotations

import copy
import random
from typing import Any

from scripts.audit.questions import make_fact, make_item
from scripts.audit.steps import make_secret
from scripts.audit.values import Attribute, literal
from scripts.audit.worlds import World

Document = dict[str, Any]


def other_file(dice: random.Random, world: World) -> Document:
    """A file that asks about the same data, under other words; many are refused."""
    asked = copy.deepcopy(world.document)
    asked["attributes"] = _by_name(asked["attributes"])
    attributes = list(world.attributes)
    for _ in range(dice.choice([1, 1, 2])):
        dice.choice(CHANGES)(dice, asked, attributes)
    asked["release"] = [make_item(dice, tuple(attributes), f"asked{n}") for n in range(dice.choice([1, 1, 2]))]
    return asked


def _by_name(attributes: Any) -> Document:
    if isinstance(attributes, dict):
        return attributes
    return {a["name"]: {key: value for key, value in a.items() if key != "name"} for a in attributes}


def _table(dice: random.Random, asked: Document, attributes: list[Attribute]) -> None:  # noqa: ARG001
    hints = dict(asked.get("table", {}))
    key = dice.choice(["separator", "decimal", "encoding"])
    choices = {"separator": [",", ";", "|", None], "decimal": [".", ",", None], "encoding": ["latin-1", "utf-8", None]}
    hints[key] = dice.choice(choices[key])
    asked["table"] = {name: hint for name, hint in hints.items() if hint is not None}
    if not asked["table"]:
        del asked["table"]


def _reading(dice: random.Random, asked: Document, attributes: list[Attribute]) -> None:
    """Other values, bounds, steps, `missing` or `other` of an attribute."""
    attribute = dice.choice(attributes)
    declared = asked["attributes"][attribute.name]
    if not isinstance(declared, dict):
        declared = {"boolean": True} if attribute.kind == "boolean" else {"categories": list(attribute.values)}
    change = dice.choice(["missing", "other", "values"])
    if change != "values":
        declared = {**declared, change: literal(dice.choice(attribute.values))}
    elif attribute.kind in ("ordered", "categories"):
        form = dice.choice(["ordered", "categories"])
        kept = [value for value in declared[attribute.kind] if dice.random() < 0.7] + ["new"] * (dice.random() < 0.3)
        dice.shuffle(kept)
        declared = {**{k: v for k, v in declared.items() if k in ("missing", "other")}, form: kept}
    elif attribute.kind in ("integer", "date"):
        low, high = declared[attribute.kind]
        declared = {**declared, attribute.kind: dice.choice([[low, literal(attribute.values[-2])], [high, high]])}
    elif attribute.kind == "real":
        declared = {**declared, "step": literal(attribute.step / 2)}
    asked["attributes"][attribute.name] = declared


def _secrets(dice: random.Random, asked: Document, attributes: list[Attribute]) -> None:
    for attribute in dice.sample(attributes, dice.randint(1, len(attributes))):
        asked["secrets"][attribute.name] = dice.choice(["public", "everything", make_secret(dice, attribute).declared])


def _together(dice: random.Random, asked: Document, attributes: list[Attribute]) -> None:
    asked["together"] = dice.choice(["one attribute at a time", "all at once", {"at most": len(attributes)}])
    for attribute in attributes:
        asked["secrets"].setdefault(attribute.name, dice.choice(["public", "everything"]))


def _presence(dice: random.Random, asked: Document, attributes: list[Attribute]) -> None:  # noqa: ARG001
    asked["presence"] = dice.choice(["public", "secret"])


def _known(dice: random.Random, asked: Document, attributes: list[Attribute]) -> None:
    if asked.pop("known", None) is None or dice.random() < 0.2:
        asked["known"] = [make_fact(dice, tuple(attributes)).declared]


def _people(dice: random.Random, asked: Document, attributes: list[Attribute]) -> None:  # noqa: ARG001
    if "individuals" in asked and dice.random() < 0.7:
        asked["individuals"] = {**asked["individuals"], "at most": dice.randint(1, 3)}
    elif "attackers" in asked and dice.random() < 0.7:
        asked["attackers"] = [{"groups": "home", "at most": dice.randint(1, 3)}]
    else:
        asked.pop("individuals", None)
        asked.pop("attackers", None)


def _groups(dice: random.Random, asked: Document, attributes: list[Attribute]) -> None:  # noqa: ARG001
    if "groups" in asked:
        rules = asked["groups"]["rules"]
        rules[dice.choice(list(rules))] = "none"
        if dice.random() < 0.4:
            del asked["groups"]


def _fewer(dice: random.Random, asked: Document, attributes: list[Attribute]) -> None:
    """Leave an attribute out."""
    if len(attributes) < 2:
        return
    gone = attributes.pop(dice.randrange(len(attributes)))
    del asked["attributes"][gone.name]
    asked["secrets"].pop(gone.name, None)
    if isinstance(asked.get("together"), dict):
        del asked["together"]
    if asked.get("groups", {}).get("by") == gone.name:
        del asked["groups"]
    asked.pop("known", None)


CHANGES = (_table, _reading, _secrets, _secrets, _together, _presence, _known, _people, _people, _groups, _fewer)
