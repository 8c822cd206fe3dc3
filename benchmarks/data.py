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


ADULT_CODES = {"age": (17, 5), "hours_per_week": (1, 5), "capital_gain": (0, 2500), "capital_loss": (0, 250)}
"""Where the numbers of Adult begin, and how wide their bins are; the last bin holds all above 25 of them."""


def adult_codes() -> tuple[NDArray[np.int64], list[int]]:
    """Adult as codes, one column for each attribute, and how many values each has: texts by value, numbers in bins."""
    frame = pl.read_parquet(real("adult.parquet") or files("tetraodon.demo") / "adult.parquet")
    columns = []
    for name in frame.columns:
        if name in ADULT_CODES:
            first, width = ADULT_CODES[name]
            columns.append(np.clip((frame[name].to_numpy().astype(np.int64) - first) // width, 0, 24))
        elif frame[name].dtype == pl.String and name != "split":
            columns.append(np.unique(frame[name].to_numpy(), return_inverse=True)[1])
    codes = np.stack(columns, axis=1).astype(np.int64)
    return codes, [int(size) for size in codes.max(axis=0) + 1]


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
