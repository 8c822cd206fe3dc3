"""Answering a condition from whichever released table answers it best."""

from __future__ import annotations

import re

from tetraodon.errors import QueryError
from tetraodon.inference.estimate import Estimate
from tetraodon.policy.words import listing
from tetraodon.releasing.answer import cells_where, truth_of
from tetraodon.releasing.release import Release

COUNTING = re.compile(
    r"""\s*select\s+count\s*\(\s*\*\s*\)\s+from\s+(?:\w+|"[^"]+")(?:\s+where\s+(?P<where>.+?))?\s*;?\s*""",
    re.IGNORECASE | re.DOTALL,
)
"""A whole question in SQL; what follows `where` is read as a condition, and refused if it is more."""


def ask(release: Release, condition: str) -> tuple[str, Estimate]:
    """The estimate with the shortest interval among the tables that know all attributes of the condition.

    Only what was released is used: asking costs nothing, however often. As with a view, the condition may stand in
    `select count(*) from people where ...`.
    """
    domain = release.plan.policy.domain
    if whole := COUNTING.fullmatch(condition):
        condition = whole["where"] or "true"
    names, holds = truth_of(condition, domain)
    found: list[tuple[float, str, Estimate]] = []
    split: QueryError | None = None
    for answer in release:
        if answer.values is None or not set(names) <= set(answer.table.names):
            continue
        try:
            cells = cells_where(answer.table, names, holds)
        except QueryError as error:  # it splits a bin of this table; another may know more
            split = error
            continue
        estimate = answer.table.add_up(cells)
        found.append((estimate.upper - estimate.lower, answer.name, estimate))
    if not found:
        together = (
            f"{' and '.join(names)} together" if len(names) > 1 else "".join(names) or "how many records there are"
        )
        tables = [f"{answer.name} ({', '.join(answer.table.names)})" for answer in release if answer.values is not None]
        have = listing(tables) if tables else "there is none"
        raise split or QueryError(
            f"no released table knows {together}", fix=f"ask about attributes that one of its tables has: {have}"
        )
    _, name, estimate = min(found, key=lambda entry: (entry[0], -entry[2].confidence, entry[1]))
    return name, estimate
