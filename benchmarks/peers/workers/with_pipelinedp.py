"""PipelineDP on its local backend, with public partitions.

One privacy identifier a row; it protects the presence of one, and half the epsilon protects one that is replaced.
"""

from __future__ import annotations

import itertools
from typing import Any

import pipeline_dp
import pyarrow.parquet as pq
from work import serve


def histogram(table: str, epsilon: float, rows: int, states: list[str]) -> dict[str, Any]:
    data = pq.read_table(table, columns=["age", "state"])
    records = zip(range(rows), data["age"].to_pylist(), data["state"].to_pylist(), strict=True)
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon / 2, total_delta=1e-6)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    asked = pipeline_dp.AggregateParams(
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        metrics=[pipeline_dp.Metrics.COUNT],
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: (row[1], row[2]),
        value_extractor=lambda _: 1,
    )
    cells = list(itertools.product(range(100), states))
    found = engine.aggregate(records, asked, extractors, public_partitions=cells)
    accountant.compute_budgets()
    return {"cells": len(list(found))}


if __name__ == "__main__":
    serve("pipeline-dp", {"histogram": histogram})
