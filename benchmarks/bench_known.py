"""Policy graphs of 200 known counts whose optimum is known, and prices of known tables.

Every instance is built around its longest cycle, so the optimum is known without solving: planted cycles through all
counts, rings that share nothing, a cactus (cycles that meet in single counts, so that the longest is one of them), and
two unequal sides, where no cycle is longer than twice the smaller. Each must be solved to optimality, or bounded within
1.2 times the optimum, in 30 seconds.

python -m benchmarks known [--quick]
"""

from __future__ import annotations

import random
import time

from tetraodon.pufferfish.policy_graph import SINK, SOURCE, PolicyGraph, longest_cycle, longest_path

COUNTS = 200
SECONDS = 30.0
RATIO = 1.2


def planted(degree: int, seed: int) -> tuple[PolicyGraph, int, int]:
    """A hidden cycle through all counts among random arcs; a path from v+ to v- through all of them."""
    rng = random.Random(seed)
    order = rng.sample(range(COUNTS), COUNTS)
    arcs = {(order[k - 1], order[k]) for k in range(COUNTS)}
    while len(arcs) < degree * COUNTS:
        a, b = rng.sample(range(COUNTS), 2)
        arcs.add((a, b))
    ends = {(SOURCE, order[0]), (order[-1], SINK), (SOURCE, SINK)}
    return PolicyGraph(COUNTS, frozenset(arcs | ends)), COUNTS, COUNTS + 1


def rings(size: int) -> tuple[PolicyGraph, int, int]:
    """Rings with chords, joined one way only: the longest cycle is a whole ring."""
    arcs = set()
    for start in range(0, COUNTS, size):
        for k in range(size):
            arcs.add((start + k, start + (k + 1) % size))
            arcs.add((start + k, start + (k * 7 + 3) % size))
        if start:
            arcs.add((start - size, start))
    arcs = {(a, b) for a, b in arcs if a != b} | {(SOURCE, SINK)}
    return PolicyGraph(COUNTS, frozenset(arcs)), size, 1


def cactus(seed: int) -> tuple[PolicyGraph, int, int]:
    """Cycles that meet in one count each: everything is strongly connected, and no cycle can use two of them."""
    rng = random.Random(seed)
    arcs, used, longest = {(SOURCE, SINK)}, 1, 0
    while used < COUNTS:
        length = min(rng.randint(2, 12), COUNTS - used)
        stops = [rng.randrange(used), *range(used, used + length)]
        arcs |= set(zip(stops, stops[1:] + stops[:1], strict=True))
        longest, used = max(longest, length + 1), used + length
    return PolicyGraph(COUNTS, frozenset(arcs)), longest, 1


def two_sides(smaller: int) -> tuple[PolicyGraph, int, int]:
    """Arcs between two sides only, in both directions: a cycle goes to and fro."""
    pairs = {(a, b) for a in range(smaller) for b in range(smaller, COUNTS)}
    arcs = pairs | {(b, a) for a, b in pairs} | {(SOURCE, SINK)}
    return PolicyGraph(COUNTS, frozenset(arcs)), 2 * smaller, 1


def complete() -> tuple[PolicyGraph, int, int]:
    """One known table of 200 cells, and a rest: every pair of counts."""
    arcs = {(a, b) for a in range(COUNTS) for b in range(COUNTS) if a != b} | {(SOURCE, SINK)}
    arcs |= {(SOURCE, k) for k in range(COUNTS)} | {(k, SINK) for k in range(COUNTS)}
    return PolicyGraph(COUNTS, frozenset(arcs)), COUNTS, COUNTS + 1


INSTANCES = {
    "planted cycle, 2 arcs per count": planted(2, 2014),
    "planted cycle, 3 arcs per count": planted(3, 2015),
    "planted cycle, 10 arcs per count": planted(10, 2016),
    "rings of 50": rings(50),
    "rings of 40": rings(40),
    "cactus": cactus(2017),
    "two sides of 80 and 120": two_sides(80),
    "complete": complete(),
}


def run(quick: bool) -> list[dict[str, object]]:
    """Rows for the common report: the bound over the optimum, and the time over its limit."""
    found: list[dict[str, object]] = []
    for name, (graph, cycle, path) in INSTANCES.items():
        for what, solve, optimum in (("cycle", longest_cycle, cycle), ("path", longest_path, path)):
            if optimum == 1 or (quick and name.startswith("two sides")):
                continue
            start = time.perf_counter()
            longest = solve(graph)
            seconds = time.perf_counter() - start
            assert longest.found <= optimum <= longest.bound, "the bound is not safe"
            ratio = longest.bound / optimum
            found.append(
                {
                    "name": f"{COUNTS} known counts, {name}: bound on the longest {what} over the optimum",
                    "ratio": ratio,
                    "target": RATIO,
                    "reached": ratio <= RATIO and seconds <= SECONDS,
                    "detail": {"optimum": optimum, "found": longest.found, "bound": longest.bound, "seconds": seconds},
                }
            )
    return found
