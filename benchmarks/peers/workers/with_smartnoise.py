"""SmartNoise SQL over a data frame. It protects a row's presence; half the epsilon protects one that is replaced."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd
import snsql
from work import serve

warnings.simplefilter("ignore")


def histogram(table: str, epsilon: float, rows: int, states: list[str]) -> dict[str, Any]:
    people = pd.read_parquet(table, columns=["age", "state"])
    columns = {"age": {"type": "int", "lower": 0, "upper": 99}, "state": {"type": "string"}}
    described = {"row_privacy": True, "rows": rows, "censor_dims": False, **columns}
    privacy = snsql.Privacy(epsilon=epsilon / 2, delta=1e-6)
    reader = snsql.from_df(people, privacy=privacy, metadata={"": {"db": {"people": described}}})
    found = reader.execute("SELECT age, state, COUNT(*) AS n FROM db.people GROUP BY age, state")
    return {"cells": len(found) - 1, "possible": 100 * len(states)}


if __name__ == "__main__":
    serve("smartnoise-sql", {"histogram": histogram})
