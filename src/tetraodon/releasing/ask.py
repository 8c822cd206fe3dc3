"""Answering a condition from the released table that was planned to answer it best."""

from __future__ import annotations

from sqlglot import exp

from tetraodon.errors import QueryError
from tetraodon.inference.estimate import Estimate
from tetraodon.policy.words import listing
from tetraodon.releasing.answer import Answer, cells_where, truth_of
from tetraodon.releasing.release import Release
from tetraodon.workload.condition import parse_condition
from tetraodon.workload.sql import is_select, one_select, source_of


def ask(release: Release, question: str) -> Estimate:
    """The estimate of the table whose noise can be off least, among those that know all attributes of the condition.

    Only what was released is used: asking costs nothing, however often. As with a view, the condition may stand in
    `select count(*) from people where ...`.

    Why   which table is asked depends on the plan alone. Of many intervals the one that looks shortest after the noise
          is drawn misses the truth more often than any of them: where counts are small, an interval that noise has
          pushed below zero is cut there, and looks short.
    """
    names, holds = truth_of(_condition(question), release.plan.policy.domain)
    best: tuple[float, Answer] | None = None
    split: QueryError | None = None
    for answer in release:
        if answer.values is None or not set(names) <= set(answer.table.names):
            continue
        try:
            reach = answer.table.reach(cells_where(answer.table, names, holds))
        except QueryError as error:  # it splits a bin of this table; another may know more
            split = error
            continue
        if best is None or reach < best[0]:
            best = reach, answer
    if best is None:
        raise split or _nobody_knows(release, names)
    answer = best[1]
    return answer.table.add_up(cells_where(answer.table, names, holds)).of(answer.name)


def _condition(question: str) -> exp.Expression | None:
    """The condition of a question, None if it asks for all records."""
    if not is_select(question):
        return parse_condition(question)
    select = one_select(question)
    wanted = [part.unalias() for part in select.expressions]
    if len(wanted) != 1 or not isinstance(wanted[0], exp.Count) or not isinstance(wanted[0].this, exp.Star):
        raise QueryError("a release answers counts only", fix="ask for `select count(*)`, or publish a view")
    if select.args.get("group") is not None:
        raise QueryError("a release answers one count at a time", fix="leave out `group by`, or read its tables")
    if source_of(select) is None:
        raise QueryError("the question does not ask one table", fix="write `from people`, or just the condition")
    where = select.args.get("where")
    return None if where is None else where.this


def _nobody_knows(release: Release, names: tuple[str, ...]) -> QueryError:
    together = f"{' and '.join(names)} together" if len(names) > 1 else "".join(names) or "how many records there are"
    tables = [f"{answer.name} ({', '.join(answer.table.names)})" for answer in release if answer.values is not None]
    return QueryError(
        f"no released table knows {together}",
        fix=f"ask about attributes that one of its tables has: {listing(tables) if tables else 'there is none'}",
    )
