"""Made-up records from tables that are chosen one after the other, for what those before do not tell ([MMSM22])."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.certificate.kernel import sensitivity_of
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Floats, Ints
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
from tetraodon.mechanism.strategy import Strategy, contribution_of
from tetraodon.noise.elementary import choose_by_score
from tetraodon.noise.laws import NoiseLaw
from tetraodon.policy.policy import Policy
from tetraodon.query.aim import NOTHING, ChosenTables, Places
from tetraodon.query.contribution import One
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.query import Query
from tetraodon.query.synthetic import SyntheticRecords

if TYPE_CHECKING:
    from tetraodon.gate import Permit

Draw = Callable[[NoiseLaw, Fraction, tuple[int, ...]], Ints]
Choose = Callable[[Sequence[int], Fraction], int]
Told = list[tuple[Places, Ints]]
"""Tables, by the places of their attributes, and their cells."""
SHARED = 6
"""How many of the chosen tables may share an attribute, where few attributes are changed at once."""
MODEL, EACH = 20_000, 40
"""The most records that are made up before each choice, and how many for each cell of the largest table."""
MOST_EXPECTED = 2**40
"""No count is expected to be larger."""
TURNS, FIRST_SHARE = 6, 0.7
"""How often every table has its turn before each choice, and the share of what is amiss that is moved then."""


@dataclass(frozen=True)
class AdaptiveMarginals(Direct):
    """Noise on tables that are chosen for what is not told yet."""

    name = "chosen"
    answers = (SyntheticRecords,)
    words = "noise on tables chosen round by round"
    adds_noise = False

    def propose(self, query: Query, policy: Policy) -> Iterator[Strategy]:
        """Tables chosen without a limit, and such that few of them share an attribute: the better one is planned."""
        assert isinstance(query, SyntheticRecords)
        splits = query.linear(policy.domain).by
        sizes = tuple(split.size(policy.domain) for split in splits)
        total = policy.size_is_public
        free = tuple(
            place
            for place, one in enumerate(splits)
            if total and sensitivity_of(policy.graph, LinearQuery(One(), (one,))).value == 0
        )
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
        return draw_tables(measurement, exact, permit.noise, partial(choose_by_score, coins=permit.coins))

    def without_noise(self, measurement: Measurement, exact: NDArray[Any]) -> Ints:
        """The tables that are farthest off, one after the other."""

        def silent(_: NoiseLaw, __: Fraction, shape: tuple[int, ...]) -> Ints:
            return np.zeros(shape, np.int64)

        def farthest(scores: Sequence[int], _: Fraction) -> int:
            return int(np.argmax(scores))

        return draw_tables(measurement, exact, silent, farthest)


AIM = AdaptiveMarginals()


def draw_tables(measurement: Measurement, counted: Ints, draw: Draw, choose: Choose) -> Ints:
    """What is told of a table of records: `counted` has their codes, in bins, and how many have them.

    Post  as `query/aim.py` says. Scores are whole: exact counts, and numbers that follow from what was
          told before. Floats are in the latter alone, where they decide about nobody.
    """
    tables = contribution_of(measurement.query, ChosenTables)
    scale, law = measurement.scale, measurement.noise
    alone, wide = (scale * wider for wider in tables.wider(law))
    given = []
    for places in tables.given:
        exact = _count(tables, counted, places)
        noise = 0 if set(places) <= set(tables.free) else draw(law, alone, exact.shape)
        given.append((places, exact + noise))
    told, chosen = [cells for _, cells in given], Told()
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
        self._tables = tables
        self._variance, self._alone = law.variance(scale), law.variance(scale * tables.wider(law)[0])
        self._n = min(MODEL, EACH * tables.longest)
        self._rng = np.random.default_rng(self._n)  # what it decides follows from what was told
        self._codes: dict[str, Ints] = {}
        self._last: GraphicalModel | None = None
        both = zip(tables.names, tables.sizes, strict=True)
        self.domain = Domain(tuple(Attribute(name, Integers(0, size - 1)) for name, size in both))
        """The bins of every attribute, by their numbers."""

    def estimates(self, given: Told, chosen: Told, asked: list[Places]) -> dict[Places, Ints]:
        """Whole counts by some tables, as a model expects them, or as made-up records have them."""
        if self._tables.modelled:
            self._last = self.fitted(given, chosen)
            return {one: _whole(self._last.counts(one)) for one in asked}
        targets = self.targets(given, chosen)
        if not self._codes:
            self._codes = make_up(targets, self.domain, self._n)
        for turn in range(TURNS if chosen else 0):
            bring_all_nearer(self._codes, targets, self.domain, FIRST_SHARE * 0.88**turn, self._rng)
        codes = np.column_stack([*(self._codes[name] for name in self._tables.names), np.ones(self._n, np.int64)])
        times = float(targets[0].counts.sum()) / self._n
        return {one: _whole(_count(self._tables, codes, one).astype(np.float64) * times) for one in asked}

    def fitted(self, given: Told, chosen: Told) -> GraphicalModel:
        """The model that was told of. What is exact is fitted as if it had half the least noise."""
        noisy, totals = list[NoisyTable](), list[tuple[float, float]]()
        for places, counts, variance in self._counts(given, chosen, exact=self._variance / 4):
            noisy += [NoisyTable(places, counts, math.sqrt(variance))] if places else []
            totals.append((float(counts.sum()), counts.size * variance))
        total = totals[0][0] if self._tables.total else sum(t / v for t, v in totals) / sum(1 / v for _, v in totals)
        return fit_model(noisy, self._tables.sizes, max(1.0, total), self._last)

    def targets(self, given: Told, chosen: Told) -> list[TargetTable]:
        """What was told, made to agree, whole and not negative."""
        names = self._tables.names
        found = [
            EstimatedTable(tuple(Split(names[place]) for place in places), counts, variance)
            for places, counts, variance in self._counts(given, chosen, exact=0.0)
        ]
        agree(found, self.domain)
        both = zip(found, whole_tables(found, self.domain), strict=True)
        return [TargetTable("", one.splits, np.maximum(cells, 0.0)) for one, cells in both if one.splits]

    def _counts(self, given: Told, chosen: Told, *, exact: float) -> Iterator[tuple[Places, Floats, float]]:
        """The tables that were told, each with the variance of its numbers; `exact` where there is no noise in them."""
        tables = self._tables
        for places, cells in (*given, *chosen):
            noisy = self._alone if len(places) == 1 else self._variance
            counts = cells.astype(np.float64).reshape([tables.sizes[place] for place in places])
            yield places, counts, exact if set(places) <= set(tables.free) else noisy


def _whole(expected: Floats) -> Ints:
    """Whole numbers that a score can be worked out from, whatever was told."""
    return np.rint(np.clip(np.nan_to_num(expected.ravel()), 0, MOST_EXPECTED)).astype(np.int64)


def records_told(
    tables: ChosenTables, told: Ints, scale: Fraction, law: NoiseLaw, domain: Domain, n: int
) -> dict[str, Ints]:
    """The codes of `n` made-up records, by attribute, that have about the counts told. Within a bin all are alike."""
    rng, nowhere = np.random.default_rng(n + 1), np.zeros(n, np.int64)
    given, chosen = tables.tables(told)
    model = _Model(tables, scale, law)
    if tables.modelled:
        codes = dict(zip(tables.names, model.fitted(given, chosen).drawn(n, rng).T, strict=True))
    else:
        codes = make_up(model.targets(given, chosen), model.domain, n)
    return {one.name: one_of(one, domain[one.name], codes[one.name], nowhere, rng) for one in tables.splits}
