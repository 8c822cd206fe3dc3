"""Fewer things to draw: averages over blocks, with the intervals that the picture states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tetraodon.domain import Attribute, Integers
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.report.chart import MOST_NAMES, grouped, largest
from tetraodon.report.picture import DrawnAxis, Picture, date_text, places, rounded


def axis(size: int) -> DrawnAxis:
    codes = np.arange(size, dtype=np.int64)
    return DrawnAxis("x", (), Attribute("x", Integers(0, size - 1)), codes, codes)


def picture(values: Floats, *axes: DrawnAxis) -> Picture:
    def sums(starts: Sequence[Ints]) -> tuple[Floats, Floats]:
        found = values
        for place, at in enumerate(starts):
            found = np.add.reduceat(found, at[:-1], axis=place)
        return found - 7, found + 3

    return Picture("It", axes, "records", values, values, values, sums=sums)


def test_blocks_are_averaged_by_brute_force() -> None:
    values = np.random.default_rng(5).integers(0, 9, (11, 2, 7)).astype(float)
    small = grouped(picture(values, axis(11), DrawnAxis("y", ("a", "b")), axis(7)), 4)
    assert [one.size for one in small.axes] == [4, 2, 4]
    assert [small.axes[0].text(place) for place in range(4)] == ["0..2", "3..5", "6..8", "9..10"]
    for i in range(4):
        for j in range(2):
            for k in range(4):
                block = values[3 * i : 3 * i + 3, j, 2 * k : 2 * k + 2]
                assert small.values[i, j, k] == block.sum() / block.size
                assert small.lower[i, j, k] == max(block.sum() - 7, 0) / block.size
                assert small.upper[i, j, k] == (block.sum() + 3) / block.size
    assert "3 times 2 at a time" in small.note


def test_short_pictures_and_those_without_sums_stay_whole() -> None:
    values = np.arange(6.0)
    whole = picture(values, axis(6))
    assert grouped(whole, 6) is whole
    alone = Picture("It", (axis(6),), "average", values, values, values)
    assert grouped(alone, 2) is alone


def test_the_largest_names_are_kept_in_order() -> None:
    values = np.arange(MOST_NAMES + 5.0)
    names = tuple(f"n{place}" for place in range(len(values)))
    few = largest(Picture("It", (DrawnAxis("x", names),), "records", values, values, values))
    assert few.axes[0].names[:2] == (names[-1], names[-2])
    assert list(few.values) == sorted(values, reverse=True)[:MOST_NAMES]


# -- rounding ----------------------------------------------------------------------------------------
# Numbers as people read them: no finer than their error allows, intervals rounded outwards.


def test_numbers_are_rounded_as_their_intervals_allow() -> None:
    assert places(np.array([245.0]), np.array([305.0])) == 0
    assert places(np.array([38.6416]), np.array([38.6447])) == 4
    assert places(np.array([3.0]), np.array([3.0])) == 0
    assert (rounded(244.999, 0, up=False), rounded(305.001, 0, up=True)) == ("244", "306")
    assert (rounded(245.0, 0, up=False), rounded(305.0, 0, up=True)) == ("245", "305")
    assert date_text("soon") == "soon"
