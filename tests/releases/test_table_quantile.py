"""Quantiles of one attribute of a whole table, whichever way its counts were measured."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.releases.made import release_with, silent

import tetraodon as td

TABLE = pl.DataFrame({"x": [0, 1, 1, 2, 3, 3, 3, 3], "y": [0, 1, 2, 0, 1, 2, 0, 1]})


def release_of(item: dict[str, object], secrets: dict[str, object], noise: object = silent) -> td.Release:
    policy = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"x": {"integer": [0, 3]}, "y": {"integer": [0, 2]}},
        "secrets": secrets,
        "budget": {"epsilon": 1},
        "release": [{"name": "it", **item}],
    }
    return release_with(td.load_policy(policy), TABLE, noise)


@pytest.mark.parametrize("item", [{"histogram": ["x", "y"]}, {"rectangles": ["x", "y"]}, {"cdf": "x", "by": "y"}])
@pytest.mark.parametrize("secrets", [{}, {"x": {"within": 1}}, {"x": "public", "y": "public"}])
def test_without_noise_it_is_the_quantile_of_the_sample(item: dict[str, object], secrets: dict[str, object]) -> None:
    answer = release_of(item, secrets)["it"]
    for share in (0.25, 0.5, 0.75):
        found, low, high = answer.quantile_interval(share, attribute="x")
        assert found == np.sort(TABLE["x"].to_numpy())[int(np.ceil(share * len(TABLE))) - 1]
        assert low <= found <= high
