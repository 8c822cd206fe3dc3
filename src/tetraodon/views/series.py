"""Several views of one table as it changes: what all of them together tell about one record ([RS07] 4.4.1).

Publishing every version on its own breaches: a tuple that shows up in every view is no accident. So a tuple that has
been shown before gets much more noise from then on, and the probabilities are chosen from the exact worst
likelihood ratio over everything that all views can show, for a tuple that is in the table at any times at all.

The ledger is charged for every view on its own: a person's record may have another value in every version.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tetraodon.errors import Refused
from tetraodon.exact.arrays import Bools, Ints
from tetraodon.noise.coins import Coins
from tetraodon.noise.elementary import rational_heads, waiting_times
from tetraodon.policy.adversary import Adversary, largest_ratio
from tetraodon.views.channel import SPARE, CopyChannel, SetChannel, ViewChannel, rounded_above
from tetraodon.views.sampling import CHUNK, Cells, kept_cells, merged, view_cells


@dataclass(frozen=True, slots=True)
class Series:
    """The channel of tuples that no earlier view has shown, that of the others, and how many views there will be.

    >>> series = Series(SetChannel(Fraction(2, 5), Fraction(1, 10)), SetChannel(Fraction(1, 10), Fraction(2, 5)), 3)
    >>> series.ratio_up(1), series.ratio_up(3)
    (Fraction(5, 1), Fraction(125, 16))
    """

    fresh: ViewChannel
    seen: ViewChannel
    views: int

    def ratio_up(self, views: int) -> Fraction:
        """The most that so many views can favour that a record was there at some times, against never.

        Why  a view favours it when it shows the tuple: once as a fresh one, and then as one that was seen.
        """
        return self.fresh.ratio_up * self.seen.ratio_up ** (views - 1)

    def ratio_down(self, views: int) -> Fraction:
        """The least that so many views can favour it: when none shows the tuple."""
        return min(self.fresh.ratio_down, self.seen.ratio_down) ** views

    def withstands(self, adversary: Adversary, d: Fraction) -> bool:
        """Whether all views together keep the adversary's bounds, exactly."""
        up, down = self.ratio_up(self.views), self.ratio_down(self.views)
        most = largest_ratio(d, adversary.gamma)
        if adversary.kind == "exclusive":
            return up / down <= most
        return up <= most and down >= d / adversary.gamma

    def variance(self, number: int, records: Fraction, tuples: int) -> Fraction:
        """About the variance of a count of everything from view `number`: all noise shown before counts as seen."""
        shown = min(Fraction(tuples), tuples * self.fresh.noise * (number - 1) + records * (number > 1))
        fresh = (tuples - shown) * self.fresh.variance_per_tuple / self.fresh.keep**2
        seen = shown * self.seen.variance_per_tuple / self.seen.keep**2
        return fresh + seen + records * self.fresh.shown * (1 - self.fresh.shown) / self.fresh.keep**2


@lru_cache(maxsize=64)
def best_series(adversary: Adversary, d: Fraction, records: Fraction, tuples: int) -> Series:
    """Of the probabilities on a grid that withstand the adversary and err hardly more than the best, the least loss.

    The error is that of the mean variance over the views, and the loss that of a view of tuples not shown before.
    """
    made: list[tuple[float, Series]] = []
    for shown, step in itertools.product(range(2, 100, 2), range(1, 60)):
        series = _tight(adversary, d, Fraction(shown, 100), 1 + Fraction(step, 25))
        if series is not None and series.withstands(adversary, d):
            cost = sum(float(series.variance(i, records, tuples)) for i in range(1, adversary.views + 1))
            made.append((cost, series))
    if not made:
        raise Refused(
            f"no probabilities keep the adversary's bounds over {adversary.views} views",
            fix="plan fewer views, allow a larger posterior, or assume an attacker who knows less",
            where="adversary",
        )
    bound = min(cost for cost, _ in made) * float(SPARE**2)
    near = [series for cost, series in made if cost <= bound]
    return min(near, key=lambda series: series.fresh.replace_ratio * series.fresh.presence_ratio)


def _tight(adversary: Adversary, d: Fraction, s: Fraction, again: Fraction) -> Series | None:
    """The least noise when a record is shown with chance s and every view after the first adds a factor `again`."""
    most = largest_ratio(d, adversary.gamma)
    if adversary.kind == "exclusive":
        most *= (1 - s) ** adversary.views
    first = most / again ** (adversary.views - 1)
    if first <= 1:
        return None
    if adversary.rows == "distinct":
        fresh, seen = rounded_above(s / first), rounded_above(s / again)
        if not fresh <= seen < s:
            return None
        return Series(SetChannel(s - fresh, fresh), SetChannel(s - seen, seen), adversary.views)
    fresh, seen = rounded_above(s / (first - 1 + s)), rounded_above(s / (again - 1 + s))
    if not fresh <= seen < 1:
        return None
    return Series(CopyChannel(s, fresh), CopyChannel(s, seen), adversary.views)


def fresh_cells(series: Series, size: int, cells: Cells, counts: Ints, seen: Cells, *, coins: Coins) -> Iterator[Cells]:
    """The part of a view among tuples that no earlier view has shown, sorted."""
    new = ~np.isin(cells, seen, assume_unique=True)
    for part in view_cells(series.fresh, size, cells[new], counts[new], coins=coins):
        yield part[~_among(part, seen)]


def seen_cells(series: Series, cells: Cells, counts: Ints, seen: Cells, *, coins: Coins) -> Cells:
    """The part of a view among tuples that an earlier view has shown, sorted."""
    old = np.isin(cells, seen, assume_unique=True)
    kept = kept_cells(series.seen, cells[old], counts[old], coins)
    noise = [_noise(series.seen, seen[start : start + CHUNK], coins) for start in range(0, len(seen), CHUNK)]
    return merged(np.concatenate([seen[:0], *noise]), kept, once=isinstance(series.seen, SetChannel))


def _noise(channel: ViewChannel, cells: Cells, coins: Coins) -> Cells:
    if isinstance(channel, SetChannel):
        return cells[rational_heads(channel.noise, len(cells), coins)]
    return np.repeat(cells, waiting_times(1 - channel.noise, len(cells), 2**40, coins).astype(np.int64))


def _among(cells: Cells, seen: Cells) -> Bools:
    if not len(seen):
        return np.zeros(len(cells), bool)
    place = np.minimum(np.searchsorted(seen, cells), len(seen) - 1)
    return np.asarray(seen[place] == cells)
