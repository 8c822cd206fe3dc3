"""Made-up records from tables that are chosen one after the other, for what those before do not tell ([MMSM22])."""

# ruff: noqa: ARG002 - every mechanism is asked in the same way, whatever it needs to know

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.certificate.kernel import sensitivity_of
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.inference.consistency import agree
from tetraodon.inference.made_up_records import TargetTable, bring_all_nearer, make_up, one_of
from tetraodon.inference.meeting import EstimatedTable
from tetraodon.inference.whole_tables import whole_tables
from tetraodon.mechanism.direct import Direct
from tetraodon.mechanism.strategy import Scaled, Strategy
from tetraodon.noise.laws import NoiseLaw
from tetraodon.policy.policy import Policy
from tetraodon.questions import Query, SyntheticRecords
from tetraodon.workload.chosen_tables import ChosenTables, Pair
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery, Split

Draw = Callable[[NoiseLaw, Fraction, tuple[int, ...]], Ints]
Choose = Callable[[Sequence[int], Fraction], int]
SHARED = 6
"""How many of the chosen tables may share an attribute, where few attributes are changed at once."""
MODEL, EACH = 20_000, 40
"""The most records that are made up before each choice, and how many for each cell of the largest table."""
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
        if not isinstance(query, SyntheticRecords) or policy.known:
            return
        splits = query.linear(policy.domain).by
        sizes = tuple(split.size(policy.domain) for split in splits)
        total = policy.size_is_public
        free = tuple(place for place, one in enumerate(splits) if total and _is_free(one, policy))
        if len(free) == len(splits):
            return
        able = len(ChosenTables(splits, sizes, 0, 0, free, total).pairs)
        few = min(SHARED, len(splits) - 1)
        for most, usual in ((0, 3 * len(splits) // 2), (few, few * len(splits) // 2)):
            rounds = min(query.tables or usual, able)
            if not most or rounds > most:
                yield Strategy(self, (LinearQuery(ChosenTables(splits, sizes, rounds, most, free, total)),))

    def sentence(self, at: Scaled, noise: str, size: str) -> str:
        tables = _tables(at)
        return (
            f"{noise} was added to counts by each attribute, and to {tables.rounds} tables of two attributes. These "
            "were chosen one after the other, at random, with chances that rise with how far off their counts were. "
            "The records were then made up so that they have about these counts. Nobody is any of them, and what goes "
            "together in three or more attributes is made up as well."
        )


CHOSEN = ChosenForRecords()


def _is_free(split: Split, policy: Policy) -> bool:
    return sensitivity_of(policy.graph, LinearQuery(One(), (split,))).value == 0


def _tables(at: Scaled) -> ChosenTables:
    found = at.strategy.noisy[0].contribution
    assert isinstance(found, ChosenTables)
    return found


def draw_tables(
    tables: ChosenTables, counted: Ints, scale: Fraction, law: NoiseLaw, draw: Draw, choose: Choose
) -> Ints:
    """What is told of a table of records: `counted` has their codes, in bins, and how many have them.

    Post  as `certificate/choice_loss.py` says. Scores are whole: exact counts, and numbers that follow from what was
          told before. Floats are in the latter alone, where they decide about nobody.
    """
    alone, wide = (scale * wider for wider in tables.wider(law))
    given = []
    for places in tables.given:
        exact = _count(tables, counted, places)
        noise = 0 if set(places) <= set(tables.free) else draw(law, alone, exact.shape)
        given.append((places, exact + noise))
    told, chosen = [cells for _, cells in given], list[tuple[Pair, Ints]]()
    truth = {pair: _count(tables, counted, pair) for pair in tables.pairs} if tables.rounds else {}
    model = _Model(tables, scale, law)
    typical = math.sqrt(law.variance(scale) * 2 / math.pi)
    for _ in range(tables.rounds):
        able = tables.open([pair for pair, _ in chosen])
        if not able:
            told.append(tables.line(None, np.zeros(0, np.int64)))
            continue
        wanted = model.estimates(given, chosen, able)
        scores = [int(np.abs(truth[p] - wanted[p]).sum()) - round(typical * tables.cells(p)) for p in able]
        pair = able[choose(scores, wide)]
        chosen.append((pair, truth[pair] + draw(law, scale, truth[pair].shape)))
        told.append(tables.line(*chosen[-1]))
    return np.concatenate(told)


def without_noise(tables: ChosenTables, counted: Ints, scale: Fraction, law: NoiseLaw) -> Ints:
    """What would be told without any noise: the tables that are farthest off, one after the other."""

    def silent(_: NoiseLaw, __: Fraction, shape: tuple[int, ...]) -> Ints:
        return np.zeros(shape, np.int64)

    return draw_tables(tables, counted, scale, law, silent, lambda scores, _: int(np.argmax(scores)))


def _count(tables: ChosenTables, counted: Ints, places: tuple[int, ...]) -> Ints:
    cell = np.zeros(len(counted), np.int64)
    for place in places:
        cell = cell * tables.sizes[place] + counted[:, place]
    found = np.zeros(tables.cells(places), np.int64)
    np.add.at(found, cell, counted[:, -1])
    return found


class _Model:
    """Made-up records that follow what was told so far; each round begins with those of the last."""

    def __init__(self, tables: ChosenTables, scale: Fraction, law: NoiseLaw) -> None:
        self._tables, self._scale, self._law = tables, scale, law
        self._n = min(MODEL, EACH * tables.longest)
        self._rng = np.random.default_rng(self._n)  # what it decides follows from what was told
        self._codes: dict[str, Ints] = {}

    def estimates(
        self, given: list[tuple[tuple[int, ...], Ints]], chosen: list[tuple[Pair, Ints]], asked: list[Pair]
    ) -> dict[Pair, Ints]:
        """Whole counts of the records by pairs of attributes, as made-up records have them."""
        domain, targets = _domain(self._tables), _targets(self._tables, given, chosen, self._scale, self._law)
        if not self._codes:
            self._codes = make_up(targets, domain, self._n)
        for turn in range(TURNS if chosen else 0):
            bring_all_nearer(self._codes, targets, domain, FIRST_SHARE * 0.88**turn, self._rng)
        codes = np.column_stack([*(self._codes[name] for name in self._tables.names), np.ones(self._n, np.int64)])
        times = float(targets[0].counts.sum()) / self._n
        return {pair: np.rint(_count(self._tables, codes, pair) * times).astype(np.int64) for pair in asked}


def _domain(tables: ChosenTables) -> Domain:
    """The bins of every attribute, by their numbers."""
    both = zip(tables.names, tables.sizes, strict=True)
    return Domain(tuple(Attribute(name, Integers(0, size - 1)) for name, size in both))


def _targets(
    tables: ChosenTables,
    given: list[tuple[tuple[int, ...], Ints]],
    chosen: list[tuple[Pair, Ints]],
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
    codes = make_up(_targets(tables, *tables.read(told), scale, law), _domain(tables), n)
    rng, nowhere = np.random.default_rng(n + 1), np.zeros(n, np.int64)
    return {one.name: one_of(one, domain[one.name], codes[one.name], nowhere, rng) for one in tables.splits}
