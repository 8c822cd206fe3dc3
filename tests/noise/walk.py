"""Coins that follow a script, and a walk over every script up to a depth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np

from tetraodon.noise.coins import Coins, Words


class OutOfScript(Exception):
    """More coins were asked for than the script holds."""

    def __init__(self, bits: int) -> None:
        self.bits = bits


class Script:
    """Gives the words of a list, one after the other, whatever their number of bits."""

    def __init__(self, words: Iterable[int]) -> None:
        self.words = list(words)
        self.used = 0

    def draw(self, count: int, bits: int) -> Words:
        if self.used + count > len(self.words):
            raise OutOfScript(bits)
        taken = self.words[self.used : self.used + count]
        self.used += count
        assert all(word < 1 << bits for word in taken)
        return np.array(taken, dtype=np.uint16 if bits <= 16 else np.uint64)


def walk(draw: Callable[[Coins], int], depth: int) -> tuple[dict[int, Fraction], Fraction]:
    """The mass of each value over all coin strings of `depth` bits, and the undecided mass."""
    mass: dict[int, Fraction] = defaultdict(Fraction)
    undecided = Fraction(0)
    todo: list[tuple[tuple[int, ...], int]] = [((), 0)]
    while todo:
        words, bits = todo.pop()
        try:
            mass[draw(Script(words))] += Fraction(1, 1 << bits)
        except OutOfScript as wanted:
            if bits + wanted.bits > depth:
                undecided += Fraction(1, 1 << bits)
            else:
                more = range(1 << wanted.bits)
                todo.extend(((*words, word), bits + wanted.bits) for word in more)
    assert sum(mass.values()) + undecided == 1
    return mass, undecided


def agrees(mass: dict[int, Fraction], undecided: Fraction, pmf: Callable[[int], Fraction], around: int) -> bool:
    """Whether mass[k] <= pmf(k) <= mass[k] + undecided for |k| <= around, pmf good to 1e-50."""
    blur = Fraction(1, 10**50)
    return all(
        mass.get(k, Fraction(0)) <= pmf(k) + blur and pmf(k) - blur <= mass.get(k, Fraction(0)) + undecided
        for k in range(-around, around + 1)
    )
