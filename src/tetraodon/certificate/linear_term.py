"""Terms whose maxima sit at the ends: alone is convex in the code, and apart convex in the distance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from tetraodon.certificate.axis import Crossing, Term
from tetraodon.workload.contribution import AllRanges, Number, One, Prefix, Table
from tetraodon.workload.smooth import Hats, Ramps
from tetraodon.workload.soft import Product, Soft
from tetraodon.workload.squared import Squared


def linear_in_code(term: Term) -> bool:
    """Whether the contribution is a linear function of one attribute's code, up to signs, or the square of one."""
    match term.contribution:
        case Prefix() as prefix:
            return prefix.rows >= prefix.size - 1
        case Number() as number:
            return number.times is None
        case One() | Ramps():
            return True
        case Squared() as squares:  # the square of a linear function is convex
            return isinstance(squares.of, Number) and squares.of.times is None
        case Table() | AllRanges() | Hats() | Soft() | Product():
            return False
        case _:
            assert_never(term.contribution)


def linear_in_each_code(term: Term) -> bool:
    """Whether the contribution is linear in the code of each attribute while the others stay: weighted sums too."""
    kind = term.contribution.of if isinstance(term.contribution, Squared) else term.contribution
    return linear_in_code(term) or isinstance(kind, Number)


def by_displacement(term: Term) -> bool:
    """Whether the most that a step of given length can move is known without looking at where it begins."""
    return linear_in_code(term) or isinstance(term.contribution, Hats | Soft)


def by_value(crossings: Sequence[Crossing]) -> bool:
    """Whether every split is by value, so that any change crosses it."""
    return all(crossing.split.bins is None for crossing in crossings)
