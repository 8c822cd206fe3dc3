"""CSV files that nobody would send, opened and counted."""

from __future__ import annotations

import gzip
import random
from functools import cache
from pathlib import Path

import tetraodon as td
from scripts.audit.counting import quickly
from scripts.fuzz.cases import main
from tetraodon.engine import open_table

DOMAIN = td.load_policy(
    {"dataset": "d", "attributes": {"x": {"integer": [0, 9]}, "c": ["a", "b"]}, "budget": {"epsilon": 1}}
).domain
PIECES = (
    "x,c\n",
    "x;c\n",
    "1,a\n",
    "2,b\n",
    "3",
    ",",
    ",",
    ",,,\n",
    '"',
    '""',
    "'\n",
    "\r",
    "\r\n",
    "\x00",
    "\x1b[2J",
    "=1+1",
    "-1,a\n",
    "1e999999999,a\n",
    "nan,a\n",
    "99999999999999999999,b\n",
    "é",
    "ü,ö\n",
    "ｘ",
    "\ufeff",
    "\t",
    "|",
    "#",
    "\\",
    "x,x,c\n",
    "1\n",
    "1,a,b,c\n",
    '"1","a"\n',
    '"1\n1",a\n',
)


def case(dice: random.Random, folder: Path) -> object:
    """One file: a header, most often, then pieces by chance."""
    text = "x,c\n" if dice.random() < 0.8 else ""
    text += "".join(dice.choice(PIECES) for _ in range(dice.choice([0, 1, 5, 30])))
    content = bytearray(text.encode(dice.choice(["utf-8", "utf-8", "utf-8", "utf-16", "utf-8-sig"])))
    for _ in range(dice.choice([0, 0, 0, 1, 3])):
        if content:
            content[dice.randrange(len(content))] = dice.randrange(256)
    path = folder / "t.csv"
    if dice.random() < 0.1:
        path = folder / "t.csv.gz"
        packed = bytearray(gzip.compress(bytes(content)))
        if dice.random() < 0.5:
            packed[dice.randrange(len(packed))] = dice.randrange(256)
        path.write_bytes(packed)
    else:
        path.write_bytes(content)
    _one_database()
    with open_table(path, DOMAIN) as engine:
        return engine.counts([DOMAIN.names])


@cache
def _one_database() -> object:
    """Opened by the first case of a process: one for each case takes longer than the case."""
    kept = quickly()
    kept.__enter__()
    return kept


if __name__ == "__main__":
    main(case, __doc__ or "")
