"""Checked conditions, evaluated on arrays of codes.

Everything that a condition may say comes down to these few nodes, so that it means the same wherever it is asked. Truth
has three values, as in SQL: true, false and unknown. Numbers are exact: a whole number over another, or unknown.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
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
"""No number on the way may be larger, above or below the line."""
LONGEST_CONSTANT = 2**4096
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
KNOWN: Final = np.True_


class Reader(Protocol):
    """Something that holds the public tables."""

    def holds(self, reading: Reading, codes: Codes) -> Truths: ...


class _NoRows:
    """Reads for no record."""

    def holds(self, reading: Reading, codes: Codes) -> Truths:  # noqa: ARG002
        for one in reading.outside:
            on_no_record(one.value)
        return np.zeros(0, np.bool_), np.zeros(0, np.bool_)


def on_no_record(node: Number | Truth) -> Ratios | Truths:
    """What a node comes to for no record: QueryError where it cannot be computed whatever the record."""
    codes = {place: np.zeros(0, np.int64) for place, _ in node.sizes}
    return evaluate(node, codes, _NoRows()) if isinstance(node, Logical) else numbers(node, codes, _NoRows())


def denominator(node: Number) -> int | None:
    """What a number has below the line, where that is the same for every record: 1 for a whole number."""
    found = on_no_record(node)
    return found.under if isinstance(found, Ratios) and isinstance(found.under, int) else None


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
    """Numbers `over` / `under`, where they are `known`; `under` is above 0.

    No absolute value of `over` is above `most`, and no `under` above `deepest`.
    """

    over: NDArray[Any]
    most: int
    under: NDArray[Any] | int = 1
    deepest: int = 1
    known: Bools | np.bool_ = KNOWN

    def __post_init__(self) -> None:
        if max(self.most, self.deepest) > (LARGEST if self.over.ndim else LONGEST_CONSTANT):
            raise QueryError("the numbers of the condition become too large", fix="multiply less in it")


def numbers(node: Number, codes: Codes, reader: Reader | None = None) -> Ratios:
    """The numbers of a node, for records with these codes."""
    match node:
        case Constant(number):
            exact = Fraction(number or 0)
            over = np.array(exact.numerator, _kind(abs(exact.numerator)))
            return Ratios(
                over, abs(exact.numerator), exact.denominator, exact.denominator, np.array(number is not None)
            )
        case Code(place, size, first, step, missing):
            under = math.lcm(first.denominator, step.denominator)
            start, pace, column = int(first * under), int(step * under), codes[place]
            most = abs(start) + pace * (size - 1)
            over = column.astype(_kind(max(most, pace)), copy=False)
            known = np.asarray(column != size - 1) if missing else KNOWN
            return Ratios(over * pace + start if (start, pace) != (0, 1) else over, most, under, under, known)
        case Lookup(place, listed):
            under = math.lcm(1, *(number.denominator for number in listed if number is not None))
            overs = [0 if number is None else int(number * under) for number in listed]
            most, known = max(map(abs, overs), default=0), np.array([number is not None for number in listed], np.bool_)
            return Ratios(np.array(overs, _kind(most))[codes[place]], most, under, under, known[codes[place]])
        case Call(name, parts):
            return FUNCTIONS[name](*(numbers(part, codes, reader) for part in parts))
        case Choice(conditions, choices):
            options = [numbers(choice, codes, reader) for choice in choices]
            overs, most, under, deepest = _common(options)
            found, known = overs[-1], options[-1].known
            for place in reversed(range(len(conditions))):
                true, _ = evaluate(conditions[place], codes, reader)
                found, known = np.where(true, overs[place], found), np.where(true, options[place].known, known)
            return Ratios(found, most, under, deepest, np.asarray(known))
        case _:
            assert_never(node)


def listed(node: Number, place: int | None, size: int) -> list[Fraction | None]:
    """The number of a node for every value of the one attribute that it comes from; None where it is unknown."""
    found = numbers(node, {} if place is None else {place: np.arange(size)})
    columns = (np.broadcast_to(column, (size,)).tolist() for column in (found.over, found.under, found.known))
    return [Fraction(over, under) if known else None for over, under, known in zip(*columns, strict=True)]


def _kind(bound: int) -> Any:
    """The type of whole numbers up to a bound; beyond 64 bits they are Python's."""
    return np.int32 if bound < 2**30 else np.int64 if bound < 2**62 else object


def _times(a: NDArray[Any] | int, most: int, b: NDArray[Any] | int, bound: int) -> NDArray[Any]:
    """A product of whole numbers up to `most` and `bound`."""
    kind = _kind(max(most, bound, most * bound))
    return np.asarray(np.asarray(a).astype(kind) * np.asarray(b).astype(kind))


def _common(parts: Sequence[Ratios]) -> tuple[list[NDArray[Any]], int, NDArray[Any] | int, int]:
    """Numbers over one denominator: what is above the line, up to which bound, and what is below it, up to which."""
    if all(isinstance(one.under, int) for one in parts):
        whole = math.lcm(*(one.deepest for one in parts))
        scaled = [_times(one.over, one.most, whole // one.deepest, whole // one.deepest) for one in parts]
        most, under, deepest = max(one.most * (whole // one.deepest) for one in parts), whole, whole
        return [one.astype(_kind(most)) for one in scaled], most, under, deepest
    first, *others = parts
    overs, most, below, deepest = [first.over], first.most, np.asarray(first.under), first.deepest
    for one in others:
        overs = [
            *(_times(over, most, one.under, one.deepest) for over in overs),
            _times(one.over, one.most, below, deepest),
        ]
        most, below = max(most * one.deepest, one.most * deepest), _times(below, deepest, one.under, one.deepest)
        deepest *= one.deepest
    return [one.astype(_kind(most)) for one in overs], most, below, deepest


def _compared(sign: Sign, left: Ratios, right: Ratios) -> Any:
    """Whether the comparison holds where both are known.

    Why   a whole number compares with a fraction as with the whole number next to it, and none far away is needed: so
          what is compared with a constant stays as short as it is.
    """
    if isinstance(left.under, int) and isinstance(right.under, int) and right.over.ndim == 0 and left.over.ndim:
        limit, wanted = left.most + 1, Fraction(int(right.over), right.under) * left.under
        if wanted.denominator != 1 and sign in ("=", "<>"):
            wanted = Fraction(limit)  # nothing is equal to it
        near = math.ceil(wanted) if sign in ("<", ">=") else math.floor(wanted)
        return SIGNS[sign](left.over, min(max(near, -limit), limit))
    (a, b), *_ = _common([left, right])
    return SIGNS[sign](a, b)


def _sum(sign: int) -> Callable[[Ratios, Ratios], Ratios]:
    def added(left: Ratios, right: Ratios) -> Ratios:
        (a, b), most, under, deepest = _common([left, right])
        kind = _kind(2 * most)
        return Ratios(a.astype(kind) + sign * b.astype(kind), 2 * most, under, deepest, left.known & right.known)

    return added


def _product(left: Ratios, right: Ratios) -> Ratios:
    over = _times(left.over, left.most, right.over, right.most)
    most, deepest, known = left.most * right.most, left.deepest * right.deepest, left.known & right.known
    if isinstance(left.under, int) and isinstance(right.under, int):
        return Ratios(over, most, deepest, deepest, known)
    return Ratios(over, most, _times(left.under, left.deepest, right.under, right.deepest), deepest, known)


def _quotient(left: Ratios, right: Ratios) -> Ratios:
    """Unknown where the second number is 0."""
    zero, sign = np.asarray(right.over == 0, np.bool_), np.where(right.over < 0, -1, 1)
    over = np.asarray(_times(left.over, left.most, right.under, right.deepest) * sign)
    under = _times(left.under, left.deepest, np.where(zero, 1, right.over * sign), max(right.most, 1))
    known = left.known & right.known & ~zero
    return Ratios(over, left.most * right.deepest, under, left.deepest * max(right.most, 1), known)


def _divided(left: Ratios, right: Ratios) -> tuple[NDArray[Any], NDArray[Any], Ratios]:
    """The whole part of a quotient, towards 0, and what is left over, with the numbers behind it."""
    (a, b), most, under, deepest = _common([left, right])
    zero = np.asarray(b == 0, np.bool_)
    b = np.where(zero, 1, b) if zero.any() else b
    rest = np.abs(a) % np.abs(b) * np.where(a < 0, -1, 1) if _kind(most) is object else np.fmod(a, b)
    return (a - rest) // b, rest, Ratios(a, most, under, deepest, left.known & right.known & ~zero)


def _cut_off(left: Ratios, right: Ratios) -> Ratios:
    whole, _, both = _divided(left, right)
    return Ratios(np.asarray(whole), both.most, known=both.known)


def _left_over(left: Ratios, right: Ratios) -> Ratios:
    _, rest, both = _divided(left, right)
    return Ratios(np.asarray(rest), both.most, both.under, both.deepest, both.known)


def _power(base: Ratios, exponent: Ratios) -> Ratios:
    found = Ratios(np.array(1), 1)
    for _ in range(int(exponent.over)):
        found = _product(found, base)
    return found


def _negative(one: Ratios) -> Ratios:
    return Ratios(np.asarray(-one.over), one.most, one.under, one.deepest, one.known)


def _absolute(one: Ratios) -> Ratios:
    return Ratios(np.abs(one.over), one.most, one.under, one.deepest, one.known)


def _floor(one: Ratios) -> Ratios:
    return Ratios(np.asarray(one.over // one.under), one.most, known=one.known)


def _rounded(one: Ratios, decimals: Ratios) -> Ratios:
    """The nearest number with so many decimals; halves go away from 0."""
    scale = 10 ** int(decimals.over)
    twice = _times(one.over, one.most, 2 * scale, 2 * scale)
    most = 2 * scale * one.most + one.deepest
    kind, sign = _kind(max(most, 2 * one.deepest)), np.where(one.over < 0, -1, 1)
    under = np.asarray(one.under).astype(kind)
    nearest = (np.abs(twice).astype(kind) + under) // (2 * under) * sign
    return Ratios(np.asarray(nearest), most, scale, scale, one.known)


def _extreme(better: Callable[[Any, Any], Any]) -> Callable[..., Ratios]:
    """The least of the known numbers, or the largest."""

    def found(*parts: Ratios) -> Ratios:
        overs, most, under, deepest = _common(parts)
        best, known = overs[0], parts[0].known
        for over, part in zip(overs[1:], parts[1:], strict=True):
            best = np.where(part.known & (better(over, best) | ~known), over, best)
            known = known | part.known
        return Ratios(best, most, under, deepest, np.asarray(known))

    return found


FUNCTIONS: Final[dict[str, Callable[..., Ratios]]] = {
    "+": _sum(1),
    "-": _sum(-1),
    "*": _product,
    "/": _quotient,
    "//": _cut_off,
    "%": _left_over,
    "power": _power,
    "round": _rounded,
    "negative": _negative,
    "abs": _absolute,
    "floor": _floor,
    "ceil": lambda one: _negative(_floor(_negative(one))),
    "least": _extreme(operator.lt),
    "greatest": _extreme(operator.gt),
}
"""What is computed with numbers. Of `power` and `round`, the second number is a constant."""
