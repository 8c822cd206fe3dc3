"""Random policies end in an answer, or in a refusal before anything is charged, and never in between."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.policies import policy_document, public_policy

import tetraodon as td
from tetraodon.releases.release import Release
from tetraodon.releases.run import release

CASES = 150


def groups(rng: random.Random, values: Sequence[Any], ordered: bool) -> list[list[Any]]:
    if ordered:
        cuts = sorted(rng.sample(range(1, len(values)), rng.randint(0, len(values) - 1)))
        ends = [0, *cuts, len(values)]
        return [[values[a], values[b - 1]] for a, b in pairwise(ends)]
    label = [rng.randint(0, 2) for _ in values]
    return [[v for v, one in zip(values, label, strict=True) if one == g] for g in sorted(set(label))]


def policy(rng: random.Random) -> tuple[dict[str, Any], dict[str, Sequence[Any]]]:
    """Numbers x and y and a category z, some of them known already, and a few questions about them."""
    values: dict[str, Sequence[Any]] = {"x": range(rng.randint(2, 7)), "y": range(rng.randint(1, 4)), "z": "abcd"}
    attributes: dict[str, Any] = {name: {"integer": [0, len(values[name]) - 1]} for name in "xy"}
    attributes["z"] = list(values["z"])

    def grouped(name: str) -> list[list[Any]]:
        return groups(rng, list(values[name]), name != "z")

    def secret(name: str) -> Any:
        near = [{"within": rng.randint(1, 2)}] if name != "z" else []
        return rng.choice(["public", "everything", {"blocks": grouped(name)}, *near])

    known = [
        {"blocks": {name: grouped(name)}} if rng.random() < 0.7 else {"marginal": [name]}
        for name in rng.choices("xyz", k=rng.choice([0, 0, 1, 2]))
    ]
    kinds = [
        lambda: {"histogram": rng.sample("xyz", rng.randint(1, 3))},
        lambda: {
            "histogram": ["x", "z"],
            "bins": {name: grouped(name) for name in rng.sample("xz", rng.randint(1, 2))},
        },
        lambda: {"histogram": "x", "bins": {"x": grouped("x")}, "whole": False},
        lambda: {"cdf": "x", "by": rng.sample("yz", rng.randint(0, 2))},
        lambda: {"ranges": {"x": [[0, 1], [1, 1]]}, "by": rng.sample("yz", rng.randint(0, 1))},
        lambda: {"quantiles": "x", "bounds": True},
        lambda: {"rectangles": ["x", "y"]},
        lambda: {"mean": "x", "by": rng.sample("yz", rng.randint(0, 1))},
        lambda: {"total": "y"},
        lambda: {"count": "x > 0"},
    ]
    items = [{"name": f"q{k}", **rng.choice(kinds)()} for k in range(rng.randint(1, 4))]
    document = policy_document(
        presence=rng.choice(["public", "secret"]),
        attributes=attributes,
        secrets={name: secret(name) for name in values},
        together=rng.choice(["one attribute at a time", "all at once"]),
        budget={"epsilon": rng.choice([1, "0.001", 50]), **rng.choice([{}, {"delta": "1e-6"}])},
        release=items,
    )
    return {**document, **({"known": known} if known else {})}, values


@pytest.mark.parametrize("seed", range(CASES))
def test_a_random_policy_ends_in_an_answer_or_in_a_refusal_that_costs_nothing(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    document, values = policy(rng)
    rows = rng.choice([1, 30, 500])
    table = pl.DataFrame({name: [rng.choice(list(known)) for _ in range(rows)] for name, known in values.items()})
    with td.Ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.open("d", 100, document, delta=Fraction(document["budget"].get("delta", 0)))
        try:
            plan = td.plan(document)
        except td.errors.TetraodonError:
            return
        released = release(plan, table, ledger=ledger)
        assert [entry.state for entry in ledger.entries("d")] == ["settled"]
    for answer in released.values():
        for name, column in answer.columns.items():
            if name in ("count", "lower", "upper"):
                assert np.isfinite(np.asarray(column, float)).all()
    assert_agreement(released)


def assert_agreement(released: Release) -> None:
    """All tables count as many records as each other, and whole ones are whole."""
    tables = [answer.table for answer in released.values() if answer.values is not None]
    for whole in (False, True):
        same = [float(table.values.sum()) for table in tables if table.item.item.whole == whole]
        assert not same or max(same) - min(same) < 1e-6 * (1 + max(map(abs, same)))
    assert all((table.values >= 0).all() and (table.values % 1 == 0).all() for table in tables if table.item.item.whole)


@pytest.mark.parametrize("y", [{"blocks": [[0, 2], [3, 5]]}, {"within": 1}, "everything"])
def test_order_gives_way_to_exact_blocks(y: Any, tmp_path: Path) -> None:
    """This was charged, and then always failed: never-falling counts by y broke the exact counts of blocks of x."""
    document = public_policy(
        attributes={"x": {"integer": [0, 7]}, "y": {"integer": [0, 5]}},
        secrets={"x": {"blocks": [[0, 3], [4, 7]]}, "y": y},
        release=[
            {"name": "c", "cdf": "x", "by": ["y"]},
            {"name": "r", "rectangles": ["x", "y"]},
            {"name": "h", "histogram": ["x", "y"]},
        ],
    )
    table = pl.DataFrame({"x": [k % 8 for k in range(200)], "y": [k % 6 for k in range(200)]})
    with td.Ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.open("d", 1, document)
        released = td.release(td.plan(document), table, ledger=ledger, out=tmp_path / "out")
    assert_agreement(released)
    histogram = released["h"].values
    assert histogram is not None
    np.testing.assert_allclose(histogram[:4].sum(), 100, atol=1e-6)  # the exact count of the first block of x


def test_running_counts_never_fall_within_exact_blocks(tmp_path: Path) -> None:
    document = public_policy(
        attributes={"x": {"integer": [0, 7]}},
        secrets={"x": {"blocks": [[0, 3], [4, 7]]}},
        budget={"epsilon": "0.05"},
        release=[{"name": "c", "cdf": "x"}],
    )
    table = pl.DataFrame({"x": [k % 8 for k in range(80)]})
    with td.Ledger(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        ledger.open("d", 1, document)
        values = td.release(td.plan(document), table, ledger=ledger)["c"].values
    assert values is not None
    assert (values >= -1e-9).all()
    np.testing.assert_allclose([values[:4].sum(), values[4:].sum()], [40, 40], atol=1e-6)
