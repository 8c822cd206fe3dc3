"""Checked conditions on arrays of codes: where each is true, and where it is known."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Bools, Ints
from tetraodon.errors import QueryError
from tetraodon.workload.condition.nodes import (
    Always,
    Arithmetic,
    Choice,
    Code,
    Constant,
    Extreme,
    Junction,
    Lookup,
    Negation,
    NumberComparison,
    Reading,
    Sign,
    Truth,
    Unknown,
    Whole,
)

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
    """The numbers that a node stands for, for records with these codes."""
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
