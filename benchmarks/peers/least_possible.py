"""The least error that any strategy with Gaussian noise can have for one attribute, from below, beside what we plan.

For weights of the steps, and of the values where presence is secret, that add up to 1, no strategy that loses 1 has a
smaller sum of squared errors than (tr (R M R')^1/2)^2, with R'R = W'W of what is asked and M the sum of weight times
(e_x - e_y)(e_x - e_y)', or e_x e_x'. Any weights will do, so nothing here has to be trusted to converge: they are
looked for at up to `FEW` values, by raising those of steps that lose the most, and carried over to more: those of short
steps by their lengths, as they are in the middle.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tetraodon as td
from benchmarks.peers.rows import OURS, Row, absolute

Floats = NDArray[np.float64]
FEW, ROUNDS, AGAIN, SHORT = 256, 60, 1025, 24
"""Values at which weights are looked for, rounds of that, below how many values a few rounds more are worth it, and how
many times fewer values a short step has."""


def bound(quick: bool, folder: Path) -> Iterator[Row]:  # noqa: ARG001 - every task gets a folder
    """Ranges and running counts at rho 1/2: our planned error beside the least possible one."""
    sizes = (64, 256) if quick else (64, 256, 1024, 4096)
    promises: dict[str, Any] = {"presence alone": None, "everything": "everything", "within an eighth": "an eighth"}
    cases = [(size, name, promises[name]) for size, name in product(sizes, promises)]
    short = [(size, f"within {reach}", {"within": reach}) for size, reach in product(sizes[2:], (8, 4, 2, 1))]
    for size, name, secret in [*cases, *short]:
        secret = {"within": size // 8} if secret == "an eighth" else secret
        for asked in ("ranges", "cdf"):
            errors = {OURS: [planned(size, secret, asked)], "least possible": [least_possible(size, secret, asked)]}
            what = f"{'all ranges' if asked == 'ranges' else 'running counts'} of {size:,} values, {name}, rho 1/2"
            yield from absolute(f"{what}: mean squared error planned", dict(errors), {OURS: version("tetraodon")})


def planned(size: int, secret: Any, asked: str) -> float:
    """The mean squared error that we plan."""
    hidden = {"presence": "public", "secrets": {"x": secret}} if secret else {"secrets": "none but presence"}
    document = {"dataset": "line", "attributes": {"x": {"integer": [0, size - 1]}}, **hidden, "budget": {"rho": "1/2"}}
    return float(td.plan({**document, "release": [{"name": "r", asked: "x"}]})["r"].expected_error ** 2)


def least_possible(size: int, secret: Any, asked: str, few: int = FEW) -> float:
    """A bound from below on the mean squared error of all ranges, or of all running counts."""
    few = min(size, few)
    reach = secret["within"] if isinstance(secret, dict) else size
    short = reach * SHORT < few
    fewer = reach if short else max(1, round(reach * few / size))
    pairs, single, best = searched(few, _steps(few, fewer), asked, secret is None, ROUNDS)
    if size > few:
        if short:
            apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
            pairs, single = np.pad(pairs[few // 2, few // 2 :], (0, size))[apart], np.zeros(size)
        else:
            place = np.arange(size) * few // size
            pairs, single = pairs[np.ix_(place, place)] * _steps(size, reach), single[place]
        rounds = 10 if size < AGAIN else 1
        best = searched(size, _steps(size, reach), asked, secret is None, rounds, (pairs, single))[2]
    return best / (size * (size + 1) / 2 if asked == "ranges" else size)


def searched(
    size: int, steps: Floats, asked: str, absent: bool, rounds: int, first: tuple[Floats, Floats] | None = None
) -> tuple[Floats, Floats, float]:
    """The best weights of some rounds, and their bound."""
    root = _root(size, asked)
    pairs, single = first or (steps * (not absent), np.full(size, float(absent)))
    found = pairs, single, 0.0
    for turn in range(rounds):
        whole = pairs.sum() / 2 + single.sum()
        pairs, single = pairs / whole, single / whole
        inner = root @ (np.diag(pairs.sum(axis=1) + single) - pairs) @ root.T
        if turn == rounds - 1:
            return _better(found, pairs, single, np.linalg.eigvalsh(inner))
        squares, vectors = np.linalg.eigh(inner)
        found = _better(found, pairs, single, squares)
        # X = R' (R M R')^-1/2 R is the strategy that these weights are best for
        kept = squares > 1e-12 * squares[-1]
        half = (root.T @ vectors[:, kept]) * squares[kept] ** -0.25
        x = half @ half.T
        alone = np.diag(x)
        error = np.sqrt(squares[kept]).sum()
        apart = np.maximum(alone[:, None] + alone - 2 * x, 0.0)
        pairs, single = pairs * (apart / error) ** 1.3, single * (alone / error) ** 1.3
    return found


def _better(
    found: tuple[Floats, Floats, float], pairs: Floats, single: Floats, squares: Floats
) -> tuple[Floats, Floats, float]:
    here = float(np.sqrt(np.maximum(squares, 0.0)).sum() ** 2)
    return (pairs, single, here) if here > found[2] else found


def _steps(size: int, reach: int) -> Floats:
    """Which pairs of values are a secret."""
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    return ((apart > 0) & (apart <= reach)).astype(np.float64)


def _root(size: int, asked: str) -> Floats:
    """A root of W'W: value i <= j are both in n - j running counts, and in (i + 1)(n - j) ranges."""
    if asked == "cdf":
        return np.tri(size)
    places = np.arange(size)
    gram = (np.minimum.outer(places, places) + 1) * (size - np.maximum.outer(places, places)).astype(np.float64)
    return np.linalg.cholesky(gram).T
