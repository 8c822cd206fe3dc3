"""All cells of several attributes, and besides them sums along one attribute, for every combination of the others.

Where a product asks for ranges or other sums of one attribute, single cells add up much noise. Smoothed bins of that
attribute, or rows searched for what is asked of it, take the noise away. What is measured is again a product, (single
values and rows) x (every cell of the others), so that errors are products of short sums, and so are the estimates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Floats
from tetraodon.domain import Attribute
from tetraodon.mechanism.hierarchical.shape_search import best_shape
from tetraodon.mechanism.searched.column_search import best_rows, bumps
from tetraodon.noise import laplace_variance
from tetraodon.policy.attribute_graph import Everything, Within
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.workload.contribution import One, Prefix, Table
from tetraodon.workload.linear import LinearQuery, Measurement, Split, splits
from tetraodon.workload.smooth import Hats, Ramps

LONGEST = 2500
"""Values of an attribute for which least squares is written out."""
SEARCHED = 200
"""Values of an attribute for which rows are searched."""
GRAIN = 1000
"""Found rows are rounded to multiples of 1 / GRAIN."""
FEWEST = 8


@dataclass(frozen=True)
class Candidate:
    """Queries with their noise relative to each other, and a word for them."""

    word: str
    queries: tuple[LinearQuery, ...]
    weights: tuple[Fraction, ...]

    def measurements(self, scale: Fraction) -> tuple[Measurement, ...]:
        return tuple(Measurement(q, scale * w) for q, w in zip(self.queries, self.weights, strict=True))


def plain(policy: Policy, names: Sequence[str], name: str) -> Iterator[Candidate]:
    """What may be measured along an attribute without looking at the workload."""
    attribute, others = policy.domain[name], _others(names, name)
    if attribute.ordered and attribute.size > 1:
        running = LinearQuery(Prefix(name, attribute.size, attribute.size), others)
        yield Candidate("ordered", (running,), (Fraction(1),))
    if attribute.ordered and FEWEST <= attribute.size <= LONGEST:
        cells = LinearQuery(One(), (*others, *splits([name])))
        for bins in _smoothed(policy, names, attribute):
            queries = tuple(LinearQuery(kind, others) for kind, _ in bins)
            yield Candidate("hierarchical", (cells, *queries), (Fraction(1), *(weight for _, weight in bins)))


def searched(policy: Policy, names: Sequence[str], name: str, gram: Floats) -> Candidate | None:
    """Rows along an attribute found by descent, where `gram` is what is asked of its values."""
    attribute, others = policy.domain[name], _others(names, name)
    if not FEWEST <= attribute.size <= SEARCHED:
        return None
    line = SecretGraph(policy.domain.project([name]), (Factor((name,), _line(policy, names, attribute)),), 1)
    first = [kind.columns() / float(weight) for bins in _smoothed(policy, names, attribute) for kind, weight in bins]
    rows = best_rows(gram, line, np.concatenate(first) if first else bumps(attribute.size), known=False)
    whole = None if rows is None else np.round(rows * GRAIN).astype(np.int64)
    if whole is None or not whole.any():
        return None
    sums = LinearQuery(Table((name,), whole[whole.any(axis=1)], Fraction(1, GRAIN)), others)
    cells = LinearQuery(One(), (*others, *splits([name])))
    return Candidate("optimised", (cells, sums), (Fraction(1), Fraction(GRAIN)))


def _others(names: Sequence[str], name: str) -> tuple[Split, ...]:
    return splits([other for other in names if other != name])


def _line(policy: Policy, names: Sequence[str], attribute: Attribute) -> Everything | Within:
    """The steps to search for: near ones only where nothing else is a secret, for then all else stays."""
    graph = policy.graph.factor_of(attribute.name).graph
    others = [policy.graph.factor_of(name).graph for name in names if name != attribute.name]
    alone = not policy.graph.absent and not any(other.edge_count for other in others)
    return graph if isinstance(graph, Within) and alone else Everything(attribute.size)


def _smoothed(
    policy: Policy, names: Sequence[str], attribute: Attribute
) -> Iterator[list[tuple[Hats | Ramps, Fraction]]]:
    """Smoothed counts by the search for ranges; none where it finds nothing better than single values."""
    if not attribute.ordered or attribute.size < FEWEST:
        return
    size, graph = attribute.size, _line(policy, names, attribute)
    reach = min(graph.reach, size - 1) if isinstance(graph, Within) else size - 1
    shape = best_shape(size, reach)
    if shape is not None:
        leaves, bins, running = shape.scales(reach)
        kinds: list[tuple[Hats | Ramps, float]] = [(Hats(attribute.name, size, w), scale) for w, scale in bins.items()]
        kinds += [(Ramps(attribute.name, size, w), scale) for w, scale in running.items()]
        yield [(kind, Fraction(f"{scale / leaves:.4g}") * kind.width) for kind, scale in kinds]


def sums_one_attribute(measurements: Sequence[Measurement]) -> bool:
    """Whether something along one attribute was measured, rather than marginals."""
    return any(not isinstance(one.query.contribution, One) for one in measurements)


def variance(measurements: Sequence[Measurement], gram: Floats, differences: float) -> float:
    """The summed variance of what is asked of one attribute, given as W'W and as asked of running counts.

    Why   a cell is a difference of two running counts, and the sum over all of them is the last.
    """
    if isinstance(measurements[0].query.contribution, Prefix):
        return laplace_variance(measurements[0].scale) * differences
    rows, spread = written_out(measurements, len(gram))
    return float(np.einsum("ij,ji->", gram, np.linalg.inv((rows.T / spread) @ rows)))


def cells_of(measurements: Sequence[Measurement], measured: Sequence[NDArray[np.int64]], size: int) -> Floats:
    """The estimates of all cells, the attribute measured along as the last axis. Exact measurements are left out."""
    if isinstance(measurements[0].query.contribution, Prefix):
        return np.diff(measured[0], axis=-1, prepend=0).astype(np.float64)
    noisy = [(one, array) for one, array in zip(measurements, measured, strict=True) if one.scale]
    rows, spread = written_out([one for one, _ in noisy], size)
    parts = []
    for one, array in noisy:
        single = isinstance(one.query.contribution, One)
        parts.append((array[..., 0] if single else array) * float(one.query.contribution.unit))
    fitted = np.linalg.solve((rows.T / spread) @ rows, rows.T / spread)
    return np.asarray(np.concatenate(parts, axis=-1) @ fitted.T)


def written_out(measurements: Sequence[Measurement], size: int) -> tuple[Floats, Floats]:
    rows, spread = [], []
    for one in measurements:
        kind = one.query.contribution
        block = np.eye(size) if isinstance(kind, One) else kind.columns() * float(kind.unit)
        rows.append(block)
        spread.append(np.full(len(block), laplace_variance(one.scale) * float(kind.unit) ** 2))
    return np.concatenate(rows), np.concatenate(spread)
