"""The largest push between neighbours when counts are known, by the exact relation N* (docs/neighbours.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from tetraodon.certificate.certificate import Dataset
from tetraodon.certificate.edge_loss import Loss, Weighted
from tetraodon.certificate.known.answer_space import AnswerSpace, answer_space
from tetraodon.certificate.known.classes import Classes, classes_of
from tetraodon.certificate.known.farthest_sequence import (
    Farthest,
    farthest_cycle,
    farthest_flow,
    farthest_listed,
    straight_flow,
)
from tetraodon.certificate.known.sign_patterns import Reach, reach_of
from tetraodon.certificate.known.symmetric_sequences import symmetric_sequences
from tetraodon.certificate.known.zero_sum import (
    Vector,
    differences,
    length_bound,
    length_bound_over_a_table,
    minimal_sequences,
    null_vector,
)
from tetraodon.errors import Refused
from tetraodon.policy.known import Known
from tetraodon.policy.secret_graph import SecretGraph

FLOW_CLASSES = 9
MANY_CLASSES = 150
LISTED_WORK = 50_000_000
"""Sequences times patterns of signs that are compared one by one."""
LENGTH_LIMIT = 10_000
"""Beyond this many records changed at once a bound is worth nothing, and the policy is refused."""


def largest_push(
    graph: SecretGraph,
    known: Sequence[Known],
    queries: Sequence[Weighted],
    *,
    most: int | None = None,
) -> Loss:
    """max over N* of the weighted L1 distance between the answers, over all numbers of records and known answers.

    Pre   weights are above zero and per unit of the query; `most`, for the tests, looks at datasets of that many
          people only.
    Post  `exact`, or a proven upper bound; Refused when there is no bound worth having.
    """
    if not queries:
        return Loss(Fraction(0), None, True, "over nothing")
    unit = queries[0][1]
    push = _with_first_weight_one(graph, tuple(known), tuple((q, weight / unit) for q, weight in queries), most)
    return replace(push, value=unit * push.value)


@lru_cache(maxsize=256)
def _with_first_weight_one(
    graph: SecretGraph, known: tuple[Known, ...], queries: tuple[Weighted, ...], most: int | None
) -> Loss:
    """Plans ask for the same queries again and again, with other scales."""
    names = tuple(sorted({name for query, _ in queries for name in query.names}))
    classes = classes_of(graph, known, names)
    space = answer_space(classes, queries)
    if space.still:
        return Loss(Fraction(0), None, True, "over nothing: the known counts fix these answers")
    alone = _inside(space)
    if not len(classes.crossing[0]):
        return _told(space, alone, None, True, "over edges: no secret changes a known count")
    if _is_only_bounded(classes, most):
        length = length_of(classes)
        bound = Bound(max(alone[0], space.most_in(length)))
        return _told(space, alone, bound, False, f"over neighbours that differ in at most {length} records")
    reach = reach_of(space, short=most is not None)
    together, exact, method = farthest_together(reach, most)
    if together is not None and together.value > alone[0]:
        return _told(space, alone, together, exact, method, reach)
    if together is None or exact:
        return _told(space, alone, None, True, "over edges that change no known count")
    return _told(space, alone, None, False, method)


@dataclass(frozen=True)
class Bound:
    """An upper bound that nothing is known to attain."""

    value: int


def farthest_together(reach: Reach, most: int | None) -> tuple[Farthest | Bound | None, bool, str]:
    """The farthest of the sequences of two or more moves."""
    space = reach.space
    classes = space.classes
    spare = classes.count - 1 - classes.dimension
    if most is None and spare == 0:
        return _settle(reach, farthest_cycle(reach), space.most_in_a_cycle, "cycles through every class of values")
    if most is None and spare == 1:
        balance = null_vector(classes.vectors)
        few = classes.count <= FLOW_CLASSES
        cycle = farthest_cycle(reach, balance)
        flow = farthest_flow(reach, balance) if few else straight_flow(reach, balance)
        best = max((f for f in (cycle, flow) if f is not None), key=lambda f: f.value, default=None)

        def upper() -> int:
            flow = min(space.most_in_a_flow(balance), space.most_in(longest_flow(balance)))
            return max(space.most_in_a_cycle(), flow)

        return _settle(reach, best, upper, "cycles and flows between the classes of values", few=few)
    edges = edge_vectors(classes)
    if not _is_only_bounded(classes, most):
        few = classes.dimension <= 3 or classes.count <= 6 or most is not None
        listed = minimal_sequences(classes.vectors, edges, most=most) if few else symmetric_sequences(classes, edges)
        if listed.complete:
            seen = len(listed.times) * len(reach.top) <= LISTED_WORK
            best = farthest_listed(reach, listed, classes.vectors) if seen else None
            upper_listed = partial(space.most_in, listed.longest)
            return _settle(reach, best, upper_listed, "every minimal zero-sum sequence", few=seen)
    length = length_of(classes)
    return Bound(space.most_in(length)), False, f"over neighbours that differ in at most {length} records"


def _is_only_bounded(classes: Classes, most: int | None) -> bool:
    """Whether sequences are too many to be looked at, so that only their length is bounded."""
    few = classes.dimension == 4 and classes.count <= FLOW_CLASSES
    return most is None and classes.count > max(6, classes.dimension + 2) and classes.dimension > 3 and not few


def length_of(classes: Classes) -> int:
    """A length that no minimal sequence of moves exceeds; Refused where it is of no use.

    Why   beyond so many classes the vectors of moves are not told apart: twice what a class adds is all that a move can
          change, and there are no more vectors than pairs.
    """
    if classes.count <= MANY_CLASSES:
        vectors = {max(v, tuple(-e for e in v)) for v in differences(classes.vectors)}
        count, entries = len(vectors), max(sum(map(abs, vector)) for vector in vectors)
    else:
        count, entries = classes.count**2 // 2, min(classes.dimension, 2 * max(map(sum, classes.vectors)))
    rest = classes.dimension + 1
    by_tables = [length_bound_over_a_table(parts, rest - parts, others) for parts, others in classes.beside]
    length = max(min(length_bound(classes.dimension, count, entries), *by_tables), classes.count)
    if length > LENGTH_LIMIT:
        raise Refused(
            f"no useful bound is known for {classes.dimension} known counts that overlap like these: neighbours might "
            f"differ in more than {LENGTH_LIMIT:,} records",
            fix="where one table that holds all of them is public too, list that one alone: it has a price",
            where="known",
        )
    return length


def _settle(
    reach: Reach, best: Farthest | None, upper: Callable[[], int], how: str, *, few: bool = True
) -> tuple[Farthest | Bound | None, bool, str]:
    """The best that was found, if it is known to be the best; else the upper bound. `few`: all sequences were tried."""
    if few and reach.complete:
        return best, True, f"over {how}"
    bound = upper()
    if best is not None and best.value >= bound:
        return best, True, f"over {how}"
    return Bound(bound), False, f"over {how}"


def _inside(space: AnswerSpace) -> tuple[int, tuple[int, int] | None]:
    """The largest push of a single secret move that changes no known count."""
    x, y = space.classes.inside
    if not len(x):
        return 0, None
    moved = space.apart(x, y)
    at = int(np.argmax(moved))
    return int(moved[at]), (int(x[at]), int(y[at])) if moved[at] else None


def _told(
    space: AnswerSpace,
    alone: tuple[int, tuple[int, int] | None],
    together: Farthest | Bound | None,
    exact: bool,
    method: str,
    reach: Reach | None = None,
) -> Loss:
    if isinstance(together, Farthest):
        assert reach is not None
        first, second = reach.datasets(together.row, together.moves)
        record = space.classes.record
        witness = (Dataset(tuple(map(record, first))), Dataset(tuple(map(record, second))))
        return Loss(Fraction(together.value, space.common), witness, exact, method)
    if isinstance(together, Bound):
        return Loss(Fraction(together.value, space.common), None, exact, method)
    value, pair = alone
    ends = None if pair is None else (space.classes.record(pair[0]), space.classes.record(pair[1]))
    return Loss(Fraction(value, space.common), ends, exact, method)


def edge_vectors(classes: Classes) -> frozenset[Vector]:
    """The vectors of secret moves that change a known count, in both directions."""
    vectors = classes.vectors
    return frozenset(tuple(q - p for p, q in zip(vectors[a], vectors[b], strict=True)) for a, b in classes.arcs)


def longest_flow(balance: Sequence[int]) -> int:
    """The length of the longest flow without cycles of a given balance: sources first, sinks last.

    Why  every unit stops at every class, so the length is the sum of balance times position, which is largest
         for the balances in rising order (rearrangement inequality).
    """
    return sum(entry * place for place, entry in enumerate(sorted(balance)))
