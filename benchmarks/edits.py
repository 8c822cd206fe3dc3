"""Random changes of a policy, one at a time, as somebody makes them who looks for a good one."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from importlib.resources import files
from random import Random
from typing import Any

import yaml

from tetraodon.errors import TetraodonError
from tetraodon.policy.load import load_policy

Document = dict[str, Any]
KINDS = ("theta", "share", "epsilon", "blocks", "item", "together")
A_WALK = 10
"""So many changes on top of each other; the next one begins with the policy as it was."""


def demo() -> Document:
    """The policy of the demonstration."""
    return dict(yaml.safe_load((files("tetraodon") / "demo" / "adult.policy.yaml").read_text()))


def ten_attributes() -> Document:
    """A policy with ten attributes, and ten items of eight kinds."""
    numbers = {
        "age": (99, 5),
        "income": (999, 20),
        "height": (73, 5),
        "rent": (4999, 50),
        "hours": (98, 10),
        "way": (50, 3),
    }
    words = {
        name: [f"{name}{place}" for place in range(3 + 2 * n)] for n, name in enumerate(("sex", "area", "work", "home"))
    }
    near = {name: {"within": theta} for name, (_, theta) in numbers.items()}
    return {
        "dataset": "ten",
        "presence": "public",
        "attributes": {**{name: {"integer": [0, last]} for name, (last, _) in numbers.items()}, **words},
        "secrets": {**near, "sex": "public", "area": {"blocks": [words["area"][:2], words["area"][2:]]}},
        "together": "one attribute at a time",
        "budget": {"epsilon": 1},
        "release": [
            {"name": "incomes", "cdf": "income", "share": 2},
            {"name": "ages", "histogram": ["age", "sex"]},
            {"name": "rents", "mean": "rent", "by": "sex"},
            {"name": "heights", "quantiles": "height", "at": [0.25, 0.5, 0.75]},
            {"name": "hours", "ranges": "hours"},
            {"name": "work", "histogram": ["area", "work"]},
            {"name": "homes", "histogram": ["work", "home"]},
            {"name": "areas", "histogram": ["area", "home"]},
            {"name": "young", "count": "age < 30 and sex = 'sex0'"},
            {"name": "ways", "total": "way", "by": "work"},
        ],
    }


def edits(base: Document, number: int, seed: int) -> Iterator[tuple[str, Document]]:
    """So many policies, each one change away from the one before or from the first, with the kind of change."""
    random, now = Random(seed), base
    while number:
        now = base if number % A_WALK == 0 else now
        kind, changed = edit(now, random)
        try:
            load_policy(changed)
        except TetraodonError:
            continue  # not a policy: another change
        now, number = changed, number - 1
        yield kind, changed


def edit(document: Document, random: Random) -> tuple[str, Document]:
    """One change: its kind, and the policy after it."""
    changed, kind = copy.deepcopy(document), random.choice(KINDS)
    attributes, secrets, release = changed["attributes"], changed["secrets"], changed["release"]
    numbers = {name: range(*one["integer"]) for name, one in attributes.items() if "integer" in one}
    words = {name: one for name, one in attributes.items() if name not in numbers}
    match kind:
        case "theta":
            name = random.choice([name for name in numbers if "within" in secrets[name]])
            secrets[name] = {"within": random.randint(1, len(numbers[name]) // 4)}
        case "blocks":
            name = random.choice([name for name in attributes if "blocks" in secrets.get(name, {})])
            secrets[name] = {"blocks": _halves(attributes[name], random)}
        case "share":
            random.choice(release)["share"] = random.choice([0.5, 1, 2, 3, 5])
        case "epsilon":
            changed["budget"] = {"epsilon": round(random.uniform(0.1, 2), 2)}
        case "together":
            changed["together"] = random.choice(["one attribute at a time", "all at once", {"at most": 2}])
        case "item":
            place = random.randrange(len(release))
            release[place] = {"name": release[place]["name"], **_item(random, list(numbers), list(words))}
    return kind, changed


def _halves(attribute: Any, random: Random) -> list[list[Any]]:
    if "integer" in attribute:
        first, last = attribute["integer"]
        cut = random.randrange(first, last)
        return [[first, cut], [cut + 1, last]]
    values = attribute["categories"] if isinstance(attribute, dict) else attribute
    cut = random.randrange(1, len(values))
    return [values[:cut], values[cut:]]


def _item(random: Random, numbers: list[str], words: list[str]) -> Document:
    number, word = random.choice(numbers), random.choice(words)
    return random.choice(
        [
            {"histogram": [number]},
            {"histogram": [word, number]},
            {"mean": number, "by": word},
            {"total": number, "by": word},
            {"cdf": number},
            {"ranges": number},
            {"quantiles": number, "at": [0.5]},
        ]
    )
