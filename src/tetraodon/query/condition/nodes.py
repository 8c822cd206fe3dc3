"""Checked conditions, evaluated on arrays of codes.

Everything that a condition may say comes down to these few nodes, so that it means the same wherever it is asked. Truth
has three values, as in SQL: true, false and unknown. Numbers are exact: a whole number over another, or unknown.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import reduce
from typing import Any, Final, Literal, Protocol, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from tetraodon.errors import QueryError
from tetraodon.exact.arrays import Bools, Ints

# -- nodes ------------------------------------------------------------------------------------------

Sign: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]
Sizes: TypeAlias = frozenset[tuple[int, int]]
"""Attributes that something looks at: their places in the domain, with their sizes."""
LARGEST = 2**126
"""No number on the way may be larger, above or below the line: powers of powers would have no end."""
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

    def __post_init__(self) -> None:
        parts = [getattr(self, one.name) for one in fields(self) if one.init]
        held = [part if isinstance(part, tuple) else (part,) for part in parts]
        children = [node for nodes in held if nodes and isinstance(nodes[0], _Node) for node in nodes]
        known = {
            "sizes": frozenset(self._own()).union(*(child.sizes for child in children)),
            "weight": 1 + sum(child.weight for child in children),
            "reads": isinstance(self, Reading) or any(child.reads for child in children),
        }
        for name, value in known.items():
            object.__setattr__(self, name, value)
        if self.weight > HEAVIEST:
            raise QueryError("the condition is nested too deeply", fix="split it, or use `in` and `between`")

    def _own(self) -> Iterable[tuple[int, int]]:
        """The attributes that it looks at itself, with their sizes."""
        return ()


class Numeric(_Node):
    """What is a number, or unknown."""

    __slots__ = ()


class Logical(_Node):
    """What is true, false or unknown."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Constant(Numeric):
    """A number; None is unknown."""

    number: Fraction | int | None


@dataclass(frozen=True, slots=True)
class Code(Numeric):
    """`first` + `step` * the code of the attribute at a place; with `missing`, its last code is unknown."""

    place: int
    size: int
    first: Fraction = Fraction(0)
    step: Fraction = Fraction(1)
    missing: bool = False

    def _own(self) -> Iterable[tuple[int, int]]:
        return [(self.place, self.size)]


@dataclass(frozen=True, slots=True)
class Lookup(Numeric):
    """A number for each code of the attribute at a place; None is unknown."""

    place: int
    numbers: tuple[Fraction | int | None, ...]

    def _own(self) -> Iterable[tuple[int, int]]:
        return [(self.place, len(self.numbers))]


@dataclass(frozen=True, slots=True)
class Call(Numeric):
    """A function of numbers, one of `FUNCTIONS`."""

    name: str
    numbers: tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class Choice(Numeric):
    """The number of the first condition that is true, or the last number."""

    conditions: tuple[Truth, ...]
    numbers: tuple[Number, ...]


@dataclass(frozen=True, slots=True)
class Always(Logical):
    """True, false or unknown, whatever the record."""

    true: bool | None


@dataclass(frozen=True, slots=True)
class NumberComparison(Logical):
    """Two numbers compared; unknown if one of them is."""

    sign: Sign
    left: Number
    right: Number


@dataclass(frozen=True, slots=True)
class Junction(Logical):
    """All of some parts, or any of them."""

    every: bool
    parts: tuple[Truth, ...]


@dataclass(frozen=True, slots=True)
class Negation(Logical):
    """Not a part."""

    part: Truth


@dataclass(frozen=True, slots=True)
class Unknown(Logical):
    """Whether a number is unknown: SQL's `is null`."""

    number: Number


@dataclass(frozen=True, slots=True)
class Outside(_Node):
    """A value that is compared with what a subquery reads. A text is one of `texts`, by its number."""

    kind: Literal["number", "text", "day", "truth"]
    value: Number | Truth
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading(Logical):
    """A predicate that reads public tables, as SQL that was written out from a checked syntax tree.

    In it, `outside` are the columns v0, v1, ... of the tuple at hand.
    """

    sql: str
    read: tuple[tuple[int, int], ...]
    outside: tuple[Outside, ...] = ()

    def _own(self) -> Iterable[tuple[int, int]]:
        return self.read


Number: TypeAlias = Constant | Code | Lookup | Call | Choice
Truth: TypeAlias = Always | NumberComparison | Junction | Negation | Unknown | Reading
OWN = "tetraodon_"
"""How our own tables are called, so that no public table is mistaken for one of them."""
ROW = f"{OWN}row"
"""The name under which a reading knows the tuple it looks at: c0, c1, ... are its codes, a0, a1, ... its values."""


def together(every: bool, parts: Iterable[Truth]) -> Truth:
    """All of some parts, or any of them; parts of the same kind are taken apart."""
    found: list[Truth] = []
    for part in parts:
        found += part.parts if isinstance(part, Junction) and part.every == every else (part,)
    return found[0] if len(found) == 1 else Junction(every, tuple(found))


def as_number(truth: Truth) -> Number:
    """1 where something is true, 0 where it is false, and unknown elsewhere."""
    return Choice((truth, Negation(truth)), (Constant(1), Constant(0), Constant(None)))


def is_one(number: Number) -> Truth:
    """What is true where a number is 1, and unknown where it is."""
    return NumberComparison("=", number, Constant(1))


def call(name: str, *parts: Number) -> Number:
    """A function of numbers, computed at once where all of them are constant.

    >>> call("//", Constant(-7), Constant(2)), call("%", Constant(-7), Constant(2)), call("/", Code(0, 9), Constant(0))
    (Constant(number=Fraction(-3, 1)), Constant(number=Fraction(-1, 1)), Constant(number=None))
    """
    last = parts[-1]
    if name == "/" and isinstance(last, Constant):
        return call("*", parts[0], Constant(1 / Fraction(last.number))) if last.number else Constant(None)
    if not all(isinstance(part, Constant) for part in parts):
        return Call(name, parts)
    [found] = listed(Call(name, parts), None, 1)
    return Constant(found)


# -- truth ------------------------------------------------------------------------------------------
# Where a checked condition is true, and where it is false, for records with some codes.

Codes: TypeAlias = Mapping[int, Ints]
"""For each attribute that matters, by its place, codes that broadcast against each other."""
Truths: TypeAlias = tuple[Bools, Bools]
"""Where something is true, and where it is false."""
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
            a, b = numbers(left, codes, reader), numbers(right, codes, reader)
            holds, known = np.asarray(_compared(sign, a, b), np.bool_), a.known & b.known
            return holds & known, ~holds & known
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
            known = numbers(number, codes, reader).known
            return ~known, known
        case Reading():
            if reader is None:
                raise QueryError("no public table can be read here", fix="ask a view, or leave the subquery out")
            return reader.holds(truth, codes)
        case _:
            assert_never(truth)


# -- numbers ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ratios:
    """Numbers `over` / `under`, where they are `known`; `under` is above 0."""

    over: NDArray[Any]
    under: NDArray[Any] | int
    known: Bools


def numbers(node: Number, codes: Codes, reader: Reader | None = None) -> Ratios:
    """The numbers of a node, for records with these codes."""
    match node:
        case Constant(number):
            exact = Fraction(number or 0)
            return Ratios(np.array(exact.numerator, object), exact.denominator, np.array(number is not None))
        case Code(place, size, first, step, missing):
            under, column = math.lcm(first.denominator, step.denominator), codes[place]
            over = _plus(_times(column, int(step * under)), int(first * under))
            return Ratios(over, under, np.asarray(column != size - 1) if missing else KNOWN)
        case Lookup(place, listed):
            under = math.lcm(1, *(number.denominator for number in listed if number is not None))
            whole = [0 if number is None else int(number * under) for number in listed]
            there = np.array([number is not None for number in listed], np.bool_)
            over = np.array(whole, _kind(max(map(abs, whole), default=0)))
            return Ratios(over[codes[place]], under, there[codes[place]])
        case Call(name, parts):
            return FUNCTIONS[name](*(numbers(part, codes, reader) for part in parts))
        case Choice(conditions, choices):
            options = [numbers(choice, codes, reader) for choice in choices]
            overs, below = _common(options)
            found, known = overs[-1], options[-1].known
            for place in reversed(range(len(conditions))):
                true, _ = evaluate(conditions[place], codes, reader)
                found, known = np.where(true, overs[place], found), np.where(true, options[place].known, known)
            return Ratios(found, below, known)
        case _:
            assert_never(node)


class _NoRows:
    def holds(self, reading: Reading, codes: Codes) -> Truths:  # noqa: ARG002
        return np.zeros(0, np.bool_), np.zeros(0, np.bool_)


def denominator(node: Number) -> int | None:
    """What a number has below the line, where that is the same for every record: 1 for a whole number."""
    under = numbers(node, {place: np.zeros(0, np.int64) for place, _ in node.sizes}, _NoRows()).under
    return under if isinstance(under, int) else None


def listed(node: Number, place: int | None, size: int) -> list[Fraction | None]:
    """The number of a node for every value of the one attribute that it comes from; None where it is unknown."""
    found = numbers(node, {} if place is None else {place: np.arange(size)})
    columns = (np.broadcast_to(column, (size,)).tolist() for column in (found.over, found.under, found.known))
    return [Fraction(over, under) if known else None for over, under, known in zip(*columns, strict=True)]


def _kind(bound: int) -> Any:
    """The type of whole numbers up to a bound; beyond 64 bits they are Python's."""
    if bound > LARGEST:
        raise QueryError("the numbers of the condition become too large", fix="multiply less in it")
    return np.int32 if bound < 2**30 else np.int64 if bound < 2**62 else object


def _size(whole: NDArray[Any] | int) -> int:
    """The largest absolute value."""
    return abs(whole) if isinstance(whole, int) else int(np.max(np.abs(whole), initial=0))


def _fitting(bound: int, *wholes: NDArray[Any] | int) -> list[NDArray[Any]]:
    """Whole numbers as arrays in which results up to a bound fit, as they do themselves."""
    kind = _kind(max(bound, *map(_size, wholes)))
    return [np.asarray(whole, kind) for whole in wholes]


def _times(a: NDArray[Any] | int, b: NDArray[Any] | int) -> NDArray[Any]:
    if isinstance(b, int) and b == 1:
        return np.asarray(a)
    left, right = _fitting(_size(a) * _size(b), a, b)
    return np.asarray(left * right)


def _plus(a: NDArray[Any] | int, b: NDArray[Any] | int) -> NDArray[Any]:
    if isinstance(b, int) and b == 0:
        return np.asarray(a)
    left, right = _fitting(_size(a) + _size(b), a, b)
    return np.asarray(left + right)


def _common(parts: Sequence[Ratios]) -> tuple[list[NDArray[Any]], NDArray[Any] | int]:
    """Numbers over one denominator: what is above the line, and what is below it."""
    fixed = [one.under for one in parts if isinstance(one.under, int)]
    if len(fixed) == len(parts):
        under = math.lcm(*fixed)
        return [_times(one.over, under // of) for one, of in zip(parts, fixed, strict=True)], under
    overs, below = [parts[0].over], parts[0].under
    for one in parts[1:]:
        overs = [*(_times(over, one.under) for over in overs), _times(one.over, below)]
        below = _times(below, one.under)
    return overs, below


def _compared(sign: Sign, left: Ratios, right: Ratios) -> Any:
    """Whether the comparison holds where both are known.

    Why   a whole number compares with a fraction as with the whole number next to it, and none far away is needed: so
          what is compared with a constant stays as short as it is.
    """
    if isinstance(left.under, int) and isinstance(right.under, int) and right.over.ndim == 0 and left.over.ndim:
        limit = _size(left.over) + 1 if left.over.dtype == object else int(np.iinfo(left.over.dtype).max)
        wanted = Fraction(int(right.over), right.under) * left.under
        if wanted.denominator != 1 and sign in ("=", "<>"):
            wanted = Fraction(limit)  # nothing is equal to it
        near = math.ceil(wanted) if sign in ("<", ">=") else math.floor(wanted)
        return SIGNS[sign](left.over, min(max(near, -limit), limit))
    (a, b), _ = _common([left, right])
    return SIGNS[sign](a, b)


def _sum(left: Ratios, right: Ratios) -> Ratios:
    (a, b), under = _common([left, right])
    return Ratios(_plus(a, b), under, left.known & right.known)


def _product(left: Ratios, right: Ratios) -> Ratios:
    fixed = isinstance(left.under, int) and isinstance(right.under, int)
    under = left.under * right.under if fixed else _times(left.under, right.under)
    return Ratios(_times(left.over, right.over), under, left.known & right.known)


def _quotient(left: Ratios, right: Ratios) -> Ratios:
    """Unknown where the second number is 0."""
    zero, sign = np.asarray(right.over == 0, np.bool_), np.where(right.over < 0, -1, 1)
    over = _times(_times(left.over, right.under), sign)
    under = _times(left.under, np.where(zero, 1, _times(right.over, sign)))
    return Ratios(over, under, left.known & right.known & ~zero)


def _division(left: Ratios, right: Ratios) -> tuple[Ratios, Ratios]:
    """The whole part of a quotient, towards 0, and what is left over; unknown where the second number is 0."""
    (a, b), under = _common([left, right])
    zero = np.asarray(b == 0, np.bool_)
    known, b = left.known & right.known & ~zero, np.where(zero, 1, b)
    long = object in (a.dtype, b.dtype)
    rest = np.abs(a) % np.abs(b) * np.where(a < 0, -1, 1) if long else np.fmod(a, b)
    return Ratios(np.asarray((a - rest) // b), 1, known), Ratios(np.asarray(rest), under, known)


def _power(base: Ratios, exponent: Ratios) -> Ratios:
    return reduce(_product, [base] * int(exponent.over), Ratios(np.array(1), 1, KNOWN))


def _negative(one: Ratios) -> Ratios:
    return replace(one, over=np.asarray(-one.over))


def _rounded(one: Ratios, decimals: Ratios) -> Ratios:
    """The nearest number with so many decimals; halves go away from 0."""
    scale = 10 ** int(decimals.over)
    twice = _plus(_times(np.abs(one.over), 2 * scale), one.under)
    return Ratios(np.asarray(twice // _times(one.under, 2) * np.where(one.over < 0, -1, 1)), scale, one.known)


def _extreme(better: Callable[[Any, Any], Any], parts: Sequence[Ratios]) -> Ratios:
    """The least of the known numbers, or the largest."""
    overs, under = _common(parts)
    best, known = overs[0], parts[0].known
    for over, part in zip(overs[1:], parts[1:], strict=True):
        best = np.where(part.known & (better(over, best) | ~known), over, best)
        known = np.asarray(known | part.known)
    return Ratios(best, under, known)


FUNCTIONS: Final[dict[str, Callable[..., Ratios]]] = {
    "+": _sum,
    "-": lambda left, right: _sum(left, _negative(right)),
    "*": _product,
    "/": _quotient,
    "//": lambda left, right: _division(left, right)[0],
    "%": lambda left, right: _division(left, right)[1],
    "power": _power,
    "round": _rounded,
    "negative": _negative,
    "abs": lambda one: replace(one, over=np.abs(one.over)),
    "floor": lambda one: Ratios(np.asarray(one.over // one.under), 1, one.known),
    "ceil": lambda one: Ratios(np.asarray(-(-one.over // one.under)), 1, one.known),
    "least": lambda *parts: _extreme(operator.lt, parts),
    "greatest": lambda *parts: _extreme(operator.gt, parts),
}
"""What is computed with numbers. Of `power` and `round`, the second number is a constant."""
