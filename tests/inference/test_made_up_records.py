"""Made-up records follow tables of counts."""

from __future__ import annotations

import numpy as np

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.inference.graphical_model import TargetTable, bring_all_nearer, make_up
from tetraodon.query.linear import Split

DOMAIN = Domain((Attribute("a", Integers(0, 3)), Attribute("b", Integers(0, 1)), Attribute("c", Integers(0, 2))))
BOTH = np.array([[40.0, 0.0], [0.0, 20.0], [0.0, 20.0], [20.0, 0.0]])


def test_records_have_the_counts_of_all_tables() -> None:
    tables = [
        TargetTable("ab", (Split("a"), Split("b")), BOTH),
        TargetTable("bc", (Split("b"), Split("c")), np.array([[30.0, 30.0, 0.0], [0.0, 0.0, 40.0]])),
    ]
    codes = make_up(tables, DOMAIN, 1000)
    assert [len(codes[name]) for name in "abc"] == [1000] * 3
    assert all(table.distance(codes, 1000) <= 0.01 for table in tables)
    again = make_up(tables, DOMAIN, 1000)
    assert all((codes[name] == again[name]).all() for name in "abc")


def test_only_attributes_of_some_table_are_made_up() -> None:
    assert set(make_up([TargetTable("ab", (Split("a"), Split("b")), BOTH)], DOMAIN, 10)) == {"a", "b"}


def test_each_turn_comes_nearer() -> None:
    table = TargetTable("ab", (Split("a"), Split("b")), BOTH)
    codes = {"a": np.zeros(500, np.int64), "b": np.zeros(500, np.int64)}
    rng, far = np.random.default_rng(0), [table.distance(codes, 500)]
    for _ in range(6):
        bring_all_nearer(codes, [table], DOMAIN, 0.7, rng)
        far.append(table.distance(codes, 500))
    assert far[0] > 0.5
    assert far[-1] < 0.01
    assert far == sorted(far, reverse=True)


def test_nobody_counted_is_everybody_alike() -> None:
    table = TargetTable("ab", (Split("a"), Split("b")), np.zeros((4, 2)))
    codes = make_up([table], DOMAIN, 800)
    assert table.distance(codes, 800) <= 0.01
