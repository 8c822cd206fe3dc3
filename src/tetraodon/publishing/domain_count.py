"""How many tuples of the whole domain satisfy a condition: Q(D) of [RS07] Algorithms 3 to 6, exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import opt_einsum
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.publishing.contraction import ContractionOrder, contract, order
from tetraodon.publishing.formula import Formula, Leaf, NetworkTable, formula, joined, network
from tetraodon.publishing.sandbox import NOTHING, Public, Sandbox
from tetraodon.workload.condition.names import Names
from tetraodon.workload.condition.nodes import Always, Truth
from tetraodon.workload.condition.read import read_condition
from tetraodon.workload.condition.truth import cells_where

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
    return int(counts_by(sandbox, read_condition(condition, Names(domain, "", sandbox.public)), ()).item())


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
