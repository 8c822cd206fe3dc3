"""diffprivlib, by its own functions for histograms, quantiles and k-means.

Its histogram protects the presence of a record; half the epsilon protects a record that is replaced.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from diffprivlib import mechanisms, tools
from diffprivlib.models import KMeans
from work import rates, serve, timed

warnings.simplefilter("ignore")


def noise(scale: float, count: int, repeats: int) -> dict[str, Any]:
    mechanism = mechanisms.Geometric(epsilon=1 / scale, sensitivity=1)
    fewer = count // 50
    return rates(lambda: [mechanism.randomise(0) for _ in range(fewer)], fewer, repeats)


def histogram(table: str, epsilon: float, rows: int, states: list[str]) -> dict[str, Any]:
    import pyarrow.parquet as pq

    data = pq.read_table(table, columns=["age", "state"])
    places = {state: place for place, state in enumerate(states)}
    coded = data["state"].combine_chunks().dictionary_encode()
    codes = np.array([places[name] for name in coded.dictionary.to_pylist()])[coded.indices.to_numpy()]
    found, *_ = tools.histogram2d(
        data["age"].to_numpy(), codes, epsilon=epsilon / 2, bins=(100, len(states)), range=[(0, 100), (0, len(states))]
    )
    return {"cells": int(found.size), "rows": rows}


def ranges(values: str, size: int, epsilon: float, repeats: int, out: str) -> dict[str, Any]:
    data = np.load(values)
    made, seconds = timed(
        lambda: tools.histogram(data, epsilon=epsilon / 2, bins=size, range=(-0.5, size - 0.5))[0], repeats
    )
    np.save(out, np.array(made, dtype=float))
    return {"seconds": seconds}


def quantiles(values: str, low: int, high: int, at: list[float], epsilon: float, repeats: int) -> dict[str, Any]:
    data = np.load(values).astype(float)
    made, seconds = timed(lambda: tools.quantile(data, at, epsilon=epsilon, bounds=(low, high)).tolist(), repeats)
    return {"seconds": seconds, "estimates": made}


def kmeans(points: str, clusters: int, epsilon: float) -> dict[str, Any]:
    sets = iter(np.load(points))
    model = KMeans(n_clusters=clusters, epsilon=epsilon, bounds=(0, 1))
    made, seconds = timed(lambda: model.fit(next(sets)).cluster_centers_.tolist(), len(np.load(points)))
    return {"seconds": seconds, "centres": made}


if __name__ == "__main__":
    tasks = {"noise": noise, "histogram": histogram, "ranges": ranges, "quantiles": quantiles, "kmeans": kmeans}
    serve("diffprivlib", tasks)
