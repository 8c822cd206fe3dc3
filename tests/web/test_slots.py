"""Slots: fixed by plan and declared size, and the same moment whatever the data did within them."""

from __future__ import annotations

import pytest
from tests.web.conftest import ITEMS, POLICY

import tetraodon as td
from tetraodon.web.response_timing import SLOTS, public_at, slot_of


def test_the_slot_grows_with_the_declared_rows_and_the_cells() -> None:
    plan = td.plan(POLICY | {"release": ITEMS})
    assert [slot_of(plan, rows) for rows in (1, 1000, 5_000_000, 10**9)] == [10, 10, 60, 600]
    wide = POLICY | {"attributes": {"pay": {"integer": [0, 499_999]}}, "secrets": {"pay": {"within": 9}}}
    assert slot_of(td.plan(wide | {"release": [{"name": "pays", "histogram": "pay"}]}), 1) == 60


@pytest.mark.parametrize("slot", SLOTS)
def test_whenever_it_ends_within_a_slot_it_is_told_at_its_end(slot: int) -> None:
    begins = 0
    for late, end in enumerate([*(one for one in SLOTS if one >= slot), 1200, 1800, 2400]):
        for finished in (begins + 0.001, (begins + end) / 2, float(end)):
            assert public_at(100.0, slot, 100 + finished) == (100 + end, late)
        begins = end
