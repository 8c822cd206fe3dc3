"""All two-way tables of attributes like those of Adult, planned as one. Nothing is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import tetraodon as td
from benchmarks.peers.rows import OURS, Row, absolute
from benchmarks.peers.table_methods import residual_planner, weighted_margins

ADULT = {8: [74, 16, 99, 7, 15, 5, 2, 9], 14: [100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2]}
"""How many values the attributes have."""
ALONE, REPLACED = {"secrets": "none but presence"}, {"presence": "public"}


def tables(quick: bool, folder: Path) -> Iterator[Row]:  # noqa: ARG001 - every task gets a folder
    """Mean squared error of a cell, beside ResidualPlanner and HDMM's weighted margins."""
    for many, sizes in ADULT.items():
        pairs = list(combinations(range(many), 2))
        asked = f"all pairs of {many} attributes of Adult"
        for promise, secret in (("presence alone", ALONE), ("a record replaced", REPLACED)):
            theirs = residual_planner(sizes, pairs, replaced=secret is REPLACED)
            errors = {OURS: ours(sizes, secret, {"rho": "1/2"}), "ResidualPlanner (our floats)": theirs}
            yield from _planned(f"{asked}, {promise}, Gaussian noise, rho 1/2", errors)
        theirs = weighted_margins(sizes, pairs, 4 if quick or many > 8 else 40)
        errors = {OURS: ours(sizes, ALONE, {"epsilon": 1}), "HDMM's weighted margins (our floats)": theirs}
        yield from _planned(f"{asked}, presence alone, Laplace noise, epsilon 1", errors)


def ours(sizes: list[int], secret: dict[str, Any], budget: dict[str, Any]) -> float:
    """The mean squared error that we plan for a cell of all two-way tables.

    Shares are such that the sum over all cells is what the planner makes least, as the others do.
    """
    names = [f"a{place:02}" for place in range(len(sizes))]
    power, pairs = (1 / 2 if "rho" in budget else 1 / 3), list(combinations(range(len(sizes)), 2))
    plan = td.plan(
        {
            "dataset": "tables",
            **secret,
            "attributes": {name: {"integer": [0, size - 1]} for name, size in zip(names, sizes, strict=True)},
            "budget": budget,
            "release": [
                {
                    "name": f"{names[one]}_{names[other]}",
                    "histogram": [names[one], names[other]],
                    "share": f"{(sizes[one] * sizes[other]) ** power:.3f}",
                }
                for one, other in pairs
            ],
        }
    )
    cells = np.array([sizes[one] * sizes[other] for one, other in pairs])
    return float(cells @ [item.expected_error**2 for item in plan] / cells.sum())


def _planned(what: str, errors: dict[str, float]) -> Iterator[Row]:
    each = {who: [error] for who, error in errors.items()}
    yield from absolute(f"{what}: mean squared error planned", dict(each), {OURS: version("tetraodon")})
