"""Whether a release is made never depends on a secret: neighbours at the extremes are both released, or both refused.

What may be refused after the table is opened is listed here by name; all of it is recorded in the ledger.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tetraodon as td
from tetraodon.engine.counting import Counts, require_sound
from tetraodon.errors import DataRefusal, NoiseError
from tetraodon.exact.arrays import LARGEST, MOST_ROWS

SOURCE = Path(td.__file__).parent


def document(attributes: Mapping[str, Any], item: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    base = {"dataset": "d", "presence": "public", "budget": {"epsilon": 1}, "attributes": attributes}
    return {**base, "release": [{"name": "q", **item}], **more}


def outcome(policy: Mapping[str, Any], table: pl.DataFrame, folder: Path) -> str:
    """`released`, or the words of the refusal; and what the ledger was charged."""
    address = f"sqlite:///{folder}/{len(list(folder.iterdir()))}.db"
    with td.Ledger(address) as ledger:
        ledger.open("d", 1, policy)
        try:
            td.release(td.plan(policy), table, ledger=ledger)
            told = "released"
        except td.errors.TetraodonError as error:
            told = str(error)
        return f"{told}; left {ledger.account('d').left}"


EXTREMES = [2**25, 2**26, 2**40, 2**55, 5 * 10**17 - 1]


@pytest.mark.parametrize("most", EXTREMES)
@pytest.mark.parametrize("item", [{"total": "x"}, {"mean": "x"}, {"total": "x", "by": "g"}])
def test_neighbours_with_the_longest_sums_are_both_released(most: int, item: Mapping[str, Any], tmp_path: Path) -> None:
    """A sum of 2^62 or more was refused, and its neighbour released, as often as one liked."""
    policy = document(
        {"x": {"integer": [-most, most]}, "g": ["a", "b"]}, item, secrets={"x": {"within": 1000}, "g": "public"}
    )
    told = {
        outcome(policy, pl.DataFrame({"x": [high, *[most] * 99], "g": ["a"] * 100}), tmp_path)
        for high in (most, most - 1, -most, 0)
    }
    assert told == {"released; left 0"}


def test_the_two_neighbours_that_could_be_told_apart_for_free(tmp_path: Path) -> None:
    """At 2^62 units, a hundred records of 46116860184273879 were released and a hundred of one more were refused."""
    policy = document({"x": {"integer": [0, 10**17]}}, {"total": "x"}, secrets={"x": {"within": 100}})
    near = [[46116860184273879] * 100, [46116860184273880] * 100]
    assert {outcome(policy, pl.DataFrame({"x": values}), tmp_path) for values in near} == {"released; left 0"}


def test_weighted_sums_at_the_border_are_released(tmp_path: Path) -> None:
    attributes = {"x": {"integer": [0, 2**40]}, "w": {"integer": [0, 2**19]}}
    secrets = {"x": {"within": 1}, "w": "public"}
    policy = document(attributes, {"total": "x", "weight": "w"}, secrets=secrets)
    told = {
        outcome(policy, pl.DataFrame({"x": [2**40 - step] * 16, "w": [2**19] * 16}), tmp_path) for step in (0, 1, 2**39)
    }
    assert told == {"released; left 0"}


def test_a_sum_beyond_the_largest_is_told_as_the_largest(tmp_path: Path) -> None:
    policy = document({"x": {"integer": [0, 2**59]}}, {"total": "x"}, secrets={"x": {"within": 1}})
    with td.Ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.open("d", 1, policy)
        released = td.release(td.plan(policy), pl.DataFrame({"x": [2**59] * 40}), ledger=ledger)
    assert abs(float(released["q"].columns["total"][0]) - LARGEST) < 2**20


@pytest.mark.parametrize(("most", "epsilon"), [(2**50 + 1, 1), (10**17, 1), (2**30, "1e-9")])
def test_noise_that_cannot_be_drawn_is_refused_when_planning(most: int, epsilon: object) -> None:
    """It was charged first, and failed when it was drawn."""
    policy = document({"x": {"integer": [0, most]}}, {"total": "x"}, budget={"epsilon": epsilon})
    with pytest.raises(NoiseError, match=r"the scale of the noise on q is above 2\*\*50"):
        td.plan(policy)


def test_the_largest_noise_that_is_planned_can_be_drawn(tmp_path: Path) -> None:
    policy = document({"x": {"integer": [0, 2**50]}}, {"total": "x"})
    assert td.plan(policy)["q"].scale == 2**50
    assert outcome(policy, pl.DataFrame({"x": [2**50] * 50}), tmp_path) == "released; left 0"


def test_a_known_count_longer_than_64_bits_is_a_refusal_that_is_recorded(tmp_path: Path) -> None:
    policy = document({"x": {"integer": [0, 9]}}, {"histogram": "x"}, known=[{"count": "x < 3", "is": 10**30}])
    with td.Ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.open("d", 1, policy)
        with pytest.raises(DataRefusal):
            td.release(td.plan(policy), pl.DataFrame({"x": [1, 2, 3]}), ledger=ledger)
        assert ledger.account("d").left == 1
        assert [entry.state for entry in ledger.entries("d")] != ["settled"]


def test_an_endless_table_is_a_refusal_of_the_data() -> None:
    import numpy as np

    domain = td.load_policy(document({"x": {"integer": [0, 9]}}, {"count": "all"})).domain
    endless = Counts(("x",), np.array([[0]]), np.array([MOST_ROWS + 1]))
    with pytest.raises(DataRefusal, match="more rows than can be added up"):
        require_sound(endless, domain)


def test_what_runs_on_exact_counts_raises_nothing_that_depends_on_them() -> None:
    """Between the counts and the charge only `DataRefusal` may depend on the data; these raise on the query alone."""
    allowed = {
        "query/linear.py": {"evaluate"},  # more than ANSWER_LIMIT numbers, or too wide: the query alone
        "query/contribution.py": {"of"},  # the query alone
        "inference/least_squares.py": set(),
        "inference/controlled_rounding.py": set(),
        "inference/consistency.py": set(),
        "noise/laws.py": {"law_from", "law_named"},  # the plan alone, before anything is counted
        "releases/estimates.py": set(),
        "releases/counting.py": {"_about", "_check_columns", "whole_table"},  # the policy and the query alone
        "exact/arrays.py": set(),
        "mechanism/strategy.py": {"fit", "reach", "terms"},  # a mechanism that leaves no table: the plan alone
        "mechanism/direct.py": {"fit"},
        "mechanism/ordered.py": set(),
        "mechanism/identity.py": set(),
        "mechanism/hierarchical/__init__.py": {"_mean_variance"},  # the question alone
        "mechanism/hierarchical/fit.py": set(),
        "mechanism/grid.py": {"role_of"},  # the strategy alone
    }

    def allows(raised: str) -> bool:
        return "DataRefusal" in raised or raised.startswith("raise self.unknown(")  # what a law does not state

    for path, functions in allowed.items():
        tree = ast.parse((SOURCE / path).read_text(encoding="utf-8"))
        raising = {
            one.name
            for one in ast.walk(tree)
            if isinstance(one, ast.FunctionDef)
            and any(isinstance(part, ast.Raise) and not allows(ast.unparse(part)) for part in ast.walk(one))
        } - {"__post_init__"}
        assert raising == functions, path
