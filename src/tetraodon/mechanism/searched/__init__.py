"""Measurements made for a given list of queries under a given policy.

Single cells are measured, and besides them a few weighted sums B of cells, found by descent: the p-identity strategies
of matrix mechanisms, but for a policy. What a policy asks of B is how much its columns differ along edges, so the
transposed incidence matrix of the secret graph stands where plain differential privacy has column sums. The search
only proposes: entries are rounded to rationals, the kernel certifies them, and single cells, running counts and
smoothed counts are kept wherever they are better.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Floats
from tetraodon.certificate.against_attackers import require_independent
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.errors import Refused
from tetraodon.mechanism.hierarchical.shape_search import best_shape
from tetraodon.mechanism.searched.column_search import best_rows, bumps
from tetraodon.mechanism.searched.marginals import SearchedStrategy, every_cell, marginal_strategy
from tetraodon.mechanism.searched.one_attribute import GRAIN, Candidate, plain
from tetraodon.mechanism.searched.workload import MOST_CELLS, Gram, gram_of, only_queries, products_of
from tetraodon.policy.attribute_graph import Everything, Within
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Policy
from tetraodon.rational import Number, rational
from tetraodon.workload.contribution import One, Prefix, Table
from tetraodon.workload.linear import LinearQuery, Measurement, splits
from tetraodon.workload.smooth import Hats, Ramps

HEIGHTS = (0.5, 20.0)
"""Where the search starts from the workload itself: mostly single cells, or hardly any."""


def strategy(workload: Any, policy: AnyPolicy, *, epsilon: Number | None = None) -> SearchedStrategy:
    """Measurements with low error for a workload: a question, several, or a matrix with a column for each cell.

    For several attributes and a list of histograms, counts and `Kronecker` products, on domains of any size, marginals.

    Post  certified at epsilon, the policy's own by default; never worse than single cells, running counts or smoothed
          counts, whose errors are in `rivals`.
    """
    policy = load_policy(policy)
    price = policy.epsilon if epsilon is None else rational(epsilon, name="epsilon")
    if price <= 0:
        raise Refused("epsilon is not positive", fix="give a budget above zero")
    require_independent(policy, "an optimised strategy")
    products = products_of(workload, policy.domain) if len(policy.domain.names) > 1 else None
    wide = None if products is None else marginal_strategy(products, policy, price)
    if wide is not None and (policy.domain.size > MOST_CELLS or not only_queries(workload)):
        return wide
    narrow = _narrow(workload, policy, price)
    return narrow if wide is None or narrow.expected_error <= wide.expected_error else wide


def _narrow(workload: Any, policy: Policy, price: Fraction) -> SearchedStrategy:
    """The best that was found with every cell looked at."""
    gram = gram_of(workload, policy.domain)
    found: list[tuple[float, Candidate, Fraction]] = []
    for candidate in _plain(policy):
        found.append(_priced(candidate, gram, policy, price))
    best = min(found, key=lambda one: one[0])
    for start in _starts(best[1], gram, policy):
        rows = best_rows(gram.matrix, policy.graph, start, known=policy.size_is_public)
        if rows is None:
            continue
        whole = np.round(rows * GRAIN).astype(np.int64)
        whole = whole[whole.any(axis=1)]
        if len(whole):
            found.append(_priced(_optimised(whole, policy), gram, policy, price))
    error, chosen, scale = min(found, key=lambda one: one[0])
    exact = (Measurement(LinearQuery(One()), Fraction(0)),) if policy.size_is_public else ()
    measurements = (*chosen.measurements(scale), *exact)
    certificate = certify_measurements(policy.graph, measurements, rows_per_person=policy.rows_per_person)
    if not certificate.finite or certificate.epsilon > price:
        raise Refused("the strategy does not keep its budget", fix="report this: the kernel and the search disagree")
    rivals = tuple((candidate.word, math.sqrt(mean)) for mean, candidate, _ in found)
    return SearchedStrategy(policy, chosen.word, measurements, certificate, math.sqrt(error), rivals, every_cell=True)


def _plain(policy: Policy) -> Iterator[Candidate]:
    """What can be measured without looking at the workload."""
    names = policy.domain.names
    cells = LinearQuery(One(), splits(names))
    yield Candidate("identity", (cells,), (Fraction(1),))
    if len(names) > 1:
        for name in names:
            yield from plain(policy, names, name)
        return
    attribute = policy.domain[names[-1]]
    if not attribute.ordered or attribute.size < 2:
        return
    total = () if policy.size_is_public else (LinearQuery(One()),)
    running = (LinearQuery(Prefix(attribute.name, attribute.size, attribute.size - 1)), *total)
    yield Candidate("ordered", running, (Fraction(1),) * len(running))
    graph = policy.graph.factor_of(attribute.name).graph
    if not isinstance(graph, Everything | Within):
        return
    near = isinstance(graph, Within) and policy.size_is_public
    reach = min(graph.reach, attribute.size - 1) if near else attribute.size - 1  # type: ignore[union-attr]
    shape = best_shape(attribute.size, reach)
    if shape is not None and (policy.size_is_public or not shape.running):
        leaves, bins, running_sums = shape.scales(reach)
        queries, weights = [cells], [Fraction(1)]
        for kind, scales in ((Hats, bins), (Ramps, running_sums)):
            for width, scale in scales.items():
                queries.append(LinearQuery(kind(attribute.name, attribute.size, width)))
                weights.append(Fraction(f"{scale / leaves:.4g}") * width)
        yield Candidate("hierarchical", tuple(queries), tuple(weights))


def _optimised(rows: NDArray[np.int64], policy: Policy) -> Candidate:
    cells = LinearQuery(One(), splits(policy.domain.names))
    sums = LinearQuery(Table(policy.domain.names, rows, Fraction(1, GRAIN)))
    return Candidate("optimised", (cells, sums), (Fraction(1), Fraction(GRAIN)))


def _starts(candidate: Candidate, gram: Gram, policy: Policy) -> Iterator[Floats]:
    """Rows besides single cells, in multiples of the noise on cells, for the search to start from."""
    if candidate.word == "hierarchical" and len(policy.domain.names) == 1:
        parts = zip(candidate.queries[1:], candidate.weights[1:], strict=True)
        yield np.concatenate([query.matrix(policy.domain)[0] / float(weight) for query, weight in parts])
        return
    if gram.rows is not None:
        rows = np.unique(gram.rows[gram.rows.any(axis=1)], axis=0)
        for height in HEIGHTS:
            yield rows * (height / np.abs(rows).sum(axis=0).max())
    else:
        yield bumps(policy.domain.size)


def _priced(candidate: Candidate, gram: Gram, policy: Policy, price: Fraction) -> tuple[float, Candidate, Fraction]:
    """Mean variance of the queries at a price, and the scale of noise; without end where it cannot be certified."""
    unit = certify_measurements(
        policy.graph, candidate.measurements(Fraction(1)), rows_per_person=policy.rows_per_person
    )
    scale = Fraction(unit.epsilon) / price
    if scale == 0:
        return 0.0, candidate, scale
    rows, spread = every_cell(policy, candidate.measurements(scale))
    return mean_variance(rows, spread, gram, known=policy.size_is_public), candidate, scale


def mean_variance(rows: Floats, spread: Floats, gram: Gram, *, known: bool) -> float:
    """Mean variance of the queries under least squares over rows with given variances; `known` is the total."""
    information = (rows.T / spread) @ rows
    ones = np.ones(len(information))
    if known:  # the total adds no noise: measure it as well as all else together, then take its variance away
        information = information + np.trace(information) / len(ones) ** 2
    whole = np.linalg.inv(information)
    variance = float(np.einsum("ij,ji->", gram.matrix, whole))
    if known:
        along = whole @ ones
        variance -= float(along @ gram.matrix @ along) / float(ones @ along)
    return max(variance, 0.0) / gram.queries
