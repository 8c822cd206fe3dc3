"""Policies that nobody would write, loaded, explained and planned."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import tetraodon as td
from scripts.fuzz.cases import main
from scripts.fuzz.hostile import mutated

POLICY: dict[str, Any] = {
    "tetraodon": 1,
    "dataset": "people",
    "title": "People",
    "individuals": "one row each",
    "presence": "secret",
    "attributes": {
        "x": {"integer": [0, 5]},
        "r": {"real": [0, 1], "step": "0.5", "unit": "m"},
        "c": {"categories": ["a", "b", "c"], "other": "c"},
        "o": {"ordered": ["low", "middle", "high"], "other": "low"},
        "d": {"date": ["2020-01-01", "2020-01-03"]},
        "b": "boolean",
    },
    "secrets": {"x": {"within": 2}, "c": {"blocks": [["a", "b"], ["c"]]}, "o": "everything", "b": "public"},
    "together": "one attribute at a time",
    "known": [{"marginal": ["c"], "is": [1, 2, 3]}],
    "budget": {"epsilon": 1},
    "table": {"separator": ";"},
    "release": [
        {"name": "h", "histogram": ["x", "c"], "bins": {"x": [[0, 2], [3, 5]]}},
        {"name": "n", "count": "x > 2 and c = 'a'", "share": 2},
        {"name": "t", "total": "r", "by": "b"},
        {"name": "q", "quantiles": "x", "at": [0.5]},
        {"name": "p", "ranges": {"x": {"low": [0, 2]}}},
        {"name": "cd", "cdf": "o"},
        {"name": "s", "synthetic": {"records": 20, "attributes": ["x", "c", "b"], "tables": 2}, "bins": {"x": 2}},
    ],
}


def case(dice: random.Random, folder: Path) -> object:
    """One policy: as a dict, or as a file with bytes changed."""
    few = dice.sample(POLICY["release"], dice.randint(0, 2))
    base = {**POLICY, "release": few}
    if dice.random() < 0.6:
        del base["known"]
    if dice.random() < 0.2:
        from tetraodon.policy.source import dump_policy

        content = bytearray(dump_policy(base).encode())
        for _ in range(dice.randint(1, 4)):
            content[dice.randrange(len(content))] = dice.choice(b"\0\t\n :,[]{}'\"&*!|>%@`#-0\xff")
        (folder / "p.yaml").write_bytes(content)
        policy = td.load_policy(folder / "p.yaml")
    else:
        policy = td.load_policy(mutated(base, dice))
    if dice.random() < 0.15:
        return td.plan(policy)
    return policy.explain() if hasattr(policy, "explain") else policy


if __name__ == "__main__":
    main(case, __doc__ or "")
