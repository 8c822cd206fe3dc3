"""What everybody knows about the data already: exact counts, tables of them, rectangles ([HMD14] section 3.2).

A known fact is a question whose true answer is public. The price of a release does not depend on what the answers
are, only on what was asked; answers are kept because they let released tables agree with what is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from tetraodon.domain import Domain, Value
from tetraodon.errors import PolicyError
from tetraodon.exact.arrays import Ints
from tetraodon.query import condition
from tetraodon.query.bins import Bins, binned
from tetraodon.query.contribution import One, Table
from tetraodon.query.linear import LinearQuery

CELL_LIMIT = 4096
OVERLAP_LIMIT = 1_000_000
"""The most cells of which all known counts are compared."""
FACT_LIMIT = 20_000_000
"""The most cells that known counts and rectangles are about, added up: each of them is a table over its cells."""


@dataclass(frozen=True, slots=True)
class CountWhere:
    """How many records satisfy a condition, or how many there are."""

    where: str = ""

    def linear(self, domain: Domain) -> LinearQuery:
        """The query that was answered."""
        if not self.where:
            return LinearQuery(One())
        names, holds = condition.truth_table(self.where, domain)
        return LinearQuery(Table(names, holds[None, :].astype(np.int64)))


@dataclass(frozen=True, slots=True)
class Marginal:
    """How many records each cell of some attributes has, or of the `bins` of some of them."""

    attributes: tuple[str, ...]
    bins: tuple[tuple[str, Bins], ...] = ()

    def linear(self, domain: Domain) -> LinearQuery:
        """The query that was answered, with an answer for each cell."""
        bins = dict(self.bins)
        return LinearQuery(One(), tuple(binned(name, bins.get(name), domain) for name in self.attributes))


@dataclass(frozen=True, slots=True)
class Rectangle:
    """The records whose ordered attributes lie between two ends each: (name, low, high)."""

    sides: tuple[tuple[str, Value, Value], ...]

    def __post_init__(self) -> None:
        names = [name for name, _, _ in self.sides]
        if not names or len(set(names)) < len(names):
            raise PolicyError("a rectangle does not name each attribute once", fix="write {x: [1, 4], y: [2, 3]}")

    def linear(self, domain: Domain) -> LinearQuery:
        """The query that was answered."""
        ends = {name: (low, high) for name, low, high in self.sides}
        for name in ends:
            domain.position(name)
        names = tuple(name for name in domain.names if name in ends)
        if math.prod(domain[name].size for name in names) > FACT_LIMIT:
            raise PolicyError(
                f"a known rectangle is about attributes with more than {FACT_LIMIT:,} cells",
                fix="use coarser attributes, or a marginal with bins",
            )
        holds = np.ones((), np.bool_)
        for name in names:
            attribute = domain[name]
            if not attribute.ordered:
                raise PolicyError(f"the values of {name} have no order", fix="write it as a count with a condition")
            low, high = (attribute.code(end) for end in ends[name])
            if low > high:
                raise PolicyError(f"the side {name} of a rectangle is empty", fix="write the smaller end first")
            code = np.arange(attribute.size)
            holds = np.logical_and.outer(holds, (low <= code) & (code <= high))
        return LinearQuery(Table(names, holds.reshape(1, -1).astype(np.int64)))


Fact: TypeAlias = CountWhere | Marginal | Rectangle


@dataclass(frozen=True, slots=True)
class Known:
    """A fact, and its true answers where they were given: one for each row of the fact's query, in order.

    With `least` or `most` the count itself is not known, but that it is not below, or not above.
    """

    fact: Fact
    answers: tuple[int, ...] | None = None
    least: int | None = None
    most: int | None = None

    def __post_init__(self) -> None:
        if self.answers is not None and any(answer < 0 for answer in self.answers):
            raise PolicyError("a known count is below zero", fix="write counts of records")
        if self.bounded and (isinstance(self.fact, Marginal) or self.answers is not None):
            raise PolicyError("`at most` and `at least` are about one count", fix="write {count: ..., at most: 100}")
        if min(self.least or 0, self.most or 0) < 0 or (self.most is not None and (self.least or 0) > self.most):
            raise PolicyError("no count is between these ends", fix="write whole numbers, the smaller `at least`")

    @property
    def bounded(self) -> bool:
        """Whether only an end, or two, of the count is known."""
        return self.least is not None or self.most is not None

    @property
    def told(self) -> bool:
        """Whether the policy says something of the answers, which a table may contradict."""
        return self.answers is not None or self.bounded

    def allows(self, found: Sequence[int]) -> bool:
        """Whether a table with these answers is what the policy says everybody knows."""
        if self.bounded:
            return (self.least or 0) <= found[0] and (self.most is None or found[0] <= self.most)
        return self.answers is None or list(found) == list(self.answers)


@lru_cache(maxsize=512)
def known_query(known: Known, domain: Domain) -> LinearQuery:
    """The linear query that was answered: one row for a count or rectangle, one for each cell of a table."""
    return known.fact.linear(domain)


def known_names(known: Sequence[Known], domain: Domain) -> tuple[str, ...]:
    """The attributes that the facts look at, in the domain's order."""
    seen = {name for fact in known for name in known_query(fact, domain).names}
    return tuple(name for name in domain.names if name in seen)


def labels(known: Known, domain: Domain, cells: Ints) -> Ints:
    """Which row of the fact's query each cell of a domain is counted in; -1 for none."""
    return labels_at(known, domain, dict(zip(domain.names, np.unravel_index(cells, domain.shape), strict=True)))


def labels_at(known: Known, domain: Domain, codes: Mapping[str, Ints]) -> Ints:
    """The same for records that are given by their codes, attribute by attribute."""
    query = known_query(known, domain)
    count = len(next(iter(codes.values())))
    if isinstance(query.contribution, Table):
        names = query.contribution.names
        if not names:
            return np.where(query.contribution.matrix[0, 0] > 0, 0, -1) * np.ones(count, np.int64)
        place = np.ravel_multi_index([codes[n] for n in names], [domain[n].size for n in names])
        return np.where(query.contribution.matrix[0][place] > 0, 0, -1)
    row = np.zeros(count, np.int64)
    for split in query.by:
        row = row * split.size(domain) + split.of(codes[split.name])
    return row


def overlap(known: Sequence[Known], domain: Domain) -> bool:
    """Whether some record may be in two of the counts; taken for so where that would be long to find out."""
    names = known_names(known, domain)
    part = domain.project(names or domain.names[:1])
    if part.size > OVERLAP_LIMIT:
        return True
    times = np.zeros(part.size, np.int64)
    for entry in known:
        times += labels(entry, part, np.arange(part.size)) >= 0
    return bool(times.max() > 1)


def check_known(known: Sequence[Known], domain: Domain) -> None:
    """Refuse answers that do not fit their question, and tables that disagree on their total."""
    totals: set[int] = set()
    for entry in known:
        rows = known_query(entry, domain).size(domain)
        if entry.answers is not None:
            if len(entry.answers) != rows:
                raise PolicyError(
                    f"a known table has {len(entry.answers)} answers where the domain has {rows} cells",
                    fix="give one count for each cell, in the order of the attributes' values",
                )
            if isinstance(entry.fact, Marginal) or entry.fact == CountWhere():
                totals.add(sum(entry.answers))
    if len(totals) > 1:
        raise PolicyError(
            "known tables contradict each other: they do not count the same number of records",
            fix="use tables of the same data",
        )
    if not _possible(known, domain):
        raise PolicyError(
            "known counts contradict each other: no table has all of them", fix="use counts of the same data"
        )


def _possible(known: Sequence[Known], domain: Domain) -> bool:
    """Whether some table has all the given answers; taken for granted where that would be long to find out."""
    counted = [entry for entry in known if entry.answers is not None]
    names = known_names(counted, domain)
    if len(counted) < 2 and all(len(entry.answers or ()) < 2 for entry in counted):
        return all(_can_be(entry, domain) for entry in counted)
    part = domain.project(names) if names else domain.project(domain.names[:1])
    if part.size > CELL_LIMIT:
        return True
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import, and most policies know nothing

    rows, answers = [], []
    for entry in counted:
        label = labels(entry, part, np.arange(part.size))
        rows += [(label == row).astype(np.int64) for row in range(len(entry.answers or ()))]
        answers += list(entry.answers or ())
    columns = np.unique(np.array(rows), axis=1)
    found = milp(
        np.zeros(columns.shape[1]),
        constraints=LinearConstraint(columns, answers, answers),
        integrality=np.ones(columns.shape[1]),
        bounds=Bounds(0, np.inf),
        options={"time_limit": 5.0},
    )
    return bool(found.status != 2)


def _can_be(entry: Known, domain: Domain) -> bool:
    """Whether a count of none or of all records agrees with its stated answer."""
    contribution = known_query(entry, domain).contribution
    never = isinstance(contribution, Table) and not contribution.matrix.any()
    return not never or not any(entry.answers or ())
