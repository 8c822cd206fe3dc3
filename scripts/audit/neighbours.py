"""Tables that are one step from a table: what `docs/promise.md`, `neighbours.md` and `attackers.md` say they are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations

from scripts.audit.steps import Record
from scripts.audit.tables import Row, write_row
from scripts.audit.worlds import World

Move = tuple[Record | None, Record | None]
"""From one record to another; None is somebody who is not there."""
Vector = tuple[int, ...]
MANY = 60
"""Tries to find a step before none is said to be there."""


def make_rows(dice: random.Random, world: World) -> list[Row]:
    """A small table."""
    rows = [write_row(dice, world, _somebody(dice, world), world.record(dice)) for _ in range(dice.randint(1, 5))]
    if world.whose and dice.random() < 0.5:  # somebody whose rows are all alike
        record = world.record(dice)
        return rows[:2] + [write_row(dice, world, "p1", record) for _ in range(dice.randint(1, 3))]
    if world.whose and dice.random() < 0.7:  # somebody with many rows
        rows += [write_row(dice, world, "p1", world.record(dice)) for _ in range(dice.randint(0, world.rows + 1))]
    return rows


def _somebody(dice: random.Random, world: World) -> str:
    return dice.choice(["p1", "p1", "p2", "Köln", ""]) if world.whose else ""


def neighbour(dice: random.Random, world: World, rows: list[Row]) -> list[Row] | None:
    """A table one step away, chosen by chance; None where none was found."""
    if world.people:
        return _other_bag(dice, world, rows)
    if world.households:
        return _other_household(dice, world, rows)
    if world.facts:
        return _zero_sum(dice, world, rows)
    move = make_step(dice, world, dice.choice([*(row.record for row in rows), None]))
    return None if move is None else moved(dice, world, rows, [move])


def is_step(world: World, move: Move) -> bool:
    """Whether one record's change is a secret."""
    x, y = move
    if x is None or y is None:
        there = y if x is None else x
        return world.secret_presence and there is not None and world.steps.minds(there)
    return world.steps.edge(x, y)


def make_step(dice: random.Random, world: World, x: Record | None) -> Move | None:
    """A secret step from a record, or from nobody."""
    for _ in range(MANY):
        y = None if dice.random() < 0.15 else world.record(dice)
        if is_step(world, (x, y)):
            return x, y
    return None


def moved(dice: random.Random, world: World, rows: list[Row], moves: list[Move]) -> list[Row]:
    """The table after some records have changed; the other lines stay as they are, to the letter."""
    rows = list(rows)
    for x, y in moves:
        place = dice.randint(0, len(rows))
        if x is not None:
            place = next(n for n, row in enumerate(rows) if row.record == x)
            del rows[place]
        if y is not None:
            rows.insert(place, write_row(dice, world, "", y))
    return rows


def _other_bag(dice: random.Random, world: World, rows: list[Row]) -> list[Row]:
    """One person's rows, each as it was or a secret step away; beside them some come, or some go, not both."""
    whose = dice.choice(["p1", "p1", "p1", "p2", "Köln", "new"])
    grows, changed = dice.random() < 0.5, list[Row]()
    chance = dice.choice([0.2, 0.6, 1])
    for row in rows:
        if row.whose != whose:
            changed.append(row)
            continue
        if not grows and dice.random() < 0.4:
            continue
        y = next((y for y in (world.record(dice) for _ in range(MANY)) if world.steps.edge(row.record, y)), None)
        steps = y is not None and dice.random() < chance
        changed.append(write_row(dice, world, whose, y) if steps and y is not None else row)
    if grows:
        more = [write_row(dice, world, whose, world.record(dice)) for _ in range(dice.choice([0, 1, 2, 3]))]
        changed[len(changed) // 2 : len(changed) // 2] = more
    return changed


def _other_household(dice: random.Random, world: World, rows: list[Row]) -> list[Row] | None:
    """The rows of a household: one of them makes a secret step, and the others change with it in any way.

    Where presence is public it is known how many there are; otherwise they may come and go.
    """
    here = [n for n, row in enumerate(rows) if row.whose]
    if not here:
        return None
    first = dice.choice(here)
    step, whose = make_step(dice, world, rows[first].record), rows[first].whose
    if step is None:
        return None
    records: list[Record | None] = [step[1]]
    for row in rows:
        if row.whose == whose and row is not rows[first]:
            gone = world.secret_presence and dice.random() < 0.2
            records.append(None if gone else dice.choice([row.record, world.record(dice), world.record(dice)]))
    if world.secret_presence and dice.random() < 0.4:
        records.append(world.record(dice))
    keep = [row for row in rows if row.whose != whose]
    new = [write_row(dice, world, whose, record) for record in records if record is not None]
    return new + keep if dice.random() < 0.5 else keep + new


# -- known counts ------------------------------------------------------------------------------------


class Figures:
    """What each record adds to the known figures, as a vector of zeros and ones."""

    def __init__(self, world: World) -> None:
        self.world = world
        cells = [(fact, cell) for fact in world.facts for cell in fact.cells]
        self._none = (0,) * len(cells)
        self._of = {r: tuple(int(fact.cell(r) == cell) for fact, cell in cells) for r in world.records()}
        self._with: dict[Vector, list[Record | None]] = {}
        for record, vector in self._of.items():
            self._with.setdefault(vector, []).append(record)
        if world.secret_presence:
            self._with.setdefault(self._none, []).append(None)

    def of(self, record: Record | None) -> Vector:
        return self._none if record is None else self._of[record]

    def total(self, moves: Sequence[Move]) -> Vector:
        """By how much moves change the known figures."""
        changed = [(self.of(x), self.of(y)) for x, y in moves]
        return tuple(sum(after[n] - before[n] for before, after in changed) for n in range(len(self._none)))

    def are_neighbours(self, moves: Sequence[Move]) -> bool:
        """Whether the moves leave the figures as they are, no part of them does, and one of them is a secret step."""
        if not moves or any(self.total(moves)) or not any(is_step(self.world, move) for move in moves):
            return False
        parts = (part for size in range(1, len(moves)) for part in combinations(moves, size))
        return all(any(self.total(part)) for part in parts)

    def making_up(self, moves: Sequence[Move], x: Record | None) -> list[Record | None]:
        """Where x must go for the figures to be what they were."""
        wanted = tuple(before - change for before, change in zip(self.of(x), self.total(moves), strict=True))
        return [y for y in self._with.get(wanted, []) if y != x]


def _zero_sum(dice: random.Random, world: World, rows: list[Row]) -> list[Row] | None:
    """Several records change, along any moves that make up for each other, one of them at least a secret."""
    figures, everything = Figures(world), world.records()
    for _ in range(MANY):
        here: list[Record | None] = [row.record for row in rows] + [None] * (2 * world.secret_presence)
        dice.shuffle(here)
        moves: list[Move] = []
        for x in here[:4]:
            if last := figures.making_up(moves, x):
                found = [*moves, (x, dice.choice(last))]
                if figures.are_neighbours(found):
                    return moved(dice, world, rows, found)
            y = None if world.secret_presence and dice.random() < 0.2 else dice.choice(everything)
            if y != x:
                moves.append((x, y))
    return None
