"""Simulated releases of synthetic people, and synthetic records from a release."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Attribute, Domain
from tetraodon.errors import QueryError, Refused, ReleaseError, did_you_mean
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.gate import without_ledger
from tetraodon.inference.graphical_model import TargetTable, make_up
from tetraodon.mechanism.strategy import Measured
from tetraodon.query.linear import LinearQuery
from tetraodon.query.number import EachPerson
from tetraodon.releases.answer import frame_of
from tetraodon.releases.open_formats import harmless_cell
from tetraodon.releases.plan import Plan
from tetraodon.releases.release import Release, infer
from tetraodon.releases.run import noisy, without_noise
from tetraodon.wording import listing

if TYPE_CHECKING:
    import polars


# -- simulated --------------------------------------------------------------------------------------

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
    names = sorted({name for item in plan for m in item.measurements for name in m.query.names})
    people = {name: _people(plan.policy.domain[name], shape, place, n) for place, name in enumerate(names)}
    exact = {i.name: tuple(_counted(m.query, people, n, plan) for m in i.measurements) for i in plan}
    silent = {item.name: () for item in plan.names}
    permit = without_ledger(plan.certificate)

    def seen(measured: Mapping[str, Measured]) -> Release:
        return infer(plan, measured, "", NOBODY, silent)

    truth = {i.name: without_noise(i, exact[i.name]) for i in plan}
    drawn = ({i.name: noisy(i, exact[i.name], permit) for i in plan} for _ in range(times))
    return Simulation(tuple(seen(measured) for measured in drawn), seen(truth))


def _people(attribute: Attribute, shape: str | Release, place: int, n: int) -> Ints:
    """The value of each made-up person, evenly spread.

    Why  multiples of the root of a prime, whole parts left out, fill the unit interval evenly, and those of several
         primes fill the cube (Weyl). So nobody is drawn, and no seed is needed.
    """
    primes = (p for p in itertools.count(2) if all(p % q for q in range(2, math.isqrt(p) + 1)))
    evenly = np.modf(np.arange(1, n + 1) * math.sqrt(next(itertools.islice(primes, place, None))))[0]
    codes = np.searchsorted(np.cumsum(_spread(attribute, shape)), evenly, side="right")
    found: Ints = np.minimum(codes, attribute.size - 1)
    return found


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
    for answer in release.values():
        table = answer.table
        if table is not None and table.names == (attribute.name,) and table.values.size >= attribute.size - 1:
            found = np.maximum(np.ravel(table.values).astype(np.float64), 0)
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
    return query.counted(plan.policy.domain, codes, np.ones(n, np.int64))


# -- synthetic --------------------------------------------------------------------------------------
# A table of made-up records whose counts are those of a release: nothing is measured anew, so it costs no privacy.

MOST_VALUES = 200_000_000


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Made-up records.

    Attributes
    ----------
    codes:    the place of each record's value, by attribute.
    distance: by item of the release, the share of records that would have to move for its released counts.
    left_out: attributes of the policy that no table of the release is about.
    """

    domain: Domain
    codes: Mapping[str, Ints]
    distance: Mapping[str, float]
    left_out: tuple[str, ...]

    def __len__(self) -> int:
        return len(next(iter(self.codes.values())))

    def __repr__(self) -> str:
        return f"<Synthetic table of {len(self):,} made-up records: {listing([*self.codes])}>"

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The values, missing ones empty."""
        return {name: _values(self.domain[name])[codes] for name, codes in self.codes.items()}

    def to_polars(self) -> polars.DataFrame:
        """The records as a polars frame."""
        frame: polars.DataFrame = frame_of("polars", self.columns)
        return frame


def synthesize(
    release: Release, records: int | None = None, *, progress: Callable[[str], None] = lambda _: None
) -> Synthetic:
    """Made-up records that have about the counts of all tables of a release.

    records: how many; about as many as the release says that there are, if not given.

    Post  the same release gives the same records. What no table tells, such as how three attributes go together that
          were only released two by two, is made up and means nothing.
    Raises QueryError where the release has no table of all records.
    """
    tables = [
        TargetTable(answer.name, answer.item.strategy.table, np.maximum(answer.table.values, 0.0))
        for answer in release.values()
        if answer.table is not None and not answer.item.strategy.among
    ]
    if not tables:
        raise QueryError("the release has no table of counts", fix="release a histogram, a cdf or ranges as well")
    domain = release.plan.policy.domain
    names = [name for name in domain.names if any(name in table.names for table in tables)]
    about = max(1, round(float(np.median([table.counts.sum() for table in tables]))))
    n = about if records is None else records
    if not 1 <= n <= MOST_VALUES // len(names):
        most = MOST_VALUES // len(names)
        raise Refused(f"a table of so many records cannot be made up ({n:,})", fix=f"ask for 1 to {most:,} records")
    codes = make_up(tables, domain, n, progress=progress)
    distance = {table.name: table.distance(codes, n) for table in tables}
    left_out = tuple(name for name in domain.names if name not in names)
    return Synthetic(domain, codes, distance, left_out)


def _values(attribute: Attribute) -> NDArray[Any]:
    """All values of an attribute as a column; None where it is missing."""
    there = [attribute.value(code) for code in range(attribute.size - attribute.separate)]
    plain = [float(value) if isinstance(value, Fraction) else value for value in there]
    return np.array([*plain, *([None] if attribute.separate else [])], object)


def write_table(synthetic: Synthetic, path: Path) -> None:
    """Write made-up records as a CSV or Parquet file. Raises ReleaseError when the disk does not take it."""
    import pyarrow
    from pyarrow import csv, parquet

    columns = {name: pyarrow.array(column) for name, column in synthetic.columns.items()}
    try:
        if path.suffix.lower() == ".parquet":
            parquet.write_table(pyarrow.table(columns), path, compression="zstd")
            return
        spelt = {
            harmless_cell(name): pyarrow.array(
                [None if one is None else harmless_cell(one) for one in cells.to_pylist()]
            )
            if pyarrow.types.is_string(cells.type)
            else cells
            for name, cells in columns.items()
        }
        csv.write_csv(pyarrow.table(spelt), path)
    except OSError:
        raise ReleaseError("the file cannot be written", fix="check the folder and the disk", where=str(path)) from None
