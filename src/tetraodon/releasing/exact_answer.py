"""What an engine is asked for, and the exact answer to a query from what it says."""

from __future__ import annotations

from collections.abc import Iterable

from tetraodon.arrays import Ints
from tetraodon.domain import Domain
from tetraodon.engine import Counts
from tetraodon.engine.passes import LONGEST_SUM
from tetraodon.workload.contribution import Number
from tetraodon.workload.linear import LinearQuery


def group_of(query: LinearQuery) -> tuple[str, ...]:
    """The attributes that the engine counts by."""
    return tuple(name for name in query.names if name != _added(query))


def added_by(queries: Iterable[LinearQuery]) -> dict[tuple[str, ...], list[str]]:
    """By group, the attributes that the engine adds up itself, so that sums come back and not counts of values."""
    found: dict[tuple[str, ...], list[str]] = {}
    for query in queries:
        if (name := _added(query)) and name not in found.setdefault(group_of(query), []):
            found[group_of(query)].append(name)
    return found


def exact_answer(query: LinearQuery, domain: Domain, counts: Counts) -> Ints:
    """The answer, in units, from the counts by `group_of(query)`."""
    if added := _added(query):
        return query.evaluate_sums(domain, counts.codes, counts.counts, counts.sums[added])
    return query.evaluate(domain, counts.codes, counts.counts)


def _added(query: LinearQuery) -> str:
    match query.contribution:
        case Number(attribute, None) if attribute.size <= LONGEST_SUM:
            return attribute.name
        case _:
            return ""
