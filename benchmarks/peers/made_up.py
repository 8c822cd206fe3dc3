"""Made-up records of Adult: how far their tables are from the true ones."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import adult_codes
from benchmarks.peers.adaptive_method import adaptive
from benchmarks.peers.environments import Missing, work
from benchmarks.peers.rows import OURS, Row, row_of
from benchmarks.peers.tree_method import spanning_tree

ALONE = {"presence": "secret", "secrets": "none but presence"}
POLICIES: dict[str, dict[str, Any]] = {
    OURS: ALONE | {"together": "all at once", "budget": {"epsilon": 1, "delta": "1e-9"}},
    "ours, without delta": ALONE,
    "ours, a record replaced": {},
    "ours, one attribute replaced": {"together": "one attribute at a time"},
    "ours, a record replaced, every second attribute public": {"secrets": {f"a{n}": "public" for n in range(0, 13, 2)}},
}
"""Promises; the first is that of MST, which adds or removes a record and has a delta of 1e-9."""
AIM = {1.0: range(3), 8.0: range(1)}
"""How many megabytes a model may have, and the seeds. With its authors' limit, 80, it is said to take many hours."""


def synthetic(quick: bool, folder: Path) -> Iterator[Row]:
    """Made-up records of Adult at epsilon 1: average total variation over all two- and three-way tables."""
    codes, sizes = adult_codes()
    np.save(folder / "codes.npy", codes)
    repeats, seeds = (1, 2) if quick else (3, 10)
    made: dict[str, list[NDArray[np.int64]] | Missing] = {}
    versions: dict[str, str] = {}
    for who, changes in POLICIES.items():
        given = {"table": str(folder / "codes.npy"), "sizes": sizes, "changes": changes, "repeats": repeats}
        done = work(OURS, "synthetic", **given, out=str(folder / "made.npy"))
        made[who] = done if isinstance(done, Missing) else list(np.load(folder / "made.npy"))
        versions |= {} if isinstance(done, Missing) else {who: done.answer["version"]}
    if not quick:
        given = {"table": str(folder / "codes.npy"), "sizes": sizes, "method": "MST", "megabytes": 80}
        done = work("dpmm", "synthetic", **given, epsilon=1, delta=1e-9, repeats=1, out=str(folder / "made.npy"))
        made["MST (dpmm)"] = done if isinstance(done, Missing) else list(np.load(folder / "made.npy"))
        versions |= {} if isinstance(done, Missing) else {"MST (dpmm)": done.answer["version"]}
    for most, each in () if quick else AIM.items():
        who = f"AIM (our floats), a model of {most:g} MB"
        made[who] = [adaptive(codes, sizes, 1.0, 1e-9, most, seed) for seed in each]
    made["MST (our floats)"] = [spanning_tree(codes, sizes, 1.0, 1e-9, seed) for seed in range(seeds)]
    coins = np.random.default_rng(5)
    made["true columns, each shuffled"] = [np.stack([coins.permutation(column) for column in codes.T], axis=1)]
    for ways in (2, 3):
        what = f"made-up records of Adult, {len(sizes)} attributes: total variation of {ways}-way tables, mean error"
        off = {who: _all_off(codes, tables, sizes, ways) for who, tables in made.items()}
        ours = off[OURS]
        assert not isinstance(ours, Missing), ours
        for who, found in off.items():
            ratios = found if isinstance(found, Missing) else [one / statistics.mean(ours) for one in found]
            more = {} if isinstance(found, Missing) else {"error": statistics.mean(found)}
            yield row_of(f"{what} over ours", who, ratios, versions, **more)


def _all_off(
    codes: NDArray[np.int64], made: list[NDArray[np.int64]] | Missing, sizes: list[int], ways: int
) -> list[float] | Missing:
    return made if isinstance(made, Missing) else [_variation(codes, one, sizes, ways) for one in made]


def _variation(codes: NDArray[np.int64], made: NDArray[np.int64], sizes: list[int], ways: int) -> float:
    """The mean over all tables of so many attributes of half the L1 distance of their shares."""
    found = []
    for some in combinations(range(len(sizes)), ways):
        shape = [sizes[place] for place in some]
        shares = (
            np.bincount(np.ravel_multi_index(tuple(one[:, some].T), shape), minlength=int(np.prod(shape))) / len(one)
            for one in (codes, made)
        )
        found.append(float(np.abs(next(shares) - next(shares)).sum() / 2))
    return statistics.mean(found)
