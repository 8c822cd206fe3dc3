"""Attributes of a made-up policy: their values, and every way to write one of them into a cell."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

LABELS = ("a", "b", "Köln", "No", "007", "NULL", "nan", "x;y", 'q"t', "a b", "1", "true", "A", "c,d", "é|", "-")
ODD_WORDS = ("zzz", " a", "B ", "köln", "other", "7", "null")
TRUTHS = {True: ("true", "TRUE", "t", "yes", "1", "Yes"), False: ("false", "False", "f", "no", "0", "NO")}
FIRST_DAY = dt.date(2024, 2, 27)


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column. `other` is None where the nearer end is meant."""

    name: str
    kind: str
    values: tuple[Any, ...]
    missing: Any
    other: Any
    declared: Any
    step: Fraction = Fraction(1)

    @property
    def ordered(self) -> bool:
        return self.kind not in ("categories", "boolean")

    @property
    def numeric(self) -> bool:
        return self.kind in ("integer", "real")

    def number(self, value: Any) -> Fraction:
        """Where a value lies, for `within`: a number, a day, or a rank."""
        if self.numeric:
            return Fraction(value)
        return Fraction(self.values.index(value))


def make_attribute(dice: random.Random, name: str, most: int) -> Attribute:
    """An attribute of any kind with at most so many values."""
    kind = dice.choice(["integer", "integer", "real", "categories", "ordered", "date", "boolean"])
    size = dice.randint(2, max(2, most))
    more: dict[str, Any] = {}
    step = Fraction(1)
    if kind == "integer":
        low = dice.choice([0, 1, -1, -2, 17])
        values: tuple[Any, ...] = tuple(range(low, low + size))
        form: dict[str, Any] = {"integer": [low, low + size - 1]}
    elif kind == "real":
        step = Fraction(dice.choice(["0.1", "0.5", "2", "0.25"]))
        start = dice.choice([0, -1, 3]) * step
        values = tuple(start + place * step for place in range(size))
        form = {"real": [decimals(values[0]), decimals(values[-1])], "step": decimals(step)}
    elif kind == "date":
        values = tuple(FIRST_DAY + dt.timedelta(place) for place in range(size))
        form = {"date": [values[0].isoformat(), values[-1].isoformat()]}
    elif kind == "boolean":
        values, form = (False, True), {"boolean": True}
    else:
        values = tuple(dice.sample(LABELS, size))
        form = {kind: list(values)}
    missing, other = values[0], None if kind in ("integer", "real", "date") else values[0]
    if dice.random() < 0.4:
        missing = dice.choice(values)
        more["missing"] = literal(missing)
    if dice.random() < 0.4:
        other = dice.choice(values)
        more["other"] = literal(other)
    declared: Any = {**form, **more}
    if not more and kind == "categories" and dice.random() < 0.5:
        declared = list(values)
    if not more and kind == "boolean" and dice.random() < 0.5:
        declared = "boolean"
    return Attribute(name, kind, values, missing, other, declared, step)


def decimals(number: Fraction) -> str:
    """A decimal fraction as it is written."""
    return str(int(number)) if number.denominator == 1 else str(float(number))


def literal(value: Any) -> Any:
    """A value as a policy file has it."""
    if isinstance(value, Fraction):
        return decimals(value)
    return value.isoformat() if isinstance(value, dt.date) else value


def in_sql(value: Any) -> str:
    """A value as a condition has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Fraction):
        return decimals(Fraction(value))
    return "'" + str(literal(value)).replace("'", "''") + "'"


def spell(dice: random.Random, attribute: Attribute, value: Any, marks: str, stray: str) -> str:
    """One of the ways to write a value into a cell, dirty ones too; `stray` is a character that is no text, if any.

    `marks` are the decimal marks that the file may use.
    """
    ways = [lambda: _plainly(dice, attribute, value, marks)]
    if dice.random() < 0.5:
        if value == attribute.missing:
            ways.append(lambda: _unread(dice, attribute, marks, stray))
        if outside := _outside(attribute, value):
            ways.append(lambda: dice.choice(outside))
    return ways[-1 - dice.randrange(len(ways))]()


def _plainly(dice: random.Random, attribute: Attribute, value: Any, marks: str) -> str:
    match attribute.kind:
        case "integer":
            mark = dice.choice(marks)
            return dice.choice([f"{value}", f"{value}", f" {value} ", f"{value}{mark}0", f"{value}e0", f"{value:+d}"])
        case "real":
            inward = {attribute.values[0]: 1, attribute.values[-1]: -1}.get(value, dice.choice([-1, 1]))
            near = value + inward * attribute.step * dice.choice([0, 0, 0, Fraction(1, 4), Fraction(2, 5)])
            return dice.choice(["", "", " "]) + decimals(near).replace(".", dice.choice(marks))
        case "boolean":
            return dice.choice(TRUTHS[value])
        case "date":
            return value.isoformat() + dice.choice(["", "", " 10:30", "T23:59:59"])
        case _:
            return str(value)


def _unread(dice: random.Random, attribute: Attribute, marks: str, stray: str) -> str:
    """What is absent, or cannot be read."""
    ways = ["", ""]
    if stray:
        ways += [stray, f"a{stray}"]
    if attribute.numeric:
        ways += ["abc", "1 2", "--1", "0x1", "NaN", "1_0"] + (
            ["1,0"] if marks == "." else ["1.0"] if marks == "," else []
        )
    if attribute.kind == "date":
        ways += ["2024-13-01", "27.02.2024", "2024-02-30", "never"]
    return dice.choice(ways)


def _outside(attribute: Attribute, value: Any) -> list[str]:
    """Cells that are read, are outside the list, and count as this value."""
    low, high = attribute.values[0], attribute.values[-1]
    if attribute.kind == "date":
        below, above = ["1999-12-31", "2024-02-26"], ["2031-01-01"]
    elif attribute.numeric:
        far = 3 * attribute.step
        below, above = [decimals(low - far), "-1e30", "-99999"], [decimals(high + far), "12345678901234567890", "1e300"]
        below = [cell for cell in below if "." not in cell]
        above = [cell for cell in above if "." not in cell]
    elif attribute.kind == "boolean":
        return ["maybe", " true", "2", "ja"] if value == attribute.other else []
    else:
        return [word for word in ODD_WORDS if word not in attribute.values] if value == attribute.other else []
    if attribute.other is not None:
        return below + above if value == attribute.other else []
    return below * (value == low) + above * (value == high)
