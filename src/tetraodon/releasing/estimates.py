"""From noisy measurements to numbers that agree with each other and with what is known exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tetraodon.arrays import Floats
from tetraodon.domain import Domain
from tetraodon.inference.combination import Remembered, TableLink
from tetraodon.inference.consistency import agree, agrees, follow, shared_margins
from tetraodon.inference.meeting import EstimatedTable
from tetraodon.inference.monotone import monotone_counts
from tetraodon.inference.whole_tables import whole_tables
from tetraodon.mechanism.strategy import Measured
from tetraodon.questions.query import EveryRange, ListedRanges, RunningCounts
from tetraodon.releasing.combined import Combined, combine, joined
from tetraodon.releasing.pieces import Place, people_domain, tells_all
from tetraodon.releasing.plan import Plan, PlannedItem
from tetraodon.workload.contribution import One


@dataclass(frozen=True, eq=False)
class Estimated:
    """A table of counts as all measurements together tell it, and as it is published."""

    unbiased: Floats
    published: Floats


WHOLE = "whole"
ROUNDS, STILL = 100, 1e-9
"""How often sums of which several tables know a part are taken to the nearest that agree with each; when it ends."""


class Inference(Enum):
    """How answers follow from measurements, as release.json says it. What was released once is inferred so for ever."""

    AVERAGED = "margins averaged by precision; running counts made non-decreasing between 0 and their total"
    COMBINED = (
        "least squares over all measurements; running counts made non-decreasing between 0 and their total; "
        "counts made whole and not negative, unless an item wants none"
    )


@dataclass(frozen=True, eq=False)
class Estimates:
    """Every table, and every sum that was measured with noise; and what they were made from.

    `combined` are the estimates without bias that intervals are about; None where each item stands for itself.
    """

    tables: Mapping[Place, Estimated]
    combined: Combined | None


def raw_table(item: PlannedItem, measured: Measured, domain: Domain) -> Floats:
    """The table of counts as the noise left it."""
    return item.strategy.mechanism.fit(item.scaled(domain), measured)


def estimate(plan: Plan, measured: Mapping[str, Measured], inference: Inference = Inference.COMBINED) -> Estimates:
    """Best numbers for every item; those about the same records agree."""
    found: dict[Place, Estimated] = {}
    combined = []
    for those in dict.fromkeys(item.strategy.among for item in plan):
        items = {item.name: item for item in plan if item.strategy.among == those}
        inside = plan.policy.domain if those is None else those.inside
        one = _estimates(items, measured, inside, inference, plan.remembered)
        found |= one.tables
        combined += [one.combined] if one.combined else []
    return Estimates(found, joined(combined) if combined else None)


def _estimates(
    items: Mapping[str, PlannedItem],
    measured: Mapping[str, Measured],
    domain: Domain,
    inference: Inference,
    remembered: Remembered,
) -> Estimates:
    """Best numbers for items about the same records, agreeing wherever one determines the other.

    First least squares over everything; then never-falling running counts where an item is about order, which the other
    tables follow. Where that cannot be had together, running counts may fall: agreement wins, and there always is an
    answer. Last come whole counts that are not negative, unless an item wants none. Sums are read from the tables that
    tell them.
    """
    exact: dict[Place, Floats] = {
        (item.name, None): raw_table(item, measured[item.name], domain)
        for item in items.values()
        if item.strategy.table and not item.strategy.noisy
    }
    if inference is Inference.AVERAGED:
        tables, known = _noisy_tables(items, measured, domain), _exact_tables(items, measured)
        agree([*known, *tables.values()], domain)
        return Estimates(_both(exact, exact) | _publish(items, tables, known, domain), None)
    combined = combine(list(items.values()), measured, domain, remembered)
    pieces = {key: group.pieces[place] for key, (group, place) in combined.places.items()}
    counts = {key: table for key, table in combined.tables.items() if pieces[key].counts}
    people = {key: table for key, table in combined.tables.items() if pieces[key].people}
    sums = {key: table for key, table in combined.tables.items() if key not in counts and key not in people}
    told = _publish(items, counts, [piece.table for piece in combined.exact if piece.counts], domain)
    exact_people = [piece.table for piece in combined.exact if piece.people]
    told |= _publish(items, people, exact_people, people_domain(list(items.values())))
    told |= _apart(items, measured, [piece.table for piece in combined.exact if piece.counts], domain)
    read = {key: _read(key, table, counts, combined) for key, table in sums.items()}
    found = _both({key: table.values for key, table in sums.items()}, read)
    return Estimates(_both(exact, exact) | told | found, combined)


def _apart(
    items: Mapping[str, PlannedItem], measured: Mapping[str, Measured], known: Sequence[EstimatedTable], domain: Domain
) -> dict[Place, Estimated]:
    """Tables that are not the truth and noise alone: each agrees with what is exact, and with no other."""
    found: dict[Place, Estimated] = {}
    for key, table in _noisy_tables(items, measured, domain).items():
        if not items[key[0]].strategy.mechanism.adds_noise:
            found |= _publish(items, {key: table}, known, domain)
    return found


def _both(unbiased: Mapping[Place, Floats], published: Mapping[Place, Floats]) -> dict[Place, Estimated]:
    return {key: Estimated(values, published[key]) for key, values in unbiased.items()}


def _publish(
    items: Mapping[str, PlannedItem],
    tables: Mapping[Place, EstimatedTable],
    known: Sequence[EstimatedTable],
    domain: Domain,
) -> dict[Place, Estimated]:
    """From tables of counts that agree to those that are published, which agree too."""
    agreed = {key: table.values for key, table in tables.items()}
    if any(_about_order(items, key, domain) for key in tables) and not _never_fall(items, tables, known, domain):
        for key, values in agreed.items():
            tables[key].values = values
    wanted = [key for key in tables if _whole(items, key) and not _besides(items, key)]
    if wanted:
        made = whole_tables([*known, *(tables[key] for key in wanted)], domain)[len(known) :]
        for key, values in zip(wanted, made, strict=True):
            tables[key].values = values
    return _both(agreed, {key: table.values for key, table in tables.items()})


def _besides(items: Mapping[str, PlannedItem], key: Place) -> bool:
    """Whether a table is one that nobody asked for, measured because it tells of others."""
    return key[1] is not None and items[key[0]].strategy.mechanism.read_together


def _whole(items: Mapping[str, PlannedItem], key: Place) -> bool:
    """Whether a table is published whole; counts behind a mean, say, are where all tables are."""
    item = items[key[0]].item
    if key[1] is None or WHOLE in item.query.keys:
        return item.whole
    return all(one.item.whole for one in items.values() if one.strategy.table)


def _read(key: Place, sums: EstimatedTable, counts: Mapping[Place, EstimatedTable], combined: Combined) -> Floats:
    """Sums as the published tables tell them; where no table tells all of them, the nearest that agree with all."""
    group, place = combined.places[key]
    piece = group.pieces[place]
    links = [link for link in group.links if link.sums is piece.table]
    for link in links:
        told = _published(link, counts, combined)
        if tells_all(link):
            return np.asarray(link.read(told)[0][link.summed]).reshape(sums.values.shape)
    values, tables = sums.values, [_published(link, counts, combined) for link in links]
    for _ in range(ROUNDS):
        before = values
        for link, table in zip(links, tables, strict=True):
            moved = link.back(link.gap(table, values))[1] / np.bincount(link.summed)[link.summed]
            values = np.asarray(values - moved.reshape(values.shape))
        if len(links) < 2 or np.allclose(values, before, rtol=0, atol=STILL):
            break
    return values


def _published(link: TableLink, counts: Mapping[Place, EstimatedTable], combined: Combined) -> Floats:
    """The counts of a link as they are published."""
    for key, (group, place) in combined.places.items():
        if group.pieces[place].table is link.counts:
            return counts[key].values
    return link.counts.values


def _noisy_tables(
    items: Mapping[str, PlannedItem], measured: Mapping[str, Measured], domain: Domain
) -> dict[Place, EstimatedTable]:
    tables: dict[Place, EstimatedTable] = {}
    for item in items.values():
        if item.strategy.table and item.strategy.noisy:
            variance = item.strategy.mechanism.cell_variance(item.scaled(domain))
            values = raw_table(item, measured[item.name], domain)
            tables[item.name, None] = EstimatedTable(item.strategy.table, values, variance)
    return tables


def _never_fall(
    items: Mapping[str, PlannedItem],
    tables: Mapping[Place, EstimatedTable],
    known: Sequence[EstimatedTable],
    domain: Domain,
) -> bool:
    """Running counts that never fall, and all other tables following; whether they could."""
    leaders = list(known)
    for key in sorted(tables, key=lambda key: not _about_order(items, key, domain)):
        item, table = items[key[0]], tables[key]
        if not follow(table, leaders, domain):
            return False
        if _about_order(items, key, domain) and not _order_is_shared(table, leaders[len(known) :], domain):
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


def _about_order(items: Mapping[str, PlannedItem], key: Place, domain: Domain) -> bool:
    if key[1] is not None:
        return False
    item = items[key[0]]
    asked = isinstance(item.item.query.reading(domain), RunningCounts | EveryRange | ListedRanges)
    return item.strategy.mechanism.about_order or asked


def _order_is_shared(table: EstimatedTable, leaders: Sequence[EstimatedTable], domain: Domain) -> bool:
    name = table.splits[-1].name
    return any(name in dict(m.groups) for leader in leaders for m in shared_margins([table, leader], domain))


def _exact_tables(items: Mapping[str, PlannedItem], measured: Mapping[str, Measured]) -> list[EstimatedTable]:
    tables = []
    for item in items.values():
        arrays = measured[item.name][len(item.strategy.noisy) :]
        for query, array in zip(item.strategy.exact, arrays, strict=True):
            if isinstance(query.contribution, One):
                tables.append(EstimatedTable(query.by, array[..., 0].astype(np.float64), 0.0))
    return tables
