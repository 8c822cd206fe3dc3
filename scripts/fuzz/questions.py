"""Questions that nobody would ask, put to conditions over a small domain."""

from __future__ import annotations

import random
from pathlib import Path

import tetraodon as td
from scripts.fuzz.cases import main

WORDS = (
    "x",
    "y",
    "c",
    "sex",
    "age",
    "1",
    "2",
    "0.5",
    "-3",
    "1e999999999",
    "1e308",
    "'a'",
    "'it''s'",
    "''",
    "'%'",
    "'%_%_%_%_'",
    "'a%'",
    "null",
    "true",
    "false",
    "and",
    "or",
    "not",
    "in",
    "between",
    "like",
    "is",
    "=",
    "!=",
    "<>",
    "<",
    ">",
    "<=",
    ">=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "(",
    ")",
    ",",
    ";",
    ".",
    "--",
    "/*",
    "*/",
    '"',
    "`",
    "[",
    "]",
    "{",
    "}",
    "case",
    "when",
    "then",
    "else",
    "end",
    "select",
    "count(*)",
    "from",
    "people",
    "where",
    "group",
    "by",
    "exists",
    "union",
    "drop",
    "table",
    "read_csv('x')",
    "pragma",
    "attach",
    "copy",
    "\x00",
    "\x1b[2J",
    "date",
    "'2020-01-01'",
    "cast",
    "as",
    "int",
    "interval",
    "abs(x)",
    "length(c)",
    "x::int",
    "$1",
    "?",
    ":a",
    "@b",
    "~",
    "^",
    "|",
    "&",
    "<<",
    "9999999999999999999999999999",
    "ŝ",
    "漢",
)
DOMAIN = td.load_policy(
    {
        "dataset": "people",
        "attributes": {"x": {"integer": [0, 9]}, "y": {"real": [0, 1], "step": "0.25"}, "c": ["a", "b", "it's"]},
        "budget": {"epsilon": 1},
    }
).domain
GOOD = ("x > 3 and c = 'a'", "y between 0.25 and 0.5 or c like 'i%'", "not (x in (1, 2, 3)) and c is not null", "x = 1")


def case(dice: random.Random, folder: Path) -> object:  # noqa: ARG001
    """One question: words by chance, or a good one with words changed, nested or repeated."""
    from tetraodon.query.condition.read import truth_table

    kind = dice.random()
    if kind < 0.4:
        text = " ".join(dice.choice(WORDS) for _ in range(dice.randint(1, 12)))
    elif kind < 0.8:
        parts = dice.choice(GOOD).split(" ")
        for _ in range(dice.randint(1, 3)):
            parts[dice.randrange(len(parts))] = dice.choice(WORDS)
        text = " ".join(parts)
    elif kind < 0.9:
        depth = dice.choice([5, 50, 500, 5000])
        text = "(" * depth + dice.choice(GOOD) + ")" * dice.choice([depth, depth - 1])
    else:
        text = dice.choice([" and ", " or ", " ", ";", "-"]).join([dice.choice(GOOD)] * dice.choice([2, 20, 500]))
    return truth_table(text, DOMAIN)


if __name__ == "__main__":
    main(case, __doc__ or "")
