"""The one place where a privacy loss is computed.

For independent discrete Laplace noise of scale b_i on linear queries a_i, two datasets that differ in one
record, x in one and y in the other, can be told apart by at most a factor e^loss, with

    loss(x, y) = sum_i |a_i(x) - a_i(y)| / b_i,

and by exactly that for some output ([HMD14] Thm 5.1 in the other direction: discrete noise attains it). The
certificate is the maximum over the edges of the secret graph. Where counts are known, neighbours differ in several
records at once, and the maximum is over them (docs/neighbours.md). Everything is in whole numbers.

Discrete Gaussian noise of width s_i has no such factor. It is zCDP ([CKS20] Thm 4, added up over the answers), with

    rho(x, y) = sum_i (a_i(x) - a_i(y))^2 / (2 s_i^2),

the same maximum over squares. Laplace noise beside it counts as if s_i were b_i: e-privacy is e^2/2-zCDP.

Mechanisms that are not linear are priced by linear queries that dominate them (`Contribution.dominating`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from tetraodon.certificate.certificate import Certificate, Computed, Sensitivity, certifying
from tetraodon.certificate.edge_loss import Loss, Weighted
from tetraodon.certificate.known.unlisted import (
    farthest_neighbours,
    farthest_path,
    largest_square,
    secrets_change_known,
    worst_of_limits,
)
from tetraodon.certificate.pair_loss import answers_about_people, attained, person_loss, standing_in
from tetraodon.certificate.worst_edge import worst_edge
from tetraodon.errors import Refused
from tetraodon.noise.laws import Currency
from tetraodon.policy.secret_graph import Groups, SecretGraph, no_secrets
from tetraodon.query.linear import LinearQuery, Measurement
from tetraodon.query.number import EachPerson

PERSON = "a person who comes or goes, or whose rows change"


@certifying
def certify_measurements(
    graph: SecretGraph, measurements: Sequence[Measurement], *, rows_per_person: int = 1, delta: Fraction = Fraction(0)
) -> Computed:
    """The exact privacy loss of releasing all the measurements together, with the pair that attains it.

    Pre   the noise of different answers is independent.
    Post  equals the maximum over neighbouring datasets and outputs of the log-likelihood ratio, unless
          `exact` is False, in which case it is not below it. With Gaussian noise: the maximum of rho over neighbouring
          datasets, and the epsilon that follows at `delta`.
    Why   one person's step changes at most `rows_per_person` rows, each along an edge, and all of them may take
          the worst edge at once.
    """
    currency = currency_of(measurements)
    for kind, one in [(one.query.contribution, one) for one in measurements]:
        if unpriced := kind.unpriced(one):
            return Computed(math.inf, None, unpriced, True)
        if kind.pure_only and currency is not Currency.PURE:
            raise Refused(
                "values chosen by rank, divided parts and noise on each record are not priced beside Gaussian noise",
                fix="plan with Laplace noise, or release them by themselves",
                where="release",
            )
    tight = all(one.query.contribution.attained(one, graph) for one in measurements)
    given = [m for m in measurements if not isinstance(m.query.contribution, EachPerson)]
    measurements = standing_in(measurements, graph)
    people = answers_about_people(graph, measurements)
    if any(measurement.scale == 0 for measurement in people):
        return Computed(math.inf, None, "a person who comes or goes, whom an exact answer tells", True)
    person, sharp = person_loss(people, rows_per_person, squares=currency is Currency.ZCDP)
    rows = [m for m in measurements if not isinstance(m.query.contribution, EachPerson)]
    noisy = [(m.query, m.noise.rate(m.scale)) for m in rows if m.scale > 0]
    _check_rows(graph, rows_per_person)
    for query in dict.fromkeys(measurement.query for measurement in rows if measurement.scale == 0):
        moved = _moved(graph, query)
        if moved.value:
            told = "neighbours" if graph.known else "edge"
            return Computed(math.inf, moved.witness, f"{told} that an exact answer tells apart", moved.exact)
    squares = currency is Currency.ZCDP
    loss = _largest(graph, noisy, squares=squares).bound_unless(tight)
    loss = attained(graph, loss, given, squares=squares)
    if squares:
        value, at = (loss.value * rows_per_person**2 + person) / 2, delta
    else:
        value, at = loss.value * rows_per_person + person, None
    if not people:
        pair = loss.witness
        if not loss.exact and pair and not graph.known and all(isinstance(end, tuple) for end in pair):
            pair = pair if graph.is_edge(*pair) else None  # a bound may be attained by no step
        return Computed(value, pair, loss.method, loss.exact, at)
    method = f"upper bound: {loss.method}, and {PERSON}, added up" if loss.value else PERSON
    return Computed(value, None, method, sharp and not loss.value, at)


def currency_of(measurements: Sequence[Measurement]) -> Currency:
    """In what the loss of all of them together is counted. Refuses a law whose loss nobody has worked out.

    Why   e-privacy is e^2/2-zCDP, so that whatever is pure may be counted in zCDP too; not the other way round.
    """
    noisy = [measurement for measurement in measurements if measurement.scale > 0]
    for measurement in noisy:
        law = measurement.noise
        if law.currency not in (Currency.PURE, Currency.ZCDP) or not law.rate(measurement.scale) > 0:
            raise law.unknown("privacy loss")
    return Currency.ZCDP if any(m.noise.currency is Currency.ZCDP for m in noisy) else Currency.PURE


def sensitivity_of(graph: SecretGraph, query: LinearQuery, *, rows_per_person: int = 1) -> Sensitivity:
    """The L1 sensitivity S(f, P) of [HMD14] Def. 5.1: the certificate at unit scales."""
    _check_rows(graph, rows_per_person)
    unit = query.contribution.unit
    if isinstance(query.contribution, EachPerson):
        value, sharp = person_loss(answers_about_people(graph, [Measurement(query, 1 / unit)]), rows_per_person)
        return Sensitivity(value, None, sharp, PERSON)
    loss = attained(graph, _largest(graph, [(query, unit)]), [Measurement(query, 1 / unit)])
    return Sensitivity(loss.value * rows_per_person, loss.witness, loss.exact, loss.method)


def _check_rows(graph: SecretGraph, rows_per_person: int) -> None:
    if (graph.known or graph.groups) and rows_per_person > 1:
        what = "known counts are" if graph.known else "people with secrets of their own are"
        raise Refused(
            f"{what} priced for people with one row each only",
            fix="use a table with one row for each person",
            where="known" if graph.known else "groups",
        )


def _moved(graph: SecretGraph, query: LinearQuery) -> Loss:
    """The most that a step moves an exact answer: the graph remembers it, for a plan asks very often."""
    key = "moved", query
    found: Loss | None = graph.remembered.get(key)
    if found is None:
        found = graph.remembered[key] = _largest(graph, [(query, Fraction(1))])
    return found


def _each_once(queries: Iterable[Weighted]) -> list[Weighted]:
    """The same sum with every query once: what is measured again moves again as far, so that its weights add up.

    Why   a hundred releases of the same questions are priced together as fast as one.
    """
    found: dict[LinearQuery, Fraction] = {}
    for query, weight in queries:
        found[query] = found[query] + weight if query in found else weight
    return list(found.items())


def _largest(graph: SecretGraph, queries: Sequence[Weighted], *, squares: bool = False) -> Loss:
    """max over neighbours of the sum of weight * (what the query moves by, in units), or of the squares of these."""
    once = _each_once(queries)

    def price(one: SecretGraph) -> Loss:
        if not (one.known and queries and one.has_edges) or (squares and not secrets_change_known(one)):
            weights = _each_once((query, weight**2) for query, weight in queries) if squares else once
            return worst_edge(replace(one, known=()) if one.known else one, weights, squares=squares)
        return largest_square(one, queries) if squares else farthest_neighbours(one, once)

    return worst_of_limits(graph, price, lambda: farthest_path(graph, once) ** (2 if squares else 1))


# -- loss by group ----------------------------------------------------------------------------------
# What each public group of people loses, where groups have secrets of their own.
#
# Neighbours are those of N* in which somebody moves along an edge of the graph of their *own* group. The certificate of
# a release is the worst over all groups; here they are told one by one. People who do not mind protect nothing of
# theirs, but once counts are known they still carry the secrets of others: somebody else's move may need theirs to make
# up for it.


def losses_by_group(
    graph: SecretGraph, measurements: Sequence[Measurement], *, delta: Fraction = Fraction(0)
) -> tuple[tuple[tuple[int, ...], Certificate], ...]:
    """The groups that share a graph, and what the measurements lose about their people's secrets.

    Pre   the graph has groups.
    Post  the largest of them is the certificate of the measurements.
    Why   a pair of neighbours has somebody who moves along an edge of their own group's graph, so it is a pair of
          neighbours where nobody else minds.
    """
    found = []
    for own, codes in graph.by_graph:
        found.append((codes, certify_measurements(_alone(graph, own, codes), measurements, delta=delta)))
    return tuple(found)


def _alone(graph: SecretGraph, own: SecretGraph, codes: Sequence[int]) -> SecretGraph:
    """The same people, of whom those of some groups have secrets and no others mind."""
    assert graph.groups is not None
    none = no_secrets(graph.domain)
    mine = replace(own, known=())
    size = graph.domain[graph.groups.by].size
    graphs = tuple((code, mine if code in codes else none) for code in range(size))
    return replace(graph, groups=Groups(graph.groups.by, graphs))
