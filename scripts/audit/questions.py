"""Conditions, known figures and items by chance, and what each record adds to a known figure."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from scripts.audit.steps import Record, block_in_file, make_blocks
from scripts.audit.values import Attribute, in_sql, literal

Attributes = tuple[Attribute, ...]
Holds = Callable[[Record], bool]


@dataclass(frozen=True, slots=True)
class Fact:
    """A known figure: which of its cells a record is counted in, if any, and how a policy file says so."""

    cell: Callable[[Record], Hashable]
    cells: tuple[Hashable, ...]
    declared: dict[str, Any]

    def answers(self, records: list[Record]) -> list[int]:
        found = [self.cell(record) for record in records]
        return [found.count(cell) for cell in self.cells]


def make_condition(dice: random.Random, attributes: Attributes, depth: int = 1) -> tuple[str, Holds]:
    """A condition in SQL, and what it says of a record."""
    if depth and dice.random() < 0.4:
        (one, first), (two, second) = (make_condition(dice, attributes, depth - 1) for _ in range(2))
        word = dice.choice(["and", "or"])
        both: Holds = (lambda r: first(r) and second(r)) if word == "and" else (lambda r: first(r) or second(r))
        return f"({one}) {word} ({two})", both
    place = dice.randrange(len(attributes))
    attribute = attributes[place]
    value, other = dice.choice(attribute.values), dice.choice(attribute.values)
    forms = ["=", "<>", "in"] + ["<=", ">", "between"] * (attribute.numeric or attribute.kind == "date")
    match dice.choice(forms):
        case "=":
            return f"{attribute.name} = {in_sql(value)}", lambda r: r[place] == value
        case "<>":
            return f"{attribute.name} <> {in_sql(value)}", lambda r: r[place] != value
        case "in":
            listed = f"({in_sql(value)}, {in_sql(other)})"
            return f"{attribute.name} in {listed}", lambda r: r[place] in (value, other)
        case "<=":
            return f"{attribute.name} <= {in_sql(value)}", lambda r: r[place] <= value
        case ">":
            return f"not {attribute.name} <= {in_sql(value)}", lambda r: r[place] > value
        case _:
            low, high = sorted((value, other))
            ends = f"{in_sql(low)} and {in_sql(high)}"
            return f"{attribute.name} between {ends}", lambda r: low <= r[place] <= high


def make_fact(dice: random.Random, attributes: Attributes) -> Fact:
    """A known figure of any kind."""
    places = sorted(dice.sample(range(len(attributes)), dice.randint(1, min(2, len(attributes)))))
    first, place = attributes[places[0]], places[0]
    match dice.choice(["count", "count", "all", "marginal", "blocks", "rectangle", "binned"]):
        case "all":
            return Fact(lambda _: 0, (0,), {"count": "all"})
        case "marginal":
            cells: list[tuple[Any, ...]] = [()]
            for n in places:
                cells = [(*cell, value) for cell in cells for value in attributes[n].values]
            names = [attributes[n].name for n in places]
            return Fact(lambda r: tuple(r[n] for n in places), tuple(cells), {"marginal": names})
        case "blocks" | "binned" as form:
            blocks = make_blocks(dice, first)
            shown = [block_in_file(first, block) for block in blocks]
            told = {first.name: shown}
            declared = {"blocks": told} if form == "blocks" else {"marginal": [first.name], "bins": told}
            return Fact(lambda r: next(n for n, b in enumerate(blocks) if r[place] in b), (0, 1), declared)
        case "rectangle" if all(attributes[n].ordered for n in places):
            ends = {n: sorted(dice.choices(range(len(attributes[n].values)), k=2)) for n in places}
            inside = {n: attributes[n].values[low : high + 1] for n, (low, high) in ends.items()}
            sides = {attributes[n].name: [literal(v[0]), literal(v[-1])] for n, v in inside.items()}
            return Fact(lambda r: 0 if all(r[n] in v for n, v in inside.items()) else None, (0,), {"rectangle": sides})
        case _:
            text, holds = make_condition(dice, attributes)
            return Fact(lambda r: 0 if holds(r) else None, (0,), {"count": text})


def make_item(dice: random.Random, attributes: Attributes, name: str) -> dict[str, Any]:
    """An item of any kind but k-means, with options."""
    item: dict[str, Any] = {"name": name}
    names = [a.name for a in attributes]
    ordered, numeric = ([a for a in attributes if a.ordered], [a.name for a in attributes if a.numeric])
    kinds = ["count", "histogram", "histogram", "all", "synthetic"] + ["cdf", "ranges", "quantiles"] * bool(ordered)
    kinds += ["total", "sum", "mean"] * bool(numeric) + ["rectangles"] * (len(ordered) > 1)
    kind = dice.choice(kinds)
    asked: list[str] = []
    match kind:
        case "count":
            item["count"] = make_condition(dice, attributes)[0]
        case "all":
            item["count"] = "all"
        case "histogram":
            asked = dice.sample(names, dice.randint(1, len(names)))
            item["histogram"] = asked if len(asked) > 1 or dice.random() < 0.5 else asked[0]
            binned = next(a for a in attributes if a.name == asked[0])
            if dice.random() < 0.4:
                item["bins"] = {binned.name: [block_in_file(binned, block) for block in make_blocks(dice, binned)]}
        case "synthetic":
            asked = dice.sample(names, dice.randint(1, len(names)))
            tables = {"tables": dice.randint(1, 3)} if dice.random() < 0.5 else {}
            item["synthetic"] = {"records": dice.randint(1, 20), "attributes": asked, **tables}
            binned = next(a for a in attributes if a.name == asked[0])
            if dice.random() < 0.4:
                item["bins"] = {binned.name: [block_in_file(binned, block) for block in make_blocks(dice, binned)]}
        case "rectangles":
            asked = [a.name for a in dice.sample(ordered, 2)]
            item["rectangles"] = asked
        case "total" | "sum" | "mean":
            asked = [dice.choice(numeric)]
            item[kind] = asked[0]
            weights = [name for name in numeric if name not in asked]
            if kind != "mean" and weights and dice.random() < 0.3:
                item["weight"] = dice.choice(weights)
                asked.append(item["weight"])
        case _:
            asked = [dice.choice(ordered).name]
            item[kind] = asked[0]
            if kind == "quantiles":
                item["at"] = ["0.1", "1/3", "0.9"] if dice.random() < 0.5 else ["1/3"]
                item["bounds"] = False  # by rank where that is better, and else off counts
    free = [name for name in names if name not in asked]
    if free and kind not in ("rectangles", "count", "synthetic") and dice.random() < 0.25:
        item["by"] = dice.choice(free)
    if dice.random() < 0.3:
        item["share"] = dice.choice(["1/2", 2, 3])
    if kind in ("count", "histogram") and dice.random() < 0.1:
        item["whole"] = True
    return item
