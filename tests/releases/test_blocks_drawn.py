"""What is drawn of an answer: its numbers, and for blocks of neighbours the interval that the answer itself gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.releases.conftest import POLICY
from tests.releases.made import release_with

import tetraodon as td
from tetraodon.releases.report import picture_of

ITEMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "identity": ({"histogram": ["age", "region"]}, {}),
    "grid": ({"rectangles": ["age", "income"]}, {"age": {"within": 1}, "income": {"within": 1}}),
    "exact": ({"histogram": ["sex"]}, {}),
}


@pytest.mark.parametrize("mechanism", ITEMS)
def test_blocks_have_the_intervals_that_adding_up_gives(mechanism: str, table: pl.DataFrame) -> None:
    item, secrets = ITEMS[mechanism]
    presence = "public" if mechanism == "exact" else "secret"
    changed = {"release": [{"name": "it", **item}], "presence": presence, "secrets": POLICY["secrets"] | secrets}
    noise = lambda shape: np.random.default_rng(2).integers(-4, 5, shape)  # noqa: E731
    (answer,) = release_with(td.load_policy({**POLICY, **changed}), table, noise).values()
    assert answer.item.mechanism == mechanism
    whole = picture_of(answer)
    assert whole.sums is not None
    starts = [np.append(np.arange(0, axis.size, 3), axis.size) for axis in whole.axes]
    lower, upper = whole.sums(starts)
    for place in np.ndindex(lower.shape):
        mask = np.zeros(whole.values.shape, bool)
        mask[tuple(slice(at[n], at[n + 1]) for n, at in zip(place, starts, strict=True))] = True
        found = answer.table.add_up(mask.reshape(answer.table.values.shape))
        ends = max(lower[place], 0), max(upper[place], 0)
        if mechanism == "grid":  # very many blocks at once have a bound that is a little wider
            assert ends[0] <= found.lower + 1e-9
            assert found.upper - 1e-9 <= ends[1] <= found.upper + (found.upper - found.lower) / 2
        else:
            assert ends == pytest.approx((found.lower, found.upper))
