"""Selecting rows of a table: a query's condition becomes `where` of every item.

The policy speaks of the whole table: what is known, how many rows a person has and which of them count is said of it
before any condition. A release `from 'T' where C` is then one of items about the records with C, priced like any other,
also beside releases about the whole table or other parts of it.
"""

from __future__ import annotations

from tetraodon.engine import Source
from tetraodon.engine.row_query import RowQuery, is_query, read_query
from tetraodon.errors import Refused, TableError
from tetraodon.policy.attackers import Chain, DependentGroups
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.workload.records_where import records_where


def selected(policy: Policy, table: Source) -> tuple[Policy, Source]:
    """The policy whose items are about the rows that a query selects, and the table that these are rows of.

    Whatever is no query stays as it is. Raises TableError and Refused for queries that do not fit the policy.
    """
    if not isinstance(table, str) or not is_query(table):
        return policy, table
    query = read_query(table)
    _check_columns(policy, query)
    return (_about(policy, query.condition) if query.condition else policy), query.origin


def whole_table(policy: Policy, table: Source, what: str) -> Source:
    """The table that a query without a condition reads. `what` cannot be about some of the rows."""
    if not isinstance(table, str) or not is_query(table):
        return table
    query = read_query(table)
    _check_columns(policy, query)
    if query.condition:
        raise Refused(
            f"{what} is about all rows of its table, and the query has a condition",
            fix="make a table of these rows, with a data set of its own, and name that",
        )
    return query.origin


def _check_columns(policy: Policy, query: RowQuery) -> None:
    """Refuse a query that leaves out a column the policy needs."""
    match policy.attackers:
        case DependentGroups(column=column) | Chain(along=column):
            wanted = {policy.key, column}
        case _:
            wanted = {policy.key}
    wanted |= {*policy.domain.names, *(column.name for column in policy.open)}
    missing = sorted(wanted - {""} - query.columns) if query.columns is not None else []
    if missing:
        raise TableError(
            f"the query does not select {missing[0]!r}, which the policy declares", fix="select it, or write SELECT *"
        )


def _about(policy: Policy, condition: str) -> Policy:
    """The policy with a condition on every item; as it is where that holds for every record."""
    if records_where(condition, (), policy.domain) is None:
        return policy
    if policy.names:
        raise Refused("names are about all rows of the table", fix="leave the condition out, or the names")
    items = [
        item | {"where": f"({condition}) and ({item['where']})" if "where" in item else condition}
        for item in policy.document["release"]
    ]
    return load_policy({**policy.document, "release": items}, folder=policy.folder)
