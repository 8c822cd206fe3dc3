"""Every kind of query: each of its 95% intervals covers the truth at least 95% of the time.

A policy is simulated many times: the same synthetic people, fresh noise in each release. Each published number misses
its truth in at most one release of twenty, so that the number of misses is at most binomial. The test fails by chance
with a probability of at most 1e-7 over all numbers of all kinds together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import tetraodon as td
from tetraodon.query.kinds import KINDS

RELEASES, FALSE_ALARM, MOST_NUMBERS = 200, 1e-7, 10_000
MOST_MISSES = int(binom.isf(FALSE_ALARM / MOST_NUMBERS, RELEASES, 0.05))
ATTRIBUTES: dict[str, Any] = {
    "x": {"integer": [0, 15]},
    "y": {"integer": [0, 9]},
    "wage": {"integer": [2, 40]},
    "s": ["f", "m"],
}
ITEMS: dict[str, dict[str, Any]] = {
    "Count": {"count": "x < 5"},
    "Histogram": {"histogram": ["x", "s"]},
    "Cdf": {"cdf": "x"},
    "Ranges": {"ranges": {"x": [[0, 1], [4, 9], [2, 15]]}},
    "Total": {"total": "x", "by": "s"},
    "Mean": {"mean": "x", "by": "s"},
    "Proportion": {"proportion": "x < 5"},
    "RatioOfTotals": {"ratio": ["x", "y"]},
    "Variance": {"variance": "x"},
    "StandardDeviation": {"standard deviation": "x"},
    "Covariance": {"covariance": ["x", "y"]},
    "Correlation": {"correlation": ["x", "y"]},
    "Regression": {"regression": "x", "on": ["y"]},
    "Quantiles": {"quantiles": "x", "at": [0.1, 0.5, 0.9]},
    "Rectangles": {"rectangles": ["x", "y"]},
    "PeopleCount": {"people": "all"},
    "TotalPerPerson": {"total per person": "x", "cap": 12},
    "MeanPerPerson": {"mean per person": "x", "cap": 12},
}
WITHOUT_INTERVALS = {"KMeans": "centres have none", "SyntheticRecords": "records have none"}
MORE: dict[str, dict[str, Any]] = {
    "few records": {"histogram": ["x", "y"], "where": "s = 'f'"},
    "adaptive ranges": {"ranges": "x", "shape": "sparse"},
    "median by rank": {"median": "x", "bounds": False},
    "noise on each record": {"total": "wage", "noise": "each record"},
    "noise on levels": {"total": "wage", "noise": "levels"},
}
BUDGETS = {"pure": {"epsilon": "0.8"}, "gaussian": {"epsilon": "0.8", "delta": "1e-6"}}


def test_every_kind_has_an_item_here() -> None:
    assert {kind.__name__ for kind in KINDS} == {*ITEMS, *WITHOUT_INTERVALS}


def misses(item: dict[str, Any], budget: dict[str, Any], *, people: bool = False, wide: float = 1.0) -> np.ndarray:
    """For each published number, in how many releases its interval misses the truth."""
    secrets = {"x": {"within": 4}, "wage": {"within": "50%" if "noise" in item else 9}}
    policy = {"dataset": "d", "attributes": ATTRIBUTES, "secrets": secrets, "budget": budget}
    policy["presence"] = "public" if "noise" in item else "secret"
    keyed = {"individuals": {"key": "person", "at most": 1}} if people else {}
    plan = td.plan({**policy, **keyed, "release": [{"name": "item", **item}]})
    made = td.simulate(plan, "long tail", 300, times=RELEASES)
    columns = list(made.truth["item"].columns)
    truth = np.asarray(made.truth["item"].columns[columns[columns.index("lower") - 1]], np.float64)
    found = np.zeros(truth.shape, np.int64)
    for release in made.releases:
        lower, upper = (np.asarray(release["item"].columns[end], np.float64) for end in ("lower", "upper"))
        middle = (lower + upper) / 2
        found += (truth < middle - wide * (middle - lower) - 1e-9) | (truth > middle + wide * (upper - middle) + 1e-9)
    return found


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", [*ITEMS, *MORE])
def test_intervals_cover_the_truth(name: str, budget: str) -> None:
    item = (ITEMS | MORE)[name]
    found = misses(item, BUDGETS[budget], people="erson" in name or name == "PeopleCount")
    assert found.size * 2 * len(ITEMS | MORE) <= MOST_NUMBERS
    assert found.max() <= MOST_MISSES, f"{name}: {found.max()} of {RELEASES} releases miss"


def test_an_interval_without_width_is_noticed() -> None:
    assert misses(ITEMS["Histogram"], BUDGETS["pure"], wide=0.0).max() > MOST_MISSES
