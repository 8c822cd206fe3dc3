"""Tumult: Core's noise mechanisms one number at a time, and an Analytics session on Spark with both cores.

A session protects the presence of a row; half the epsilon protects a row that is replaced.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from typing import Any

from work import rates, serve

os.environ["PYSPARK_PYTHON"] = sys.executable


def noise(scale: float, count: int, repeats: int) -> dict[str, Any]:
    from tmlt.core.measurements.noise_mechanisms import AddGeometricNoise
    from tmlt.core.utils.exact_number import ExactNumber

    mechanism = AddGeometricNoise(ExactNumber.from_float(scale, round_up=True))
    fewer = count // 500
    return {"version": version("tmlt.core"), **rates(lambda: [mechanism(0) for _ in range(fewer)], fewer, repeats)}


def histogram(table: str, epsilon: float, rows: int, states: list[str]) -> dict[str, Any]:
    from pyspark.sql import SparkSession
    from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

    spark = SparkSession.builder.master("local[2]").config("spark.driver.memory", "6g").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    budget = PureDPBudget(epsilon / 2)
    people = spark.read.parquet(table).select("age", "state")
    session = Session.from_dataframe(budget, "people", people, protected_change=AddOneRow())
    keys = KeySet.from_dict({"age": list(range(100)), "state": states})
    found = session.evaluate(QueryBuilder("people").groupby(keys).count(), budget)
    return {"cells": found.count(), "rows": rows}


if __name__ == "__main__":
    serve("tmlt.analytics", {"noise": noise, "histogram": histogram})
