"""The policy graph of [HMD14] section 8.1: which known counts one secret move lowers, and which it lifts.

It prices a histogram only when the known counts are sparse for the *complete* graph (Theorem 8.2 is false for others:
see docs/known-counts.md). For other graphs it is drawn, and compared with the exact price.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from tetraodon.certificate.known.classes import Classes, classes_of
from tetraodon.errors import Refused
from tetraodon.policy.known import Known
from tetraodon.policy.secret_graph import SecretGraph

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
