"""Correlated noise x + L eta: its loss by a linear programme for every edge, and noise along the edges of a map.

docs/edge-noise.md has the theorem. A whole z with L z = e_u - e_v costs sum |z_i| / b_i, which is enough; weights c of
the cells with |c L_i| <= 1 / b_i for every noise prove that less than c_u - c_v is not. Solvers find both in floating
point; here they are made into fractions, and count only if they hold exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tetraodon.certificate.certificate import Computed, certifying
from tetraodon.certificate.correlated_records import require_independent
from tetraodon.errors import QueryError, Refused
from tetraodon.exact.arrays import Floats
from tetraodon.exact.rational import Number, rational
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import ABSENT

MOST_EDGES = 5_000
FINEST = 10**6
"""Denominators of weights of cells that are tried."""
Column = tuple[Fraction, ...]


@certifying
def certify_added_noise(policy: AnyPolicy, matrix: Any, scales: Sequence[Number]) -> Computed:
    """The privacy loss of telling x + L eta, x being the counts in all cells of a small domain.

    Pre   `matrix` is L, with one row for each cell and one column for each noise, entries rational; eta are independent
          discrete Laplace noises of the positive `scales`. No counts are known, and people are independent.
    Post  the largest, over edges (u, v), of the least sum |z_i| / b_i that was found over whole z with L z = e_u - e_v;
          infinite where no z was found. `exact` says whether it is proved that no less is lost.

    >>> import tetraodon as td
    >>> policy = td.load_policy({
    ...     "dataset": "d", "presence": "public", "attributes": {"x": {"integer": [0, 2]}},
    ...     "secrets": {"x": {"within": 1}}, "budget": {"epsilon": 1},
    ... })
    >>> found = td.research.certify_added_noise(policy, [[1, 0], [-1, 1], [0, -1]], [2, 1])
    >>> found.epsilon, found.witness, found.exact
    (1, ((1,), (2,)), True)
    """
    policy = load_policy(policy)
    require_independent(policy, "noise that is added to a table")
    if policy.known:
        raise Refused("noise that is added to a table is not priced beside known counts", fix="leave out `known`")
    added = _added(policy, matrix, scales)
    worst, proved, witness = Fraction(0), True, None
    for moved, pair in _edges(policy):
        cost = added.cost(moved)
        if cost is None:
            return Computed(math.inf, pair, "upper bound: an edge that no shift that was found hides", False)
        if cost > worst or (cost == worst and not proved):
            worst, witness, proved = cost, pair, added.proves(moved, cost)
    method = "maximum over listed edges" if proved else "upper bound over listed edges"
    return Computed(worst * policy.rows_per_person, witness, method, proved)


def _added(policy: Policy, matrix: Any, scales: Sequence[Number]) -> AddedNoise:
    rows = [[rational(entry, name="entry") for entry in row] for row in np.asarray(matrix, object).tolist()]
    exact = tuple(rational(scale, name="scale") for scale in scales)
    if len(rows) != policy.domain.size or any(len(row) != len(exact) for row in rows):
        raise QueryError("the matrix has not one row for each cell and one column for each noise", fix="give that")
    if any(scale <= 0 for scale in exact):
        raise QueryError("a scale is not positive", fix="give positive scales")
    return AddedNoise(tuple(zip(*rows, strict=True)), exact)


def _edges(policy: Policy) -> Iterator[tuple[dict[int, int], tuple[Any, Any]]]:
    """What each edge moves, and its ends."""
    graph, domain = policy.graph, policy.domain
    leaving = graph.absent_cells().tolist()
    first, second = (cells.tolist() for cells in graph.edge_cells())
    if len(first) + len(leaving) > MOST_EDGES:
        raise Refused(f"there are more than {MOST_EDGES:,} edges to look at", fix="use fewer or coarser attributes")
    for u, v in zip(first, second, strict=True):
        yield {u: 1, v: -1}, (domain.value(u), domain.value(v))
    for u in leaving:
        yield {u: 1}, (domain.value(u), ABSENT)


@dataclass(frozen=True)
class AddedNoise:
    """The columns of L, and the scale of each noise."""

    columns: tuple[Column, ...]
    scales: tuple[Fraction, ...]

    @cached_property
    def _floats(self) -> Floats:
        return np.array(self.columns, np.float64).T

    @cached_property
    def _rates(self) -> Floats:
        return np.array([1 / float(scale) for scale in self.scales])

    def cost(self, moved: dict[int, int]) -> Fraction | None:
        """The cost of the whole z that a solver finds, which hides a move exactly; None where it finds none."""
        from scipy.optimize import LinearConstraint, milp

        both, wanted = np.hstack([self._floats, -self._floats]), self._vector(moved)
        hidden = LinearConstraint(both, wanted, wanted)
        found = milp(np.tile(self._rates, 2), constraints=hidden, integrality=1, options={"mip_rel_gap": 0})
        if found.x is None:
            return None
        whole = np.rint(found.x).astype(int).tolist()
        count = len(self.scales)
        z = [up - down for up, down in zip(whole[:count], whole[count:], strict=True)]
        used = [(n, column) for n, column in zip(z, self.columns, strict=True) if n]
        cells = range(len(self.columns[0]) if self.columns else 0)
        if any(sum((n * column[cell] for n, column in used), Fraction(0)) != moved.get(cell, 0) for cell in cells):
            return None
        return sum((abs(n) / scale for n, scale in zip(z, self.scales, strict=True)), Fraction(0))

    def proves(self, moved: dict[int, int], cost: Fraction) -> bool:
        """Whether weights of the cells are found that show that a move costs no less."""
        from scipy.optimize import linprog

        columns = self._floats.T
        limits = np.tile(self._rates, 2)
        found = linprog(-self._vector(moved), np.vstack([columns, -columns]), limits, bounds=(None, None))
        if found.x is None:
            return False
        weights = [Fraction(float(weight)).limit_denominator(FINEST) for weight in found.x]
        gain = sum((weights[cell] * count for cell, count in moved.items()), Fraction(0))
        return gain == cost and all(
            abs(sum((w * entry for w, entry in zip(weights, column, strict=True) if entry), Fraction(0))) * scale <= 1
            for column, scale in zip(self.columns, self.scales, strict=True)
        )

    def _vector(self, moved: dict[int, int]) -> Floats:
        vector = np.zeros(len(self._floats))
        vector[list(moved)] = list(moved.values())
        return vector
