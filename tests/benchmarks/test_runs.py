"""Several runs of a benchmark: the middle one counts, and its spread is told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.runs import several


def runs(*ratios: float, **more: object) -> Iterator[list[dict[str, object]]]:
    for ratio in ratios:
        yield [{"name": "figure", "ratio": ratio, **more}]


def test_the_middle_one_of_three_counts_and_all_are_its_spread():
    found = runs(5, 1, 2)
    assert several(lambda: next(found)) == [{"name": "figure", "ratio": 2, "least": 1, "most": 5, "runs": 3}]


def test_the_worse_one_of_two_counts():
    higher, lower = runs(1, 2, better="higher"), runs(1, 2)
    assert several(lambda: next(higher), runs=2)[0]["ratio"] == 1
    assert several(lambda: next(lower), runs=2)[0]["ratio"] == 2


def test_a_benchmark_that_tells_its_own_spread_is_run_once():
    found = runs(3, least=2, most=4, runs=9)
    assert several(lambda: next(found)) == [{"name": "figure", "ratio": 3, "least": 2, "most": 4, "runs": 9}]


def test_patience_has_an_end():
    found = runs(3)
    assert several(lambda: next(found), patience=0)[0]["runs"] == 1


def test_two_figures_of_one_name_are_refused():
    with pytest.raises(SystemExit, match="one name"):
        several(lambda: [{"name": "a", "ratio": 1}, {"name": "a", "ratio": 2}], runs=1)
