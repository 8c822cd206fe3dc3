"""From noisy measurements to tables that agree with each other and with what is known exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.domain import Domain
from tetraodon.inference.consistency import agree, agrees, follow, shared_margins
from tetraodon.inference.meeting import EstimatedTable
from tetraodon.inference.running import monotone_counts
from tetraodon.inference.whole_tables import whole_tables
from tetraodon.mechanism.strategy import Measured
from tetraodon.questions.query import EveryRange, ListedRanges, RunningCounts
from tetraodon.releasing.plan import Plan, PlannedItem
from tetraodon.workload.contribution import One


@dataclass(frozen=True, eq=False)
class Estimated:
    """A table of counts as all measurements together tell it, and as it is published."""

    unbiased: Floats
    published: Floats


def raw_table(item: PlannedItem, measured: Measured, domain: Domain) -> Floats:
    """The table of counts as the noise left it."""
    return item.strategy.mechanism.fit(item.scaled(domain), measured)


def estimate_tables(plan: Plan, measured: Mapping[str, Measured]) -> dict[str, Estimated]:
    """Best tables for every item that is a table; those about the same records agree."""
    found: dict[str, Estimated] = {}
    for those in dict.fromkeys(item.strategy.among for item in plan):
        items = [item for item in plan if item.strategy.among == those]
        found |= _estimates(items, measured, plan.policy.domain if those is None else those.inside)
    return found


def _estimates(plan: Sequence[PlannedItem], measured: Mapping[str, Measured], domain: Domain) -> dict[str, Estimated]:
    """Best tables for items about the same records, agreeing on every margin they share.

    First a weighted average of what is shared, then never-falling running counts where an item is about order,
    then the other tables follow those. Where that cannot be had together, running counts may fall: agreement wins, and
    there always is an answer. Last come whole counts that are not negative, unless an item wants none.
    """
    known = _exact_tables(plan, measured)
    tables: dict[str, EstimatedTable] = {}
    for item in plan:
        if item.strategy.table and item.strategy.noisy:
            variance = item.strategy.mechanism.cell_variance(item.scaled(domain))
            tables[item.name] = EstimatedTable(
                item.strategy.table, raw_table(item, measured[item.name], domain), variance
            )
    agree([*known, *tables.values()], domain)
    agreed = {name: table.values for name, table in tables.items()}
    if not _never_fall(plan, tables, known, domain):
        for name, values in agreed.items():
            tables[name].values = values
    wanted = [item.name for item in plan if item.item.whole and item.name in tables]
    if wanted:
        made = whole_tables([*known, *(tables[name] for name in wanted)], domain)[len(known) :]
        for name, values in zip(wanted, made, strict=True):
            tables[name].values = values
    exact = {i.name: raw_table(i, measured[i.name], domain) for i in plan if i.strategy.table and not i.strategy.noisy}
    return {name: Estimated(values, values) for name, values in exact.items()} | {
        name: Estimated(agreed[name], table.values) for name, table in tables.items()
    }


def _never_fall(
    plan: Sequence[PlannedItem],
    tables: Mapping[str, EstimatedTable],
    known: Sequence[EstimatedTable],
    domain: Domain,
) -> bool:
    """Running counts that never fall, and all other tables following; whether they could."""
    leaders = list(known)
    for item in sorted(plan, key=lambda item: not _about_order(item, domain)):
        if item.name not in tables:
            continue
        table = tables[item.name]
        if not follow(table, leaders, domain):
            return False
        if _about_order(item, domain) and not _order_is_shared(item, table, leaders[len(known) :], domain):
            before, table.values = table.values, monotone_counts(table.values, _known_starts(item))
            if not agrees(table, leaders, domain):
                table.values = before
        leaders.append(table)
    return True


def _known_starts(item: PlannedItem) -> list[int]:
    """Where the parts begin, along the last attribute of an item, whose totals it knows exactly."""
    *by, last = item.strategy.table
    for query in item.strategy.exact:
        bins = next((split.bins for split in query.by if split.name == last.name), None)
        if bins is not None and set(query.by) - set(by) == {s for s in query.by if s.name == last.name}:
            starts = [0, *(np.flatnonzero(np.diff(bins)) + 1).tolist()]
            if len(query.by) == len(by) + 1 and len(starts) == max(bins) + 1:
                return starts
    return [0]


def _about_order(item: PlannedItem, domain: Domain) -> bool:
    asked = isinstance(item.item.query.reading(domain), RunningCounts | EveryRange | ListedRanges)
    return item.strategy.mechanism.about_order or asked


def _order_is_shared(
    item: PlannedItem, table: EstimatedTable, leaders: Sequence[EstimatedTable], domain: Domain
) -> bool:
    name = item.strategy.table[-1].name
    return any(name in dict(m.groups) for leader in leaders for m in shared_margins([table, leader], domain))


def _exact_tables(plan: Sequence[PlannedItem], measured: Mapping[str, Measured]) -> list[EstimatedTable]:
    tables = []
    for item in plan:
        arrays = measured[item.name][len(item.strategy.noisy) :]
        for query, array in zip(item.strategy.exact, arrays, strict=True):
            if isinstance(query.contribution, One):
                tables.append(EstimatedTable(query.by, array[..., 0].astype(np.float64), 0.0))
    return tables
