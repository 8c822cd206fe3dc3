"""Imported by the fork server, so that processes start with the imports and caches of a first plan."""

from __future__ import annotations

import gc
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tetraodon.ledger import Ledger
from tetraodon.web.jobs import plan_job, read_job

POLICY: Final[dict[str, Any]] = {
    "dataset": "warm",
    "presence": "public",
    "attributes": {"age": {"integer": [0, 9]}, "sex": ["f", "m"]},
    "secrets": {"age": {"within": 5}, "sex": "public"},
    "budget": {"epsilon": 1},
}
ITEMS: Final = [
    {"name": "a", "histogram": "age", "by": "sex"},
    {"name": "b", "count": "age < 5"},
    {"name": "c", "cdf": "age"},
    {"name": "d", "mean": "age"},
]


def _warm() -> None:
    """Plan a little of everything, against a ledger that goes away."""
    with TemporaryDirectory() as place:
        address = f"sqlite:///{Path(place) / 'ledger.db'}"
        with Ledger(address) as book:
            book.open("warm", 1, POLICY)
        plan_job(read_job(POLICY)["document"], {"items": ITEMS, "epsilon": 1}, address, 1)
    gc.collect()
    gc.freeze()  # frozen objects are not copied into every forked process


_warm()
