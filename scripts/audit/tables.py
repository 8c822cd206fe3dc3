"""Rows of a table, and the bytes of a CSV file that says them: `docs/engines.md`, read from the other side."""

from __future__ import annotations

import random
from dataclasses import dataclass

from scripts.audit.steps import Record
from scripts.audit.values import spell
from scripts.audit.worlds import World


@dataclass(frozen=True, slots=True)
class Row:
    """Somebody's record as a line of text, without its end. `whose` is empty for a row without a key."""

    whose: str
    record: Record
    line: str


def write_row(dice: random.Random, world: World, whose: str, record: Record) -> Row:
    """One of the ways to write a record."""
    layout, values = world.layout, dict(zip((a.name for a in world.attributes), record, strict=True))
    missing = all(a.missing == values[a.name] for a in world.attributes)
    if missing and not whose and dice.random() < 0.4:
        return Row(whose, record, _broken(dice, world))
    cells = []
    for name in layout.header:
        if name == world.whose:
            cells.append(whose)
        elif name in values:
            attribute = next(a for a in world.attributes if a.name == name)
            cells.append(spell(dice, attribute, values[name], layout.marks, layout.stray))
        else:
            cells.append(dice.choice(["", "fine", "1", layout.stray, 'say "no"', "a,b;c|d", "Köln"]))
    written = [_quoted(dice, cell, layout.separator) for cell in cells]
    if len(written) > 1 and dice.random() < 0.3:
        while len(written) > 1 and written[-1] == "":  # the last fields may be left away
            written.pop()
    elif dice.random() < 0.05:
        written += [""] * dice.randint(1, 2)
    return Row(whose, record, layout.separator.join(written))


def _quoted(dice: random.Random, cell: str, separator: str) -> str:
    if separator in cell or '"' in cell or dice.random() < 0.1:
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _broken(dice: random.Random, world: World) -> str:
    """A line of which everything is missing."""
    many = world.layout.separator.join(["1"] * (len(world.layout.header) + 1))
    return dice.choice(["", "", many, '"', "1\r2", '"a"b', '"1'])


def written(world: World, rows: list[Row]) -> bytes:
    """The file's bytes."""
    layout = world.layout
    header = layout.separator.join(f'"{name}"' if layout.separator in name else name for name in layout.header)
    lines = [header, *(row.line for row in rows)]
    text = "".join(line + layout.end for line in lines)
    return text.encode(layout.encoding, "surrogateescape" if layout.stray else "strict")
