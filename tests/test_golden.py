"""Plans, certificates and expected errors of some 450 policies, as they were recorded."""

from __future__ import annotations

import pytest
from scripts.golden import figures, recorded

PARTS = 12


@pytest.mark.parametrize("part", range(PARTS))
def test_figures_are_as_recorded(part: int) -> None:
    """`python -m scripts.golden` lists what differs; `--write` records it."""
    for policy, before in recorded()[part::PARTS]:
        assert figures(policy) == before, policy


def test_the_policies_reach_every_kind_of_certificate() -> None:
    found = [before for _, before in recorded()]
    planned = [one for one in found if "items" in one]
    assert len(planned) > 250
    assert sum(not one["certificate"]["exact"] for one in planned) > 10
    assert sum("rho_exact" in one["certificate"] for one in planned) > 30
    assert len({item["mechanism"] for one in planned for item in one["items"]}) >= 12
    assert any("view" in one for one in found)
    assert any("refused" in one for one in found)
