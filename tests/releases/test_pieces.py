"""What the items of a release measured, as blocks."""

from __future__ import annotations

import numpy as np
import pytest
from tests.releases.test_combined import combined, made

import tetraodon as td
from tetraodon.releases.estimates import links_of, pieces_of, tells_all


def test_what_is_measured_in_the_same_way_is_averaged() -> None:
    release = made(
        [{"cdf": "age"}, {"median": "age", "bounds": True}, {"histogram": "age"}], "public", {"age": {"within": 1}}
    )
    (group,) = combined(release).groups
    (piece,) = group.pieces
    assert [(source.key[0], round(source.share, 3)) for source in piece.sources] == [(f"q{n}", 0.333) for n in range(3)]
    assert not group.alone
    lone = release["q0"].table.reach(np.arange(8) < 3)
    together = release["q0"].count("age < 23")
    assert together.upper - together.lower < 2 * lone * 0.7  # three measurements in place of one


def test_sums_are_read_from_the_smallest_table_that_tells_all_of_them() -> None:
    items = [{"histogram": ["age", "sex", "region"]}, {"histogram": ["age", "sex"]}, {"total": "age", "by": "sex"}]
    release = made(items, "secret", {})
    (group,) = combined(release).groups
    (link,) = group.links
    assert tells_all(link)
    assert len(link.counted) == 16


def test_sums_that_no_table_tells_meet_those_that_know_a_part() -> None:
    release = made([{"histogram": "age"}, {"total": "age", "by": "sex"}], "secret", {})
    (group,) = combined(release).groups
    assert not tells_all(group.links[0])
    ages, totals = (release[name].columns for name in ("q0", "q1"))
    assert float(ages["age"] @ ages["count"]) == pytest.approx(float(totals["total"].sum()))


def test_bins_hide_what_a_sum_needs() -> None:
    bins = {"age": [[20, 23], [24, 27]]}
    for total, tied in (("age", 0), ("pay", 0)):
        release = made([{"histogram": "age", "bins": bins}, {"total": total}], "secret", {})
        pieces = [piece for group in combined(release).groups for piece in group.pieces]
        assert len(links_of(pieces, release.plan.policy.domain)) == tied
    release = made([{"histogram": "age", "bins": bins}, {"count": "age < 24"}], "secret", {})
    assert np.ravel(release["q0"].columns["count"])[0] == pytest.approx(release["q1"].columns["count"][0])


def test_next_to_no_noise_is_not_none() -> None:
    policy = {
        "tetraodon": 1,
        "dataset": "sure",
        "attributes": {"age": {"integer": [0, 9]}, "sex": ["f", "m"]},
        "budget": {"epsilon": "1000000"},
        "release": [{"name": "ages", "histogram": ["age", "sex"]}, {"name": "sum", "total": "age"}],
    }
    plan = td.plan(policy)
    measured = {
        item.name: tuple(np.zeros(m.query.shape(plan.policy.domain), np.int64) for m in item.measurements)
        for item in plan
    }
    assert all(0 < piece.table.variance < 1e-9 for piece in pieces_of(tuple(plan), measured, plan.policy.domain))
