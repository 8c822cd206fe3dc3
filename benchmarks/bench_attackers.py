"""The Markov quilt against group differential privacy, on a household's power and on long chains.

    python -m benchmarks attackers [--quick]

The series is the active power of one house in 2008, every ten minutes, in steps of 0.2 kW, or a stand-in of the same
length. The transition matrix must not come from what is protected: it is counted in January to June, which plays the
public source, with a constant added to every count, and July to December is protected. Both are noise on relative
frequencies at epsilon 1, so their ratio is the number of rows that change together under group differential privacy
over the same for the quilt.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from benchmarks.data import real
from tetraodon.certificate.correlated_records import exact_influences, quilt_budget, spread
from tetraodon.policy.attackers import Chain, Matrix, transition_matrix

STEP = 0.2


def power() -> tuple[NDArray[np.int64], str]:
    """States of the series, or a stand-in of the same length where the file is not at hand."""
    path = real("household_power_2008_10min.parquet")
    if path is None:
        steps = np.random.default_rng(1).choice([-1, 0, 0, 0, 1], 52_704)
        return np.abs(np.cumsum(steps)) % 44, "stand-in"
    order = "ORDER BY year_day, hour, minute"
    read = duckdb.sql(f"SELECT active_power FROM '{path}' WHERE active_power IS NOT NULL {order}").fetchnumpy()
    return np.floor(np.asarray(read["active_power"], np.float64) / STEP + 1e-9).astype(np.int64), "household power"


def counted(states: NDArray[np.int64], size: int, added: Fraction) -> Matrix:
    """Transition frequencies with a constant added to every count."""
    counts = np.full((size, size), added.numerator, np.int64)
    np.add.at(counts, (states[:-1], states[1:]), added.denominator)
    return transition_matrix([[Fraction(int(n), int(row.sum())) for n in row] for row in counts])


def run(quick: bool = False) -> list[dict[str, Any]]:
    """All rows."""
    states, source = power()
    half = len(states) // 2
    size = int(states.max()) + 1
    everything = ~np.eye(size, dtype=np.bool_)
    rows = []
    for added in (Fraction(1),) if quick else (Fraction(1), Fraction(1, 10)):
        chain = Chain("time", (counted(states[:half], size, added),), (), "January to June 2008")
        start = time.perf_counter()
        each = quilt_budget(chain, everything, Fraction(1))
        seconds = time.perf_counter() - start
        protected = len(states) - half
        rows.append(
            {
                "name": f"noise of group differential privacy over the Markov quilt, {added} added to each count",
                "ratio": protected * float(each),
                "target": 10.0,
                "better": "higher",
                "reached": protected * each >= 10,
                "detail": {
                    "data": source,
                    "states": size,
                    "rows": protected,
                    "rows that noise hides": float(1 / each),
                    "seconds": seconds,
                },
            }
        )
    rows.append(_long(10_000 if quick else 100_000))
    return rows


def _long(length: int) -> dict[str, Any]:
    """A chain with a stated start, whose every row has its own distribution, against one matrix product a row."""
    rng = np.random.default_rng(2)
    counts = rng.integers(1, 100, (20, 20))
    matrix = transition_matrix([[Fraction(int(n), int(row.sum())) for n in row] for row in counts])
    first = (Fraction(1), *(Fraction(0),) * 19)
    chain = Chain("time", (matrix,), (first,), "a study", length)
    everything = ~np.eye(20, dtype=np.bool_)
    spread.cache_clear()
    start = time.perf_counter()
    exact_influences(chain, everything, 64)
    ours = time.perf_counter() - start
    floats, here = np.array([[float(p) for p in row] for row in matrix]), np.array([float(p) for p in first])
    start = time.perf_counter()
    for _ in range(length):
        here = here @ floats
    products = time.perf_counter() - start
    return {
        "name": f"exact quilt of {length:,} rows and 20 states, over as many products of a row and the matrix",
        "ratio": ours / products,
        "target": None,
        "reached": True,
        "detail": {"seconds": ours, "products": products},
    }
