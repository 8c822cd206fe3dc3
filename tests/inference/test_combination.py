"""Least squares over blocks that must agree."""

from __future__ import annotations

import numpy as np
import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.inference.consistency import EstimatedTable, meetings
from tetraodon.inference.least_squares import Block, Combination, Remembered, TableLink
from tetraodon.query.linear import Split

DOMAIN = Domain((Attribute("a", Integers(0, 2)), Attribute("b", Integers(0, 1))))
RNG = np.random.default_rng(5)


def block(names: str, variance: float) -> Block:
    splits = tuple(Split(name) for name in names)
    values = RNG.normal(50, 10, [split.size(DOMAIN) for split in splits])
    return Block(EstimatedTable(splits, values, variance), lambda weights: variance * weights)


def linked() -> tuple[Block, Block, TableLink]:
    """The sum of 1, 2, 5 over the values of a, for every b."""
    counts, sums = block("ab", 2.0), block("b", 9.0)
    cells = np.array([0, 3, 1, 4, 2, 5])
    link = TableLink(counts.table, sums.table, np.eye(1), np.array([[1.0, 2.0, 5.0]]), 2, cells, np.arange(2))
    return counts, sums, link


def test_what_is_read_and_what_is_pulled_are_transposes() -> None:
    counts, _, link = linked()
    x, y, pull = RNG.normal(size=(3, 6)), RNG.normal(size=(3, 2)), RNG.normal(size=(3, 2))
    to_counts, to_sums = link.back(pull)
    assert np.vdot(link.gap(x, y), pull) == pytest.approx(np.vdot(x, to_counts) + np.vdot(y, to_sums))
    assert link.read(counts.table.values)[0] == pytest.approx(np.array([1.0, 2.0, 5.0]) @ counts.table.values)


def test_linked_sums_and_margins_are_those_of_dense_least_squares() -> None:
    counts, sums, link = linked()
    margin = block("a", 1.0)
    known = EstimatedTable((), np.array(321.0), 0.0)
    tables = [known, counts.table, margin.table]
    found = Combination([counts, sums, margin], meetings(tables, DOMAIN), [link]).estimates()
    rows = np.concatenate([np.eye(6), np.kron([1.0, 2.0, 5.0], np.eye(2)), np.kron(np.eye(3), [1.0, 1.0])])
    values = np.concatenate([b.table.values.ravel() for b in (counts, sums, margin)])
    weight = 1 / np.repeat([2.0, 9.0, 1.0], [6, 2, 3])
    system = np.block([[rows.T * weight @ rows, np.ones((6, 1))], [np.ones((1, 6)), np.zeros((1, 1))]])
    dense = np.linalg.solve(system, np.append(rows.T * weight @ values, 321.0))[:6]
    assert np.concatenate([part.ravel() for part in found]) == pytest.approx(rows @ dense)


def test_what_was_measured_is_left_as_it_was() -> None:
    counts, sums, link = linked()
    before = [counts.table.values.copy(), sums.table.values.copy()]
    together = Combination([counts, sums], [], [link])
    together.estimates()
    together.weights([np.eye(1, 6), np.zeros((1, 2))])
    assert np.array_equal(counts.table.values, before[0])
    assert np.array_equal(sums.table.values, before[1])


def test_weights_have_no_bias_and_less_variance_than_one_block() -> None:
    counts, sums, link = linked()
    together = Combination([counts, sums], [], [link])
    asked = [np.eye(6), np.zeros((6, 2))]
    weights = together.weights(asked)
    rows = np.concatenate([np.eye(6), np.kron([1.0, 2.0, 5.0], np.eye(2))])
    assert np.concatenate(weights, axis=1) @ rows == pytest.approx(np.eye(6))  # whatever the counts are
    assert (together.covariance(weights, weights) < 2.0 - 1e-6).all()


def test_no_more_is_remembered_than_there_is_room_for() -> None:
    memory = Remembered(left=5)
    memory.keep("first", [np.zeros((1, 2)), np.zeros((1, 3))], None)
    memory.keep("second", [np.zeros((1, 1))], None)
    assert set(memory.found) == {"first"}
