"""What tables that are chosen lose between two tables of records, from the chances of every choice there can be.

Written down from `docs/synthetic.md`. What a choice compares with are numbers that follow from what was told before.
Here they may be anything: what is worst for each choice is taken, and all orders of tables are tried.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np

from tetraodon.noise.laws import NoiseLaw
from tetraodon.query.aim import ChosenTables

Rows = Sequence[tuple[int, ...]]
"""The bin of each attribute, and how many records have these."""
SLACK = 1 - 1e-9
ORDERS = (1.0001, 1.5, 2.0, 4.0, 16.0, 64.0)
"""Orders at which divergences are compared, where noise is Gaussian."""


def chosen_loss(tables: ChosenTables, one: Rows, two: Rows, scale: Fraction, law: NoiseLaw) -> Fraction | float:
    """The most that any order of choices gives away: epsilon, or rho where noise is Gaussian."""
    laplace, (alone, wide) = law.name == "laplace", tables.wider(law)

    def gap(places: Sequence[int]) -> Counter[tuple[int, ...]]:
        found = Counter[tuple[int, ...]]()
        for rows, sign in ((one, 1), (two, -1)):
            for *codes, many in rows:
                found[tuple(codes[place] for place in places)] += sign * many
        return found

    def counted(places: Sequence[int], wider: Fraction) -> Fraction:
        moved, noise = gap(places).values(), scale * wider
        if laplace:
            return Fraction(sum(map(abs, moved))) / noise
        return Fraction(sum(n**2 for n in moved)) / (2 * noise**2)

    everywhere = range(len(tables.splits))
    exact = [places for many in range(3) for places in combinations(tables.free, many)] if tables.total else []
    if any(n for places in exact for n in gap(places).values()):
        return math.inf
    lost = sum((counted([place], alone) for place in everywhere if place not in tables.free), Fraction(0))
    unit = float(max(map(len, tables.candidates), default=1) * scale * wide)
    far = {one: len(one) * sum(map(abs, gap(one).values())) / unit for one in tables.candidates}
    worst = 0.0
    for order in permutations(tables.candidates, tables.rounds):
        ways, told = 0.0, list[tuple[int, ...]]()
        for table in order:
            able = [other for other in far if other not in told and not _full(tables, told, other)]
            if table not in able:
                break
            moves = np.array([far[other] for other in able])
            ways += _choice(moves, able.index(table), laplace=laplace) + float(counted(table, Fraction(1)))
            told.append(table)
        worst = max(worst, ways)
    return lost + Fraction(worst * SLACK)


def _full(tables: ChosenTables, told: Sequence[tuple[int, ...]], table: tuple[int, ...]) -> bool:
    """Whether one of the table's attributes that are not free is in as many chosen tables as may share it."""
    often = Counter(place for one in told for place in one if place not in tables.free)
    return bool(tables.most) and any(often[place] >= tables.most for place in table)


def _choice(moves: np.ndarray, place: int, *, laplace: bool) -> float:
    """What one choice loses if scores move by so much, in units of its noise: that of `place` up, the others down."""
    first = np.where(np.arange(len(moves)) == place, 0.0, moves)
    one, other = (np.exp(scores) / np.exp(scores).sum() for scores in (first, moves - first))
    if laplace:
        return float(np.abs(np.log(one) - np.log(other)).max())
    pairs = ((one, other), (other, one))
    return max(float(np.log((p**a * q ** (1 - a)).sum()) / (a - 1) / a) for p, q in pairs for a in ORDERS)
