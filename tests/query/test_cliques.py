"""Parts of a junction tree: every table lies in one, and those with an attribute in common hang together."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tetraodon.inference.graphical_model import JunctionTree
from tetraodon.query.aim import cells_of, cliques_of

SIZES = (2, 3, 4, 2, 5, 3)


def test_a_ring_is_cut_into_triangles() -> None:
    assert sorted(map(len, cliques_of([(0, 1), (1, 2), (2, 3), (0, 3)], SIZES))) == [1, 1, 3, 3]
    assert cells_of([(0, 1)], SIZES) == 6 + 4 + 2 + 5 + 3


@pytest.mark.parametrize("seed", range(20))
def test_tables_by_chance_hang_together(seed: int) -> None:
    rng = np.random.default_rng(seed)
    every = [*combinations(range(6), 2), *combinations(range(6), 3)]
    tables = [every[place] for place in rng.permutation(len(every))[: rng.integers(1, 7)]]
    tree = JunctionTree(tables, SIZES)
    assert all(tree.home(table) is not None for table in tables)
    assert not any(set(a) < set(b) for a in tree.cliques for b in tree.cliques)
    for place in range(6):  # the parts that hold an attribute are one piece of the tree: all but one hang on another
        held = [one for one in tree.cliques if place in one]
        assert sum(tree.above[one] not in held for one in held) == 1
