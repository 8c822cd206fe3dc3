"""What a view gives away by itself: an attacker who has nothing but the view learns from it how common values are.

Noise is spread evenly over the domain, and people are not. Somebody who has seen only the view can estimate how common
every value is, and which values go together. A tuple that is shown where many records were to be expected is
then hardly noise. The promise of [RS07] is kept all the same: such a prior exceeds d, and it was learnt from the view.
So the attack is played on every view that is drawn, which costs no privacy, and what it finds is told with the view.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from tetraodon.arrays import Floats, Ints
from tetraodon.domain import Domain
from tetraodon.errors import Refused
from tetraodon.publishing.channel import CopyChannel, SetChannel, SourceChannel, ViewChannel
from tetraodon.publishing.commonness import Learner
from tetraodon.publishing.distinct_tuples import Shown, shown
from tetraodon.publishing.plan import ViewPlan
from tetraodon.publishing.sampling import Cells
from tetraodon.publishing.series import Series
from tetraodon.publishing.source_noise import shares_of
from tetraodon.publishing.tuple_files import read_tuples

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
