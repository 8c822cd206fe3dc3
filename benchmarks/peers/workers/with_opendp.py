"""OpenDP, as its user guide recommends: the Polars context for tables, the constructors for trees and quantiles.

Its distance between data sets counts records added and removed; replacing one record is a distance of two.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import opendp.prelude as dp
import polars as pl
from work import rates, serve, timed

dp.enable_features("contrib")
warnings.simplefilter("ignore", FutureWarning)
REPLACED = 2


def noise(scale: float, count: int, repeats: int) -> dict[str, Any]:
    draw = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), scale=scale)
    zeros = [0] * (count // 10)
    return rates(lambda: draw(zeros), count // 10, repeats)


def histogram(table: str, epsilon: float, rows: int, states: list[str]) -> dict[str, Any]:
    ages = pl.DataFrame({"age": range(100)}, schema={"age": pl.Int32})
    context = dp.Context.compositor(
        data=pl.scan_parquet(table).select("age", "state"),
        privacy_unit=dp.unit_of(contributions=REPLACED),
        privacy_loss=dp.loss_of(epsilon=epsilon),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=(), max_length=rows)],
    )
    asked = context.query().group_by("age", "state").agg(dp.len())
    found = asked.with_keys(ages.join(pl.DataFrame({"state": states}), how="cross")).release().collect()
    return {"cells": len(found)}


def ranges(values: str, size: int, epsilon: float, repeats: int, out: str) -> dict[str, Any]:
    data = np.load(values).tolist()
    fanout = dp.t.choose_branching_factor(size_guess=size)
    counted = (
        (dp.vector_domain(dp.atom_domain(T=int), size=len(data)), dp.symmetric_distance())
        >> dp.t.then_count_by_categories(categories=list(range(size)), null_category=False)
        >> dp.t.then_b_ary_tree(leaf_count=size, branching_factor=fanout)
    )
    measured = dp.binary_search_chain(lambda scale: counted >> dp.m.then_laplace(scale), REPLACED, epsilon)
    mechanism = measured >> dp.t.make_consistent_b_ary_tree(branching_factor=fanout)
    made, seconds = timed(lambda: mechanism(data), repeats)
    np.save(out, np.array(made, dtype=float))
    return {"seconds": seconds, "fanout": fanout}


def quantiles(values: str, low: int, high: int, at: list[float], epsilon: float, repeats: int) -> dict[str, Any]:
    data = np.load(values).tolist()
    space = dp.vector_domain(dp.atom_domain(T=int), size=len(data)), dp.symmetric_distance()
    candidates = list(range(low, high + 1))
    asked = [
        dp.binary_search_chain(
            lambda scale, alpha=alpha: (
                space
                >> dp.m.then_private_quantile(dp.max_divergence(), candidates=candidates, alpha=alpha, scale=scale)
            ),
            REPLACED,
            epsilon / len(at),
        )
        for alpha in at
    ]
    made, seconds = timed(lambda: [one(data) for one in asked], repeats)
    return {"seconds": seconds, "estimates": made}


if __name__ == "__main__":
    serve("opendp", {"noise": noise, "histogram": histogram, "ranges": ranges, "quantiles": quantiles})
