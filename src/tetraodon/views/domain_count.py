"""Exact counts of domain tuples that satisfy a condition, by contraction of small tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any, TypeAlias

import numpy as np
import opt_einsum
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Bools, Floats
from tetraodon.query.condition.nodes import Always, Junction, Negation, Truth, cells_where, together
from tetraodon.query.condition.public_tables import beside
from tetraodon.query.condition.read import read_condition
from tetraodon.views.side_tables import NOTHING, Public, Sandbox

# -- formula ----------------------------------------------------------------------------------------
# A condition as a network of small tables whose product, summed over all tuples, counts those that satisfy it.
#
# And, or and not are resolved in SQL's three-valued logic: negations move down to the predicates, where "is false" and
# "is true" are two different tables. A predicate is a table over the attributes it names. A conjunction is a product. A
# disjunction is 1 - (1-a)(1-b)..., which is a sum over one more index of two values that all its members share: no
# inclusion and exclusion, and no disjunctive normal form ([RS07] Algorithm 4 needs both).

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


# -- contraction ------------------------------------------------------------------------------------
# Sums of products of tables, exactly: whole numbers of any length from products of small floats.
#
# The tables are a tensor network; opt_einsum finds the order, which is the tree decomposition of [RS07] Algorithms 5
# and 6. A product of matrices is computed modulo primes so small that no float is ever rounded, and put together by the
# Chinese remainder theorem.

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


# -- domain count -----------------------------------------------------------------------------------

CELLS = 20_000_000
"""The most cells of one predicate's table."""
WEIGHED_CELLS = 2_000_000


def domain_count(domain: Domain, condition: str, *, public: Public = NOTHING) -> int:
    """How many tuples of a domain satisfy a condition, exactly, however large the domain.

    `public` holds the tables that subqueries may read, by name. Refused when the predicates tie too many attributes
    together; the error says what it would cost.

    >>> from tetraodon.domain import Attribute, Integers
    >>> domain = Domain(tuple(Attribute(f"x{i}", Integers(1, 1000)) for i in range(13)))
    >>> domain_count(domain, "x0 < x1 or x5 + x6 = 2")
    499500500500000000000000000000000000000
    """
    sandbox = Sandbox(domain, public)
    return int(counts_by(sandbox, read_condition(condition, beside(domain, "", sandbox.public)), ()).item())


def counts_by(sandbox: Sandbox, truth: Truth | None, by: Sequence[int]) -> NDArray[np.object_]:
    """How many tuples satisfy a checked condition, for each cell of the attributes at `by`; None is no condition."""
    shape = sandbox.domain.shape
    found = joined(formula(Always(True) if truth is None else truth), shape)
    plan = planned(sandbox, found, by)
    if not plan.fits:
        alone = planned(sandbox, Leaf(found.truth), by)
        if not alone.fits:
            raise plan.refusal()
        plan = alone
    counts = plan.run()
    inside = [place for place in by if place in found.places]
    ordered = counts.transpose([sorted(inside).index(place) for place in inside])
    spread = ordered.reshape([shape[place] if place in found.places else 1 for place in by])
    elsewhere = math.prod(size for place, size in enumerate(shape) if place not in (*found.places, *by))
    return np.broadcast_to(spread * elsewhere, [shape[place] for place in by])


def weights_by(
    sandbox: Sandbox, truth: Truth | None, by: Sequence[int], weights: Sequence[Sequence[int]]
) -> NDArray[np.object_]:
    """The same where a tuple counts as the product of its values' weights, cell by cell of what a condition names."""
    shape = sandbox.domain.shape
    places = sorted({*by, *(() if truth is None else truth.places)})
    sizes = [shape[place] for place in places]
    if math.prod(sizes) > WEIGHED_CELLS:
        raise Refused(
            "the condition ties too many values together to be weighed over the whole domain",
            fix="ask about fewer or coarser attributes",
        )
    holds = np.ones(sizes, bool) if truth is None else cells_where(truth, tuple(places), sizes, sandbox)
    table = np.broadcast_to(holds, sizes).astype(object)
    for axis, place in enumerate(places):
        table = table * np.array(weights[place], object).reshape([-1 if n == axis else 1 for n in range(len(places))])
    inside = table.sum(axis=tuple(axis for axis, place in enumerate(places) if place not in by))
    elsewhere = math.prod(sum(part) for place, part in enumerate(weights) if place not in places)
    kept = [place for place in places if place in by]
    return np.asarray(inside * elsewhere, object).transpose([kept.index(place) for place in by])


@dataclass(frozen=True)
class CountPlan:
    """A count as a contraction: what it costs is known before any table is made."""

    tables: tuple[NetworkTable, ...]
    indices: tuple[str, ...]
    sizes: dict[str, int]
    output: str
    steps: ContractionOrder
    bound: int

    @property
    def widest(self) -> int:
        """The cells of the largest table of the network."""
        return max((math.prod(self.sizes[i] for i in one) for one in self.indices), default=1)

    @property
    def fits(self) -> bool:
        return self.widest <= 2 * CELLS and self.steps.fits(self.bound)

    def run(self) -> NDArray[np.object_]:
        made = [table.table() for table in self.tables]
        return contract(made, self.indices, self.sizes, self.output, self.steps, self.bound)

    def refusal(self) -> Refused:
        cells = max(self.widest, self.steps.largest)
        return Refused(
            "the predicates tie too many values together to count over the whole domain: that would take tables of "
            f"about {cells:.1e} cells and {max(self.steps.operations, cells):.1e} operations",
            fix="ask a simpler condition, declare coarser attributes, or allow a sampled count",
        )


def planned(sandbox: Sandbox, found: Formula, by: Sequence[int]) -> CountPlan:
    """The network of a condition, and the order in which it is contracted."""
    shape = sandbox.domain.shape
    tables = network(found, lambda leaf: cells_where(leaf.truth, leaf.places, [shape[p] for p in leaf.places], sandbox))
    symbols: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for name in dict.fromkeys(index for table in tables for index in table.indices):
        symbols[name] = opt_einsum.get_symbol(len(symbols))
        sizes[symbols[name]] = shape[int(name[1:])] if name.startswith("a") else 2
    indices = tuple("".join(symbols[name] for name in table.indices) for table in tables)
    output = "".join(symbols[f"a{place}"] for place in sorted(set(by)) if f"a{place}" in symbols)
    bound = math.prod(shape[place] for place in found.places)
    return CountPlan(tuple(tables), indices, sizes, output, order(indices, sizes, output), bound)
