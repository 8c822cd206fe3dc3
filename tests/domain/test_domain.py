"""Cells are numbered row by row, whatever the size of the product."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.worlds import attributes

from tetraodon.domain import Attribute, Booleans, Categories, Domain, Integers
from tetraodon.errors import DomainError

MARKER = "Marker-Of-A-Person"
WIDE = Domain(
    (
        Attribute("sex", Categories(("F", "M")), other=0),
        Attribute("id", Integers(1, 10**12)),
        Attribute("alive", Booleans(), other=0),
    )
)


@given(st.data())
def test_cells_are_the_product_in_order(data: st.DataObject) -> None:
    domain = Domain(tuple(data.draw(attributes(name, 4)) for name in "abc"[: data.draw(st.integers(1, 3))]))
    every = list(itertools.product(*([a.value(code) for code in range(a.size)] for a in domain)))
    assert [domain.value(cell) for cell in range(domain.size)] == every
    assert [domain.cell(value) for value in every] == list(range(domain.size))
    assert [domain.cell(list(value)) for value in every] == list(range(domain.size))
    for cell in range(domain.size):
        assert domain.codes_of(cell) == tuple(int(c) for c in np.unravel_index(cell, domain.shape))


def test_a_trillion_cells_cost_nothing() -> None:
    tracemalloc.start()
    assert WIDE.size == 4 * 10**12
    value = ("M", 10**12 - 1, True)
    cell = (1 * 10**12 + 10**12 - 2) * 2 + 1
    assert WIDE.cell(value) == cell
    assert WIDE.value(cell) == value
    assert WIDE.codes_of(WIDE.size - 1) == (1, 10**12 - 1, 1)
    assert WIDE.project(["id", "sex"]).cell((5, "M")) == 9
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


def test_projection_keeps_the_order_asked() -> None:
    part = WIDE.project(["alive", "sex"])
    assert part.names == ("alive", "sex")
    assert part.shape == (2, 2)
    assert part["sex"] is WIDE["sex"]


def test_a_bare_value_will_do_for_one_attribute() -> None:
    assert WIDE.project(["id"]).cell(7) == WIDE.project(["id"]).cell((7,)) == 6
    assert WIDE.project(["sex"]).cell("M") == 1


@pytest.mark.parametrize(
    ("value", "where"), [((MARKER, 1, True), "sex"), (("F", MARKER, True), "id"), (("F", 1, MARKER), "alive")]
)
def test_the_error_names_the_attribute_and_not_the_value(value: tuple[object, ...], where: str) -> None:
    with pytest.raises(DomainError) as error:
        WIDE.codes(value)
    assert error.value.where == where
    assert MARKER not in str(error.value)


@pytest.mark.parametrize("value", [(), ("F",), ("F", 1), ("F", 1, True, 2), MARKER, 3])
def test_a_value_of_another_length_is_refused(value: object) -> None:
    with pytest.raises(DomainError, match="sex, id, alive") as error:
        WIDE.codes(value)
    assert MARKER not in str(error.value)


@pytest.mark.parametrize("cell", [-1, 4 * 10**12])
def test_a_cell_outside_is_refused(cell: int) -> None:
    with pytest.raises(DomainError, match="outside"):
        WIDE.value(cell)


def test_a_misspelt_attribute_is_corrected() -> None:
    for ask in (WIDE.position, WIDE.__getitem__, lambda name: WIDE.project([name])):
        with pytest.raises(DomainError, match="did you mean 'alive'"):
            ask("alife")


def test_domains_that_are_none() -> None:
    one = Attribute("a", Integers(0, 1))
    with pytest.raises(DomainError, match="no attribute"):
        Domain(())
    with pytest.raises(DomainError, match="share a name"):
        Domain((one, Attribute("b", Integers(0, 1)), one))
    with pytest.raises(DomainError, match="share a name"):
        WIDE.project(["id", "id"])


@pytest.mark.parametrize("codes", [(0, 0), (0, 0, 0, 0)])
def test_codes_of_another_length_are_a_mistake(codes: tuple[int, ...]) -> None:
    for ask in (WIDE.cell_of, WIDE.value_of):
        with pytest.raises(ValueError, match="zip"):
            ask(codes)
