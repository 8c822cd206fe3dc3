"""Every mechanism that a plan can choose, put before the verifier: it keeps its stated epsilon and no smaller one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import tetraodon as td
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.pufferfish import Additive, Channel, DiscreteLaplace, World, named, verify
from tetraodon.releases.plan import PlannedItem

RELEASE = [
    {"name": "cells", "histogram": "x"},
    {"name": "running", "cdf": "x"},
    {"name": "wide", "ranges": "x"},
    {"name": "sum", "total": "x"},
    {"name": "some", "count": "x < 3"},
]


def policy(top: int, secrets: Any, presence: str) -> td.Policy:
    return td.load_policy(
        {
            "dataset": "tiny",
            "presence": presence,
            "attributes": {"x": {"integer": [0, top]}},
            "secrets": {"x": secrets},
            "budget": {"epsilon": 1},
            "release": RELEASE,
        }
    )


CASES = {
    "all": policy(7, "everything", "public"),
    "all, presence too": policy(5, "everything", "secret"),
    "near": policy(7, {"within": 1}, "public"),
    "wide": policy(19, {"within": 5}, "public"),
    "long": policy(39, {"within": 3}, "public"),
    "blocks": policy(7, {"blocks": [[0, 2], [3, 7]]}, "public"),
}


def answers(item: PlannedItem, domain: td.research.Domain, *, noisy: bool) -> tuple[Any, list[Fraction]]:
    """What an item measures with noise, or without, as a function of a dataset of records; and its scales."""
    rows = [
        (row, m.scale)
        for m in item.measurements
        if (m.scale > 0) == noisy
        for row in m.query.matrix(domain)[0].tolist()
    ]

    def asked(dataset: Any) -> tuple[int, ...]:
        cells = [domain.cell(record) for record in dataset if record is not ABSENT]
        return tuple(sum(row[cell] for cell in cells) for row, _ in rows)

    return asked, [scale for _, scale in rows]


@pytest.mark.parametrize("name", CASES)
def test_every_item_loses_what_its_certificate_says(name: str) -> None:
    planned = td.plan(CASES[name])
    world = World.of_domain(CASES[name].domain, individuals=1, absent=CASES[name].presence == "secret")
    for item in planned:
        promise = named.blowfish(CASES[name], epsilon=item.epsilon)
        told, _ = answers(item, CASES[name].domain, noisy=False)
        exact = verify(Channel.of(lambda dataset, asked=told: {asked(dataset): 1}, world), promise)
        assert exact.odds == 1, "what is told without noise must not move along an edge"
        query, scales = answers(item, CASES[name].domain, noisy=True)
        if not scales:
            assert item.epsilon == 0
            continue
        mechanism = Additive(query, tuple(map(DiscreteLaplace, scales)), world)
        verdict = verify(mechanism, promise)
        assert verdict.lower == verdict.upper == item.epsilon
        assert verdict.holds
        assert verify(mechanism, promise.at(item.epsilon * Fraction(99, 100))).holds is False


def test_no_mechanism_is_left_out() -> None:
    chosen = {item.mechanism for case in CASES.values() for item in td.plan(case)}
    assert chosen >= {"exact", "identity", "ordered", "hierarchical", "weighted", "direct"}
