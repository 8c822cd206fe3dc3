"""What is told of chosen tables: how long it is, and which numbers nobody could have told."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import QueryError, Refused
from tetraodon.noise.laws import GAUSSIAN, LAPLACE
from tetraodon.query.aim import FEW, MOST_CELLS, NOTHING, ChosenTables
from tetraodon.query.linear import LinearQuery, Split

A, B, C = map(Split, "abc")
SIZES = (2, 3, 2)


def three(rounds: int, most: int = 0, free: tuple[int, ...] = (), total: bool = True) -> ChosenTables:
    return ChosenTables((A, B, C), SIZES, rounds, most, free, total)


def test_what_is_given_and_what_can_be_chosen() -> None:
    tables = three(2, free=(0, 2))
    assert tables.candidates == ((0, 1), (1, 2), (0, 1, 2))  # the other one is told anyway
    assert tables.given == ((), (0,), (1,), (2,), (0, 2))
    assert tables.secret == (1,)
    assert tables.rows == 1 + 2 + 3 + 2 + 4 + 2 * (3 + 12)
    assert three(1, total=False).given == ((0,), (1,), (2,))
    assert ChosenTables((A, B, C), (MOST_CELLS[2], 2, 2), 1).candidates == ((1, 2),)
    assert ChosenTables((A, B, C), (MOST_CELLS[3], 2, 2), 1).candidates == ((0, 1), (0, 2), (1, 2))


def test_of_many_attributes_pairs_are_chosen_and_no_model_is_made() -> None:
    many = ChosenTables(tuple(Split(f"x{n}") for n in range(FEW + 1)), (2,) * (FEW + 1), 1)
    assert set(map(len, many.candidates)) == {2}
    assert not many.modelled
    assert three(1).modelled


def test_nothing_is_chosen_that_the_model_has_no_room_for() -> None:
    sizes = (90, 90, 90, 2)
    tables = ChosenTables(tuple(map(Split, "abcd")), sizes, 2)
    able = tables.open([(0, 1), (1, 2)])
    assert (0, 2) not in able  # a ring of three would be one table of 729,000 cells
    assert {(0, 3), (1, 3), (2, 3)} <= set(able)
    assert ChosenTables(tuple(map(Split, "abcd")), sizes, 2, 0, (0, 1, 2), True).modelled is False


def test_few_may_share_an_attribute() -> None:
    assert three(3, most=1).open([(0, 1)]) == []
    assert three(3, most=2).open([(0, 1), (0, 2)]) == [(1, 2)]
    assert three(3, most=2).open([(0, 1, 2)]) == [(0, 1), (0, 2), (1, 2)]
    assert three(2, most=1, free=(1,)).open([(0, 1)]) == [(1, 2)]  # it may share what is free
    assert three(3).open([(0, 1)]) == [(0, 2), (1, 2), (0, 1, 2)]


def told() -> np.ndarray:
    tables = three(2, most=1)
    given = [[9], [4, 5], [-1, 3, 6], [9, 1]]
    rounds = [tables.line((0, 1), np.arange(6)), tables.line((), NOTHING)]
    return np.concatenate([*map(np.array, given), *rounds])


def test_numbers_are_read_back() -> None:
    given, chosen = three(2, most=1).tables(told())
    assert [(places, cells.tolist()) for places, cells in given] == [
        ((), [9]),
        ((0,), [4, 5]),
        ((1,), [-1, 3, 6]),
        ((2,), [9, 1]),
    ]
    assert [(pair, cells.tolist()) for pair, cells in chosen] == [((0, 1), [0, 1, 2, 3, 4, 5])]
    assert three(2, most=1).could_tell(told(), Fraction(1))


@pytest.mark.parametrize(
    ("place", "number"),
    [(0, -1), (8, 1), (8, -1), (9, 5), (10, 0), (23, 0), (-1, 7)],
    ids=[
        "a total below zero",
        "a table of one twice",
        "no first place",
        "an attribute that is not there",
        "an attribute twice",
        "a second table",
        "a cell too many",
    ],
)
def test_numbers_that_nobody_told(place: int, number: int) -> None:
    wrong = told()
    assert wrong[place] != number
    wrong[place] = number
    assert not three(2, most=1).could_tell(wrong, Fraction(1))


def test_exact_tables_are_of_the_same_records() -> None:
    tables = three(0, free=(0,))
    numbers = np.array([9, 4, 5, 0, 0, 9, 1, 2])
    assert tables.could_tell(numbers, Fraction(1))
    numbers[1] = 5
    assert not tables.could_tell(numbers, Fraction(1))


def test_records_are_put_into_bins() -> None:
    binned = ChosenTables((Split("a", (1, 0, 0)), B), (2, 3), 1)
    found = LinearQuery(binned).counted(
        Domain((Attribute("a", Integers(0, 2)),)), np.array([[0, 2], [2, 1]]), np.array([5, 7])
    )
    assert found.tolist() == [[1, 2, 5], [0, 1, 7]]


def test_noise_is_wider_where_less_depends_on_it() -> None:
    assert three(3).wider(LAPLACE) == (4, 9)
    assert three(3, most=1).wider(LAPLACE) == (4, 27)
    assert three(3).wider(GAUSSIAN) == (2, Fraction(5, 2))
    assert three(3, most=1).wider(GAUSSIAN) == (2, Fraction(5, 2) * Fraction(17, 10))  # about the root of 3


@pytest.mark.parametrize(
    "make",
    [
        lambda: three(5),
        lambda: three(-1),
        lambda: three(1, most=-1),
        lambda: three(1, free=(0, 1, 2)),
        lambda: three(1, free=(2, 0)),
        lambda: three(1, free=(3,)),
        lambda: three(1, free=(0,), total=False),
        lambda: ChosenTables((A, B), (2,), 0),
    ],
)
def test_impossible_choices(make: Callable[[], ChosenTables]) -> None:
    with pytest.raises(QueryError):
        make()


def test_it_is_no_sum() -> None:
    tables, codes = three(1), np.zeros((1, 3), np.int64)
    for ask in (tables.columns, lambda: tables.alone(codes), lambda: tables.apart(codes, codes)):
        with pytest.raises(QueryError, match="no sums"):
            ask()
    with pytest.raises(QueryError, match="no sums"):
        tables.potential(codes)
    domain = Domain(tuple(Attribute(name, Integers(0, size - 1)) for name, size in zip("abc", SIZES, strict=True)))
    with pytest.raises(Refused, match="not added up row by row"):
        LinearQuery(tables).evaluate(domain, codes, np.ones(1, np.int64))
