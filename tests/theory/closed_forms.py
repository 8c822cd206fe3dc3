"""The theorems of [HMD14] section 8 that hold, each with the condition under which it does.

The price itself comes from `constrained`, which needs none of them. They say in advance, without a search, how much
more noise a known table will cost; each refuses when its condition fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tetraodon.certificate.known.sequences import classes_of
from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.known import Known, Marginal, Rectangle, known_query, labels
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.pufferfish.policy_graph import SECONDS, histogram_bound, policy_graph, sparsity


@dataclass(frozen=True, slots=True)
class Price:
    """What the histogram of all attributes moves by at most; `exact` when it does move by that much."""

    value: int
    exact: bool
    why: str


def from_policy_graph(graph: SecretGraph, known: Sequence[Known], *, seconds: float = SECONDS) -> Price:
    """2 max(alpha, xi) for known counts that are sparse for the complete graph ([HMD14] Thm 8.2, corrected).

    Why  the neighbours under any graph are neighbours under the complete one, for which the theorem holds.
    """
    _check_sparse(graph, known)
    longest = histogram_bound(policy_graph(graph, known, "complete"), seconds=seconds)
    told = "sparse for the complete graph: twice the longest cycle or path"
    return Price(longest.bound, False, told if longest.exact else f"{told}, bounded when time ran out")


def from_the_number_of_counts(graph: SecretGraph, known: Sequence[Known]) -> Price:
    """2 (|Q| + 1), or 2 max(|Q|, 1) if every record is in exactly one count ([HMD14] Cor. 8.3, corrected).

    Why  the longest path from v+ to v- has one arc more than it has counts. With a partition there is none but v+ v-.
    """
    _check_sparse(graph, known)
    counted = np.array(classes_of(graph, tuple(known)).counted)
    counts = counted.shape[1]
    if (counted.sum(axis=1) == 1).all():
        return Price(2 * max(counts, 1), False, "sparse for the complete graph, every record in one count")
    return Price(2 * (counts + 1), False, "sparse for the complete graph")


def from_one_marginal(graph: SecretGraph, known: Sequence[Known]) -> Price:
    """Exactly 2 size(C) for one known marginal ([HMD14] Thms 8.4 and 8.5, corrected).

    Pre   some other attribute has two values or more, and some secret changes the marginal.
    """
    if len(known) != 1 or not isinstance(known[0].fact, Marginal) or graph.absent:
        raise Refused("not one known marginal with public presence", fix="use `sensitivity`", where="known")
    domain = graph.domain
    others = [a for a in domain if a.name not in known[0].fact.attributes]
    if all(a.size < 2 for a in others):
        raise Refused(
            "no attribute outside the marginal has two values: the whole table is known",
            fix="there is nothing left to hide in a histogram",
            where="known",
        )
    if not classes_of(graph, tuple(known)).arcs:
        raise Refused("no secret changes the marginal", fix="use `sensitivity`", where="known")
    size = known_query(known[0], domain).size(domain)
    return Price(2 * size, True, "one marginal is known, and another attribute has two values")


def from_disjoint_rectangles(graph: SecretGraph, known: Sequence[Known]) -> Price:
    """2 (p + 1) for p disjoint rectangles, whatever the secrets ([HMD14] Thm 8.6, corrected).

    Why  disjoint counts are sparse for the complete graph.
    """
    if not all(isinstance(entry.fact, Rectangle) for entry in known):
        raise Refused("not every known count is a rectangle", fix="use `sensitivity`", where="known")
    names = sorted({side[0] for entry in known if isinstance(entry.fact, Rectangle) for side in entry.fact.sides})
    domain = graph.domain.project(names)
    inside = np.array([labels(entry, domain, np.arange(domain.size)) == 0 for entry in known])
    if int(inside.sum(axis=0).max(initial=0)) > 1:
        raise PolicyError(
            "two known rectangles overlap", fix="use disjoint ones here, or `sensitivity`, which prices overlaps"
        )
    return Price(2 * (len(known) + 1), False, "disjoint rectangles")


def _check_sparse(graph: SecretGraph, known: Sequence[Known]) -> None:
    if not sparsity(graph, known, "complete").sparse:
        raise Refused(
            "the known counts are not sparse for the complete graph, and for others the theorem is false",
            fix="use `sensitivity`, which needs no sparsity",
            where="known",
        )
