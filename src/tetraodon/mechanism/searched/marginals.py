"""Measurements for products of questions about single attributes, on domains of any size: which marginals, how well.

A workload is a list of Kronecker products, one factor for each attribute. Measured are marginals, each with noise of
its own. What they say about the table is a sum of products of I and J (all ones), which have common eigenspaces, one
for every set of attributes. So the error is a short sum, and no matrix as large as the table is ever written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations
from typing import TypeAlias

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.errors import QueryError, Refused
from tetraodon.mechanism.searched import one_attribute
from tetraodon.mechanism.searched.workload import Kronecker, sums_of_squares
from tetraodon.noise import laplace_variance
from tetraodon.policy.policy import Policy
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery, Measurement, splits

Names: TypeAlias = tuple[str, ...]
MOST_ATTRIBUTES = 10
LEAST = 0.003
SHARP = 40.0


@dataclass(frozen=True, eq=False)
class SearchedStrategy:
    """What to measure for a workload, and its certificate. Errors are root mean squared errors per query.

    `every_cell` says that least squares is over all cells of the domain, written out; else it is over marginals, or
    sums along one attribute.
    """

    policy: Policy
    mechanism: str
    measurements: tuple[Measurement, ...]
    certificate: Certificate
    expected_error: float
    rivals: tuple[tuple[str, float], ...]
    every_cell: bool = False

    def cells(self, measured: Sequence[Ints]) -> Floats:
        """The estimates of all cells that fit noisy measurements, in units and in this order, best."""
        if not self.every_cell:
            return self.marginal(measured, self.policy.domain.names).ravel()
        rows, spread = every_cell(self.policy, self.measurements)
        answers = np.concatenate(
            [
                np.ravel(m) * float(one.query.contribution.unit)
                for m, one in zip(measured, self.measurements, strict=True)
            ]
        )
        noisy = spread > 0
        whole = np.linalg.pinv((rows[noisy].T / spread[noisy]) @ rows[noisy], hermitian=True)
        found = whole @ (rows[noisy].T / spread[noisy]) @ answers[noisy]
        for known, value in zip(rows[~noisy], answers[~noisy], strict=True):
            found = found + whole @ known * (value - known @ found) / (known @ whole @ known)
        return np.asarray(found)

    def marginal(self, measured: Sequence[Ints], names: Names) -> Floats:
        """The counts by some attributes that fit noisy measurements, in this order, best; all marginals agree."""
        if self.every_cell:
            domain = self.policy.domain
            return _summed(self.cells(measured).reshape(domain.shape), domain.names, names)
        algebra = self._algebra
        if not set(names) <= set(algebra.names):
            raise QueryError("a marginal is about attributes that were not measured", fix="ask about measured ones")
        sizes = dict(zip(algebra.names, algebra.sizes, strict=True))
        if one_attribute.sums_one_attribute(self.measurements):
            seen = self.measurements[0].query.names
            return _summed(one_attribute.cells_of(self.measurements, measured, sizes[seen[-1]]), seen, names)
        total = np.zeros([sizes[name] for name in names])
        precise = {m.query.names: _precision(m) for m in self.measurements}
        exact = {m.query.names: array for m, array in zip(self.measurements, measured, strict=True) if not m.scale}
        for part in _subsets(names):
            known = part == () and () in exact
            whole = 1.0 if known else algebra.precision(precise, part)
            for one, array in zip(self.measurements, measured, strict=True):
                seen = one.query.names
                if not set(part) <= set(seen) or (known != (one.scale == 0)) or not whole:
                    continue
                weight = (
                    1.0
                    if known
                    else precise[seen] * math.prod(sizes[n] for n in algebra.names if n not in names and n not in seen)
                )
                weight /= math.prod(sizes[n] for n in names if n not in part and (known or n in seen))
                total = total + weight / whole * _component(array[..., 0], seen, part, names)
        return total

    @cached_property
    def _algebra(self) -> _Algebra:
        names = {name for m in self.measurements for name in m.query.names}
        return _Algebra(self.policy, tuple(n for n in self.policy.domain.names if n in names))


def marginal_strategy(workload: Sequence[Kronecker], policy: Policy, price: Fraction) -> SearchedStrategy:
    """The marginals with the least error that were found for a workload, certified at a price.

    Post  never worse than all cells, than running or smoothed counts along any one attribute, or than the asked
          marginals alone.
    """
    asked = {name for product in workload for name in product.names}
    names = tuple(name for name in policy.domain.names if name in asked)
    if not names or len(names) > MOST_ATTRIBUTES:
        raise Refused(f"the workload is not about 1 to {MOST_ATTRIBUTES} attributes", fix="ask about fewer at once")
    algebra = _Algebra(policy, names)
    asks = algebra.asked(workload)
    supports = sorted({tuple(n for n in names if n in product.names) for product in workload})
    queries = sum(product.queries for product in workload)
    _priced({names: 1.0}, policy, price)  # refuses where nothing is a secret
    found: list[tuple[float, str, tuple[Measurement, ...]]] = []
    for word, weights in (
        ("identity", {names: 1.0}),
        ("direct", dict.fromkeys(supports, 1.0)),
        ("marginals", algebra.best(asks, supports)),
    ):
        measured = _priced(weights, policy, price)
        precise = {m.query.names: _precision(m) for m in measured}
        error = sum(ask / algebra.precision(precise, part) for part, ask in asks.items() if ask)
        found.append((error / queries, word, measured))
    found += [
        (error / queries, word, measured) for error, word, measured in _one_attribute(workload, policy, names, price)
    ]
    error, word, measured = min(found, key=lambda one: one[0])
    exact = (Measurement(LinearQuery(One()), Fraction(0)),) if policy.size_is_public else ()
    certificate = certify_measurements(policy.graph, (*measured, *exact), rows_per_person=policy.rows_per_person)
    if not certificate.finite or certificate.epsilon > price:
        raise Refused("the strategy does not keep its budget", fix="report this: the kernel and the search disagree")
    rivals = tuple((other, math.sqrt(mean)) for mean, other, _ in found)
    return SearchedStrategy(policy, word, (*measured, *exact), certificate, math.sqrt(error), rivals)


@dataclass(frozen=True)
class _Algebra:
    """The eigenspaces of marginals of some attributes: one for each set of them."""

    policy: Policy
    names: Names

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(self.policy.domain[name].size for name in self.names)

    def asked(self, workload: Sequence[Kronecker]) -> dict[Names, float]:
        """What a workload asks of every eigenspace; of the number of records nothing where that is known."""
        found = {}
        for part in _subsets(self.names):
            products = [
                math.prod(
                    sums_of_squares(product, self.policy.domain[name])[0 if name in part else 1] for name in self.names
                )
                for product in workload
            ]
            found[part] = 0.0 if part == () and self.policy.size_is_public else float(sum(products))
        return found

    def precision(self, precise: dict[Names, float], part: Names) -> float:
        """How well an eigenspace is measured: each marginal that sees it adds up the cells of the others."""
        sizes = dict(zip(self.names, self.sizes, strict=True))
        return sum(
            p * math.prod(size for name, size in sizes.items() if name not in seen)
            for seen, p in precise.items()
            if p and set(part) <= set(seen)
        )

    def best(self, asks: dict[Names, float], supports: Sequence[Names]) -> dict[Names, float]:
        """One over the noise of every marginal worth measuring, by descent; only their ratios mean anything.

        Why   with t the inverse noise of each, the error at a given budget is (largest loss)^2 times a sum of
              asked / precision. The loss of a step is 2 times the sum of t over marginals that it changes.
        """
        from scipy.optimize import minimize

        sets = sorted({part for support in supports for part in _subsets(support)} | {self.names})
        sets = [one for one in sets if one or not self.policy.size_is_public]
        parts = [part for part, ask in asks.items() if ask]
        ask = np.array([asks[part] for part in parts])
        seen = np.array([[self.precision({one: 1.0}, part) for one in sets] for part in parts])
        moved = np.array([[2.0 * bool(set(step) & set(one)) for one in sets] for step in self._steps()])
        if self.policy.graph.absent:
            moved = np.vstack([moved, np.ones(len(sets))])

        def error(logs: Floats) -> tuple[float, Floats]:
            t = np.exp(logs)
            whole = seen @ t**2
            value = float((ask / whole).sum())
            loss = moved @ t
            top = float(loss.max())
            soft = (loss / top) ** SHARP
            mean = top * float(soft.sum()) ** (1 / SHARP)
            in_loss = mean * soft / soft.sum() / loss
            slope = -(2 * t**2 * ((ask / whole**2) @ seen)) / value + 2 * t * (in_loss @ moved) / mean
            return math.log(value) + 2 * math.log(mean), slope

        start = np.array([0.0 if one in supports else -3.0 for one in sets])
        bounds = [(-9.0, 3.0)] * len(sets)
        found = minimize(error, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500})
        t = np.exp(found.x - found.x.max())
        return {one: float(value) for one, value in zip(sets, t, strict=True) if value > LEAST or one in supports}

    def _steps(self) -> list[Names]:
        """Sets of attributes that one step can change."""
        able = [f.names for f in self.policy.graph.factors if f.graph.edge_count and set(f.names) & set(self.names)]
        most = min(self.policy.graph.at_most, len(able))
        return [tuple(chain(*some)) for some in combinations(able, most)] or [()]


def _priced(weights: dict[Names, float], policy: Policy, price: Fraction) -> tuple[Measurement, ...]:
    scales = {names: Fraction(f"{1 / weight:.4g}") for names, weight in weights.items()}
    queries = [(LinearQuery(One(), splits(names)), scale) for names, scale in scales.items()]
    unit = certify_measurements(
        policy.graph, [Measurement(*one) for one in queries], rows_per_person=policy.rows_per_person
    )
    if not unit.epsilon:
        raise Refused("nothing about this workload is a secret", fix="release the counts as they are")
    stretch = Fraction(unit.epsilon) / price
    return tuple(Measurement(query, scale * stretch) for query, scale in queries)


def _precision(measurement: Measurement) -> float:
    return 1 / laplace_variance(measurement.scale) if measurement.scale else 0.0


def _one_attribute(
    workload: Sequence[Kronecker], policy: Policy, names: Names, price: Fraction
) -> Iterator[tuple[float, str, tuple[Measurement, ...]]]:
    """Running counts, smoothed counts and searched rows of all cells along each attribute, with the summed error."""
    for name in names:
        attribute, others = policy.domain[name], [policy.domain[n] for n in names if n != name]
        times = [math.prod(sum(sums_of_squares(product, other)) for other in others) for product in workload]
        gram = np.zeros((1, 1))
        if attribute.size <= one_attribute.LONGEST:
            gram = np.sum([t * product.gram(attribute) for t, product in zip(times, workload, strict=True)], axis=0)
        steps = sum(t * product.differences(attribute) for t, product in zip(times, workload, strict=True))
        optimised = one_attribute.searched(policy, names, name, gram)
        for found in (*one_attribute.plain(policy, names, name), *([optimised] if optimised else [])):
            try:
                unit = certify_measurements(
                    policy.graph, found.measurements(Fraction(1)), rows_per_person=policy.rows_per_person
                )
            except Refused:
                continue
            if unit.epsilon:
                measured = found.measurements(Fraction(unit.epsilon) / price)
                yield one_attribute.variance(measured, gram, steps), found.word, measured


def _component(array: Ints, seen: Names, part: Names, names: Names) -> Floats:
    """The part of a measured marginal that is about all of `part` and nothing else, as an array by `names`."""
    found = array.astype(np.float64).sum(axis=tuple(a for a, name in enumerate(seen) if name not in part))
    order = [name for name in seen if name in part]
    for axis in range(len(order)):
        found = found - found.mean(axis=axis, keepdims=True)
    found = np.asarray(found).transpose([order.index(name) for name in names if name in part])
    sizes = iter(found.shape)
    return found.reshape([next(sizes) if name in part else 1 for name in names])


def _summed(cells: Floats, seen: Names, names: Names) -> Floats:
    """A table by some of its attributes."""
    found = cells.sum(axis=tuple(axis for axis, name in enumerate(seen) if name not in names))
    order = [name for name in seen if name in names]
    return np.asarray(found).transpose([order.index(name) for name in names])


def _subsets(names: Names) -> list[Names]:
    return list(chain.from_iterable(combinations(names, size) for size in range(len(names) + 1)))


def every_cell(policy: Policy, measurements: Sequence[Measurement]) -> tuple[Floats, Floats]:
    """All measurements as rows over the cells of the domain, in records, and the variance of each."""
    rows, spread = [], []
    for measurement in measurements:
        matrix, unit = measurement.query.matrix(policy.domain)
        variance = laplace_variance(measurement.scale) * float(unit) ** 2 if measurement.scale else 0.0
        rows.append(matrix * float(unit))
        spread.append(np.full(len(matrix), variance))
    return np.concatenate(rows), np.concatenate(spread)
