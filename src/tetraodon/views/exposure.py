"""What a view exposes by itself: an attacker who learns from it how common values are; simulated beforehand.

Noise is spread evenly over the domain, and people are not. Somebody who has seen only the view can estimate how common
every value is, and which values go together. A tuple that is shown where many records were to be expected is
then hardly noise. The promise of [RS07] is kept all the same: such a prior exceeds d, and it was learnt from the view.
So the attack is played on every view that is drawn, at no privacy cost, and its findings are published with the view.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Bools, Floats, Ints
from tetraodon.noise.repeatable_coins import Dice
from tetraodon.views.channel import CopyChannel, SetChannel, SourceChannel, ViewChannel
from tetraodon.views.plan import ViewPlan
from tetraodon.views.sampling import Cells, view_cells
from tetraodon.views.series import Series
from tetraodon.views.source_noise import shares_of
from tetraodon.views.tuple_files import cells_of, codes_of, read_tuples

# -- distinct tuples --------------------------------------------------------------------------------
# The different tuples that a view shows, and how often: what an attacker has to start from.

MOST: Final = 1 << 22
"""Of more different tuples than this, evenly spaced ones are attacked, and stand for all."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The different tuples that an attacker sees, with what is known of each.

    Attributes
    ----------
    cells, copies: the tuples and how often each is shown.
    lift:          how much other views favour each of them already: 1 for a single view.
    here:          whether this view shows them.
    """

    cells: Cells
    copies: Ints
    lift: Floats
    here: Bools
    every: int = 1


class Gathering:
    """Collects the different tuples of a view as they pass, sorted by cell: evenly spaced ones if there are too many.

    Post  what is collected depends on the tuples alone, and not on where their parts begin and end.
    """

    def __init__(self) -> None:
        self._cells: list[Cells] = []
        self._copies: list[Ints] = []
        self._last: tuple[Cells, Ints] = (np.zeros(0, np.uint64), np.zeros(0, np.int64))
        self._every, self._passed, self._held = 1, 0, 0

    def add(self, part: Cells) -> None:
        """Look at the next tuples; the last one may go on in the next part."""
        if not len(part):
            return
        starts = np.flatnonzero(np.concatenate([[True], part[1:] != part[:-1]]))
        cells, copies = part[starts], np.diff(np.append(starts, len(part)))
        if len(self._last[0]) and self._last[0][0] == cells[0]:
            copies[0] += self._last[1][0]
        else:
            cells, copies = np.concatenate([self._last[0], cells]), np.concatenate([self._last[1], copies])
        self._keep(cells[:-1], copies[:-1])
        self._last = cells[-1:], copies[-1:]

    def shown(self) -> Shown:
        """What was collected."""
        self._keep(*self._last)
        self._last = self._last[0][:0], self._last[1][:0]
        cells = np.concatenate([np.zeros(0, np.uint64), *self._cells])
        copies = np.concatenate([np.zeros(0, np.int64), *self._copies])
        return Shown(cells, copies, np.ones(len(cells)), np.ones(len(cells), np.bool_), self._every)

    def _keep(self, cells: Cells, copies: Ints) -> None:
        start = -self._passed % self._every
        self._passed += len(cells)
        self._cells.append(cells[start :: self._every])
        self._copies.append(copies[start :: self._every])
        self._held += len(self._cells[-1])
        while self._held > MOST:
            self._cells = [np.concatenate(self._cells)[::2]]
            self._copies = [np.concatenate(self._copies)[::2]]
            self._every, self._held = 2 * self._every, len(self._cells[0])


def shown(parts: Iterable[Cells]) -> Shown:
    """The different tuples of a view that comes in parts, sorted by cell."""
    gathering = Gathering()
    for part in parts:
        gathering.add(part)
    return gathering.shown()


# -- commonness -------------------------------------------------------------------------------------
# How common tuples are, learnt from a view: values one by one, then the tree of attributes that go together.

FINE, COARSE = 1 << 16, 512
"""Attributes of more values are looked at in so many equal parts: one by one, and in pairs."""
CLEAR = 3.0
"""An estimate stands out if it is so many standard deviations above zero."""
LEAST = 1e-3
"""The least share of the records that is left to values that do not stand out, or have no weight."""
SMOOTHING = 300.0
"""A pair of values starts from independence, with the weight of so many records in all."""


@dataclass(frozen=True)
class Parts:
    """In which equal part of its attribute each tuple lies."""

    place: NDArray[np.int32]
    size: int
    width: int

    @classmethod
    def of(cls, codes: NDArray[np.uint64], values: int, most: int) -> Parts:
        width = -(-values // most)
        return cls((codes // np.uint64(width)).astype(np.int32), -(-values // width), width)

    def weigh(self, weights: NDArray[Any]) -> Floats:
        """The weight of each part."""
        return np.bincount(self.place, weights=weights, minlength=self.size).astype(np.float64)

    def others(self, weights: Floats) -> Floats:
        """The share of all other tuples' weight that is in the same part; never none."""
        rest = np.maximum(self.weigh(weights)[self.place] - weights, 0.0)
        return np.asarray(
            (1 - LEAST) * rest / np.maximum(weights.sum() - weights, 1e-9) + LEAST / self.size, np.float64
        )


def _tuples(parts: Parts, place: int, channel: ViewChannel, size: int) -> Floats | float:
    """What the tuples in each part of an attribute count as where noise is expected for each."""
    if not isinstance(channel, SourceChannel):
        return size / parts.size
    weights = np.array(channel.weights[place], np.float64)
    own = np.add.reduceat(weights, np.arange(0, len(weights), parts.width))
    return np.asarray(own / weights.sum() * float(channel.over(size)))


class Learner:
    """The tuples of a view by their parts in each attribute, and what they teach."""

    def __init__(self, domain: Domain, cells: Cells) -> None:
        self.domain, self.cells = domain, cells
        codes = codes_of(domain, cells)
        self.fine = [Parts.of(own, size, FINE) for own, size in zip(codes, domain.shape, strict=True)]
        self.coarse = [
            parts if parts.size <= COARSE else Parts.of(own, size, COARSE)
            for parts, own, size in zip(self.fine, codes, domain.shape, strict=True)
        ]

    def from_margins(self, copies: Ints, channel: ViewChannel, total: float) -> Floats:
        """Records to be expected at each tuple if attributes were independent.

        Why  every share is estimated without bias, as any count. Values whose estimate does not stand out from its own
             error share what is left evenly, so that noise is not taken for people.
        """
        keep, added, variance = (
            float(number) for number in (channel.keep, channel.added_per_tuple, channel.variance_per_tuple)
        )
        shares = []
        for place, parts in enumerate(self.fine):
            tuples = _tuples(parts, place, channel, self.domain.size)
            found = (parts.weigh(copies) - tuples * added) / keep
            clear = found > CLEAR * np.sqrt(tuples * variance) / keep
            rest = max(total - float(found[clear].sum()), LEAST * total) / max(1, int((~clear).sum()))
            shares.append(_normal(np.where(clear, found, rest)))
        return self._independent(shares, total)

    def from_ties(self, weights: Floats, total: float) -> Floats:
        """Records to be expected at each tuple, by all *other* tuples, which are records with these weights.

        Why  the tree of the strongest ties between attributes ([CL68]) is the likeliest model of its kind, and needs
             pairs only. A tuple is no evidence for itself: if it were, any rare value would confirm its only tuple.
        """
        expected = np.full(len(self.cells), total)
        for parts in self.fine:
            expected *= parts.others(weights) / parts.width
        ties = {
            pair: _strength(weights, *(self.coarse[place] for place in pair))
            for pair in itertools.combinations(range(len(self.coarse)), 2)
        }
        for one, other in _tree(len(self.coarse), ties):
            expected *= _factor(weights, self.coarse[one], self.coarse[other])
        return expected

    def _independent(self, shares: list[Floats], total: float) -> Floats:
        """The total times the share of each tuple's parts, spread evenly within them."""
        expected = np.full(len(self.cells), total)
        for parts, share in zip(self.fine, shares, strict=True):
            expected *= share[parts.place] / parts.width
        return expected


def _pairs(weights: Floats, one: Parts, other: Parts) -> tuple[Ints, Floats]:
    """The pair of parts of each tuple, and the weight of each pair."""
    place = one.place.astype(np.int64) * other.size + other.place
    return place, np.bincount(place, weights=weights, minlength=one.size * other.size).astype(np.float64)


def _strength(weights: Floats, one: Parts, other: Parts) -> float:
    """How much two attributes tell of each other."""
    counted = _pairs(weights, one, other)[1].reshape(one.size, other.size) + 1e-9
    joint = _normal(counted + SMOOTHING * np.outer(_normal(counted.sum(axis=1)), _normal(counted.sum(axis=0))))
    return float(np.sum(joint * np.log(joint / np.outer(joint.sum(axis=1), joint.sum(axis=0)))))


def _factor(weights: Floats, one: Parts, other: Parts) -> Floats:
    """By what factor each tuple's pair of values is commoner than chance, by all other tuples."""
    place, counted = _pairs(weights, one, other)
    left, right, all_ = one.others(weights), other.others(weights), weights.sum() - weights + SMOOTHING
    both = np.maximum(counted[place] - weights, 0.0) + SMOOTHING * left * right
    rows = np.maximum(one.weigh(weights)[one.place] - weights, 0.0) + SMOOTHING * left
    columns = np.maximum(other.weigh(weights)[other.place] - weights, 0.0) + SMOOTHING * right
    return np.asarray(both * all_ / (rows * columns), np.float64)


def _normal(numbers: NDArray[np.floating[Any]]) -> Floats:
    return np.asarray(numbers / numbers.sum(), np.float64)


def _tree(size: int, strength: dict[tuple[int, int], float]) -> list[tuple[int, int]]:
    """The pairs of the strongest tree.

    >>> _tree(3, {(0, 1): 0.1, (0, 2): 0.3, (1, 2): 0.2})
    [(0, 2), (1, 2)]
    """
    group, chosen = list(range(size)), []
    for one, other in sorted(strength, key=lambda pair: -strength[pair]):
        if group[one] != group[other]:
            chosen.append((one, other))
            old = group[other]
            group = [group[one] if found == old else found for found in group]
    return chosen


# -- exposure ---------------------------------------------------------------------------------------

BELIEF: Final = 0.9
"""Tuples are named that somebody believes to be records with at least this probability."""
BEFORE: Final = 0.5
"""A tuple is newly exposed if the attacker, before looking whether it is shown, believed in it with at most this."""
MOST_EXPOSED: Final = 0.01
"""A view is not published by itself if more than this share of the records is newly exposed."""
SHARES: Final = ("right", "records", "new_records")
ROUNDS: Final = 2
LEAST_WEIGHT: Final = 1e-4
"""Tuples that are noise with more certainty than this leaves say nothing about which values go together."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """What the attacker finds in a view, as they themselves can tell: nothing here needs the table.

    Attributes
    ----------
    named:       tuples of the view that are believed to be records with at least `BELIEF`.
    right:       the share of them that is expected to be.
    records:     the share of all records that is expected among them.
    new:         those of them in which the same attacker believed with at most `BEFORE` without looking at the tuple.
    new_records: the share of all records that is expected among those.
    """

    named: int
    right: float
    records: float
    new: int
    new_records: float

    def document(self) -> dict[str, Any]:
        """The finding as JSON, for view.json."""
        return {
            "belief": BELIEF,
            "before": BEFORE,
            "named": self.named,
            "right": float(f"{self.right:.6g}"),
            "records": float(f"{self.records:.6g}"),
            "new": self.new,
            "new_records": float(f"{self.new_records:.6g}"),
        }

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Exposure:
        """The finding that a document states."""
        return cls(**{name: document[name] for name in cls.__slots__})

    def agrees(self, stated: Mapping[str, Any]) -> bool:
        """Whether a document states this finding: the same counts, and shares but for the last of their six digits.

        Why   beliefs that decide a count take few values; that one of them is as near to `BELIEF` or `BEFORE` as
              machines differ is as good as impossible.
        """
        mine = self.document()
        return mine.keys() == stated.keys() and all(
            type(mine[key]) is type(stated[key])
            and math.isclose(mine[key], stated[key], rel_tol=1e-5 * (key in SHARES))
            for key in mine
        )


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What the attacker thinks of each tuple that is shown.

    Attributes
    ----------
    before: the belief that it is a record, from how common its values are alone.
    after:  the belief after seeing how often it is shown.
    held:   how many records are expected to have it.
    total:  how many records there are, known or estimated.
    """

    before: Floats
    after: Floats
    held: Floats
    total: float


def suspect(domain: Domain, channel: ViewChannel, seen: Shown, *, records: int | None = None) -> Suspicion:
    """Play the attack: how common is each tuple, by the view alone; which of those shown are then no noise?

    Why  values are taken as independent first. Weighed by the beliefs that follow, the tuples show which attributes go
         together; twice round, along the tree of the strongest ties, comes close to the likeliest such model.
         Beliefs hold in the long run: of tuples believed with 95%, about 95% are records.
    """
    added = float(channel.added_per_tuple * channel.over(domain.size))
    rows = int(seen.copies.sum()) * seen.every
    total = float(records) if records is not None else max((rows - added) / float(channel.keep), 1.0)
    expected = Learner(domain, seen.cells).from_margins(seen.copies * seen.every, channel, total)
    up = _favoured(channel, domain, seen.cells)
    after, held = beliefs(channel, expected * seen.lift, seen.copies, up)
    on = held > LEAST_WEIGHT
    learner = Learner(domain, seen.cells[on])
    for _ in range(ROUNDS if on.any() else 0):
        expected[on] = learner.from_ties(held[on], total)
        after[on], held[on] = beliefs(channel, expected[on] * seen.lift[on], seen.copies[on], up[on])
    if isinstance(channel, CopyChannel):
        held = held + (1 - float(channel.keep)) * expected
    return Suspicion(-np.expm1(-expected), after, held, total)


def exposure(domain: Domain, channel: ViewChannel, seen: Shown, *, records: int | None = None) -> Exposure:
    """What the attack finds, added up."""
    if not len(seen.cells):
        return Exposure(0, 0.0, 0.0, 0, 0.0)
    found = suspect(domain, channel, seen, records=records)
    named = (found.after >= BELIEF) & seen.here
    new = named & (found.before <= BEFORE)
    count = int(named.sum())
    return Exposure(
        count * seen.every,
        float(found.after[named].mean()) if count else 0.0,
        min(1.0, float(found.held[named].sum()) * seen.every / found.total),
        int(new.sum()) * seen.every,
        min(1.0, float(found.held[new].sum()) * seen.every / found.total),
    )


def _favoured(channel: ViewChannel, domain: Domain, cells: Cells) -> Floats:
    """By how much more likely each tuple is shown if it is a record, where there is one or none."""
    if isinstance(channel, SourceChannel):
        return 1 + float(channel.keep / channel.scale) / shares_of(channel, domain, cells)
    return np.full(len(cells), float(channel.shown / channel.noise))


def beliefs(channel: ViewChannel, expected: Floats, copies: Ints, up: Floats) -> tuple[Floats, Floats]:
    """How likely each tuple that is shown is a record, and how many of its copies are expected to be.

    Pre   the number of records of a tuple follows Poisson's law with the `expected` mean; of distinct rows there is one
          or none.
    Why   with x = keep * expected / noise, c copies were none of them kept with probability 1 / sum(x^j / j!, j <= c),
          and that sum is e^x Q(c + 1, x), an incomplete gamma function.
    """
    if not isinstance(channel, CopyChannel):
        odds = np.expm1(np.minimum(expected, 500.0)) * up
        belief = odds / (1 + odds)
        return belief, belief.copy()
    keep = float(channel.keep)
    x = np.minimum(keep * expected / float(channel.noise), 1e12)
    none, kept = 1 / (1 + x), x / (1 + x)  # for the many tuples of one copy
    several = copies > 1
    none[several], kept[several] = _of_several(x[several], copies[several])
    return 1 - none * np.exp(-(1 - keep) * expected), kept


def _of_several(x: Floats, copies: Ints) -> tuple[Floats, Floats]:
    """The chance that none of the copies was kept, and how many are expected to be."""
    from scipy.special import gammaincc  # it takes a while to import, and plans need none of it

    below, upto = gammaincc(copies, x), gammaincc(copies + 1, x)
    certain = upto < 1e-250  # x is far above the number of copies: each of them was kept
    upto[certain] = 1.0
    return np.where(certain, 0.0, np.exp(-x) / upto), np.where(certain, copies, x * below / upto)


def named_from(channel: ViewChannel) -> float:
    """How many records have to be expected at a tuple for one copy of it to be believed with `BELIEF`.

    >>> from fractions import Fraction
    >>> round(named_from(SetChannel(Fraction(4, 10), Fraction(1, 10))), 3)  # odds of 9 to 1, a fifth of it before
    1.03
    """
    low, high, up = 0.0, 50.0, np.array([float(channel.ratio_up)])
    for _ in range(60):
        middle = (low + high) / 2
        short = beliefs(channel, np.array([middle]), np.array([1]), up)[0][0] < BELIEF
        low, high = (middle, high) if short else (low, middle)
    return high


def is_dense(channel: ViewChannel) -> bool:
    """Whether one copy of a tuple takes nobody from a belief of at most `BEFORE` to one of `BELIEF`."""
    return -float(np.expm1(-named_from(channel))) > BEFORE


def folder_exposure(folder: Path, plan: ViewPlan, later: Mapping[str, Any] | None = None) -> Exposure:
    """What an attacker who has nothing but this folder finds. It is a function of what is published.

    `later` names the parts of a later view of a series, as view.json does.
    """
    domain = plan.policy.domain
    if later is None or plan.series is None:
        seen = shown(read_tuples(domain, folder / "tuples.parquet"))
        return exposure(domain, plan.channel, seen, records=plan.records)
    fresh, again, before = (_once(domain, folder / later[name]) for name in ("fresh", "rows", "before"))
    return exposure(domain, *_all_views(plan.series, int(later["number"]), fresh, again, before), records=plan.records)


def refuse_exposure(found: Exposure) -> None:
    """Refuse to publish a view that exposes too many by itself. It is kept as it was drawn, and can be published later.

    Why  it depends on the view alone; so whether it happens tells no more than the view does.
    """
    if found.new_records > MOST_EXPOSED:
        raise Refused(
            f"the view is drawn and paid for, and held back: it alone names {found.new:,} of its tuples as records "
            f"with a belief of {BELIEF:.0%}, where how common their values are left at most {BEFORE:.0%}; they are "
            f"about {100 * found.new_records:.3g}% of all records, and more than {MOST_EXPOSED:.0%} is not published "
            "unasked",
            fix="publish it with --resume --accept-exposure at no further charge if that is acceptable "
            "(resume=True, accept_exposure=True in Python), or plan a view of fewer or coarser attributes, or release "
            "tables",
        )


def _all_views(series: Series, number: int, fresh: Cells, again: Cells, before: Cells) -> tuple[SetChannel, Shown]:
    """Everything that so many views have shown, as if by one view.

    Why  a tuple is shown by some view with the chance that not all of them leave it out. One that is shown again now
         is favoured once more, one that is not is cleared a little.
    """
    quiet = float(1 - series.fresh.noise) ** number
    record = quiet * float(1 - series.fresh.keep) ** number
    channel = SetChannel(Fraction(quiet - record), Fraction(1 - quiet))
    cells = np.union1d(before, fresh)
    back, old = np.isin(cells, again), np.isin(cells, before)
    lift = np.where(back, float(series.seen.ratio_up), np.where(old, float(series.seen.ratio_down), 1.0))
    return channel, Shown(cells, np.ones(len(cells), np.int64), lift, back | ~old)


def _once(domain: Domain, path: Path) -> Cells:
    return np.unique(np.concatenate([np.zeros(0, np.uint64), *read_tuples(domain, path)]))


# -- rehearsal --------------------------------------------------------------------------------------
# What views of a plan expose on synthetic tables of the stated size, before any data is seen.
#
# How much a view exposes depends on its table, so the policy alone does not say. Views are drawn of tables of two
# kinds: with independent attributes, and with half of the records repeating another. The first value of an attribute
# is k times as common as the k-th.

PLAYS: Final = 20
"""Tables of each kind."""
MOST_ROWS: Final = 200_000
"""Longer views are not played: a plan would take long."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The shares of all records that views of tables of one kind newly expose, in rising order."""

    repeated: Fraction
    shares: tuple[float, ...]

    @property
    def held_back(self) -> int:
        """How many of the views `publish` would hold back."""
        return sum(share > MOST_EXPOSED for share in self.shares)


def rehearse(plan: ViewPlan) -> tuple[Rehearsal, ...]:
    """Views of tables of each kind; none for a series, noise from a source, or where it would take long."""
    records = round(plan.most_records)
    if plan.series is not None or isinstance(plan.channel, SourceChannel) or records < 1:
        return ()
    if records + plan.noise_tuples > MOST_ROWS:
        return ()
    kinds = [Fraction(0)] if plan.adversary.rows == "distinct" else [Fraction(0), Fraction(1, 2)]
    return tuple(
        Rehearsal(kind, tuple(sorted(_played(plan, records, kind, Dice(n)) for n in range(PLAYS)))) for kind in kinds
    )


def _played(plan: ViewPlan, records: int, repeated: Fraction, dice: Dice) -> float:
    """The share of the records that one view of one table newly exposes."""
    domain = plan.policy.domain
    cells, counts = np.unique(_table(domain, records, repeated, dice), return_counts=True)
    if plan.adversary.rows == "distinct":
        counts = np.ones_like(counts)
    seen = shown(view_cells(plan.channel, plan.tuples, cells, counts, coins=dice))
    return exposure(domain, plan.channel, seen, records=plan.records and int(counts.sum())).new_records


def _table(domain: Domain, records: int, repeated: Fraction, dice: Dice) -> Cells:
    columns = []
    for attribute in domain:
        common = np.cumsum(1 / np.arange(1.0, attribute.size + 1))
        columns.append(np.searchsorted(common, dice.random.random(records) * common[-1]))
    cells = cells_of(domain, np.stack(columns, axis=1))
    copies = int(repeated * records)
    cells[:copies] = cells[copies:][dice.random.integers(0, records - copies, copies)]
    return cells
