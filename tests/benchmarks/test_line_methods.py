"""Strategies of the literature for one attribute, beside the same written out."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.peers.line_methods import best_tree, error_of, gram, p_identity


@pytest.mark.parametrize("asked", ["ranges", "cdf"])
def test_what_is_asked_is_counted_in_pairs(asked: str) -> None:
    rows = np.array(
        [[float(a <= x <= b) for x in range(5)] for a in range(5) for b in range(a, 5) if asked == "ranges" or a == 0]
    )
    found, many = gram(5, asked)
    assert found.tolist() == (rows.T @ rows).tolist()
    assert many == len(rows)


def test_the_error_of_single_values_is_two_for_each_value_of_a_range() -> None:
    assert error_of(np.eye(10), 10, "ranges") == pytest.approx(2 * (10 + 2) / 3)
    assert error_of(np.eye(10), 10, "cdf") == pytest.approx(2 * 5.5)
    assert error_of(3 * np.eye(10), 10, "cdf") == pytest.approx(2 * 5.5)  # what is larger loses more


@pytest.mark.parametrize("asked", ["ranges", "cdf"])
def test_a_descent_ends_below_trees_and_single_values(asked: str) -> None:
    strategy = p_identity(32, asked, 8, 300)
    assert strategy.sum(axis=0) == pytest.approx(np.ones(32))
    tree = best_tree(32, asked)
    assert error_of(strategy, 32, asked) < error_of(tree, 32, asked)
    assert error_of(strategy, 32, asked) < error_of(np.eye(32), 32, asked)
    assert (tree.sum(axis=1).max(), tree.min()) == (32, 0)
