"""Values that somebody might write to make a program fall over, and how documents are changed by them."""

from __future__ import annotations

import copy
import random
from typing import Any

VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1,
    2**63,
    10**18,
    10**400,
    0.5,
    float("nan"),
    float("inf"),
    "",
    " ",
    "1e999999999",
    "1e-999999999",
    "9" * 5000,
    "1/0",
    "0/1",
    "-1/3",
    "nan",
    "x" * 300,
    "../../etc/passwd",
    "/dev/zero",
    "*",
    "\x1b[2J",
    "=1+1",
    "'; drop table x; --",
    "\0",
    "\udcff",
    "a\nb",
    "everything",
    "public",
    [],
    [[]],
    [[[[[[]]]]]],
    {},
    {"": ""},
    {"within": "1e999999999"},
    {"integer": [0, 10**17]},
    {"integer": [5, 1]},
    {"real": [0, 1], "step": "1/999999999999"},
    {"real": [0, 1], "step": 0},
    {"blocks": [["a"], ["a"]]},
    {"pairs": [[0, 1]] * 3},
    {"date": ["0001-01-01", "9999-12-31"]},
    list(range(2000)),
    ["a", "a"],
    {"name": "h", "histogram": "x"},
)


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value in a document, but the document itself."""
    pairs = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    found = []
    for key, child in pairs:
        found += [(*path, key), *places(child, (*path, key))]
    return found


def mutated(document: Any, dice: random.Random) -> Any:
    """The document with one to three values changed, removed, doubled, renamed or taken from elsewhere in it."""
    changed = copy.deepcopy(document)
    for _ in range(dice.randint(1, 3)):
        known = places(changed)
        if not known:
            break
        *way, key = dice.choice(known)
        parent = changed
        for step in way:
            parent = parent[step]
        match dice.randrange(6):
            case 0:
                del parent[key]
            case 1 if isinstance(parent, list):
                parent.insert(key, copy.deepcopy(parent[key]))
            case 2 if isinstance(parent, dict):
                parent[dice.choice(["x", "", "name", "within", "a\0b", "count"])] = parent.pop(key)
            case 3:
                parent[key] = copy.deepcopy(_at(changed, dice.choice(known)))
            case _:
                parent[key] = copy.deepcopy(dice.choice(VALUES))
    return changed


def _at(document: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        document = document[step]
    return document
