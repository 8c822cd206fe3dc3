"""Made-up records from tables that are chosen one after the other, for what those before do not tell ([MMSM22])."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.certificate.kernel import sensitivity_of
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.gate import Permit
from tetraodon.inference.consistency import EstimatedTable, agree
from tetraodon.inference.controlled_rounding import whole_tables
from tetraodon.inference.graphical_model import (
    GraphicalModel,
    NoisyTable,
    TargetTable,
    bring_all_nearer,
    fit_model,
    make_up,
    one_of,
)
from tetraodon.mechanism.one_scale import Direct
from tetraodon.mechanism.strategy import Strategy
from tetraodon.noise.elementary import choose_by_score
from tetraodon.noise.laws import NoiseLaw
from tetraodon.policy.policy import Policy
from tetraodon.query.aim import NOTHING, ChosenTables, Places
from tetraodon.query.contribution import One
from tetraodon.query.kinds import Query, SyntheticRecords
from tetraodon.query.linear import LinearQuery, Measurement, Split

Draw = Callable[[NoiseLaw, Fraction, tuple[int, ...]], Ints]
Choose = Callable[[Sequence[int], Fraction], int]
SHARED = 6
"""How many of the chosen tables may share an attribute, where few attributes are changed at once."""
MODEL, EACH = 20_000, 40
"""The most records that are made up before each choice, and how many for each cell of the largest table."""
MOST_EXPECTED = 2**40
"""No count is expected to be larger."""
TURNS, FIRST_SHARE = 6, 0.7
"""How often every table has its turn before each choice, and the share of what is amiss that is moved then."""


@dataclass(frozen=True)
class ChosenForRecords(Direct):
    """Noise on tables that are chosen for what is not told yet."""

    name = "chosen"
    words = "noise on tables chosen round by round"
    adds_noise = False

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        """Tables chosen without a limit, and such that few of them share an attribute: the better one is planned."""
        if not isinstance(query, SyntheticRecords):
            return
        splits = query.linear(policy.domain).by
        sizes = tuple(split.size(policy.domain) for split in splits)
        total = policy.size_is_public
        free = tuple(place for place, one in enumerate(splits) if total and _is_free(one, policy))
        if len(free) == len(splits):
            return
        if policy.known:
            raise Refused(
                "the tables that made-up records need are chosen one by one, which is not priced beside known counts",
                fix="release histograms of the attributes that belong together, and make records from them with "
                "`tetraodon synthesize` (td.synthesize in Python): they cost nothing more",
            )
        able = len(ChosenTables(splits, sizes, 0, 0, free, total).candidates)
        few = min(SHARED, len(splits) - 1)
        for most, usual in ((0, 3 * len(splits) // 2), (few, few * len(splits) // 2)):
            rounds = min(query.tables or usual, able)
            if not most or rounds > most:
                yield Strategy(self, (LinearQuery(ChosenTables(splits, sizes, rounds, most, free, total)),))

    def draw(self, measurement: Measurement, exact: NDArray[Any], permit: Permit) -> Ints:
        choose = partial(choose_by_score, coins=permit.coins)
        return draw_tables(_tables(measurement), exact, measurement.scale, measurement.noise, permit.noise, choose)

    def without_noise(self, measurement: Measurement, exact: NDArray[Any]) -> Ints:
        """The tables that are farthest off, one after the other."""

        def silent(_: NoiseLaw, __: Fraction, shape: tuple[int, ...]) -> Ints:
            return np.zeros(shape, np.int64)

        def farthest(scores: Sequence[int], _: Fraction) -> int:
            return int(np.argmax(scores))

        return draw_tables(_tables(measurement), exact, measurement.scale, measurement.noise, silent, farthest)

    def could_tell(self, measurement: Measurement, numbers: Ints) -> bool:
        tables = measurement.query.contribution
        return isinstance(tables, ChosenTables) and tables.told(numbers)


CHOSEN = ChosenForRecords()


def _tables(measurement: Measurement) -> ChosenTables:
    found = measurement.query.contribution
    assert isinstance(found, ChosenTables)
    return found


def _is_free(split: Split, policy: Policy) -> bool:
    return sensitivity_of(policy.graph, LinearQuery(One(), (split,))).value == 0


def draw_tables(
    tables: ChosenTables, counted: Ints, scale: Fraction, law: NoiseLaw, draw: Draw, choose: Choose
) -> Ints:
    """What is told of a table of records: `counted` has their codes, in bins, and how many have them.

    Post  as `certificate/nonlinear_loss.py` says. Scores are whole: exact counts, and numbers that follow from what was
          told before. Floats are in the latter alone, where they decide about nobody.
    """
    alone, wide = (scale * wider for wider in tables.wider(law))
    given = []
    for places in tables.given:
        exact = _count(tables, counted, places)
        noise = 0 if set(places) <= set(tables.free) else draw(law, alone, exact.shape)
        given.append((places, exact + noise))
    told, chosen = [cells for _, cells in given], list[tuple[Places, Ints]]()
    truth = {table: _count(tables, counted, table) for table in tables.candidates} if tables.rounds else {}
    model = _Model(tables, scale, law)
    ways = max(map(len, tables.candidates), default=1)
    typical = math.sqrt(law.variance(scale) * 2 / math.pi)
    for _ in range(tables.rounds):
        able = tables.open([table for table, _ in chosen])
        if not able:
            told.append(tables.line((), NOTHING))
            continue
        wanted = model.estimates(given, chosen, able)
        off = [int(np.abs(truth[t] - wanted[t]).sum()) - round(typical * tables.cells(t)) for t in able]
        scores = [len(table) * far for table, far in zip(able, off, strict=True)]
        table = able[choose(scores, ways * wide)]
        chosen.append((table, truth[table] + draw(law, scale, truth[table].shape)))
        told.append(tables.line(*chosen[-1]))
    return np.concatenate(told)


def _count(tables: ChosenTables, counted: Ints, places: Places) -> Ints:
    cell = np.zeros(len(counted), np.int64)
    for place in places:
        cell = cell * tables.sizes[place] + counted[:, place]
    found = np.zeros(tables.cells(places), np.int64)
    np.add.at(found, cell, counted[:, -1])
    return found


class _Model:
    """What is expected from what was told so far; each round begins where the last one ended."""

    def __init__(self, tables: ChosenTables, scale: Fraction, law: NoiseLaw) -> None:
        self._tables, self._scale, self._law = tables, scale, law
        self._n = min(MODEL, EACH * tables.longest)
        self._rng = np.random.default_rng(self._n)  # what it decides follows from what was told
        self._codes: dict[str, Ints] = {}
        self._last: GraphicalModel | None = None

    def estimates(
        self, given: list[tuple[Places, Ints]], chosen: list[tuple[Places, Ints]], asked: list[Places]
    ) -> dict[Places, Ints]:
        """Whole counts by some tables, as a model expects them, or as made-up records have them."""
        if self._tables.modelled:
            self._last = _modelled(self._tables, given, chosen, self._scale, self._law, self._last)
            return {one: _whole(self._last.counts(one)) for one in asked}
        domain, targets = _domain(self._tables), _targets(self._tables, given, chosen, self._scale, self._law)
        if not self._codes:
            self._codes = make_up(targets, domain, self._n)
        for turn in range(TURNS if chosen else 0):
            bring_all_nearer(self._codes, targets, domain, FIRST_SHARE * 0.88**turn, self._rng)
        codes = np.column_stack([*(self._codes[name] for name in self._tables.names), np.ones(self._n, np.int64)])
        times = float(targets[0].counts.sum()) / self._n
        return {one: _whole(_count(self._tables, codes, one).astype(np.float64) * times) for one in asked}


def _whole(expected: Floats) -> Ints:
    """Whole numbers that a score can be worked out from, whatever was told."""
    return np.rint(np.clip(np.nan_to_num(expected.ravel()), 0, MOST_EXPECTED)).astype(np.int64)


def _domain(tables: ChosenTables) -> Domain:
    """The bins of every attribute, by their numbers."""
    both = zip(tables.names, tables.sizes, strict=True)
    return Domain(tuple(Attribute(name, Integers(0, size - 1)) for name, size in both))


def _modelled(
    tables: ChosenTables,
    given: list[tuple[Places, Ints]],
    chosen: list[tuple[Places, Ints]],
    scale: Fraction,
    law: NoiseLaw,
    before: GraphicalModel | None = None,
) -> GraphicalModel:
    """The model that was told of. What is exact is fitted as if it had half the least noise."""
    least = math.sqrt(law.variance(scale))
    alone = math.sqrt(law.variance(scale * tables.wider(law)[0]))
    noisy, totals = list[NoisyTable](), list[tuple[float, float]]()
    for places, cells in (*given, *chosen):
        each = least / 2 if set(places) <= set(tables.free) else alone if len(places) == 1 else least
        counts = cells.astype(np.float64).reshape([tables.sizes[place] for place in places])
        noisy += [NoisyTable(places, counts, each)] if places else []
        totals.append((float(counts.sum()), counts.size * each**2))
    total = totals[0][0] if tables.total else sum(t / v for t, v in totals) / sum(1 / v for _, v in totals)
    return fit_model(noisy, tables.sizes, max(1.0, total), before)


def _targets(
    tables: ChosenTables,
    given: list[tuple[Places, Ints]],
    chosen: list[tuple[Places, Ints]],
    scale: Fraction,
    law: NoiseLaw,
) -> list[TargetTable]:
    """What was told, made to agree, whole and not negative."""
    variance, domain = law.variance(scale), _domain(tables)
    alone = law.variance(scale * tables.wider(law)[0])
    found = []
    for places, cells in (*given, *chosen):
        each = 0.0 if set(places) <= set(tables.free) else alone if len(places) == 1 else variance
        values = cells.astype(np.float64).reshape([tables.sizes[place] for place in places])
        found.append(EstimatedTable(tuple(Split(tables.names[place]) for place in places), values, each))
    agree(found, domain)
    whole = whole_tables(found, domain)
    both = zip(found, whole, strict=True)
    return [TargetTable("", one.splits, np.maximum(cells, 0.0)) for one, cells in both if one.splits]


def records_told(
    tables: ChosenTables, told: Ints, scale: Fraction, law: NoiseLaw, domain: Domain, n: int
) -> dict[str, Ints]:
    """The codes of `n` made-up records, by attribute, that have about the counts told. Within a bin all are alike."""
    rng, nowhere = np.random.default_rng(n + 1), np.zeros(n, np.int64)
    given, chosen = tables.read(told)
    if tables.modelled:
        made = _modelled(tables, given, chosen, scale, law).drawn(n, rng)
        codes = dict(zip(tables.names, made.T, strict=True))
    else:
        codes = make_up(_targets(tables, given, chosen, scale, law), _domain(tables), n)
    return {one.name: one_of(one, domain[one.name], codes[one.name], nowhere, rng) for one in tables.splits}
