"""A condition as a network of small tables whose product, summed over all tuples, counts those that satisfy it.

And, or and not are resolved in SQL's three-valued logic: negations move down to the predicates, where "is false" and
"is true" are two different tables. A predicate is a table over the attributes it names. A conjunction is a product. A
disjunction is 1 - (1-a)(1-b)..., which is a sum over one more index of two values that all its members share: no
inclusion and exclusion, and no disjunctive normal form ([RS07] Algorithm 4 needs both).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Bools
from tetraodon.workload.condition.nodes import Junction, Negation, Truth, together

SMALL = 2**16
"""Up to here one table over all attributes of a part is as good as a network of smaller ones."""


@dataclass(frozen=True)
class Leaf:
    """A predicate, true or not true for each cell of the attributes at `places`."""

    truth: Truth

    @property
    def places(self) -> tuple[int, ...]:
        return self.truth.places


@dataclass(frozen=True)
class Node:
    """All of some parts, or any of them."""

    every: bool
    parts: tuple[Leaf | Node, ...]

    @property
    def places(self) -> tuple[int, ...]:
        return tuple(sorted({place for part in self.parts for place in part.places}))

    @property
    def truth(self) -> Truth:
        return together(self.every, (part.truth for part in self.parts))


Formula: TypeAlias = Leaf | Node


def formula(truth: Truth) -> Formula:
    """A checked condition with negations moved to its predicates."""
    return _positive(truth, False)


def leaves(found: Formula) -> Iterator[Leaf]:
    """The predicates."""
    if isinstance(found, Leaf):
        yield found
    else:
        for part in found.parts:
            yield from leaves(part)


def _positive(truth: Truth, negated: bool) -> Formula:
    match truth:
        case Negation(part):
            return _positive(part, not negated)
        case Junction(every, parts):
            found: list[Formula] = []
            for child in parts:
                part_of = _positive(child, negated)
                same = isinstance(part_of, Node) and part_of.every == (every != negated)
                found += part_of.parts if isinstance(part_of, Node) and same else [part_of]
            return Node(every != negated, tuple(found))
        case _:
            return Leaf(Negation(truth) if negated else truth)


def _cells(places: Sequence[int], shape: Sequence[int]) -> int:
    return math.prod(shape[place] for place in places)


def joined(found: Formula, shape: Sequence[int]) -> Formula:
    """The same condition with fewer predicates, none of them wider than what is there already."""
    if isinstance(found, Leaf):
        return found
    parts = [joined(part, shape) for part in found.parts]
    wide = max(_cells(leaf.places, shape) for part in parts for leaf in leaves(part))
    whole = Node(found.every, tuple(parts))
    if _cells(whole.places, shape) <= max(SMALL, wide):
        return Leaf(whole.truth)
    kept: list[Formula] = []
    for part in sorted(parts, key=lambda part: (-len(part.places), isinstance(part, Node))):
        inside = (
            n for n, other in enumerate(kept) if isinstance(other, Leaf) and set(part.places) <= set(other.places)
        )
        host = next(inside, None)
        if host is not None:
            both = Node(found.every, (kept[host], part))
            kept[host] = Leaf(both.truth)
        else:
            kept.append(part)
    return Node(found.every, tuple(kept))


@dataclass(frozen=True)
class NetworkTable:
    """A table of the network: its indices, and how to make it once it is known to be affordable."""

    indices: tuple[str, ...]
    table: Callable[[], NDArray[Any]]


def network(found: Formula, holds: Callable[[Leaf], Bools]) -> list[NetworkTable]:
    """The tables whose product is 1 where the condition holds and 0 elsewhere, summed over the indices g0, g1, ..."""
    factors: list[NetworkTable] = []
    gates = iter(range(10**9))

    def build(part: Formula, gate: str | None, negated: bool) -> None:
        """Add the tables of part^gate: one where the gate is 0, the part or its negation where it is 1."""
        if isinstance(part, Leaf):
            own = tuple(f"a{place}" for place in part.places)
            factors.append(
                NetworkTable((*own, *([gate] if gate else [])), lambda: _gated(holds(part) != negated, gate))
            )
        elif part.every != negated:
            for child in part.parts:
                build(child, gate, negated)
        else:
            inner = f"g{next(gates)}"
            table = np.array([[1, 1], [0, -1]]) if gate else np.array([1, -1])
            factors.append(NetworkTable((inner, *([gate] if gate else [])), lambda: table))
            for child in part.parts:
                build(child, inner, not negated)

    build(found, None, False)
    return factors


def _gated(table: Bools, gate: str | None) -> NDArray[Any]:
    return table if gate is None else np.stack([np.ones_like(table), table], axis=-1)
