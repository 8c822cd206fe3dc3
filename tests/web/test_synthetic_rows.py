"""Made-up rows: every column, values that the policy allows, and the same ones whatever the table holds."""

from __future__ import annotations

import json

import tetraodon as td
from tetraodon.web.jobs import synthetic_rows


def test_every_kind_of_column_is_made_up_within_its_policy() -> None:
    policy = td.load_policy(
        {
            "dataset": "d",
            "individuals": {"key": "who", "at most": 2},
            "attributes": {
                "n": {"integer": [1, 3]},
                "r": {"real": [0, 1], "step": "0.25"},
                "d": {"date": ["2026-01-01", "2026-01-03"]},
                "c": {"categories": ["a", "b"], "missing": "separate"},
                "b": "boolean",
            },
            "budget": {"epsilon": 1},
        }
    )
    rows = synthetic_rows(policy, 200)
    assert rows == json.loads(json.dumps(synthetic_rows(policy, 200)))
    assert {row["n"] for row in rows} == {1, 2, 3}
    assert {row["r"] for row in rows} == {0, 0.25, 0.5, 0.75, 1}
    assert {row["d"] for row in rows} == {"2026-01-01", "2026-01-02", "2026-01-03"}
    assert {row["c"] for row in rows} == {"a", "b", None}
    assert max(sum(row["who"] == who for row in rows) for who in range(100)) == 2
