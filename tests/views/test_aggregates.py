"""Counts, sums, averages and numbers of values: unbiased by enumeration, and intervals that cover."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tetraodon.exact.arrays import Floats
from tetraodon.inference.estimate import Estimate
from tetraodon.views import estimate as aggregates
from tetraodon.views.channel import CopyChannel, SetChannel, ViewChannel
from tetraodon.views.estimate import Records, ShownPart

F = Fraction
PAIRS = [
    (SetChannel(F(1, 2), F(1, 20)), SetChannel(F(1, 4), F(3, 10))),
    (CopyChannel(F(1, 2), F(1, 20)), CopyChannel(F(1, 2), F(1, 2))),
]


def total(records: Records, parts: list[ShownPart], values: Floats) -> Estimate:
    return records.totals([part.in_rows(np.arange(len(values))[None]) for part in parts], values[None])[0]


def mean(records: Records, parts: list[ShownPart], values: Floats) -> Estimate:
    return records.means(
        [part.in_rows(np.arange(len(values))[None]) for part in parts], values[None], np.ones((1, len(values)), bool)
    )[0]


def test_two_parts_are_unbiased() -> None:
    """Three tuples, of which the last was shown before; the first and the last are records."""
    fresh, seen = PAIRS[0]
    records, values = Records(F(1, 10), None, F(9, 10)), np.array([3.0, 5.0, 7.0])
    chances = [fresh.shown, fresh.noise, seen.shown]
    counted = added = 0.0
    for view in itertools.product((0, 1), repeat=3):
        chance = math.prod(float(p if yes else 1 - p) for p, yes in zip(chances, view, strict=True))
        parts = [
            ShownPart(fresh, np.array([view[0], view[1], 0], object), np.array([1, 1, 0], object)),
            ShownPart(seen, np.array([0, 0, view[2]], object), np.array([0, 0, 1], object)),
        ]
        counted += chance * records.count(parts)
        added += chance * total(records, parts, values)
    assert (counted, added) == pytest.approx((2, 10))


def drawn(channel: ViewChannel, counts: Any, rng: np.random.Generator) -> Any:
    if isinstance(channel, SetChannel):
        return (rng.random(counts.shape) < np.where(counts > 0, float(channel.shown), float(channel.noise))).astype(int)
    return rng.binomial(counts, float(channel.keep)) + rng.geometric(1 - float(channel.noise), counts.shape) - 1


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(("later", "views"), [(False, 100), (True, 30)])
def test_intervals_cover(pair: tuple[ViewChannel, ViewChannel], later: bool, views: int) -> None:
    """A true coverage of 90% raises alarm once in a billion; numbers of values, which take long, in 30 views each."""
    rng, labels = np.random.default_rng(3), np.arange(-2.0, 6.0)
    counts = np.zeros((8, 100), int)
    if isinstance(pair[0], SetChannel):
        counts.flat[rng.choice(600, 200, replace=False)] = 1
    else:
        counts.flat[:600] = np.bincount(rng.choice(600, 200), minlength=600)
    each = counts.sum(axis=1)
    truths = {"count": 200.0, "total": each @ labels, "mean": each @ labels / 200, "distinct": float((each > 0).sum())}
    assert truths["distinct"] == 6
    before = np.broadcast_to((np.arange(100) % 5 == 0) & later, (8, 100))
    records, drawings = Records(F(1, 10), None, F(9, 10)), []
    for _ in range(views):
        parts = []
        for channel, where in zip(pair, (~before, before), strict=True):
            seen = np.where(where, drawn(channel, counts * where, rng), 0)
            parts.append(ShownPart(channel, *(np.array(one.sum(axis=1).tolist(), object) for one in (seen, where))))
        drawings.append(parts if later else parts[:1])
    together = [
        ShownPart(
            parts[0].channel, *(np.stack([getattr(part, name) for part in parts]) for name in ("in_view", "in_domain"))
        )
        for parts in zip(*drawings, strict=True)
    ]
    values = np.tile(labels, (views, 1))
    found = {
        "count": [records.count(parts) for parts in drawings],
        "total": records.totals(together, values),
        "mean": records.means(together, values, np.ones(values.shape, bool)),
        "distinct": [records.distinct(parts, labels) for parts in drawings[:30]],
    }
    for name, told in found.items():
        held = sum(one.lower <= truths[name] + 1e-9 and truths[name] - 1e-9 <= one.upper for one in told)
        assert held >= stats.binom.ppf(1e-9, len(told), 0.9)


def test_where_nothing_can_be() -> None:
    none = [ShownPart(PAIRS[0][0], np.array([0, 0], object), np.array([0, 0], object))]
    records, values = Records(F(1, 10), 5, F(9, 10)), np.array([2.0, 4.0])
    assert (records.count(none).interval, records.distinct(none, values).interval) == ((0, 0), (0, 0))
    assert mean(records, none, values).interval == (2, 4)


def test_values_that_surely_occur_and_those_that_may() -> None:
    part = ShownPart(PAIRS[0][0], np.array([60, 5, 4, 0], object), np.array([100, 100, 100, 0], object))
    found = Records(F(1, 20), None, F(19, 20)).distinct([part], np.array([1.0, 2.0, 3.0, 4.0]))
    assert (found.lower, found.value, found.upper) == (1, 1, 3)
    assert Records(F(1, 20), 2, F(19, 20)).distinct([part], np.array([1.0, 2.0, 3.0, 4.0])).upper == 2


@pytest.mark.parametrize("pair", PAIRS)
def test_many_groups_at_once_are_as_each_by_itself(
    pair: tuple[ViewChannel, ViewChannel], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups of which other values are known, one that nobody can be in, and two groups being looked at together."""
    monkeypatch.setattr(aggregates, "AT_ONCE", 12)
    rng = np.random.default_rng(9)
    in_domain, values = rng.integers(0, 40, (2, 6, 5)), rng.normal(0, 9, (6, 5))
    known = rng.random((6, 5)) < 0.7
    known[0], in_domain[:, 1] = True, 0
    in_view = rng.binomial(in_domain, 0.4)
    parts = [
        ShownPart(one, v.astype(object), d.astype(object)) for one, v, d in zip(pair, in_view, in_domain, strict=True)
    ]
    records = Records(F(1, 10), 90, F(9, 10))
    shown, told = [part.where(known) for part in parts], np.where(known, values, 0.0)
    sums, means = records.totals(shown, told), records.means(shown, told, known)
    for at in range(6):
        alone = [part.at((at, known[at])) for part in parts]
        for found, one in (
            (sums[at], total(records, alone, values[at, known[at]])),
            (means[at], mean(records, alone, values[at, known[at]])),
        ):
            assert [found.value, *found.interval] == pytest.approx([one.value, *one.interval])
    assert means[1].interval == (values[1, known[1]].min(), values[1, known[1]].max())
