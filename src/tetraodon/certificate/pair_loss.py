"""The loss of one given step: for a pair of records, for a person, and within a share of the value.

Between two tables that are one step apart, one person's bag of rows differs. Either they have rows that count in one of
the tables alone, or in both:

- in one alone, they count there and not in the other: every answer moves by what they add, at most that of a person
  with as many rows as they may have, all of the largest value, who comes or goes;
- in both, they still count once; they may go from one number of rows to another, which moves two answers; and their sum
  moves from that of one row of the least value at most.

Whether rows of people with too many are left out or cut makes no difference: both cases cover whatever counts of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from tetraodon.certificate.certificate import Dataset
from tetraodon.certificate.edge_loss import Loss
from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Ints
from tetraodon.policy.attackers import Attackers, Independent
from tetraodon.policy.attribute_graph import WithinShare
from tetraodon.policy.secret_graph import ABSENT, SecretGraph
from tetraodon.query.contribution import Steps
from tetraodon.query.linear import Measurement
from tetraodon.query.local_log_noise import Disguised
from tetraodon.query.number import EachPerson

# -- loss of pair -----------------------------------------------------------------------------------
# What one given step costs: the loss of measurements for a single pair of records.


@dataclass(frozen=True)
class _OneStep:
    """A step between two given data sets: of one record that comes or goes, or that is replaced in any way."""

    presence_alone: bool
    known: tuple[()] = ()

    def farthest_share(self, name: str) -> None:  # noqa: ARG002 - as a graph is asked
        return None


def standing_in(measurements: Sequence[Measurement], steps: Steps) -> list[Measurement]:
    """The measurements, with linear queries that lose as much or more in place of those that are not linear.

    Post  of any two data sets of these steps the loss between them is not below that of the given measurements.
    """
    return [found for one in measurements for found in one.query.contribution.dominating(one, steps)]


def loss_of_pair(domain: Domain, measurements: Sequence[Measurement], pair: tuple[Any, Any]) -> Fraction:
    """sum_i |a_i(x) - a_i(y)| / b_i for one record that is x in one dataset and y in the other, or for two datasets.

    Pre   no measurement is exact.
    """
    rated = _rated(domain, measurements, pair, squares=False)
    return sum((moved * rate for moved, rate in rated), Fraction(0))


def rho_of_pair(domain: Domain, measurements: Sequence[Measurement], pair: tuple[Any, Any]) -> Fraction:
    """sum_i (a_i(x) - a_i(y))^2 / (2 s_i^2), as `loss_of_pair`."""
    rated = _rated(domain, measurements, pair, squares=True)
    return sum((moved * rate**2 / 2 for moved, rate in rated), Fraction(0))


def _rated(
    domain: Domain, measurements: Sequence[Measurement], pair: tuple[Any, Any], *, squares: bool
) -> list[tuple[int, Fraction]]:
    """By how much a pair moves what stands in for each measurement, and what a move by one costs."""
    present = _present(domain, pair)
    noisy = [one for one in standing_in(measurements, _OneStep(ABSENT in pair)) if one.scale]
    return [(_moved(domain, one, pair, present, squares=squares), one.noise.rate(one.scale)) for one in noisy]


Records: TypeAlias = "list[tuple[Any, ...]]"


def _present(domain: Domain, pair: tuple[Any, Any]) -> Records:
    """The records of a pair that are there, with a value for each attribute; none if it is of datasets."""
    there = [value for value in pair if value is not ABSENT and not isinstance(value, Dataset)]
    records = [tuple(value) if isinstance(value, tuple | list) else (value,) for value in there]
    for record in records:
        if len(record) != len(domain.attributes):
            domain.codes(record)  # which says what is wrong
    return records


def _code(domain: Domain, record: tuple[Any, ...], name: str) -> int:
    """One at a time, since of a wide record few are asked for."""
    return domain[name].code(record[domain.position(name)])


def _moved(domain: Domain, measurement: Measurement, pair: tuple[Any, Any], present: Records, *, squares: bool) -> int:
    first, second = pair
    if isinstance(first, Dataset) and isinstance(second, Dataset):
        answers = [_answers(domain, measurement, dataset) for dataset in (first, second)]
        apart = np.abs(answers[0] - answers[1])
        return int((apart.astype(object) ** 2).sum() if squares else apart.sum())
    contribution, power = measurement.query.contribution, 2 if squares else 1
    places = [tuple(_code(domain, record, name) for name in contribution.names) for record in present]
    shape = [domain[name].size for name in contribution.names]
    cells = [np.asarray(int(np.ravel_multi_index(place, shape)) if place else 0) for place in places]
    bins = [
        [int(split.of(np.asarray(_code(domain, record, split.name)))) for split in measurement.query.by]
        for record in present
    ]
    if len(present) == 2 and bins[0] == bins[1]:
        return int(contribution.apart(cells[0], cells[1], power))
    return sum(int(contribution.alone(cell, power)) for cell in cells)


def _answers(domain: Domain, measurement: Measurement, dataset: Dataset) -> Ints:
    query = measurement.query
    places = [domain.position(name) for name in query.names]
    present = [domain.codes(record) for record in dataset.records if record is not ABSENT]
    codes = np.array([[codes[place] for place in places] for codes in present], np.int64)
    return query.evaluate(domain, codes.reshape(len(present), len(places)), np.ones(len(present), np.int64))


# -- relative loss ----------------------------------------------------------------------------------
# Whether what was certified for secrets to within a share of the value itself is attained.
#
# They are priced as `Within` the most positions that two of them are apart, which has all of their edges and more: at
# the top a share is as far as that. So the largest loss is a bound, and a maximum where a pair that is a secret
# attains it.


def attained(graph: SecretGraph, loss: Loss, measurements: Sequence[Measurement], *, squares: bool = False) -> Loss:
    """A loss as a maximum only where a pair of records attains it that is a secret, which is shown then.

    Pre   `measurements` are those that were certified, values shown with noise among them.
    Why   a histogram that stands in for values shown with noise moves as far for any change, near or far.
    """
    relative = [f for f in graph.factors if isinstance(f.graph, WithinShare)]
    shown = [one for m in measurements if isinstance(one := m.query.contribution, Disguised)]
    if not loss.value or not loss.exact or not (relative or shown or graph.groups):
        return loss
    if graph.groups is not None:
        own = [f.graph for one, _ in graph.by_graph for f in one.factors]
        return loss.bound_unless(not shown and not any(isinstance(one, WithinShare) for one in own))
    if loss.witness is None or any(isinstance(end, Dataset) for end in loss.witness):
        return replace(loss, exact=False)
    noisy = [m for m in standing_in(measurements, graph) if m.scale > 0]
    for pair in _candidates(graph, loss.witness, shown):
        if graph.is_edge(*pair) and _as_far(graph, shown, pair):
            found = 2 * rho_of_pair(graph.domain, noisy, pair) if squares else loss_of_pair(graph.domain, noisy, pair)
            if found == loss.value:
                return replace(loss, witness=pair)
    return replace(loss, exact=False)


def _as_far(graph: SecretGraph, shown: Sequence[Disguised], pair: tuple[object, object]) -> bool:
    """Whether values shown with noise are as far apart in two records as they are priced for, or the same in both."""
    if ABSENT in pair:
        return not shown
    first, second = (graph.domain.codes(end) for end in pair)
    for one in shown:
        x, y = (codes[graph.domain.position(one.attribute.name)] for codes in (first, second))
        if x != y and one.between(x, y) != one.places_apart(graph):
            return False
    return True


def _candidates(
    graph: SecretGraph, witness: tuple[object, object], shown: Sequence[Disguised]
) -> Iterator[tuple[object, object]]:
    """Pairs that may attain a loss: values shown with noise are as many places apart as a secret goes, others as far
    apart as they were, or at the end of the attribute.
    """
    if ABSENT in witness:
        yield witness
        return
    first, second = (list(graph.domain.codes(end)) for end in witness)
    ways: list[list[tuple[int, int]]] = []
    for place, name in enumerate(graph.domain.names):
        pair, own = (first[place], second[place]), graph.factor_of(name).graph
        disguised = [one for one in shown if one.attribute.name == name]
        if pair[0] == pair[1] or not (disguised or isinstance(own, WithinShare)):
            ways.append([pair])
            continue
        far, last = abs(pair[0] - pair[1]), graph.domain[name].size - 1
        if disguised:
            ends = [one.farthest(own.share)[1] if isinstance(own, WithinShare) else (0, last) for one in disguised]
            ways.append([*ends, *(end[::-1] for end in ends)])
        else:
            ways.append([pair, (last - far, last), (last, last - far)])
    for codes in product(*ways):
        one, other = zip(*codes, strict=True)
        yield graph.domain.value_of(one), graph.domain.value_of(other)


# -- person loss ------------------------------------------------------------------------------------


def person_loss(
    answers: Sequence[Measurement], rows_per_person: int, *, squares: bool = False
) -> tuple[Fraction, bool]:
    """The most that one person's step costs, or the most of squared costs; and whether some step costs that much."""
    power = 2 if squares else 1
    going = changing = Fraction(0)
    summed = False
    for one in answers:
        asked, rate = one.query.contribution, one.noise.rate(one.scale)
        assert isinstance(asked, EachPerson)
        summed |= asked.attribute is not None
        most = asked.most(rows_per_person)
        going += (rate * most) ** power
        if rows_per_person > 1 and asked.attribute is not None:
            changing += (rate * (most - asked.least())) ** power
        elif rows_per_person > 1 and asked.rows > 1:
            changing += 2 * rate**power
    return max(going, changing), going >= changing or not summed


def answers_about_people(graph: SecretGraph, measurements: Sequence[Measurement]) -> list[Measurement]:
    """Those that are about people. Refused where it is no secret how many rows a person has, since there is no key."""
    found = [measurement for measurement in measurements if isinstance(measurement.query.contribution, EachPerson)]
    if found and not graph.absent:
        raise _no_key()
    return found


def require_people(
    graph: SecretGraph, attackers: Attackers, measurements: Sequence[Measurement], *, keyed: bool, every_row: bool
) -> None:
    """Refuse answers about people where no column says whose row it is, or rows depend on each other otherwise."""
    if not answers_about_people(graph, measurements):
        return
    if not keyed:
        raise _no_key()
    if every_row:
        raise Refused(
            "answers about people are priced where all rows of a person are a secret",
            fix="write `at most` in place of `secret`, or ask about rows",
            where="individuals",
        )
    if not isinstance(attackers, Independent):
        raise Refused(
            "answers about people are priced for attackers to whom people are independent only",
            fix="ask about rows",
            where="attackers",
        )


def _no_key() -> Refused:
    return Refused(
        "the policy does not say whose row is whose",
        fix="write `individuals: {key: person_id, at most: 3 rows}`",
        where="individuals",
    )
