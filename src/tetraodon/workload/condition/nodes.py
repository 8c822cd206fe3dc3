"""A checked condition: whole numbers computed from the codes of attributes, and what is true of them.

Everything that a condition may say comes down to these few nodes, so that it means the same wherever it is computed:
on arrays (`truth.py`) and in a database (`duckdb_text.py`). Truth has three values, as in SQL: true, false and unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tetraodon.errors import QueryError

Sign: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]
Operation: TypeAlias = Literal["+", "-", "*", "//", "%"]
Sizes: TypeAlias = frozenset[tuple[int, int]]
"""Attributes that something looks at: their places in the domain, with their sizes."""
LARGEST = 2**126
"""No number on the way may be larger, for no database adds up longer ones."""
HEAVIEST = 200_000
"""The most nodes of a condition, those that occur in several places counted in each."""


@dataclass(frozen=True, slots=True)
class _Node:
    """What every node knows: the attributes it looks at, how many nodes it holds, and whether it reads tables."""

    sizes: Sizes = field(init=False, repr=False, compare=False)
    weight: int = field(init=False, repr=False, compare=False)
    reads: bool = field(init=False, repr=False, compare=False)

    @property
    def places(self) -> tuple[int, ...]:
        """Which attributes it looks at, in the domain's order."""
        return tuple(sorted(place for place, _ in self.sizes))

    def _knows(self, children: Iterable[_Node], sizes: Iterable[tuple[int, int]] = ()) -> None:
        held = tuple(children)
        object.__setattr__(self, "sizes", frozenset(sizes).union(*(child.sizes for child in held)))
        object.__setattr__(self, "weight", 1 + sum(child.weight for child in held))
        object.__setattr__(self, "reads", isinstance(self, Reading) or any(child.reads for child in held))
        if self.weight > HEAVIEST:
            raise QueryError("the condition is nested too deeply", fix="split it, or use `in` and `between`")


@dataclass(frozen=True, slots=True)
class _Whole(_Node):
    """A whole number, whose absolute value is never above `bound`."""

    bound: int = field(init=False, repr=False, compare=False)

    def _reaches(self, bound: int) -> None:
        object.__setattr__(self, "bound", bound)


@dataclass(frozen=True, slots=True)
class Constant(_Whole):
    """A whole number; None is unknown."""

    number: int | None

    def __post_init__(self) -> None:
        self._knows(())
        self._reaches(abs(self.number or 0))


@dataclass(frozen=True, slots=True)
class Code(_Whole):
    """The code of the attribute at a place of the domain, below its `size`."""

    place: int
    size: int

    def __post_init__(self) -> None:
        self._knows((), [(self.place, self.size)])
        self._reaches(self.size - 1)


@dataclass(frozen=True, slots=True)
class Lookup(_Whole):
    """A number for each code of the attribute at a place; None is unknown."""

    place: int
    numbers: tuple[int | None, ...]

    def __post_init__(self) -> None:
        self._knows((), [(self.place, len(self.numbers))])
        self._reaches(max((abs(number) for number in self.numbers if number is not None), default=0))


@dataclass(frozen=True, slots=True)
class Arithmetic(_Whole):
    """A sum, a difference, a product, or what division leaves; `//` cuts off, and by 0 nothing is known."""

    operation: Operation
    left: Whole
    right: Whole

    def __post_init__(self) -> None:
        self._knows((self.left, self.right))
        a, b = self.left.bound, self.right.bound
        match self.operation:
            case "+" | "-":
                self._reaches(a + b)
            case "*":
                self._reaches(a * b)
            case "//":
                self._reaches(a)
            case "%":
                self._reaches(min(a, b))
        if max(self.bound, a, b) > LARGEST:
            raise QueryError("the numbers of the condition become too large", fix="multiply less in it")


@dataclass(frozen=True, slots=True)
class Choice(_Whole):
    """The number that stands with the first condition that is true, or the last number."""

    conditions: tuple[Truth, ...]
    numbers: tuple[Whole, ...]

    def __post_init__(self) -> None:
        self._knows((*self.conditions, *self.numbers))
        self._reaches(max(number.bound for number in self.numbers))


@dataclass(frozen=True, slots=True)
class Extreme(_Whole):
    """The least of the known numbers, or the largest."""

    largest: bool
    numbers: tuple[Whole, ...]

    def __post_init__(self) -> None:
        self._knows(self.numbers)
        self._reaches(max(number.bound for number in self.numbers))


@dataclass(frozen=True, slots=True)
class Always(_Node):
    """True, false or unknown, whatever the record."""

    true: bool | None

    def __post_init__(self) -> None:
        self._knows(())


@dataclass(frozen=True, slots=True)
class NumberComparison(_Node):
    """Two whole numbers compared; unknown if one of them is."""

    sign: Sign
    left: Whole
    right: Whole

    def __post_init__(self) -> None:
        self._knows((self.left, self.right))


@dataclass(frozen=True, slots=True)
class Junction(_Node):
    """All of some parts, or any of them."""

    every: bool
    parts: tuple[Truth, ...]

    def __post_init__(self) -> None:
        self._knows(self.parts)


@dataclass(frozen=True, slots=True)
class Negation(_Node):
    """Not a part."""

    part: Truth

    def __post_init__(self) -> None:
        self._knows((self.part,))


@dataclass(frozen=True, slots=True)
class Unknown(_Node):
    """Whether a number is unknown: SQL's `is null`."""

    number: Whole

    def __post_init__(self) -> None:
        self._knows((self.number,))


@dataclass(frozen=True, slots=True)
class Reading(_Node):
    """A predicate that reads public tables, as SQL that was written out from a checked syntax tree."""

    sql: str
    read: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        self._knows((), self.read)


Whole: TypeAlias = Constant | Code | Lookup | Arithmetic | Choice | Extreme
Truth: TypeAlias = Always | NumberComparison | Junction | Negation | Unknown | Reading


def together(every: bool, parts: Iterable[Truth]) -> Truth:
    """All of some parts, or any of them; parts of the same kind are taken apart."""
    found: list[Truth] = []
    for part in parts:
        found += part.parts if isinstance(part, Junction) and part.every == every else (part,)
    return found[0] if len(found) == 1 else Junction(every, tuple(found))


def as_number(truth: Truth) -> Whole:
    """1 where something is true, 0 where it is false, and unknown elsewhere."""
    return Choice((truth, Negation(truth)), (Constant(1), Constant(0), Constant(None)))


def is_one(number: Whole) -> Truth:
    """What is true where a number is 1, and unknown where it is."""
    return NumberComparison("=", number, Constant(1))
