"""From noisy measurements to tables that agree with each other and with what is known exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.errors import QueryError
from tetraodon.inference.consistency import agree, agrees, follow, shared_margins
from tetraodon.inference.meeting import CountTable
from tetraodon.inference.running import monotone_counts, whole_numbers
from tetraodon.mechanism.hierarchical import fit_of
from tetraodon.mechanism.strategy import Mechanism, Strategy
from tetraodon.questions.query import EveryRange, ListedRanges, RunningCounts
from tetraodon.releasing.grid_reach import fitted_map
from tetraodon.releasing.plan import Plan, PlannedItem
from tetraodon.workload.contribution import One
from tetraodon.workload.smooth import Hats, Ramps

Measured = tuple[NDArray[np.int64], ...]


def raw_table(item: PlannedItem, measured: Measured, domain: Domain) -> NDArray[np.float64]:
    """The table of counts as the noise left it."""
    match item.mechanism:
        case "grid":
            return fitted_map(item.strategy, item.scale, domain, measured)
        case "ordered":
            noisy_total = len(item.strategy.noisy) > 1
            total = measured[1] if noisy_total else measured[len(item.strategy.noisy)]
            running = np.concatenate([measured[0], total], axis=-1)
            return np.diff(running, axis=-1, prepend=0).astype(np.float64)
        case "hierarchical":
            return best_fit(item.strategy, item.scale, measured)
        case "exact" | "identity":
            return measured[0][..., 0].astype(np.float64)
        case "direct" | "synopsis":
            raise no_table(item.mechanism)
        case _:
            assert_never(item.mechanism)


def no_table(mechanism: Mechanism) -> QueryError:
    """The refusal to read a table of counts where the mechanism measured none."""
    return QueryError(f"{mechanism} noise leaves no table of counts", fix="ask an item that is a table")


def best_fit(strategy: Strategy, scale: Fraction, measured: Measured) -> NDArray[np.float64]:
    """The table that fits single values and smoothed counts together best."""
    fit = fit_of(strategy, scale)
    arrays = [array.astype(np.float64).reshape(-1, array.shape[-1]) for array in measured]
    by_width: dict[type, dict[int, NDArray[np.float64]]] = {Hats: {}, Ramps: {}}
    for query, array in zip(strategy.noisy[1:], arrays[1:], strict=False):
        kind = query.contribution
        assert isinstance(kind, Hats | Ramps)
        by_width[type(kind)][kind.width] = array / kind.width
    leaves = arrays[0].reshape(-1, fit.size)
    total = arrays[len(strategy.noisy)][:, 0] if fit.total == 0 else np.zeros(len(leaves))
    found = fit.counts(leaves, by_width[Hats], by_width[Ramps], total)
    return found.reshape(measured[0].shape[:-1])


def estimate_tables(plan: Plan, measured: Mapping[str, Measured]) -> dict[str, NDArray[np.float64]]:
    """Best tables for every item that is a table, agreeing on every margin they share.

    First a weighted average of what is shared, then never-falling running counts where an item is about order,
    then the other tables follow those. Where that cannot be had together, running counts may fall: agreement wins, and
    there always is an answer. Whole numbers, where asked for, come last: they may part from the margins of other
    tables by rounding.
    """
    domain = plan.policy.domain
    known = _exact_tables(plan, measured)
    tables: dict[str, CountTable] = {}
    for item in plan:
        if item.strategy.table and item.strategy.noisy:
            cells = 2 if item.mechanism == "ordered" else 1
            variance = cells * item.strategy.noise.variance(item.scale)  # smoothed counts hardly change it
            tables[item.name] = CountTable(item.strategy.table, raw_table(item, measured[item.name], domain), variance)
    agree([*known, *tables.values()], domain)
    agreed = {name: table.values for name, table in tables.items()}
    if not _never_fall(plan, tables, known):
        for name, values in agreed.items():
            tables[name].values = values
    for item in plan:
        if item.item.whole and item.name in tables:  # last, since whole tables cannot all agree
            tables[item.name].values = whole_numbers(tables[item.name].values)
    exact = {i.name: raw_table(i, measured[i.name], domain) for i in plan if i.strategy.table and not i.strategy.noisy}
    return exact | {name: table.values for name, table in tables.items()}


def _never_fall(plan: Plan, tables: Mapping[str, CountTable], known: Sequence[CountTable]) -> bool:
    """Running counts that never fall, and all other tables following; whether they could."""
    domain = plan.policy.domain
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
    along = isinstance(item.item.query.reading(domain), RunningCounts | EveryRange | ListedRanges)
    return item.mechanism == "ordered" or along


def _order_is_shared(item: PlannedItem, table: CountTable, leaders: Sequence[CountTable], domain: Domain) -> bool:
    name = item.strategy.table[-1].name
    return any(name in dict(m.groups) for leader in leaders for m in shared_margins([table, leader], domain))


def _exact_tables(plan: Plan, measured: Mapping[str, Measured]) -> list[CountTable]:
    tables = []
    for item in plan:
        arrays = measured[item.name][len(item.strategy.noisy) :]
        for query, array in zip(item.strategy.exact, arrays, strict=True):
            if isinstance(query.contribution, One):
                tables.append(CountTable(query.by, array[..., 0].astype(np.float64), 0.0))
    return tables
