"""Checked conditions, evaluated on arrays of codes.

Everything that a condition may say comes down to these few nodes, so that it means the same wherever it is computed:
on arrays (`evaluate`) and in a database (`condition_sql`). Truth has three values, as in SQL: true, false and unknown.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, Protocol, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Bools, Ints

# -- nodes ------------------------------------------------------------------------------------------

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
    """What every node knows: the attributes it looks at, how many nodes it holds, and whether it reads tables.

    The absolute value of a whole number is never above its `bound`; that of what is true or false is 1.
    """

    sizes: Sizes = field(init=False, repr=False, compare=False)
    weight: int = field(init=False, repr=False, compare=False)
    reads: bool = field(init=False, repr=False, compare=False)
    bound: int = field(init=False, repr=False, compare=False)

    @property
    def places(self) -> tuple[int, ...]:
        """Which attributes it looks at, in the domain's order."""
        return tuple(sorted(place for place, _ in self.sizes))

    def __post_init__(self) -> None:
        parts = [getattr(self, one.name) for one in fields(self) if one.init]
        held = [part if isinstance(part, tuple) else (part,) for part in parts]
        children = [node for nodes in held if nodes and isinstance(nodes[0], _Node) for node in nodes]
        known = {
            "sizes": frozenset(self._own()).union(*(child.sizes for child in children)),
            "weight": 1 + sum(child.weight for child in children),
            "reads": isinstance(self, Reading) or any(child.reads for child in children),
            "bound": self._bound(),
        }
        for name, value in known.items():
            object.__setattr__(self, name, value)
        if self.weight > HEAVIEST:
            raise QueryError("the condition is nested too deeply", fix="split it, or use `in` and `between`")

    def _own(self) -> Iterable[tuple[int, int]]:
        """The attributes that it looks at itself, with their sizes."""
        return ()

    def _bound(self) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class Constant(_Node):
    """A whole number; None is unknown."""

    number: int | None

    def _bound(self) -> int:
        return abs(self.number or 0)


@dataclass(frozen=True, slots=True)
class Code(_Node):
    """The code of the attribute at a place of the domain, below its `size`."""

    place: int
    size: int

    def _own(self) -> Iterable[tuple[int, int]]:
        return [(self.place, self.size)]

    def _bound(self) -> int:
        return self.size - 1


@dataclass(frozen=True, slots=True)
class Lookup(_Node):
    """A number for each code of the attribute at a place; None is unknown."""

    place: int
    numbers: tuple[int | None, ...]

    def _own(self) -> Iterable[tuple[int, int]]:
        return [(self.place, len(self.numbers))]

    def _bound(self) -> int:
        return max((abs(number) for number in self.numbers if number is not None), default=0)


@dataclass(frozen=True, slots=True)
class Arithmetic(_Node):
    """A sum, a difference, a product, or what division leaves; `//` cuts off, and by 0 nothing is known."""

    operation: Operation
    left: Whole
    right: Whole

    def _bound(self) -> int:
        a, b = self.left.bound, self.right.bound
        bound = {"+": a + b, "-": a + b, "*": a * b, "//": a, "%": min(a, b)}[self.operation]
        if max(bound, a, b) > LARGEST:
            raise QueryError("the numbers of the condition become too large", fix="multiply less in it")
        return bound


@dataclass(frozen=True, slots=True)
class Choice(_Node):
    """The number of the first condition that is true, or the last number."""

    conditions: tuple[Truth, ...]
    numbers: tuple[Whole, ...]

    def _bound(self) -> int:
        return max(number.bound for number in self.numbers)


@dataclass(frozen=True, slots=True)
class Extreme(_Node):
    """The least of the known numbers, or the largest."""

    largest: bool
    numbers: tuple[Whole, ...]

    def _bound(self) -> int:
        return max(number.bound for number in self.numbers)


@dataclass(frozen=True, slots=True)
class Always(_Node):
    """True, false or unknown, whatever the record."""

    true: bool | None


@dataclass(frozen=True, slots=True)
class NumberComparison(_Node):
    """Two whole numbers compared; unknown if one of them is."""

    sign: Sign
    left: Whole
    right: Whole


@dataclass(frozen=True, slots=True)
class Junction(_Node):
    """All of some parts, or any of them."""

    every: bool
    parts: tuple[Truth, ...]


@dataclass(frozen=True, slots=True)
class Negation(_Node):
    """Not a part."""

    part: Truth


@dataclass(frozen=True, slots=True)
class Unknown(_Node):
    """Whether a number is unknown: SQL's `is null`."""

    number: Whole


@dataclass(frozen=True, slots=True)
class Reading(_Node):
    """A predicate that reads public tables, as SQL that was written out from a checked syntax tree."""

    sql: str
    read: tuple[tuple[int, int], ...]

    def _own(self) -> Iterable[tuple[int, int]]:
        return self.read


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


# -- truth ------------------------------------------------------------------------------------------
# Checked conditions on arrays of codes: where each is true, and where it is known.

Codes: TypeAlias = Mapping[int, Ints]
"""For each attribute that matters, by its place, codes that broadcast against each other."""
Numbers: TypeAlias = tuple[NDArray[Any], Bools]
"""Whole numbers, and where they are known."""
Truths: TypeAlias = tuple[Bools, Bools]
"""Where something is true, and where it is false."""
FAST = 2**62
"""Below this bound numbers are computed in 64 bits, above it in Python's integers."""
BLOCK = 2**22
"""Cells that are looked at together."""
SIGNS: Final[dict[Sign, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
KNOWN: Final = np.array(True)


class Reader(Protocol):
    """Something that holds the public tables."""

    def holds(self, reading: Reading, codes: Codes) -> Truths: ...


def cells_where(truth: Truth, places: Sequence[int], sizes: Sequence[int], reader: Reader | None = None) -> Bools:
    """Whether a condition is true, for each cell of the attributes at some places. Ask their number first."""
    if not sizes:
        return np.asarray(evaluate(truth, {}, reader)[0])
    found = np.zeros(tuple(sizes), np.bool_)
    step = max(1, BLOCK // max(1, math.prod(sizes[1:])))
    for start in range(0, sizes[0], step):
        codes = {}
        for axis, (place, size) in enumerate(zip(places, sizes, strict=True)):
            column = np.arange(start, min(start + step, size)) if axis == 0 else np.arange(size)
            codes[place] = column.reshape([-1 if other == axis else 1 for other in range(len(sizes))])
        found[start : start + step] = evaluate(truth, codes, reader)[0]
    return found


def evaluate(truth: Truth, codes: Codes, reader: Reader | None = None) -> Truths:
    """Where a condition is true, and where it is false, for records with these codes."""
    match truth:
        case Always(true):
            return np.array(true is True), np.array(true is False)
        case NumberComparison(sign, left, right):
            (a, known), (b, other) = numbers(left, codes, reader), numbers(right, codes, reader)
            holds = np.asarray(SIGNS[sign](a, b), np.bool_)
            return holds & known & other, ~holds & known & other
        case Negation(part):
            yes, no = evaluate(part, codes, reader)
            return no, yes
        case Junction(every, parts):
            yes, no = evaluate(parts[0], codes, reader)
            for part in parts[1:]:
                more, less = evaluate(part, codes, reader)
                yes, no = (yes & more, no | less) if every else (yes | more, no & less)
            return np.asarray(yes), np.asarray(no)
        case Unknown(number):
            known = numbers(number, codes, reader)[1]
            return ~known, known
        case Reading():
            if reader is None:
                raise QueryError("no public table can be read here", fix="ask a view, or leave the subquery out")
            return reader.holds(truth, codes)
        case _:
            assert_never(truth)


def numbers(node: Whole, codes: Codes, reader: Reader | None = None) -> Numbers:
    """The numbers of a node, for records with these codes."""
    match node:
        case Constant(number):
            return np.array(number or 0, _kind(node.bound)), np.array(number is not None)
        case Code(place):
            return codes[place].astype(_kind(node.bound), copy=False), KNOWN
        case Lookup(place, listed):
            known = np.array([number is not None for number in listed])
            return np.array([number or 0 for number in listed], _kind(node.bound))[codes[place]], known[codes[place]]
        case Arithmetic():
            return _arithmetic(node, numbers(node.left, codes, reader), numbers(node.right, codes, reader))
        case Choice(conditions, choices):
            kind = _kind(node.bound)
            found, known = numbers(choices[-1], codes, reader)
            for condition, choice in zip(reversed(conditions), reversed(choices[:-1]), strict=True):
                true, _ = evaluate(condition, codes, reader)
                here, sure = numbers(choice, codes, reader)
                found = np.where(true, here.astype(kind), found.astype(kind))
                known = np.where(true, sure, known)
            return found, known
        case Extreme(largest, parts):
            found, known = numbers(parts[0], codes, reader)
            for part in parts[1:]:
                other, sure = numbers(part, codes, reader)
                better = (other > found if largest else other < found) | ~known
                found = np.where(sure & better, other.astype(_kind(node.bound)), found.astype(_kind(node.bound)))
                known = known | sure
            return found, np.asarray(known)
        case _:
            assert_never(node)


def _kind(bound: int) -> Any:
    return np.int32 if bound < 2**30 else np.int64 if bound < FAST else object


def _arithmetic(node: Arithmetic, left: Numbers, right: Numbers) -> Numbers:
    kind = _kind(max(node.bound, node.left.bound, node.right.bound))
    a, b, known = left[0].astype(kind), right[0].astype(kind), left[1] & right[1]
    match node.operation:
        case "+":
            found = a + b
        case "-":
            found = a - b
        case "*":
            found = a * b
        case "//" | "%":
            zero = np.asarray(b == 0, np.bool_)
            known = known & ~zero
            b = np.where(zero, 1, b) if zero.any() else b
            left_over = np.abs(a) % np.abs(b) * np.where(a < 0, -1, 1) if kind is object else np.fmod(a, b)
            found = left_over if node.operation == "%" else (a - left_over) // b
    return np.asarray(found, kind), np.asarray(known)


# -- SQL --------------------------------------------------------------------------------------------
# The same for DuckDB, over columns c0, c1, ... that hold the codes of the attributes.

OWN = "tetraodon_"
"""How our own tables are called, so that no public table is mistaken for one of them."""
ROW = f"{OWN}row"
"""The name under which conditions know the tuple they look at: c0, c1, ... are its codes, a0, a1, ... its values."""
LISTED = 2**17
"""The most values of an attribute whose texts are looked up in a database."""


def condition_sql(truth: Truth) -> str:
    """A condition as SQL, true, false or null as it is in `nodes.py`.

    >>> condition_sql(NumberComparison("<", Code(0, 9), Constant(3)))
    '(tetraodon_row.c0 < 3)'
    """
    match truth:
        case Always(true):
            return {True: "true", False: "false", None: "CAST(NULL AS BOOLEAN)"}[true]
        case NumberComparison(sign, left, right):
            return f"({number_sql(left)} {sign} {number_sql(right)})"
        case Negation(part):
            return f"(NOT {condition_sql(part)})"
        case Junction(every, parts):
            return "(" + (" AND " if every else " OR ").join(condition_sql(part) for part in parts) + ")"
        case Unknown(number):
            return f"({number_sql(number)} IS NULL)"
        case Reading(sql):
            return f"({sql})"
        case _:
            assert_never(truth)


def number_sql(node: Whole) -> str:
    """A whole number as SQL."""
    match node:
        case Constant(number):
            return "CAST(NULL AS BIGINT)" if number is None else str(number) if number >= 0 else f"({number})"
        case Code(place):
            return f"{ROW}.c{place}"
        case Lookup(place, listed):
            if len(listed) > LISTED:
                raise QueryError("a text function looks at too many values", fix="compare the attribute itself")
            texts = ", ".join("NULL" if number is None else str(number) for number in listed)
            return f"(CAST([{texts}] AS BIGINT[]))[{ROW}.c{place} + 1]"
        case Arithmetic(operation, left, right):
            wide = max(node.bound, left.bound, right.bound) >= FAST
            return f"({_wide(left, wide)} {operation} {_wide(right, wide)})"
        case Choice(conditions, numbers):
            wide = node.bound >= FAST
            pairs = zip(conditions, numbers, strict=False)
            whens = " ".join(f"WHEN {condition_sql(one)} THEN {_wide(number, wide)}" for one, number in pairs)
            return f"(CASE {whens} ELSE {_wide(numbers[-1], wide)} END)"
        case Extreme(largest, numbers):
            wide = node.bound >= FAST
            sides = ", ".join(_wide(number, wide) for number in numbers)
            return f"{'greatest' if largest else 'least'}({sides})"
        case _:
            assert_never(node)


def _wide(node: Whole, wide: bool) -> str:
    return f"CAST({number_sql(node)} AS HUGEINT)" if wide else number_sql(node)
