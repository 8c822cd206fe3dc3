"""The data sets of the evidence: the real files where they lie beside the project, else the bundled extract."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

ROOT = Path(__file__).parent.parent
FILES = ("adult.parquet", "skin.parquet", "twitter_west_256.parquet", "twitter_west_400x300_imputed.parquet")


def real(name: str) -> Path | None:
    """The file of a real data set, from the folder TETRAODON_DATA or the one beside the project; None without it."""
    home = Path(os.environ.get("TETRAODON_DATA", ROOT.parent / "shared" / "data"))
    path = home / name
    return path if path.exists() else None


def adult(column: str) -> NDArray[np.int64]:
    """A column of Adult: the whole file, or the 12,000 rows that come with the package."""
    path = real("adult.parquet") or files("tetraodon.demo") / "adult.parquet"
    return pl.read_parquet(path, columns=[column])[column].to_numpy().astype(np.int64)


def quantile_columns() -> dict[str, tuple[NDArray[np.int64], int]]:
    """Columns that quantiles are asked of, in whole steps from 0, each with its largest possible value."""
    found = {"fnlwgt": (adult("fnlwgt"), 1_500_000)}
    for name, file, column, first, step, high in (
        ("latitude", "geo_west.parquet", "lat", 30.0, 1e-5, 2_000_000),
        ("household power", "household_power_2008_10min.parquet", "active_power", 0.0, 1e-3, 12_000),
        ("blue", "skin.parquet", "B", 0.0, 1.0, 255),
    ):
        if (path := real(file)) is not None:
            values = pl.read_parquet(path, columns=[column])[column].drop_nulls().to_numpy().astype(np.float64)
            found[name] = (np.rint((values - first) / step).astype(np.int64), high)
    return found


def fingerprint() -> str:
    """Names and sizes of the real files that are there: changes when other data lie beside the project."""
    found = [(name, path.stat().st_size) for name in FILES if (path := real(name)) is not None]
    return repr(found)
