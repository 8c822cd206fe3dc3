"""What clustering costs under a policy, computed by the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from tetraodon.certificate.against_attackers import require_independent
from tetraodon.certificate.certificate import Certificate
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.product_bounds import only_presence
from tetraodon.errors import Refused
from tetraodon.mechanism.kmeans.soft_bins import Synopsis
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import SecretGraph, complete_graph
from tetraodon.workload.contribution import One, Prefix
from tetraodon.workload.linear import LinearQuery, Measurement, splits


def certify_synopsis(
    policy: Policy,
    synopsis: Synopsis,
    scale: Fraction,
    *,
    totals: Synopsis | None = None,
    further: Sequence[Fraction] = (),
) -> Certificate:
    """The loss of the table, each cell with discrete Laplace noise of `scale` parts of a record; 0 means exactly.

    `totals` are told exactly besides. `further` are the scales of other tables that are released as well, as in
    `certify_records`.
    """
    require_same_secrets(policy)
    told = [Measurement(totals.query, Fraction(0))] if totals else []
    return _certify(policy, [Measurement(synopsis.query, scale), *told, *_records(synopsis.names, further)])


def certify_records(policy: Policy, names: Sequence[str], scales: Sequence[Fraction]) -> Certificate:
    """The loss of several tables, each with its noise, in which every record adds at most one in total.

    Why   whatever a record adds is told by its values: so a table moves by at most one for every record more or less in
          the table of values, whether one record changes or, where counts are known, several do.
    """
    require_same_secrets(policy)
    return _certify(policy, _records(names, scales))


def certify_rates(
    policy: Policy, names: Sequence[str], rates: Sequence[Fraction], *, changed: Fraction, alone: Fraction
) -> Certificate:
    """The loss of answers that a step along a column moves no faster than `rates`, per code, times its length.

    Pre   losses, not answers: each is divided by the scale of its noise. Any step may lose `changed` besides, and
          somebody who appears or leaves loses at most `alone`.
    Why   running counts of a column move by exactly the length of a step along it, so they stand in for such answers.
          A record adds much more to them than it does to the answers, so that presence is judged by itself.
    """
    require_same_secrets(policy)
    if policy.known:  # changes of several records may cancel in running counts, and not in what these stand for
        raise Refused(
            "shares of records are not certified for data about which something is known",
            fix="cluster a table, or by steps: method='auto', 'table', 'refined' or 'steps'",
        )
    moving = [
        Measurement(LinearQuery(Prefix(name, policy.domain[name].size, policy.domain[name].size - 1)), 1 / rate)
        for name, rate in zip(names, rates, strict=True)
        if policy.domain[name].size > 1
    ]
    found = _certify(policy, [*moving, *_records(names, [2 / changed])], replace(policy.graph, absent=False))
    if not policy.graph.absent:
        return found
    there = [Measurement(LinearQuery(One()), 1 / alone)]
    return max(found, _certify(policy, there, only_presence(policy.graph)), key=lambda one: one.epsilon)


def certify_nothing(policy: Policy) -> Certificate:
    """The loss of looking at no data."""
    return _certify(policy, [])


def require_same_secrets(policy: Policy) -> None:
    """Stop where people are not independent, or groups have secrets of their own: nothing here says so."""
    require_independent(policy, "k-means")
    if policy.graph.groups is not None:
        raise Refused(
            "k-means is not certified for people with secrets of their own",
            fix="drop `groups` and give everybody the strictest secrets, or release counts instead",
        )


def dearer_by(policy: Policy, names: Sequence[str]) -> Fraction:
    """How many times as much a table of some columns loses because of what is known. At least 1."""
    if not policy.known:
        return Fraction(1)
    aware, plain = (
        Fraction(_certify(policy, _records(names, [Fraction(1)]), graph).epsilon)
        for graph in (policy.graph, replace(policy.graph, known=()))
    )
    return max(Fraction(1), aware / plain) if plain else Fraction(1)


def _records(names: Sequence[str], scales: Sequence[Fraction]) -> list[Measurement]:
    """All of them as one table: each moves as the others do, so their losses add up."""
    if not scales:
        return []
    scale = 1 / sum((1 / scale for scale in scales), Fraction(0)) if all(scales) else Fraction(0)
    return [Measurement(LinearQuery(One(), splits(names)), scale)]


def _certify(policy: Policy, measurements: Sequence[Measurement], graph: SecretGraph | None = None) -> Certificate:
    graph = policy.graph if graph is None else graph
    try:
        return _priced(policy, graph, measurements)
    except Refused:  # too many secrets to look at: taking every pair for one is safe, if what is known stays known
        return _priced(policy, replace(complete_graph(graph), known=graph.known), measurements)


def _priced(policy: Policy, graph: SecretGraph, measurements: Sequence[Measurement]) -> Certificate:
    return certify_measurements(graph, measurements, rows_per_person=policy.rows_per_person)
