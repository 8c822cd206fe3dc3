"""The policy graph of [HMD14] section 8.1, with its constants alpha and xi.

It prices a histogram only when the known counts are sparse for the *complete* graph (Theorem 8.2 is false for others:
see docs/known-counts.md). For other graphs it is drawn, and compared with the exact price.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tetraodon.certificate.known.sequences import Classes, classes_of
from tetraodon.errors import Refused
from tetraodon.policy.known import Known
from tetraodon.policy.secret_graph import SecretGraph

# -- policy graph -----------------------------------------------------------------------------------

SOURCE: Final = -1
"""The vertex v+ that stands for lifting a count without lowering another."""
SINK: Final = -2
"""The vertex v- that stands for lowering a count without lifting another."""
Whose: TypeAlias = Literal["policy", "complete"]


@dataclass(frozen=True, slots=True)
class Sparsity:
    """Whether every secret pair lifts at most one known count and lowers at most one ([HMD14] Def. 8.2).

    `broken_by` is a pair of records that does more.
    """

    sparse: bool
    broken_by: tuple[Any, Any] | None


@dataclass(frozen=True, slots=True)
class PolicyGraph:
    """Known counts 0..size-1, SOURCE and SINK, and the arcs between them ([HMD14] Def. 8.3)."""

    size: int
    arcs: frozenset[tuple[int, int]]

    @property
    def dot(self) -> str:
        """The graph in the language of Graphviz, to be drawn."""

        def name(vertex: int) -> str:
            return {SOURCE: '"v+"', SINK: '"v-"'}.get(vertex, f"q{vertex + 1}")

        lines = [f"  {name(a)} -> {name(b)};" for a, b in sorted(self.arcs)]
        return "\n".join(["digraph policy {", *(f"  q{k + 1};" for k in range(self.size)), *lines, "}"])


def sparsity(graph: SecretGraph, known: Sequence[Known], whose: Whose = "complete") -> Sparsity:
    """Whether known counts are sparse for the policy's own graph, or the complete one, and a pair that breaks it."""
    classes = classes_of(graph, tuple(known))
    for a, b in _steps(classes, whose):
        lowered, lifted = _moved(classes, a, b)
        if len(lowered) > 1 or len(lifted) > 1:
            return Sparsity(False, _pair(classes, a, b, whose))
    return Sparsity(True, None)


def policy_graph(graph: SecretGraph, known: Sequence[Known], whose: Whose = "complete") -> PolicyGraph:
    """The policy graph. Refused when the known counts are not sparse, because it means nothing then."""
    classes = classes_of(graph, tuple(known))
    arcs = {(SOURCE, SINK)}
    for a, b in _steps(classes, whose):
        lowered, lifted = _moved(classes, a, b)
        if len(lowered) > 1 or len(lifted) > 1:
            raise Refused(
                "the known counts are not sparse: one secret moves several of them the same way",
                fix="use `sensitivity`, which needs no policy graph",
                where="known",
            )
        arcs.add((lowered[0] if lowered else SOURCE, lifted[0] if lifted else SINK))
    return PolicyGraph(len(classes.counted[0]), frozenset(arcs))


def _steps(classes: Classes, whose: Whose) -> list[tuple[int, int]]:
    if whose == "policy":
        return classes.arcs
    return [(a, b) for a in range(classes.count) for b in range(classes.count) if a != b]


def _moved(classes: Classes, a: int, b: int) -> tuple[list[int], list[int]]:
    """The known counts that a move from class a to class b lowers, and those that it lifts."""
    ends = list(zip(classes.counted[a], classes.counted[b], strict=True))
    return [k for k, (p, q) in enumerate(ends) if p > q], [k for k, (p, q) in enumerate(ends) if p < q]


def _pair(classes: Classes, a: int, b: int, whose: Whose) -> tuple[Any, Any]:
    if whose == "complete":
        return classes.record(int(classes.members[a][0])), classes.record(int(classes.members[b][0]))
    x, y = classes.crossing
    ends = zip(x.tolist(), y.tolist(), strict=True)
    first, second = next((s, t) for s, t in ends if (classes.class_of[s], classes.class_of[t]) == (a, b))
    here, there = classes.secret_pair(first, second)
    return classes.record_of(here), classes.record_of(there)


# -- longest ----------------------------------------------------------------------------------------
# Longest simple cycles and paths of a policy graph, alpha and xi, by branch and bound; a bound when time runs out.
#
# Cycles that share no vertex and together have the most arcs are an assignment, which is solved exactly; no single
# cycle has more arcs. Where the assignment has several cycles, a longest one leaves out some arc of any other.

SECONDS = 25.0
Arcs: TypeAlias = frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Longest:
    """The longest that was found, and a bound that nothing exceeds; `exact` when they are the same."""

    found: int
    bound: int

    @property
    def exact(self) -> bool:
        return self.found == self.bound


def longest_cycle(graph: PolicyGraph, *, seconds: float = SECONDS) -> Longest:
    """alpha of [HMD14] section 8.1: the number of arcs of the longest simple cycle, 0 if there is none.

    Why  a cycle stays inside one strongly connected part, so the parts are searched one by one, largest first.
    """
    inner = {(a, b) for a, b in graph.arcs if a >= 0 and b >= 0 and a != b}
    best, until = Longest(0, 0), time.monotonic() + seconds
    for part in _strong_parts(graph.size, inner):
        if len(part) > max(1, best.found):
            arcs = frozenset((a, b) for a, b in inner if a in part and b in part)
            here = _circuit(part, arcs, frozenset(), max(0.1, until - time.monotonic()))
            best = Longest(max(best.found, here.found), max(best.bound, here.bound))
    return best


def longest_path(graph: PolicyGraph, *, seconds: float = SECONDS) -> Longest:
    """xi of [HMD14] section 8.1: the number of arcs of the longest simple path from v+ to v-."""
    arcs = {(a, b) for a, b in graph.arcs if a != SINK and b != SOURCE}
    reached = _from(SOURCE, arcs) & _from(SINK, {(b, a) for a, b in arcs})
    inside = {(a, b) for a, b in arcs if a in reached and b in reached}
    if not inside:
        return Longest(0, 0)
    back = (SINK, SOURCE)
    closed = _circuit(sorted(reached), frozenset({*inside, back}), frozenset({back}), seconds)
    return Longest(closed.found - 1, closed.bound - 1)


def histogram_bound(graph: PolicyGraph, *, seconds: float = SECONDS) -> Longest:
    """2 max(alpha, xi): for known counts that are sparse for the complete graph, no histogram moves more.

    Pre   `graph` is the policy graph for the complete graph ([HMD14] Thm 8.2 as corrected in docs/known-counts.md).
    """
    cycle, path = longest_cycle(graph, seconds=seconds / 2), longest_path(graph, seconds=seconds / 2)
    return Longest(2 * max(cycle.found, path.found), 2 * max(cycle.bound, path.bound))


def _circuit(vertices: Iterable[int], arcs: Arcs, needed: Arcs, seconds: float) -> Longest:
    """The longest circuit that uses the needed arcs and may leave vertices out.

    Why   a circuit other than a cycle of the cover lacks an arc of that cycle. So the circuits are split by the first
          arc of it that they lack, in an order that is fixed, and each part is covered again, most arcs first.
    """
    listed = list(vertices)
    found = len(_inserted(listed, arcs, needed))
    until, ties = time.monotonic() + seconds, itertools.count()
    first = _cover(listed, arcs, needed)
    waiting = [(-_size(first), next(ties), first, arcs, needed)] if first else []
    while waiting:
        bound, _, cycles, usable, forced = heapq.heappop(waiting)
        if -bound <= found:
            break
        whole = [cycle for cycle in cycles if needed <= set(cycle)]
        found = max([found, *map(len, whole)])
        loose = [cycle for cycle in cycles if cycle not in whole] if needed else cycles
        if -bound <= found or not loose:
            continue
        if time.monotonic() > until:
            return Longest(found, max(found, -bound))
        kept = forced
        for arc in min(loose, key=len):
            if arc not in forced:
                part = _cover(listed, usable - {arc}, kept)
                if part and _size(part) > found:
                    heapq.heappush(waiting, (-_size(part), next(ties), part, usable - {arc}, kept))
                kept = kept | {arc}
    return Longest(found, found)


def _size(cycles: list[list[tuple[int, int]]]) -> int:
    return sum(map(len, cycles))


def _cover(vertices: list[int], arcs: Arcs, needed: Arcs) -> list[list[tuple[int, int]]] | None:
    """Cycles without a common vertex that have the most arcs, with the needed ones among them; None if there are none.

    Why   each vertex is followed by another or, left out, by itself: an assignment.
    """
    place = {vertex: number for number, vertex in enumerate(vertices)}
    gains = np.full((len(vertices), len(vertices)), -len(vertices) - 1)
    np.fill_diagonal(gains, 0)
    for a, b in arcs:
        gains[place[a], place[b]] = 1
    for a, b in needed:
        gains[place[a]] = -len(vertices) - 1
        gains[place[a], place[b]] = 1
    rows, following = linear_sum_assignment(gains, maximize=True)
    if (gains[rows, following] < 0).any():
        return None
    left, cycles = {n for n in range(len(vertices)) if following[n] != n}, []
    while left:
        cycle, here = [], min(left)
        while here in left:
            left.remove(here)
            there = int(following[here])
            cycle.append((vertices[here], vertices[there]))
            here = there
        cycles.append(cycle)
    return cycles


def _inserted(vertices: list[int], arcs: Arcs, needed: Arcs) -> set[tuple[int, int]]:
    """A long circuit, grown from a short one by putting vertices between two neighbours until none fits."""
    pair = next(((a, b) for a, b in sorted(needed or arcs) if (b, a) in arcs), None)
    if pair is None:
        return set()
    cycle = [*pair]
    rest, grown = [v for v in vertices if v not in pair], True
    while grown:
        grown = False
        for vertex in list(rest):
            for at, (a, b) in enumerate(itertools.pairwise([*cycle, cycle[0]])):
                if (a, b) not in needed and (a, vertex) in arcs and (vertex, b) in arcs:
                    cycle.insert(at + 1, vertex)
                    rest.remove(vertex)
                    grown = True
                    break
    return set(itertools.pairwise([*cycle, cycle[0]]))


def _strong_parts(size: int, arcs: set[tuple[int, int]]) -> list[list[int]]:
    if not arcs:
        return []
    ends = np.array(sorted(arcs))
    table = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(size, size))
    count, label = connected_components(table, directed=True, connection="strong")
    parts = [np.flatnonzero(label == number).tolist() for number in range(count)]
    return sorted(parts, key=len, reverse=True)


def _from(start: int, arcs: set[tuple[int, int]]) -> set[int]:
    following: dict[int, list[int]] = {}
    for a, b in arcs:
        following.setdefault(a, []).append(b)
    seen, stack = {start}, [start]
    while stack:
        for vertex in following.get(stack.pop(), []):
            if vertex not in seen:
                seen.add(vertex)
                stack.append(vertex)
    return seen
