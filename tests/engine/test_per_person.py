"""People counted rather than rows: equal numbers from every engine, against plain Python."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from tests.engine.tables import FORMS, table

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.engine import Individuals, open_table

DOMAIN = Domain((Attribute("x", Integers(2, 9)), Attribute("y", Integers(0, 1))))
RECORDS = [
    ("a", 2, 0), ("a", 9, 1), ("b", 9, 0), ("c", 3, 1), ("c", 3, 1), ("c", 99, 0), (None, 5, 0),
    ("d", None, 0), ("e", 4, 0), ("e", 4, 1), ("e", 4, 0), ("e", 4, 0), ("f", 2, 1),
]  # fmt: skip


def oracle(individuals: Individuals, cap: int) -> dict[int, tuple[int, int]]:
    """By number of rows: people, and their capped sums."""
    mine: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for who, x, y in RECORDS:
        if who is not None:
            mine[who].append((2 if x is None else min(max(x, 2), 9), y))
    found: dict[int, tuple[int, int]] = {}
    for rows in mine.values():
        kept = sorted(rows)[: individuals.at_most] if individuals.cut or len(rows) <= individuals.at_most else []
        if kept:
            people, total = found.get(len(kept), (0, 0))
            found[len(kept)] = people + 1, total + min(cap, sum(x for x, _ in kept))
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("individuals", [Individuals("who", 3), Individuals("who", 2, cut=True)], ids=["out", "cut"])
def test_people_and_their_capped_sums(form: str, individuals: Individuals, tmp_path: Path) -> None:
    columns = {"who": "VARCHAR", "x": "INTEGER", "y": "INTEGER"}
    with table(form, tmp_path, columns, RECORDS) as source, open_table(source, DOMAIN, individuals) as engine:
        for cap in (7, 11, 1000):
            found = engine.per_person("x", first=2, step=1, cap=cap)
            told = zip(found.rows.tolist(), found.people.tolist(), found.totals.tolist(), strict=True)
            assert {rows: (people, total) for rows, people, total in told} == oracle(individuals, cap)
        alone = engine.per_person()
        counted = {rows: people for rows, (people, _) in oracle(individuals, 1).items()}
        assert dict(zip(alone.rows.tolist(), alone.people.tolist(), strict=True)) == counted
