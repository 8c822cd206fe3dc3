"""An earlier exact table, read from a CSV file: everybody has it already."""

from __future__ import annotations

import csv
import itertools
import math
from pathlib import Path

from pydantic_core import PydanticCustomError

from tetraodon.domain import Attribute, Domain
from tetraodon.errors import PolicyError
from tetraodon.policy.build_graph import by_ends, members, partition
from tetraodon.policy.build_items import groups_of
from tetraodon.policy.known import Known
from tetraodon.workload.query import Histogram

COUNT = "count"
ROW_LIMIT = 1_000_000
SIZE_LIMIT = 50_000_000
"""The bytes of the largest file."""
BETWEEN = ".."


def read_known_table(path: Path, domain: Domain) -> Known:
    """The marginal in a CSV file: one column for each attribute, and `count`.

    A cell is a value, or `17..29` for a range of an ordered attribute: a bucketised table. Every cell of the table
    must be there, with 0 where nobody was counted: a cell that is left out might as well be unknown.
    """
    header, rows = _read(path)
    if COUNT not in header or len(set(header)) < len(header) or len(header) < 2:
        raise _unfit(path, "it does not have one column for each attribute and one called count")
    names = [name for name in header if name != COUNT]
    for name in names:
        if name not in domain.names:
            raise _unfit(path, f"there is no attribute {name!r}")
    texts = {name: list(dict.fromkeys(row[header.index(name)] for row in rows)) for name in names}
    parts = {name: _groups(path, domain[name], texts[name]) for name in names}
    answers: dict[tuple[int, ...], int] = {}
    for row in rows:
        cell = tuple(parts[name][1][row[header.index(name)]] for name in names)
        if cell in answers:
            raise _unfit(path, "a cell is listed twice")
        answers[cell] = _count(path, row[header.index(COUNT)])
    sizes = [max(parts[name][1].values()) + 1 for name in names]
    if math.prod(sizes) != len(answers):  # asked before any cell is made: three columns have a billion in a small file
        raise _unfit(path, "cells are left out", fix="add a row for every cell, with 0 where nobody was counted")
    cells = itertools.product(*(range(size) for size in sizes))
    bins = {
        name: groups_of(domain[name], parts[name][0]) for name in names if len(set(parts[name][0])) < domain[name].size
    }
    return Known(Histogram(tuple(names), tuple(bins.items())), tuple(answers[cell] for cell in cells))


def _read(path: Path) -> tuple[list[str], list[list[str]]]:
    if path.is_file() and path.stat().st_size > SIZE_LIMIT:
        raise _unfit(path, f"it is larger than {SIZE_LIMIT // 10**6} MB", fix="give a coarser table")
    try:
        if not path.is_file():
            raise OSError
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(itertools.islice(csv.reader(file), ROW_LIMIT + 1))
    except (OSError, ValueError, csv.Error):
        raise _unfit(path, "it cannot be read", fix="name a CSV file in the folder of the policy file") from None
    rows = [[part.strip() for part in row] for row in rows if row]
    if not rows or len(rows) > ROW_LIMIT or any(len(row) != len(rows[0]) for row in rows):
        raise _unfit(path, "it is not a table with a header and rows of the same length")
    return rows[0], rows[1:]


def _groups(path: Path, attribute: Attribute, texts: list[str]) -> tuple[tuple[int, ...], dict[str, int]]:
    """The group of every code, and the group that each text of the table stands for."""
    typed = [text.split(BETWEEN) if by_ends(attribute) and BETWEEN in text else [text] for text in texts]
    try:
        owner = partition(attribute, typed, "row")
        return owner, {text: owner[members(attribute, group)[0]] for text, group in zip(texts, typed, strict=True)}
    except PolicyError as error:
        raise _unfit(path, error.what, fix=error.fix) from None
    except PydanticCustomError as error:
        context = error.context or {}
        raise _unfit(path, str(context["what"]), fix=str(context["fix"])) from None


def _count(path: Path, text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise _unfit(path, "a count is not a whole number")
    return int(text)


def _unfit(path: Path, why: str, *, fix: str = "give an exact table over attributes of this policy") -> PolicyError:
    return PolicyError(f"the known table {path.name} does not fit: {why}", fix=fix)
