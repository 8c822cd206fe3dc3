"""The points that [HMD14] clusters: tweets, colours of skin in three sizes, and the made-up set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.data import real
from tetraodon.domain import Attribute, Domain, Grid, Integers

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Points:
    """Points by their places on a grid, the lengths of its steps in the data's own units, and where they come from."""

    codes: Ints
    domain: Domain
    lengths: tuple[Fraction, ...]
    source: str

    @cached_property
    def scale(self) -> Floats:
        return np.array([float(length) for length in self.lengths])

    @property
    def widths(self) -> Floats:
        """The extent of every column."""
        return self.scale * (np.array(self.domain.shape) - 1)

    @cached_property
    def distinct(self) -> tuple[Floats, Floats]:
        """Every place that occurs, in the data's own units, and how often."""
        codes, counts = np.unique(self.codes, axis=0, return_counts=True)
        return codes * self.scale, counts.astype(np.float64)

    def nearest(self, centres: Floats) -> Ints:
        """The nearest centre of every distinct place."""
        return np.asarray(self._gaps(centres).argmin(axis=0))

    def objective(self, centres: Floats) -> float:
        """The sum of squared distances to the nearest centre."""
        places, weight = self.distinct
        return float(weight @ (self._gaps(centres).min(axis=0) + np.einsum("ij,ij->i", places, places)))

    def _gaps(self, centres: Floats) -> Floats:
        """Squared distances of centres (rows) from places (columns), but for what all centres share."""
        return np.asarray((centres**2).sum(axis=1)[:, None] - 2 * centres @ self.distinct[0].T)


@cache
def tweets() -> Points:
    path = real("twitter_west_400x300_imputed.parquet")
    domain = Domain((Attribute("lat", Integers(0, 399)), Attribute("lon", Integers(0, 299))))
    if path is None:
        coins = np.random.default_rng(1)
        towns = coins.random((30, 2)) * (400, 300)
        cells = np.clip(towns[coins.integers(30, size=193_563)] + coins.normal(0, 8, (193_563, 2)), 0, (399, 299))
        cells, source = cells.round(), "made-up towns (stand-in)"
    else:
        cells, source = pl.read_parquet(path).select("i", "j").to_numpy(), "tweets, spread inside their published cells"
    return Points(cells.astype(np.int64), domain, (Fraction(2222, 400), Fraction(1442, 300)), source)


@cache
def skin(part: int) -> Points:
    """Skin, or every record of a random tenth or hundredth of it."""
    path = real("skin.parquet")
    if path is None:
        coins = np.random.default_rng(2)
        table = np.clip(coins.normal([[120, 130, 150], [70, 60, 60]], 40, (122_528, 2, 3)).reshape(-1, 3), 0, 255)
        source = "made-up colours (stand-in)"
    else:
        table, source = pl.read_parquet(path).select("B", "G", "R").to_numpy(), "Skin Segmentation"
    chosen = np.random.default_rng(3).permutation(len(table))[: len(table) // part]
    domain = Domain(tuple(Attribute(name, Integers(0, 255)) for name in "BGR"))
    return Points(table.round().astype(np.int64)[chosen], domain, (Fraction(1),) * 3, source)


@cache
def synthetic() -> Points:
    coins = np.random.default_rng(4)
    centres = coins.random((4, 4))
    points = np.clip(centres[coins.integers(4, size=1000)] + coins.normal(0, 0.2, (1000, 4)), 0, 1)
    values = Grid(Fraction(0), Fraction(1), Fraction(1, 100))
    domain = Domain(tuple(Attribute(f"x{k}", values) for k in range(4)))
    codes = np.rint(points * 100).astype(np.int64)
    return Points(codes, domain, (Fraction(1, 100),) * 4, "made as the paper says")


DATA: dict[str, Callable[[], Points]] = {
    "tweets": tweets,
    "SKIN": lambda: skin(1),
    "SKIN10": lambda: skin(10),
    "SKIN01": lambda: skin(100),
    "synthetic": synthetic,
}
