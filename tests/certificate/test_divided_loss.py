"""What divided parts lose, against every outcome of every round on all neighbouring tables of tiny worlds."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

import tetraodon as td
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.certificate.pair_loss import standing_in
from tetraodon.errors import Refused
from tetraodon.exact.arrays import Bools, Ints
from tetraodon.noise.laws import GAUSSIAN
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.queries import histogram
from tetraodon.query import adaptive_partition as divided
from tetraodon.query.adaptive_partition import Divided
from tetraodon.query.kinds import linear
from tetraodon.query.linear import LinearQuery, Measurement
from tetraodon.query.records_where import records_where

SCALE = Fraction(1, 40)
"""So that parts of a line are divided that are told as more than one record, and of a map as more than none."""
WORLDS: dict[tuple[int, ...], tuple[int, ...]] = {(3,): (-1, 0, 1, 2, 3), (3, 2): (0, 2)}
"""What each number may be told as: less than any count, all counts, and more; for a map, the ends alone."""
Outcomes = dict[tuple[int, ...], Fraction]


class _MoreNeededError(Exception):
    pass


@pytest.fixture(autouse=True)
def _in_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are divided in two, so that three values have two rounds."""
    for sides in divided.FAN:
        monkeypatch.setitem(divided.FAN, sides, 2)
    monkeypatch.setattr(divided, "FEWEST", 1)


@cache
def outcomes(records: tuple[tuple[int, ...], ...], sizes: tuple[int, ...]) -> Outcomes:
    """All that could be told, with the logarithm of its chance but for what depends on the scales alone.

    The rounds themselves are run; what they draw is taken from a list in place of the noise.
    """
    cells = np.zeros((1, *sizes), np.int64)
    for record in records:
        cells[(0, *record)] += 1
    parts, found, begun = Divided(("x", "y")[: len(sizes)], sizes), {}, [()]
    while begun:
        script: tuple[int, ...] = begun.pop()
        left, chance = list(script), [Fraction(0)]

        def drawn(exact: Ints, there: Bools, scale: Fraction, _: Any, left: Any = left, chance: Any = chance) -> Ints:
            many = int(there.sum())
            if many > len(left):
                raise _MoreNeededError(many)
            told = np.zeros(exact.shape, np.int64)
            told[there], left[:] = left[:many], left[many:]
            chance[0] -= int(np.abs(told - exact)[there].sum()) / scale
            return told

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(divided, "_drawn", drawn)
            try:
                told = parts.measure(cells, SCALE, lambda *_: np.zeros(0, np.int64))
            except _MoreNeededError as more:
                begun += [script + further for further in product(WORLDS[sizes], repeat=more.args[0])]
                continue
        found[tuple(told.ravel().tolist())] = chance[0]
    return found


def policy(sizes: tuple[int, ...], **changes: Any) -> td.Policy:
    sides = dict(zip("xy", sizes, strict=False))
    document = {
        "dataset": "d",
        "presence": "public",
        "attributes": {name: {"integer": [0, size - 1]} for name, size in sides.items()},
        "budget": {"epsilon": 1},
    }
    return td.load_policy({**document, **changes})


def neighbours(here: td.Policy, others: int) -> Iterator[tuple[tuple[tuple[int, ...], ...], ...]]:
    """Tables that differ in one person, with up to so many others."""
    there = list(product(*(range(attribute.size) for attribute in here.domain)))
    values = [*there, *([ABSENT] if here.graph.absent else [])]
    steps = [(x, y) for x, y in product(values, repeat=2) if x != y and here.graph.is_edge(x, y)]
    for many in range(others + 1):
        for rest in combinations_with_replacement(there, many):
            for x, y in steps:
                yield tuple(tuple(sorted((*rest, *([z] if z is not ABSENT else [])))) for z in (x, y))


def largest(here: td.Policy, sizes: tuple[int, ...], others: int) -> Fraction:
    """The largest log-likelihood ratio over all neighbours and outcomes."""
    found = Fraction(0)
    for one, other in neighbours(here, others):
        first, second = outcomes(one, sizes), outcomes(other, sizes)
        assert first.keys() == second.keys()
        found = max(found, *(first[told] - second[told] for told in first))
    return found


def measured(here: td.Policy, scale: Fraction = SCALE) -> Measurement:
    names, sizes = zip(*((a.name, a.size) for a in here.domain), strict=True)
    return Measurement(LinearQuery(Divided(names, sizes)), scale)


LINES: list[tuple[dict[str, Any], Fraction]] = [
    ({}, 2 / SCALE),
    ({"secrets": {"x": {"within": 1}}}, 2 / SCALE),
    ({"secrets": {"x": {"blocks": [[0, 1], [2, 2]]}}}, 1 / SCALE),
    ({"secrets": {"x": {"pairs": [[0, 2]]}}}, 2 / SCALE),
    ({"secrets": {"x": "public"}}, Fraction(0)),
    ({"presence": "secret"}, 2 / SCALE),
    ({"presence": "secret", "secrets": "none but presence"}, 1 / SCALE),
    ({"presence": "secret", "secrets": {"x": {"blocks": [[0, 1], [2, 2]]}}}, 1 / SCALE),
]


@pytest.mark.parametrize(("changes", "expected"), LINES)
def test_the_loss_is_that_of_the_worst_outcome_of_all_rounds(changes: dict[str, Any], expected: Fraction) -> None:
    here = policy((3,), **changes)
    found = certify_measurements(here.graph, [measured(here)])
    assert found.exact
    assert found.epsilon == largest(here, (3,), 1) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"together": {"metric": "l1", "over": ["x", "y"], "within": 1}}, 2 / SCALE),
        ({"secrets": {"x": "public"}}, Fraction(4, 3) / SCALE),
        ({"presence": "secret", "secrets": "none but presence"}, 1 / SCALE),
    ],
)
def test_and_so_it_is_on_a_map(changes: dict[str, Any], expected: Fraction) -> None:
    here = policy((3, 2), **changes)
    assert certify_measurements(here.graph, [measured(here)]).epsilon == largest(here, (3, 2), 0) == expected


def test_another_item_is_priced_beside_it_step_by_step() -> None:
    """Steps inside a block move the last round alone, and the histogram beside it."""
    here = policy((3,), secrets={"x": {"blocks": [[0, 1], [2, 2]]}})
    beside = Measurement(linear(histogram("x"), here.domain), Fraction(1, 5))
    assert certify_measurements(here.graph, [measured(here), beside]).epsilon == 1 / SCALE + 10


def test_what_stands_in_for_it_is_every_part_of_every_round() -> None:
    here = policy((3,))
    found = standing_in([measured(here, Fraction(2))], here.graph)
    assert [(m.query.size(here.domain), m.scale) for m in found] == [(2, 4), (3, 4)]


def test_known_counts_make_it_a_bound() -> None:
    here = policy((3,), known=[{"count": "x <= 1"}])
    assert not certify_measurements(here.graph, [measured(here)]).exact


def test_what_is_not_priced_is_refused() -> None:
    here = policy((3,))
    gaussian = Measurement(measured(here).query, Fraction(1), GAUSSIAN)
    assert not certify_measurements(here.graph, [gaussian]).finite
    assert not certify_measurements(here.graph, [measured(here, Fraction(0))]).finite
    beside = Measurement(linear(histogram("x"), here.domain), Fraction(1), GAUSSIAN)
    with pytest.raises(Refused, match="not priced beside Gaussian noise"):
        certify_measurements(here.graph, [measured(here), beside])
    some = records_where("x > 0", (), here.domain)
    assert some is not None
    with pytest.raises(Refused, match="for all records only"):
        certify_measurements(here.graph, [Measurement(some.lifted(measured(here).query), SCALE)])
