"""Several histograms together, on domains of any size: which marginals to measure, and how well each.

A plan answers every histogram by itself. Where many of them overlap, fewer and coarser marginals can tell them all.
What marginals say about the table is a sum of products of I and J (all ones), which have common eigenspaces, one for
every set of attributes. So the error is a short sum, and no matrix as large as the table is ever written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations
from typing import TypeAlias

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.certificate.against_attackers import require_independent
from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.errors import QueryError, Refused
from tetraodon.noise import laplace_variance
from tetraodon.one_thread import searching
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.policy import Policy
from tetraodon.questions.query import Cells, Query
from tetraodon.rational import Number, rational
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery, Measurement, splits

Names: TypeAlias = tuple[str, ...]
MOST_ATTRIBUTES = 10
LEAST = 0.003
SHARP = 40.0
LOWEST, GAINED = -15.0, 1e-3
"""The least logarithm of one over the noise of a marginal, and by how much one more must lower that of the error."""
PASSES, MOST_JOINED = 2, 150
"""How often marginals that join asked ones are gone through, and how many of them there are at most."""


@dataclass(frozen=True, eq=False)
class MarginalStrategy:
    """Marginals to measure, and their certificate. Errors are root mean squared errors per answer.

    `rivals` are the errors of all cells (`identity`), of the asked histograms alike (`direct`) and of what was found.
    """

    policy: Policy
    measurements: tuple[Measurement, ...]
    certificate: Certificate
    expected_error: float
    rivals: tuple[tuple[str, float], ...]

    def marginal(self, measured: Sequence[Ints], names: Names) -> Floats:
        """The counts by some attributes that fit noisy measurements, in this order, best; all marginals agree."""
        algebra = self._algebra
        if not set(names) <= set(algebra.names):
            raise QueryError("a marginal is about attributes that were not measured", fix="ask about measured ones")
        sizes = algebra.sizes
        total = np.zeros([sizes[name] for name in names])
        precise = {m.query.names: _precision(m) for m in self.measurements}
        exact = any(not m.scale for m in self.measurements)
        for part in _subsets(names):
            known = part == () and exact
            whole = 1.0 if known else algebra.precision(precise, part)
            for one, array in zip(self.measurements, measured, strict=True):
                seen = one.query.names
                if not set(part) <= set(seen) or (known != (one.scale == 0)) or not whole:
                    continue
                others = (sizes[n] for n in algebra.names if n not in names and n not in seen)
                weight = 1.0 if known else precise[seen] * math.prod(others)
                weight /= math.prod(sizes[n] for n in names if n not in part and (known or n in seen))
                total = total + weight / whole * _component(array[..., 0], seen, part, names)
        return total

    @cached_property
    def _algebra(self) -> _Algebra:
        names = {name for m in self.measurements for name in m.query.names}
        return _Algebra(self.policy, tuple(n for n in self.policy.domain.names if n in names))


def marginals(workload: Sequence[Query], policy: AnyPolicy, *, epsilon: Number | None = None) -> MarginalStrategy:
    """The marginals with the least error that were found for several histograms together.

    Post  certified at epsilon, the policy's own by default; never worse than noise on all cells, or on the asked
          histograms alike, which is what a plan does.
    """
    policy = load_policy(policy)
    price = policy.epsilon if epsilon is None else rational(epsilon, name="epsilon")
    if price <= 0:
        raise Refused("epsilon is not positive", fix="give a budget above zero")
    require_independent(policy, "a choice of marginals")
    asked = [_asked(query, policy) for query in workload]
    names = tuple(name for name in policy.domain.names if any(name in one for one in asked))
    if not names or len(names) > MOST_ATTRIBUTES:
        raise Refused(f"the workload is not about 1 to {MOST_ATTRIBUTES} attributes", fix="ask about fewer at once")
    algebra, answers = _Algebra(policy, names), sum(policy.domain.project(one).size for one in asked)
    asks, supports = algebra.asked(asked), sorted({*asked})
    _priced({names: 1.0}, policy, price)  # refuses where nothing is a secret
    rivals: list[tuple[str, float, tuple[Measurement, ...]]] = []
    for word, weights in (
        ("identity", {names: 1.0}),
        ("direct", dict.fromkeys(supports, 1.0)),
        ("marginals", algebra.best(asks, supports)),
    ):
        measured = _priced(weights, policy, price)
        precise = {m.query.names: _precision(m) for m in measured}
        error = sum(ask / algebra.precision(precise, part) for part, ask in asks.items() if ask)
        rivals.append((word, math.sqrt(error / answers), measured))
    _, error, measured = min(rivals, key=lambda one: one[1])
    exact = (Measurement(LinearQuery(One()), Fraction(0)),) if policy.size_is_public else ()
    certificate = certify_measurements(policy.graph, (*measured, *exact), rows_per_person=policy.rows_per_person)
    if not certificate.finite or certificate.epsilon > price:
        raise Refused("the strategy does not keep its budget", fix="report this: the kernel and the search disagree")
    told = tuple((word, rival) for word, rival, _ in rivals)
    return MarginalStrategy(policy, (*measured, *exact), certificate, error, told)


def _asked(query: Query, policy: Policy) -> Names:
    """The attributes of a histogram, in the order of the domain."""
    table = query.table(policy.domain)
    if not table or not isinstance(query.reading(policy.domain), Cells) or any(s.bins is not None for s in table):
        raise QueryError("marginals are chosen for whole histograms only", fix="ask with td.histogram, without bins")
    return tuple(name for name in policy.domain.names if name in {split.name for split in table})


@dataclass(frozen=True)
class _Algebra:
    """The eigenspaces of marginals of some attributes: one for each set of them."""

    policy: Policy
    names: Names

    @property
    def sizes(self) -> dict[str, int]:
        return {name: self.policy.domain[name].size for name in self.names}

    def asked(self, workload: Sequence[Names]) -> dict[Names, float]:
        """What histograms ask of every eigenspace; of the number of records nothing where that is known.

        Why   of the differences between its n values a histogram asks n - 1 and of their sum 1; of the sum of an
              attribute that it adds up it asks n, and of its differences nothing.
        """
        sizes, found = self.sizes, {}
        for part in _subsets(self.names):
            inside = [one for one in workload if set(part) <= set(one)]
            of_part = math.prod(sizes[name] - 1.0 for name in part)
            asks = sum(math.prod(float(sizes[name]) for name in self.names if name not in one) for one in inside)
            found[part] = 0.0 if part == () and self.policy.size_is_public else of_part * asks
        return found

    def precision(self, precise: dict[Names, float], part: Names) -> float:
        """How well an eigenspace is measured: each marginal that sees it adds up the cells of the others."""
        sizes = self.sizes
        return sum(
            p * math.prod(size for name, size in sizes.items() if name not in seen)
            for seen, p in precise.items()
            if p and set(part) <= set(seen)
        )

    @searching
    def best(self, asks: dict[Names, float], supports: Sequence[Names]) -> dict[Names, float]:
        """One over the noise of every marginal worth measuring; only their ratios mean anything.

        Why   a marginal by more attributes can take the place of several: one by one, those that join two asked ones
              are tried, from the fewest cells up, and kept where a descent with them ends lower.
        """
        inside = {part for support in supports for part in _subsets(support)} | {self.names}
        sets = sorted(one for one in inside if one or not self.policy.size_is_public)
        value, logs = self._descended(asks, sets, np.array([0.0 if one in supports else -3.0 for one in sets]))
        for more in self._joined(supports) * PASSES:
            if more in sets:
                continue
            held = np.array([set(one) <= set(more) for one in sets])
            start = np.append(np.where(held, np.maximum(logs - 6, LOWEST), logs), logs[held].max())
            found, after = self._descended(asks, [*sets, more], start)
            if found < value - GAINED:
                value, logs, sets = found, after, [*sets, more]
        t = dict(zip(sets, np.exp(logs - logs.max()).tolist(), strict=True))
        kept = {one for one, rate in t.items() if rate > LEAST}
        kept |= {one for one in supports if not any(set(one) < set(other) for other in kept)}
        return {one: t[one] for one in sets if one in kept}

    def _joined(self, supports: Sequence[Names]) -> list[Names]:
        """Marginals that join two asked ones with an attribute in common, those of the fewest cells first."""
        sizes, found = self.sizes, set()
        for one, other in combinations(supports, 2):
            if set(one) & set(other):
                found.add(tuple(name for name in self.names if name in {*one, *other}))
        return sorted(found, key=lambda joined: (math.prod(sizes[name] for name in joined), joined))[:MOST_JOINED]

    def _descended(self, asks: dict[Names, float], sets: Sequence[Names], start: Floats) -> tuple[float, Floats]:
        """The logarithm of the error at a given budget where a descent ends, and those of one over each noise there.

        Why   with t the inverse noise of each, the error at a given budget is (largest loss)^2 times a sum of
              asked / precision. The loss of a step is 2 times the sum of t over marginals that it changes.
        """
        from scipy.optimize import minimize

        parts = [part for part, ask in asks.items() if ask]
        ask, mine = np.array([asks[part] for part in parts]), self._masks(sets)
        spread = np.array([math.prod(s for n, s in self.sizes.items() if n not in one) for one in sets], np.float64)
        seen = np.where(self._masks(parts)[:, None] & ~mine, 0.0, spread)
        moved = 2.0 * ((self._masks(self._steps())[:, None] & mine) != 0)
        if self.policy.graph.absent:
            moved = np.vstack([moved, np.ones(len(sets))])
        moved = moved[moved.any(axis=1)]

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

        bounds = [(LOWEST, -LOWEST)] * len(sets)
        logs = minimize(error, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500}).x
        t = np.exp(logs)
        return math.log((ask / (seen @ t**2)).sum()) + 2 * math.log((moved @ t).max()), np.asarray(logs)

    def _masks(self, sets: Sequence[Names]) -> Ints:
        """Sets of attributes as whole numbers, a bit for each."""
        return np.array([sum(1 << self.names.index(name) for name in one if name in self.names) for one in sets])

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


def _component(array: Ints, seen: Names, part: Names, names: Names) -> Floats:
    """The part of a measured marginal that is about all of `part` and nothing else, as an array by `names`."""
    found = array.astype(np.float64).sum(axis=tuple(a for a, name in enumerate(seen) if name not in part))
    order = [name for name in seen if name in part]
    for axis in range(len(order)):
        found = found - found.mean(axis=axis, keepdims=True)
    found = np.asarray(found).transpose([order.index(name) for name in names if name in part])
    sizes = iter(found.shape)
    return found.reshape([next(sizes) if name in part else 1 for name in names])


def _subsets(names: Names) -> list[Names]:
    return list(chain.from_iterable(combinations(names, size) for size in range(len(names) + 1)))
