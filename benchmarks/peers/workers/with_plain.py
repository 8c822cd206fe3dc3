"""The references: no privacy, or no exactness, and nothing but speed. NumPy's noise, DuckDB's counts."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
from work import rates, serve


def noise(scale: float, count: int, repeats: int) -> dict[str, Any]:
    generator = np.random.default_rng()
    return {"version": version("numpy"), **rates(lambda: generator.laplace(0.0, scale, count), count, repeats)}


def histogram(table: str, **_: Any) -> dict[str, Any]:
    import duckdb

    found = duckdb.sql(f"select age, state, count(*) from '{table}' group by all").fetchall()
    return {"cells": len(found)}


if __name__ == "__main__":
    serve("duckdb", {"noise": noise, "histogram": histogram})
