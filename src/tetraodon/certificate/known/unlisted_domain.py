"""Known counts over more cells than can be listed: only the attributes that the known counts look at are.

Which sequences of moves keep the known counts depends on these attributes alone. For tables of counts that tell the
classes of values apart, and something else besides, every move of a sequence then takes one count down and another one
up, and none of them cancel: the answer is exact. For other answers it is the length of the longest sequence, or the
number of classes of a cycle, times what one move can do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.certificate.edge_loss import Loss, Weighted
from tetraodon.certificate.known.answer_space import answer_space
from tetraodon.certificate.known.classes import Classes, classes_of
from tetraodon.certificate.known.largest_push import farthest_together, largest_push
from tetraodon.certificate.known.segments import joined
from tetraodon.certificate.known.sign_patterns import Reach
from tetraodon.certificate.known.unlisted_tables import UnlistedSpace, of_tables, two_rows
from tetraodon.certificate.worst_edge import worst_edge
from tetraodon.errors import Refused
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything
from tetraodon.policy.joint_graph import JointGraph
from tetraodon.policy.known import Known, known_names, known_query
from tetraodon.policy.secret_graph import MATRIX_LIMIT, Factor, SecretGraph, complete_graph
from tetraodon.questions import Histogram
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery, Split

LISTED_CLASSES = 1000
"""Cells of a known table for which two datasets that differ in all of them are still named."""


def is_unlisted(graph: SecretGraph, queries: Sequence[Weighted]) -> bool:
    """Whether the cells of what is known and asked together are too many to be listed."""
    if long_table(graph) is not None:
        return True
    names = {name for query, _ in queries for name in query.names} | set(known_names(graph.known, graph.domain))
    return bool(names) and graph.part(names).domain.size > MATRIX_LIMIT


def long_table(graph: SecretGraph) -> LinearQuery | None:
    """The known table, if it is all that is known and has many cells."""
    if len(graph.known) != 1 or not isinstance(graph.known[0].fact, Histogram):
        return None
    table = known_query(graph.known[0], graph.domain)
    return table if table.size(graph.domain) > LISTED_CLASSES else None


def secrets_change_known(graph: SecretGraph) -> bool:
    """Whether some secret changes a known count. If none does, neighbours are those of a policy that knows nothing."""
    table = long_table(graph)
    return _crossed(graph, table)[0] if table is not None else bool(classes_of(graph, graph.known).arcs)


def farthest_neighbours(graph: SecretGraph, queries: Sequence[Weighted]) -> Loss:
    """max over N* of the weighted L1 distance between the answers, whatever the size of the domain."""
    return unlisted_push(graph, queries) if is_unlisted(graph, queries) else largest_push(graph, graph.known, queries)


def unlisted_push(graph: SecretGraph, queries: Sequence[Weighted]) -> Loss:
    """max over N* of the weighted L1 distance between the answers, or a bound on it.

    Post  as `largest_push`.
    """
    known, plain = graph.known, replace(graph, known=())
    table = long_table(graph)
    if table is not None:
        return _one_table(graph, table, queries)
    classes = classes_of(graph, known)
    left = [(query, weight) for query, weight in queries if not _still(classes, known, query)]
    if not left:
        return Loss(Fraction(0), None, True, "over nothing: the known counts fix these answers")
    single = worst_edge(plain, left)
    if not classes.arcs:
        return replace(single, how="over edges: no secret changes a known count")
    rows = two_rows(classes, [query for query, _ in left])
    if rows is not None:
        return of_tables(rows, sum((weight for _, weight in left), Fraction(0)))
    alone, between = single.value, worst_edge(complete_graph(plain), left).value
    inside = min(between, worst_edge(_inside(graph), left).value)
    common = math.lcm(*(part.denominator for part in (alone, between, inside)))
    space = UnlistedSpace(classes, *(_whole(part * common) for part in (inside, between, min(alone, between))))
    nothing = np.zeros((1, classes.count), np.int64)
    found, _, method = farthest_together(Reach(space, nothing, nothing, {}, False, None), None)
    assert found is not None
    return Loss(max(alone, Fraction(found.value, common)), None, False, method)


def _one_table(graph: SecretGraph, table: LinearQuery, queries: Sequence[Weighted]) -> Loss:
    """One known table of many cells: neighbours are cycles through them ([HMD14] Thms 8.4 and 8.5, corrected).

    Why  a cycle changes every cell of the table by one record for another: at most what a move inside it does. Tables
         that split by more than the known one change two counts there, and none of them cancel.
    """
    plain = replace(graph, known=())
    known_by = {split.name: split for split in table.by}
    left = [(query, weight) for query, weight in queries if not _split_by(query, known_by)]
    if not left:
        return Loss(Fraction(0), None, True, "over nothing: the known counts fix these answers")
    single = worst_edge(plain, left)
    crossed, sure = _crossed(graph, table)
    if not crossed:
        return replace(single, how="over edges: no secret changes a known count")
    cells = table.size(graph.domain)
    finer = sure and all(
        isinstance(query.contribution, One)
        and all(split in query.by or Split(split.name) in query.by for split in table.by)
        and any(split.name not in known_by and split.size(graph.domain) > 1 for split in query.by)
        for query, _ in left
    )
    inside = 2 * sum((weight for _, weight in left), Fraction(0)) if finer else worst_edge(_inside(graph), left).value
    method = f"over cycles through all {cells:,} cells of the known table"
    return Loss(max(single.value, cells * inside), None, finer, method)


def _split_by(query: LinearQuery, known_by: dict[str, Split]) -> bool:
    """Whether the counts of a query are sums of known counts."""
    return isinstance(query.contribution, One) and all(
        split.name in known_by and known_by[split.name].bins in (None, split.bins) for split in query.by
    )


def touched_cells(graph: SecretGraph, table: LinearQuery, query: LinearQuery) -> int:
    """How many cells of a known table one answer of a query may look at."""
    finer = {split.name for split in table.by if split in query.by or Split(split.name) in query.by}
    return math.prod(split.size(graph.domain) for split in table.by if split.name not in finer)


def _crossed(graph: SecretGraph, table: LinearQuery) -> tuple[bool, bool]:
    """Whether a secret changes the cell of a known table, and whether that is sure."""
    graphs = [graph] if graph.groups is None else [own for own, _ in graph.by_graph]
    found, sure = any(one.absent for one in graphs), True
    for own in graphs:
        for split in table.by:
            secrets = own.factor_of(split.name).graph
            if isinstance(secrets, JointGraph):
                found, sure = True, False
            elif split.bins is None:
                found = found or secrets.edge_count > 0
            else:
                found = found or bool(joined(secrets, np.asarray(split.bins, np.int64)))
    return found, sure


def _whole(number: Fraction) -> int:
    if number >= 2**44:  # times 10,000 moves, this still fits into 63 bits
        raise Refused("the weights of this release are too long to be compared exactly", fix="use rounder scales")
    return int(number)


def _still(classes: Classes, known: Sequence[Known], query: LinearQuery) -> bool:
    """Whether the answers follow from the known counts."""
    if classes.coarse is not None:
        return any(query == known_query(entry, classes.whole) for entry in known)
    return set(query.names) <= set(classes.graph.domain.names) and answer_space(classes, [(query, Fraction(1))]).still


def _inside(graph: SecretGraph) -> SecretGraph:
    """A graph that joins any two records which no known count tells apart, and perhaps others.

    Why  two records in the same cell of a known table agree on its attributes, or on the groups of their values.
    """
    split: dict[str, Ints] = {}
    for entry in graph.known:
        if isinstance(entry.fact, Histogram):
            for one in known_query(entry, graph.domain).by:
                codes = one.of(np.arange(graph.domain[one.name].size))
                before = split.get(one.name, np.zeros_like(codes))
                split[one.name] = np.unique(np.stack([before, codes]), axis=1, return_inverse=True)[1].ravel()
    factors = []
    for attribute in graph.domain:
        same: AttributeGraph = Everything(attribute.size)
        if attribute.name in split:
            same = Blocks(tuple(split[attribute.name].tolist()))
        factors.append(Factor((attribute.name,), same))
    return SecretGraph(graph.domain, tuple(factors), len(factors), graph.absent and not split)
