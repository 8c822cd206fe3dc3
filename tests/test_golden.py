"""Plans, certificates and expected errors of some 450 policies, as they were recorded."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from scripts.golden import agree, figures, recorded

PARTS = 12


@pytest.mark.parametrize("part", range(PARTS))
def test_figures_are_as_recorded(part: int) -> None:
    """`python -m scripts.golden` lists what differs; `--write` records it."""
    for policy, before in recorded()[part::PARTS]:
        now = figures(policy)
        assert agree(before, now), (policy, before, now)


def test_errors_that_follow_from_a_descent_may_differ_in_late_digits_and_nothing_else_may() -> None:
    weighted = [one for one in recorded() if any(i["mechanism"] == "weighted" for i in one[1].get("items", ()))]
    [(_, before), *_] = weighted
    place = next(n for n, item in enumerate(before["items"]) if item["mechanism"] == "weighted")

    def changed(key: str, value: str) -> dict[str, Any]:
        now = copy.deepcopy(before)
        now["items"][place][key] = value
        return now

    error = float(before["items"][place]["error"])
    assert agree(before, changed("error", f"{error * 1.0005:.9g}"))
    assert not agree(before, changed("error", f"{error * 1.002:.9g}"))
    assert not agree(before, changed("scale", "1"))
    assert not agree(before, {"refused": "Refused"})


def test_the_policies_reach_every_kind_of_certificate() -> None:
    found = [before for _, before in recorded()]
    planned = [one for one in found if "items" in one]
    assert len(planned) > 250
    assert sum(not one["certificate"]["exact"] for one in planned) > 10
    assert sum("rho_exact" in one["certificate"] for one in planned) > 30
    assert len({item["mechanism"] for one in planned for item in one["items"]}) >= 12
    assert any("view" in one for one in found)
    assert any("refused" in one for one in found)
