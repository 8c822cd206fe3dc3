"""A small data set, its policy and an open ledger."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.policies import public_policy

import tetraodon as td

POLICY: Mapping[str, Any] = public_policy(
    dataset="survey",
    title="A small survey",
    attributes={
        "age": {"integer": [20, 29]},
        "sex": ["Female", "Male"],
        "income": {"real": [0, 5], "step": "0.5", "unit": "kEUR"},
        "region": ["north", "south", "east"],
    },
    secrets={
        "age": {"within": 2},
        "sex": "public",
        "region": {"blocks": [["north", "south"], ["east"]]},
        "income": {"within": 1},
    },
    together="one attribute at a time",
    release=[
        {"name": "ages", "histogram": ["age", "sex"], "share": 2},
        {"name": "older", "cdf": "age"},
        {"name": "pay", "total": "income", "by": "sex"},
        {"name": "mean_pay", "mean": "income"},
        {"name": "bands", "ranges": {"age": [[20, 24], [25, 29]]}},
        {"name": "middle", "quantiles": "age", "bounds": True, "at": [0.5]},
        {"name": "blocks", "histogram": ["region"], "bins": {"region": "secret blocks"}},
        {"name": "men", "count": "sex = 'Male' and age > 24"},
    ],
)


@pytest.fixture
def policy() -> td.Policy:
    return td.load_policy(POLICY)


@pytest.fixture
def table() -> pl.DataFrame:
    rows = 400
    return pl.DataFrame(
        {
            "age": [20 + (i * 7 + i // 11) % 10 for i in range(rows)],
            "sex": ["Female" if i % 3 else "Male" for i in range(rows)],
            "income": [(i % 11) / 2 for i in range(rows)],
            "region": [["north", "south", "east"][i % 3] for i in range(rows)],
        }
    )


@pytest.fixture
def ledger(policy: td.Policy, tmp_path: Path) -> td.Ledger:
    book = td.Ledger(tmp_path / "ledger.db")
    book.open(policy.dataset, policy.epsilon * 2, policy.document)
    return book
