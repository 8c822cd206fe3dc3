"""A contribution of some of the records is that of everybody, times whether the condition holds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import Refused
from tetraodon.query.contribution import Among, Contribution, One, Prefix, Table, among_all
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.query.number import Number
from tetraodon.query.smooth import Hats, Ramps

DOMAIN = Domain((Attribute("a", Integers(0, 3)), Attribute("b", Integers(-1, 1))))
HOLDS = np.array([[0, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 1]], np.bool_)
INSIDE = Attribute("a", Integers(1, 3))
KINDS: list[Contribution] = [
    One(),
    Prefix("a", 3, 2),
    Number(INSIDE),
    Number(INSIDE, squared=True),
    Table(("a",), np.array([[1, -2, 3], [0, 1, 1]])),
    Hats("a", 3, 2),
    Ramps("a", 3, 2),
]


def among(inner: Contribution) -> Among:
    """Along `a`, codes begin at the second value."""
    own = inner.names
    names = (*own, *(name for name in DOMAIN.names if name not in own))
    sizes = tuple(DOMAIN[name].size for name in names)
    return Among(inner, names, sizes, ("a", "b"), HOLDS.tobytes(), (1,) * len(own), (3,) * len(own))


@pytest.mark.parametrize("inner", KINDS, ids=lambda kind: type(kind).__name__)
def test_it_adds_what_its_columns_say(inner: Contribution) -> None:
    part = among(inner)
    rows = LinearQuery(part).matrix(DOMAIN)[0]
    columns = inner.columns()
    cells = list(itertools.product(range(4), range(3)))
    for cell, (a, b) in enumerate(cells):
        alone = columns[:, a - 1 if inner.names else 0] if HOLDS[a, b] else 0 * columns[:, 0]
        assert rows[:, cell].tolist() == alone.tolist()
    place = {cell: number for number, cell in enumerate(cells)}
    x, y = (np.array(ends) for ends in zip(*itertools.product(range(12), repeat=2), strict=True))
    local = [
        np.ravel_multi_index([np.array([cells[c]["ab".index(name)] for c in end]) for name in part.names], part.sizes)
        for end in (x, y)
    ]
    assert part.alone(local[0]).tolist() == np.abs(rows[:, x]).sum(axis=0).tolist()
    assert part.apart(*local).tolist() == np.abs(rows[:, x] - rows[:, y]).sum(axis=0).tolist()
    assert part.potential(local[0]) is None
    assert place[3, 2] == 11


@pytest.mark.parametrize("inner", KINDS, ids=lambda kind: type(kind).__name__)
def test_counts_of_cells_are_added_up_as_its_rows_say(inner: Contribution) -> None:
    counts = np.array([5, 0, 2, 7, 1, 1, 0, 3, 4, 9, 2, 6])
    for by in ((), (Split("b"),)):
        query = LinearQuery(among(inner), by)
        cells = np.array(list(itertools.product(range(4), range(3))))
        codes = cells[:, ["ab".index(name) for name in query.names]]
        assert query.evaluate(DOMAIN, codes, counts).ravel().tolist() == (query.matrix(DOMAIN)[0] @ counts).tolist()


def test_a_part_of_a_part() -> None:
    part = among(Prefix("a", 3, 2))
    here = part.at("b", 1)
    assert isinstance(here, Among)
    assert here.names == here.held == ("a",)
    assert here.table.tolist() == HOLDS[:, 1].tolist()
    own = part.under(("a",), HOLDS.any(axis=1))
    assert isinstance(own, Among)
    assert own.table.tolist() == [False, True, True, True]
    narrow = part.also(["a"], np.array([1, 0, 1, 0], np.bool_))
    assert isinstance(narrow, Among)
    assert narrow.table.tolist() == (HOLDS & np.array([[1], [0], [1], [0]], np.bool_)).tolist()
    assert part.also(["a"], np.array([1, 0, 0, 0], np.bool_)) is None


def test_what_always_holds_is_the_contribution_itself() -> None:
    kind = Prefix("a", 4, 4)
    everybody = among_all(kind, (4,))
    assert everybody.also(["a"], np.ones(4, np.bool_)) == kind
    left = everybody.also(["a"], np.arange(4) > 1)
    assert isinstance(left, Among)
    assert left.alone(np.arange(4)).tolist() == [0, 0, 2, 1]


def test_rows_that_are_too_large_are_refused_before_they_are_written() -> None:
    """A thousand running counts of a thousand codes, of those of a hundred others: gigabytes."""
    sizes = (1000, 100)
    part = Among(Prefix("a", 1000, 1000), ("a", "b"), sizes, ("b",), np.ones(100, np.bool_).tobytes(), (0,), (1000,))
    with pytest.raises(Refused, match="too large to be written out"):
        part.columns()


def test_squares_beyond_64_bits_are_those_of_one_record_too() -> None:
    """An array of one long number is a Python integer, which NumPy does not put beside short ones."""
    part = Among(Table(("a",), np.array([[10**12]])), ("a", "b"), (1, 2), ("b",), bytes([0, 1]), (0,), (1,))
    assert [int(part.alone(np.array(code), 2)) for code in (0, 1)] == [0, 10**24]
