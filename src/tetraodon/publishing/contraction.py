"""Sums of products of tables, exactly: whole numbers of any length from products of small floats.

The tables are a tensor network; opt_einsum finds the order, which is the tree decomposition of [RS07] Algorithms 5
and 6. A product of matrices is computed modulo primes so small that no float is ever rounded, and put together by the
Chinese remainder theorem.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

import numpy as np
import opt_einsum
from numpy.typing import NDArray

from tetraodon.arrays import Floats

EXACT = 2**53
"""Whole numbers up to here are floats without rounding."""
ROOM = 50_000_000
WORK = 2 * 10**11
Held = tuple[Floats, str, int]
"""A table, what it is indexed by, and a bound on its entries."""


@dataclass(frozen=True)
class ContractionOrder:
    """An order of contraction: which tables to take, and what their product is indexed by.

    `largest` is the size of the largest table on the way, `longest` the most products that are added up at once.
    """

    pairs: tuple[tuple[tuple[int, ...], str], ...]
    operations: int
    largest: int
    longest: int

    def fits(self, bound: int) -> bool:
        """Whether a common computer can do it in a minute or so, for a result of at most `bound`."""
        if self.largest > ROOM or self.longest > ROOM:
            return False
        return self.operations * len(primes_below(self.limit, 2 * bound + 1)) <= WORK

    @property
    def limit(self) -> int:
        """Products of two numbers up to here can be added up without rounding."""
        return math.isqrt(EXACT // self.longest)


def lonely(indices: Sequence[str], output: str) -> list[str]:
    """What each table is indexed by once it is summed over the indices that it shares with nobody.

    >>> lonely(["ab", "bc", "cd"], "")
    ['b', 'bc', 'c']
    """
    met = Counter(i for one in indices for i in set(one))
    return ["".join(i for i in one if met[i] > 1 or i in output) for one in indices]


def order(indices: Sequence[str], sizes: dict[str, int], output: str) -> ContractionOrder:
    """The cheapest order found, from the sizes alone, once every table is summed over what it has alone."""
    if not indices:
        return ContractionOrder((), 0, 1, 1)
    indices = lonely(indices, output)
    shapes = [tuple(sizes[i] for i in one) for one in indices]
    equation = f"{','.join(indices)}->{output}"
    best: ContractionOrder | None = None
    for effort in ("auto", opt_einsum.RandomGreedy(max_repeats=24, minimize="flops")):
        _, info = opt_einsum.contract_path(equation, *shapes, shapes=True, optimize=effort)
        pairs = tuple((tuple(step[0]), step[2].partition("->")[2]) for step in info.contraction_list)
        cost, largest = int(info.opt_cost), int(info.largest_intermediate)
        found = ContractionOrder(pairs, cost, largest, _longest(indices, sizes, pairs))
        if best is None or (found.operations, found.largest) < (best.operations, best.largest):
            best = found
        if best.operations < 10**8:
            break
    assert best is not None
    return best


def contract(
    tables: Sequence[NDArray[Any]],
    indices: Sequence[str],
    sizes: dict[str, int],
    output: str,
    steps: ContractionOrder,
    bound: int,
) -> NDArray[np.object_]:
    """The sum over all indices outside `output` of the product of the tables, as Python integers.

    Pre   entries are -1, 0 or 1; no entry of the result is above `bound` in absolute value.
    """
    shape = tuple(sizes[i] for i in output)
    if not tables:
        return np.full(shape, 1, object)
    modulus, total = 1, np.zeros(math.prod(shape), object)
    left = lonely(indices, output)
    held = [
        _summed((np.asarray(table, np.float64), one, 1), kept, sizes, 1)
        for table, one, kept in zip(tables, indices, left, strict=True)
    ]
    for prime in primes_below(steps.limit, 2 * bound + 1):
        part = _modulo(held, sizes, steps, prime, output)
        residue = np.mod(part, prime).astype(np.int64).ravel().astype(object)
        step = (residue - total) * pow(modulus, -1, prime) % prime
        total = total + step * modulus
        modulus *= prime
    total[total > modulus // 2] -= modulus
    return total.reshape(shape)


def _longest(indices: Sequence[str], sizes: dict[str, int], pairs: Sequence[tuple[tuple[int, ...], str]]) -> int:
    stock, longest = list(indices), 1
    for places, kept in pairs:
        taken = [stock.pop(place) for place in sorted(places, reverse=True)]
        shared = set.intersection(*(set(one) for one in taken)) - set(kept) if len(taken) == 2 else set()
        longest = max(longest, math.prod(sizes[i] for i in shared))
        stock.append(kept)
    return longest


def _modulo(held: Sequence[Held], sizes: dict[str, int], steps: ContractionOrder, prime: int, output: str) -> Floats:
    stock = list(held)
    for places, kept in steps.pairs:
        taken = [stock.pop(place) for place in sorted(places, reverse=True)]
        if len(taken) == 1:
            stock.append(_summed(taken[0], kept, sizes, prime))
        else:
            stock.append(reduce(lambda a, b: _product(a, b, kept, sizes, prime), taken))
    [(table, one, _)] = stock
    return table.transpose([one.index(i) for i in output])


def _summed(held: Held, kept: str, sizes: dict[str, int], prime: int) -> Held:
    table, one, bound = held
    gone = tuple(place for place, i in enumerate(one) if i not in kept)
    more = math.prod(sizes[one[place]] for place in gone)
    if bound * more > EXACT:
        table, bound = _reduced(table, prime), prime
    left = "".join(i for i in one if i in kept)
    return table.sum(axis=gone), left, bound * more


def _product(left: Held, right: Held, kept: str, sizes: dict[str, int], prime: int) -> Held:
    left = _summed(left, "".join(i for i in left[1] if i in kept or i in right[1]), sizes, prime)
    right = _summed(right, "".join(i for i in right[1] if i in kept or i in left[1]), sizes, prime)
    both = [i for i in left[1] if i in right[1]]
    batch, inner = "".join(i for i in both if i in kept), "".join(i for i in both if i not in kept)
    mine, yours = ("".join(i for i in held[1] if i not in both) for held in (left, right))
    length = math.prod(sizes[i] for i in inner)
    (a, b), bound = _safe(left, right, length, prime)
    a = _shaped(a, left[1], (batch, mine, inner), sizes)
    b = _shaped(b, right[1], (batch, inner, yours), sizes)
    found = np.matmul(a, b).reshape([sizes[i] for i in batch + mine + yours])
    return found, batch + mine + yours, bound


def _safe(left: Held, right: Held, length: int, prime: int) -> tuple[list[Floats], int]:
    """Both tables, reduced as far as their product needs it."""
    tables, bounds = [left[0], right[0]], [left[2], right[2]]
    for place in sorted((0, 1), key=lambda place: -bounds[place]):
        if bounds[0] * bounds[1] * length > EXACT:
            tables[place], bounds[place] = _reduced(tables[place], prime), prime
    return tables, bounds[0] * bounds[1] * length


def _shaped(table: Floats, one: str, groups: Sequence[str], sizes: dict[str, int]) -> Floats:
    moved = table.transpose([one.index(i) for group in groups for i in group])
    return moved.reshape([math.prod(sizes[i] for i in group) for group in groups])


def _reduced(table: Floats, prime: int) -> Floats:
    """The remainders, up to one multiple of the prime: in absolute value no more than it."""
    return np.asarray(table - np.floor(table / prime) * prime)


@cache
def primes_below(limit: int, wanted: int) -> tuple[int, ...]:
    """The largest primes below a limit, as many as it takes for their product to exceed `wanted`.

    >>> primes_below(20, 1000)
    (19, 17, 13)
    """
    found: list[int] = []
    product, number = 1, limit
    while product <= wanted:
        number -= 1
        if number < 2:
            raise OverflowError("there are not enough primes")
        if all(number % divisor for divisor in range(2, math.isqrt(number) + 1)):
            found.append(number)
            product *= number
    return tuple(found)
