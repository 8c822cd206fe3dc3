"""The judge: every dataset of a tiny world, every pair of them, and the two readings of "neighbours".

Nothing here is clever and nothing here is shared with the code that it judges, beyond the definitions of a domain,
of an edge and of a query. `reading="star"` is the exact relation N* (docs/neighbours.md); `reading="literal"` is
[HMD14] Def. 4.1 with condition 3(a) read as a *non-empty* proper subset.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, TypeAlias, assert_never, get_args

import numpy as np

from tetraodon.domain import Domain
from tetraodon.errors import QueryError, Refused
from tetraodon.exact.rational import rational
from tetraodon.policy.known import Known, known_query
from tetraodon.policy.load import AnyPolicy, load_policy
from tetraodon.policy.secret_graph import ABSENT, SecretGraph
from tetraodon.query.kinds import linear
from tetraodon.query.linear import LinearQuery
from tetraodon.query.query import Query

Reading: TypeAlias = Literal["star", "literal"]
Dataset: TypeAlias = tuple[int, ...]
DATASET_LIMIT = 20_000


@dataclass(frozen=True)
class TinyWorld:
    """Values 0..size-1 of one record, which pairs are secret, and how much each value adds to every known sum."""

    edge: tuple[tuple[bool, ...], ...]
    adds: tuple[tuple[int, ...], ...]
    n: int

    def __post_init__(self) -> None:
        if not isinstance(self.n, int) or isinstance(self.n, bool) or self.n < 0:
            raise QueryError("the number of records is not a whole number", fix="judge n records, such as n=3")
        if len(self.edge) ** self.n > DATASET_LIMIT:
            raise Refused(
                f"there are more than {DATASET_LIMIT:,} datasets", fix="judge fewer records or a smaller domain"
            )

    @property
    def size(self) -> int:
        return len(self.edge)

    @cached_property
    def groups(self) -> list[list[Dataset]]:
        """All datasets of n records, those with the same known sums together."""
        found: dict[tuple[int, ...], list[Dataset]] = {}
        for dataset in itertools.product(range(self.size), repeat=self.n):
            sums = tuple(sum(self.adds[x][k] for x in dataset) for k in range(len(self.adds[0])))
            found.setdefault(sums, []).append(dataset)
        return list(found.values())


def world(graph: SecretGraph, known: Sequence[Known], n: int) -> TinyWorld:
    """The tiny world of a policy. Somebody absent adds nothing to any count."""
    if any(entry.bounded for entry in known):
        raise Refused(
            "what a known inequality costs is compared with attackers, and no list of neighbours is made",
            fix="judge exact counts",
        )
    domain = graph.domain
    values: list[Any] = [domain.value(cell) for cell in range(domain.size)]
    sums = [row for entry in known for row in known_query(entry, domain).matrix(domain)[0].tolist()]
    adds = [tuple(row[cell] for row in sums) for cell in range(domain.size)]
    if graph.absent:
        values.append(ABSENT)
        adds.append(tuple(0 for _ in sums))
    edge = tuple(tuple(x is not y and graph.is_edge(x, y) for y in values) for x in values)
    return TinyWorld(edge, tuple(adds), n)


def neighbours(policy: AnyPolicy, n: int, reading: Reading = "star") -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """All ordered pairs of neighbouring datasets of n records, as tuples of values.

    With presence secret, n counts the people who may be there, and ABSENT stands for those who are not.
    """
    policy = load_policy(policy)
    here, domain = world(policy.graph, policy.known, n), policy.domain

    def told(dataset: Dataset) -> tuple[Any, ...]:
        return tuple(domain.value(x) if x < domain.size else ABSENT for x in dataset)

    return [(told(first), told(second)) for first, second in pairs(here, reading)]


def sensitivity(policy: AnyPolicy, query: Query | Any, n: int, reading: Reading = "star") -> Fraction:
    """max over neighbouring datasets of n records of the L1 distance between the answers: S(f, P), by looking.

    `query` is a question as in the policy file, a matrix with a column for each cell, or any function of a dataset, as
    `neighbours` lists them, that gives a number or several.
    """
    policy = load_policy(policy)
    if not callable(query) and not isinstance(query, Sequence | np.ndarray):
        here = world(policy.graph, policy.known, n)
        return largest(changes(here, reading), linear(query, policy.domain), policy.domain)
    answer = query if callable(query) else _answers_of(query, policy.domain)
    near = neighbours(policy, n, reading)
    answers = {dataset: _numbers(answer(dataset)) for dataset in {one for one, _ in near} | {two for _, two in near}}
    return max(
        (sum(abs(a - b) for a, b in zip(answers[one], answers[two], strict=True)) + Fraction(0) for one, two in near),
        default=Fraction(0),
    )


def _answers_of(matrix: Any, domain: Domain) -> Callable[[tuple[Any, ...]], list[Fraction]]:
    rows = [_numbers(row) for row in matrix]
    if not rows or any(len(row) != domain.size for row in rows):
        raise QueryError("the matrix does not have one column for each cell", fix="give one column per cell")
    cell = {domain.value(number): number for number in range(domain.size)}
    return lambda dataset: [sum((row[cell[x]] for x in dataset if x is not ABSENT), Fraction(0)) for row in rows]


def _numbers(answer: Any) -> list[Fraction]:
    plain = np.asarray(answer, object).reshape(-1).tolist()
    return [rational(x.item() if isinstance(x, np.generic) else x, name="an answer") for x in plain]


def pairs(here: TinyWorld, reading: Reading = "star", *, rising: bool = False) -> Iterator[tuple[Dataset, Dataset]]:
    """All ordered pairs of neighbours, or only those whose first dataset is in rising order."""
    if reading not in get_args(Reading):
        raise QueryError("there is no such reading of neighbours", fix="write reading='star' or reading='literal'")
    match reading:
        case "star":
            yield from _star(here, rising)
        case "literal":
            yield from _literal(here, rising)
        case _:
            assert_never(reading)


def changes(here: TinyWorld, reading: Reading = "star") -> set[tuple[int, ...]]:
    """How the histograms of neighbours differ: all the differences there are.

    Why  people can be renamed in both datasets at once, so first datasets in rising order are enough.
    """
    found = set()
    for first, second in pairs(here, reading, rising=True):
        change = [0] * here.size
        for x, y in zip(first, second, strict=True):
            change[x] -= 1
            change[y] += 1
        found.add(tuple(change))
    return found


def largest(moved: set[tuple[int, ...]], query: LinearQuery, domain: Domain) -> Fraction:
    """The largest L1 distance between answers whose histograms differ in one of the given ways."""
    if not moved:
        return Fraction(0)
    matrix, unit = query.matrix(domain)
    differences = np.array(sorted(moved), np.int64)[:, : domain.size]  # somebody absent adds nothing
    return unit * int(np.abs(differences @ matrix.T).sum(axis=1).max())


def _star(here: TinyWorld, rising: bool) -> Iterator[tuple[Dataset, Dataset]]:
    """N*: an edge among the changes, and no part of the changes, neither none nor all, keeps the known sums."""
    for group in here.groups:
        members = set(group)
        for first in _firsts(group, rising):
            for second in group:
                if not any(here.edge[x][y] for x, y in zip(first, second, strict=True)):
                    continue
                changed = [j for j in range(here.n) if first[j] != second[j]]
                parts = (part for size in range(1, len(changed)) for part in itertools.combinations(changed, size))
                if not any(_partly(first, second, part) in members for part in parts):
                    yield first, second


def _firsts(group: Sequence[Dataset], rising: bool) -> Iterator[Dataset]:
    return (dataset for dataset in group if not rising or all(x <= y for x, y in itertools.pairwise(dataset)))


def _partly(first: Dataset, second: Dataset, part: Sequence[int]) -> Dataset:
    mixed = list(first)
    for j in part:
        mixed[j] = second[j]
    return tuple(mixed)


def _literal(here: TinyWorld, rising: bool) -> Iterator[tuple[Dataset, Dataset]]:
    """[HMD14] Def. 4.1: compare the secret pairs T, and among equals the changes, against every other dataset."""
    for group in here.groups:
        for first in _firsts(group, rising):
            others = [(second, _secrets(here, first, second), _changes(first, second)) for second in group]
            for second, told, changes in others:
                if not told:
                    continue
                smaller = any(
                    (found and found < told) or (found == told and moved < changes) for _, found, moved in others
                )
                if not smaller:
                    yield first, second


def _secrets(here: TinyWorld, first: Dataset, second: Dataset) -> frozenset[tuple[int, int, int]]:
    return frozenset(
        (j, x, y) for j, (x, y) in enumerate(zip(first, second, strict=True)) if x != y and here.edge[x][y]
    )


def _changes(first: Dataset, second: Dataset) -> frozenset[tuple[int, int]]:
    """The records that are in one of the two datasets only, with their owners."""
    moved = [j for j in range(len(first)) if first[j] != second[j]]
    return frozenset((j, dataset[j]) for j in moved for dataset in (first, second))
