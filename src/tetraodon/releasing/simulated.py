"""Releases that could come out: made-up people, real noise. No table is read, and nothing is charged."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.certificate.choice_loss import choices_of
from tetraodon.certificate.divided_loss import begun_with, divided_of
from tetraodon.certificate.rank_loss import ranks_of
from tetraodon.domain import Attribute
from tetraodon.errors import QueryError, Refused, did_you_mean
from tetraodon.gate import without_ledger
from tetraodon.mechanism.chosen_tables import without_noise
from tetraodon.mechanism.strategy import Measured
from tetraodon.releasing.plan import Plan
from tetraodon.releasing.release import Release, infer
from tetraodon.releasing.run import noisy
from tetraodon.workload.disguised import disguised_of
from tetraodon.workload.each_person import EachPerson
from tetraodon.workload.linear import LinearQuery, Measurement

SHAPES: Mapping[str, Callable[[Floats], Floats]] = {
    "flat": np.ones_like,
    "hump": lambda place: np.exp(-((place - 0.45) ** 2) / 0.045),
    "long tail": lambda place: np.exp(-12 * place),
}
"""How many people there are at each place of an attribute, from 0, its first value, to 1, its last."""
NOBODY = "made-up people"
"""Stands where a release says what it was charged."""
MOST_PEOPLE = 1_000_000


@dataclass(frozen=True)
class Simulation:
    """Releases of the same made-up people, each with noise of its own, and the `truth` about them, without any."""

    releases: tuple[Release, ...]
    truth: Release


def simulate(plan: Plan, shape: str | Release = "hump", n: int = 10_000, *, times: int = 3) -> Simulation:
    """What a plan could publish about `n` made-up people, some `times` over.

    Their attributes are independent of each other, and each is spread as `shape` says: flat, a hump, a long tail, or as
    in the tables of a release, where it has one of that attribute. Everybody has one row, and answered.

    Why  errors in figures tell little; three charts that differ by noise alone are seen at once. The people are the
         same every time, and no table has a say in them.

    >>> import tetraodon as td
    >>> ages = td.load_policy({"dataset": "d", "attributes": {"age": {"integer": [0, 99]}}, "budget": {"epsilon": 1},
    ...                        "release": [{"name": "ages", "histogram": "age"}]})
    >>> found = simulate(td.plan(ages), "long tail", 500)
    >>> [release["ages"].values.size for release in found.releases], found.truth.charged
    ([100, 100, 100], 'made-up people')
    """
    if not 1 <= n <= MOST_PEOPLE:
        raise QueryError("so many people cannot be made up", fix=f"say a number from 1 to {MOST_PEOPLE:,}")
    if plan.policy.known:
        raise Refused(
            "made-up people do not have the counts that are known already", fix="look at the plan's errors instead"
        )
    if isinstance(shape, str) and shape not in SHAPES:
        raise QueryError(f"{shape!r} is no shape", fix=did_you_mean(shape, SHAPES))
    people = {name: _people(plan.policy.domain[name], shape, place, n) for place, name in enumerate(_names(plan))}
    exact = {i.name: tuple(_counted(m.query, people, n, plan) for m in i.measurements) for i in plan}
    silent = {item.name: () for item in plan.names}
    permit = without_ledger(plan.certificate)

    def seen(measured: Mapping[str, Measured]) -> Release:
        return infer(plan, measured, "", NOBODY, silent)

    truth = {i.name: tuple(map(_true, i.measurements, exact[i.name])) for i in plan}
    drawn = ({i.name: noisy(i, exact[i.name], permit) for i in plan} for _ in range(times))
    return Simulation(tuple(seen(measured) for measured in drawn), seen(truth))


def _names(plan: Plan) -> list[str]:
    """The attributes that a plan asks about."""
    return sorted({name for item in plan for m in item.measurements for name in m.query.names})


def _people(attribute: Attribute, shape: str | Release, place: int, n: int) -> Ints:
    """The value of each made-up person, evenly spread.

    Why  multiples of the root of a prime, whole parts left out, fill the unit interval evenly, and those of several
         primes fill the cube (Weyl). So nobody is drawn, and no seed is needed.
    """
    evenly = np.modf(np.arange(1, n + 1) * math.sqrt(_prime(place)))[0]
    codes = np.searchsorted(np.cumsum(_spread(attribute, shape)), evenly, side="right")
    found: Ints = np.minimum(codes, attribute.size - 1)
    return found


def _prime(place: int) -> int:
    """The primes in their order, from 2."""
    primes = (p for p in itertools.count(2) if all(p % q for q in range(2, math.isqrt(p) + 1)))
    return next(itertools.islice(primes, place, None))


def _spread(attribute: Attribute, shape: str | Release) -> Floats:
    """The chance of each value."""
    there = attribute.size - attribute.separate
    if isinstance(shape, Release):
        weights = _released(attribute, shape)
    else:
        weights = SHAPES[shape](np.linspace(0, 1, there) if there > 1 else np.zeros(1))
    weights = np.append(weights[:there], np.zeros(attribute.size - there))
    chances: Floats = weights / weights.sum()
    return chances


def _released(attribute: Attribute, release: Release) -> Floats:
    """The counts that a release has of an attribute by itself, none below zero; flat where it has none."""
    for answer in release:
        table = answer.values
        if table is not None and answer.table.names == (attribute.name,) and table.size >= attribute.size - 1:
            found = np.maximum(np.ravel(table).astype(np.float64), 0)
            if found.sum() > 0:
                return found
    return np.ones(attribute.size)


def _counted(query: LinearQuery, people: Mapping[str, Ints], n: int, plan: Plan) -> Ints:
    """The exact answer about the made-up people, in units."""
    if isinstance(one := query.contribution, EachPerson):
        totals = np.zeros(0, np.int64)
        if one.attribute is not None:
            first, step = one.line
            totals = np.minimum(first + step * people[one.attribute.name], one.cap)
        return one.answer(np.ones(1, np.int64), np.array([n]), totals)
    codes = np.stack([people[name] for name in query.names], axis=1) if query.names else np.zeros((n, 0), np.int64)
    if (tables := choices_of(query)) is not None:
        return tables.counted(codes, np.ones(n, np.int64))
    listed = ranks_of(query) or disguised_of(query)
    counted = query.occupied if listed else begun_with(query).evaluate
    return counted(plan.policy.domain, codes, np.ones(n, np.int64))


def _true(measurement: Measurement, exact: Ints) -> Ints:
    """What would be told without any noise; parts that are small are divided no further then, too."""
    if (tables := choices_of(measurement.query)) is not None:
        return without_noise(tables, exact, measurement.scale, measurement.noise)
    if (shown := disguised_of(measurement.query)) is not None:
        return shown.shown(exact, lambda n: np.zeros(n, np.int64))
    ranks = ranks_of(measurement.query)
    if (divided := divided_of(measurement.query)) is not None:
        told = divided.measure(exact, measurement.scale, lambda _, __, shape: np.zeros(shape, np.int64))
        return told.reshape(*exact.shape[: len(measurement.query.by)], -1)
    return exact if ranks is None else ranks.truth(exact)
