"""Values of an attribute as a column that any reader of Parquet understands.

Categories are text, integers BIGINT, real numbers DOUBLE (the nearest one), dates DATE and booleans BOOLEAN. The view
and every count over the domain use these columns, so that a condition means the same in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Floats, Ints
from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.errors import DomainError
from tetraodon.wording import listing

if TYPE_CHECKING:
    import pyarrow

MOST_CELLS = 2**63 - 1
"""Cells are numbered in 64 bits."""

Codes = NDArray[np.unsignedinteger[Any]] | NDArray[np.signedinteger[Any]]


def require_numbered(domain: Domain) -> None:
    """Refuse a domain whose cells do not have numbers of 64 bits, or whose missing values stand apart."""
    if apart := [attribute.name for attribute in domain if attribute.separate]:
        raise DomainError(
            f"missing values of {listing(apart)} stand apart, and tables of records have no place for them yet",
            fix="write `missing:` one of the other values",
        )
    if domain.size > MOST_CELLS:
        raise DomainError(
            "the domain has more than 2^63 tuples, too many to publish a view of",
            fix="declare fewer attributes, or coarser ones",
        )


def column(attribute: Attribute, codes: Codes) -> pyarrow.Array:
    """The values at some positions."""
    import pyarrow

    values = attribute.values
    match values:
        case Categories():
            places = _plain(codes.astype(np.int32), pyarrow.int32())
            return pyarrow.DictionaryArray.from_arrays(places, _texts(values.labels))
        case Booleans():
            bits = np.packbits(codes.astype(bool), bitorder="little")
            return pyarrow.Array.from_buffers(pyarrow.bool_(), len(codes), [None, pyarrow.py_buffer(bits)])
        case Integers():
            return _plain(codes.astype(np.int64) + np.int64(values.low), pyarrow.int64())
        case Grid():
            numbers = _numbers(values)[codes] if values.size <= 1 << 20 else _far(values, codes)
            return _plain(numbers, pyarrow.float64())
        case Dates():
            first = np.datetime64(values.first, "D").astype(np.int64)
            return _plain((codes.astype(np.int64) + first).astype(np.int32), pyarrow.date32())
        case _:
            assert_never(values)


def _plain(numbers: NDArray[Any], kind: pyarrow.DataType) -> pyarrow.Array:
    """An array as a column, where it lies. (`pyarrow.array` would import pandas, which takes seconds.)"""
    import pyarrow

    return pyarrow.Array.from_buffers(kind, len(numbers), [None, pyarrow.py_buffer(np.ascontiguousarray(numbers))])


def _texts(labels: Sequence[str]) -> pyarrow.Array:
    import pyarrow

    words = [label.encode() for label in labels]
    ends = np.cumsum([0, *map(len, words)]).astype(np.int32)
    parts = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(b"".join(words))]
    return pyarrow.Array.from_buffers(pyarrow.string(), len(words), parts)


def columns(domain: Domain, cells: NDArray[np.uint64]) -> dict[str, pyarrow.Array]:
    """The values of some cells of a domain, one column for each attribute."""
    return {a.name: column(a, codes) for a, codes in zip(domain, codes_of(domain, cells), strict=True)}


def codes_in(attribute: Attribute, found: pyarrow.Array) -> NDArray[np.uint64]:
    """The positions of the values in a column that `column` made."""
    values = attribute.values
    match values:
        case Categories():
            places = {label: place for place, label in enumerate(values.labels)}
            listed = found if hasattr(found, "dictionary") else found.dictionary_encode()
            own = np.array([places[str(label)] for label in listed.dictionary.to_pylist()], np.uint64)
            return np.asarray(own[_held(listed.indices, np.int32)], np.uint64)
        case Booleans():
            bits = np.unpackbits(np.frombuffer(found.buffers()[1], np.uint8), bitorder="little")
            return bits[found.offset : found.offset + len(found)].astype(np.uint64)
        case Integers():
            return (_held(found, np.int64) - np.int64(values.low)).astype(np.uint64)
        case Grid():
            low, step = float(values.low), float(values.step)
            return np.rint((_held(found, np.float64) - low) / step).astype(np.uint64)
        case Dates():
            first = np.datetime64(values.first, "D").astype(np.int64)
            return (_held(found, np.int32).astype(np.int64) - first).astype(np.uint64)
        case _:
            assert_never(values)


def _held(found: pyarrow.Array, kind: Any) -> NDArray[Any]:
    """A column's numbers, where they lie."""
    return np.frombuffer(found.buffers()[1], kind)[found.offset : found.offset + len(found)]


def codes_of(domain: Domain, cells: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    """The positions of some cells in each attribute."""
    codes = []
    for size in reversed(domain.shape[1:]):
        whole = cells // np.uint64(size)
        codes.append(cells - whole * np.uint64(size))
        cells = whole
    return [cells, *reversed(codes)]


def cells_of(domain: Domain, codes: Ints) -> NDArray[np.uint64]:
    """The numbers of the cells at some positions, one row of `codes` for each."""
    return cells_at(domain, [codes[:, place].astype(np.uint64) for place in range(len(domain.shape))])


def cells_at(domain: Domain, codes: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """The numbers of the cells at some positions, one array of `codes` for each attribute."""
    cells = np.zeros(len(codes[0]), np.uint64)
    for part, size in zip(codes, domain.shape, strict=True):
        cells *= np.uint64(size)
        cells += part
    return cells


def _numbers(values: Grid) -> Floats:
    return np.array([float(values.number(code)) for code in range(values.size)])


def _far(values: Grid, codes: Codes) -> Floats:
    return np.array([float(values.number(int(code))) for code in codes])
