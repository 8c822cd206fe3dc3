"""Answers from sparse counts are the matrix times the histogram."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.worlds import attributes, queries

from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.errors import QueryError, Refused
from tetraodon.exact.arrays import LARGEST
from tetraodon.query.contribution import AllRanges, NotLinear, One, Prefix, Table
from tetraodon.query.linear import ANSWER_LIMIT, LinearQuery, Measurement, Split, splits
from tetraodon.query.number import Number


def sparse(query: LinearQuery, domain: Domain, cells: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Counts of the non-empty cells of the query's own attributes, as an engine returns them."""
    places = [domain.position(name) for name in query.names]
    seen = Counter(tuple(domain.codes_of(cell)[place] for place in places) for cell in cells)
    codes = np.array(list(seen), np.int64).reshape(len(seen), len(places))
    return codes, np.array(list(seen.values()), np.int64)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_answers_are_the_matrix_times_the_histogram(data: st.DataObject) -> None:
    domain = Domain(tuple(data.draw(attributes(name, 4)) for name in "abc"[: data.draw(st.integers(1, 3))]))
    query = data.draw(queries(domain))
    cells = data.draw(st.lists(st.integers(0, domain.size - 1), max_size=12))
    matrix, unit = query.matrix(domain)
    histogram = np.bincount(np.array(cells, np.int64), minlength=domain.size)
    answers = query.evaluate(domain, *sparse(query, domain, cells))
    assert answers.shape == query.shape(domain)
    assert answers.size == query.size(domain) == len(matrix)
    assert answers.ravel().tolist() == (matrix @ histogram).tolist()
    assert unit == query.contribution.unit


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_the_matrix_is_the_definition(data: st.DataObject) -> None:
    domain = Domain(tuple(data.draw(attributes(name, 3)) for name in "abc"[: data.draw(st.integers(1, 3))]))
    query = data.draw(queries(domain))
    columns = query.contribution.columns()
    sizes = [split.size(domain) for split in query.by]
    own = [domain.position(name) for name in query.contribution.names]
    rows = []
    for group in itertools.product(*(range(size) for size in sizes)):
        for row in columns.tolist():
            entries = []
            for cell in range(domain.size):
                codes = domain.codes_of(cell)
                here = [int(split.of(np.array(codes[domain.position(split.name)]))) for split in query.by]
                local = 0
                for place in own:
                    local = local * domain.attributes[place].size + codes[place]
                entries.append(row[local] if tuple(here) == group else 0)
            rows.append(entries)
    assert query.matrix(domain)[0].tolist() == rows


DOMAIN = Domain((Attribute("a", Integers(0, 3)), Attribute("b", Integers(0, 2)), Attribute("id", Integers(1, 10**12))))


@pytest.mark.parametrize(
    ("query", "shape"),
    [
        (LinearQuery(One()), (1,)),
        (LinearQuery(One(), splits(["b", "a"])), (3, 4, 1)),
        (LinearQuery(Prefix("a", 4, 3), splits(["b"])), (3, 3)),
        (LinearQuery(AllRanges("a", 4), (Split("b", (0, 0, 1)),)), (2, 10)),
        (LinearQuery(Number(DOMAIN["a"], DOMAIN["b"])), (1,)),
        (LinearQuery(One(), splits(["id"])), (10**12, 1)),
    ],
)
def test_shapes(query: LinearQuery, shape: tuple[int, ...]) -> None:
    assert query.shape(DOMAIN) == shape
    assert query.size(DOMAIN) == math.prod(shape)


@pytest.mark.parametrize(
    "query",
    [
        LinearQuery(One(), splits(["id"])),
        LinearQuery(Prefix("id", 10**12, 10**12)),
        LinearQuery(AllRanges("id", 10**12)),
        LinearQuery(Number(DOMAIN["a"]), splits(["id", "b"])),
    ],
)
def test_an_answer_beyond_the_limit_is_refused_before_memory_is_taken(query: LinearQuery) -> None:
    codes, counts = np.zeros((1, len(query.names)), np.int64), np.ones(1, np.int64)
    tracemalloc.start()
    with pytest.raises(Refused, match=f"{ANSWER_LIMIT:,}"):
        query.evaluate(DOMAIN, codes, counts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


def test_a_sum_that_would_wrap_round_is_cut_off() -> None:
    domain = Domain((Attribute("a", Integers(0, 2**61)),))
    query = LinearQuery(Number(domain["a"]))
    assert query.evaluate(domain, np.array([[2**61]]), np.array([1])).tolist() == [2**61]
    assert query.evaluate(domain, np.array([[2**61]]), np.array([2])).tolist() == [LARGEST]


@pytest.mark.parametrize(
    ("contribution", "by"),
    [
        (One(), ("a", "a")),
        (Prefix("a", 4, 4), ("a",)),
        (Number(DOMAIN["a"], DOMAIN["a"]), ()),
        (Table(("a", "b"), np.ones((1, 12), np.int64)), ("b",)),
    ],
)
def test_an_attribute_is_used_once(contribution: One | Prefix | Number | Table, by: tuple[str, ...]) -> None:
    with pytest.raises(QueryError, match="used twice"):
        LinearQuery(contribution, splits(by))


def test_noise_of_negative_scale_does_not_exist() -> None:
    assert Measurement(LinearQuery(One()), Fraction(0)).scale == 0
    with pytest.raises(QueryError, match="negative"):
        Measurement(LinearQuery(One()), Fraction(-1, 10))


def test_every_kind_of_answer_says_whether_it_has_noise_of_its_own() -> None:
    """A kind that is new is looked at here before one release of it is priced by the law of its noise."""
    not_on_each = {kind.__name__ for kind in NotLinear.__subclasses__() if kind.on_each is False}
    assert not_on_each == {"ChosenTables", "Disguised", "Divided", "Flows", "Ranks"}
    assert Measurement(LinearQuery(One()), Fraction(1)).on_each
