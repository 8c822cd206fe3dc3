"""Plans of policies that must be in a known order: a small draw of `scripts.coherence`."""

from __future__ import annotations

import pytest
from scripts.coherence import RELATIONS, check

PAIRS, SEED = 6, 5
"""Pairs of every relation. `python -m scripts.coherence` draws more."""


@pytest.mark.parametrize("relation", RELATIONS)
def test_plans_are_in_order(relation: str) -> None:
    compared, broken = check(relation, PAIRS, SEED)
    assert compared >= PAIRS
    assert [(one.ratio, one.what) for one in broken] == []
