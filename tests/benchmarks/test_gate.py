"""The gate of the benchmarks: what counts as worse, and that a disturbed run is not a worse program."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.gate import check, worsened


def row(ratio: float, target: float | None = None, better: str = "lower") -> dict[str, object]:
    return {"name": "figure", "ratio": ratio, "target": target, "better": better}


@pytest.mark.parametrize(
    ("old", "new", "bad"),
    [
        (row(0.9, 1), 1.19, False),
        (row(0.9, 1), 1.21, True),
        (row(3, None), 4.01, True),
        (row(4, 2, "higher"), 3.01, False),
        (row(4, 2, "higher"), 2.99, True),
        (row(0.001, 1), 0.009, False),
        (row(0.001, 1), 0.011, True),
    ],
)
def test_a_third_more_is_worse_unless_it_is_next_to_nothing(old, new, bad):
    assert worsened(old, row(new)) is bad


def runs(*ratios: float) -> Iterator[list[dict[str, object]]]:
    for ratio in ratios:
        yield [row(ratio)]


def test_the_best_of_three_runs_counts():
    several = runs(5, 1.2, 9)
    assert check([row(1)], lambda: next(several)) == []


def test_a_figure_that_stays_worse_is_told_with_both_numbers():
    several = runs(5, 4, 3)
    assert [str(worse) for worse in check([row(1)], lambda: next(several))] == ["figure: 3, committed 1"]


def test_a_figure_that_is_gone_is_worse():
    (worse,) = check([row(1)], list)
    assert worse.found != worse.found
