"""Longest simple cycles and paths of a policy graph, by OR-Tools CP-SAT, with a safe bound when time runs out."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tests.theory.policy_graph import SINK, SOURCE, PolicyGraph

SECONDS = 25.0


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
            arcs = {(a, b) for a, b in inner if a in part and b in part}
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
    closed = _circuit(sorted(reached), {*inside, back}, frozenset({back}), seconds)
    return Longest(closed.found - 1, closed.bound - 1)


def histogram_bound(graph: PolicyGraph, *, seconds: float = SECONDS) -> Longest:
    """2 max(alpha, xi): for known counts that are sparse for the complete graph, no histogram moves more.

    Pre   `graph` is the policy graph for the complete graph ([HMD14] Thm 8.2 as corrected in docs/known-counts.md).
    """
    cycle, path = longest_cycle(graph, seconds=seconds / 2), longest_path(graph, seconds=seconds / 2)
    return Longest(2 * max(cycle.found, path.found), 2 * max(cycle.bound, path.bound))


def _circuit(
    vertices: Iterable[int], arcs: set[tuple[int, int]], needed: frozenset[tuple[int, int]], seconds: float
) -> Longest:
    """The longest circuit that uses the needed arcs and may leave vertices out."""
    from ortools.sat.python import cp_model

    vertices = list(vertices)
    start = _inserted(vertices, arcs, needed)
    if len(start) == len(vertices):
        return Longest(len(start), len(start))
    model = cp_model.CpModel()
    place = {vertex: number for number, vertex in enumerate(vertices)}
    used = {arc: model.new_bool_var("") for arc in sorted(arcs)}
    left_out = {vertex: model.new_bool_var("") for vertex in place}
    model.add_circuit(
        [(place[a], place[b], used[a, b]) for a, b in used] + [(n, n, left_out[v]) for v, n in place.items()]
    )
    for arc in needed:
        model.add(used[arc] == 1)
    for arc, variable in used.items():
        model.add_hint(variable, arc in start)
    model.maximize(sum(used.values()))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 8
    solver.parameters.random_seed = 2014
    solver.parameters.catch_sigint_signal = False  # it would leave Ctrl-C to the system, which ends the process at once
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return Longest(0, 0)
    found = round(solver.objective_value) if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else 0
    bound = found if status == cp_model.OPTIMAL else min(len(place), int(solver.best_objective_bound + 1e-6))
    return Longest(found, max(found, bound))


def _inserted(
    vertices: list[int], arcs: set[tuple[int, int]], needed: frozenset[tuple[int, int]]
) -> set[tuple[int, int]]:
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
