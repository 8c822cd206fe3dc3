"""Parts of a table: the interval is that of the noise which the part contains."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from tests.releases.conftest import POLICY
from tests.releases.made import release_with, silent

import tetraodon as td
from tetraodon.noise.laws import LAPLACE

SURE = Fraction(95, 100)


def answer(item: dict[str, object], table: pl.DataFrame, **changes: object) -> td.Release:
    return release_with(td.load_policy({**POLICY, "release": [{"name": "q", **item}], **changes}), table, silent)


def test_cells_of_a_histogram_add_up_their_noise(table: pl.DataFrame) -> None:
    found = answer({"histogram": ["age"]}, table)["q"].table
    scale = found.item.scale
    for cells in (1, 3, 5):
        mask = np.arange(10) < cells
        part = found.add_up(mask)
        assert part.upper - part.value == pytest.approx(LAPLACE.sum_quantile(scale, cells, SURE), abs=1e-6)


def test_most_of_a_known_total_is_known_by_the_rest(table: pl.DataFrame) -> None:
    found = answer({"histogram": ["age"]}, table)["q"].table
    nearly_all, one = found.add_up(np.arange(10) < 9), found.add_up(np.arange(10) == 9)
    assert nearly_all.upper - nearly_all.lower == pytest.approx(one.upper - one.lower)
    everybody = found.add_up(np.ones(10, np.bool_))
    assert everybody.interval == (table.height, table.height)


def test_a_range_of_running_counts_needs_two_of_them(table: pl.DataFrame) -> None:
    secrets = {**POLICY["secrets"], "age": {"within": 1}}
    found = answer({"cdf": "age"}, table, secrets=secrets)["q"]
    assert found.item.mechanism == "ordered"
    reach = [LAPLACE.sum_quantile(found.item.scale, terms, SURE) for terms in (1, 2)]
    start, inside = found.between(20, 24), found.between(22, 24)
    assert start.upper - start.value == pytest.approx(reach[0])
    assert inside.upper - inside.value == pytest.approx(reach[1])


def test_all_cells_at_once_are_the_cells_one_by_one(table: pl.DataFrame) -> None:
    found = answer({"histogram": ["age", "sex"]}, table)["q"].table
    lower, upper = found.cells()
    for place in np.ndindex(found.values.shape):
        mask = np.zeros(found.values.shape, np.bool_)
        mask[place] = True
        single = found.add_up(mask)
        assert (lower[place], upper[place]) == (pytest.approx(single.lower), pytest.approx(single.upper))


@pytest.mark.parametrize("mechanism", ["hierarchical", "ordered", "identity"])
def test_what_no_noise_is_left_in_is_a_whole_number(mechanism: str) -> None:
    """A public total is the sum of many floats; it comes out as the number that it is."""
    within = {"hierarchical": 30, "ordered": 1, "identity": 999}[mechanism]
    document = {
        "dataset": "d",
        "presence": "public",
        "attributes": {"x": {"integer": [0, 999]}},
        "secrets": {"x": {"within": within}},
        "budget": {"epsilon": 1},
        "release": [{"name": "q", **({"histogram": "x"} if mechanism == "identity" else {"cdf": "x"})}],
    }
    rows = pl.DataFrame({"x": [(7 * row) % 1000 for row in range(701)]})
    made = release_with(td.load_policy(document), rows, lambda shape: np.arange(np.prod(shape)).reshape(shape) % 3)["q"]
    assert made.item.mechanism == mechanism
    everybody = made.table.add_up(np.ones(1000, np.bool_))
    assert (everybody, everybody.confidence) == (701, 1)
    assert [float(column[-1]) for column in made.table.running()] == [701, 701, 701]
    assert made.table.add_up(np.arange(1000) < 500).confidence == SURE
