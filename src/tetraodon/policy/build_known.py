"""From the `known` list of a policy file to facts about the data."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Sequence
from pathlib import Path

from pydantic_core import PydanticCustomError

from tetraodon.domain import Attribute, Domain
from tetraodon.errors import DomainError, PolicyError, QueryError, Refused
from tetraodon.policy.beside import beside
from tetraodon.policy.build_domain import code_of
from tetraodon.policy.build_graph import by_ends, members, partition
from tetraodon.policy.build_items import groups_of, require_possible
from tetraodon.policy.known import FACT_LIMIT, Fact, Known, Rectangle, check_known, known_query, overlap
from tetraodon.policy.problems import Problems
from tetraodon.policy.section import KnownSection
from tetraodon.questions import Count, Histogram
from tetraodon.workload.contribution import Table

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
    header, rows = read_rows(path)
    if COUNT not in header or len(set(header)) < len(header) or len(header) < 2:
        raise unfit(path, "it does not have one column for each attribute and one called count")
    names = [name for name in header if name != COUNT]
    for name in names:
        if name not in domain.names:
            raise unfit(path, f"there is no attribute {name!r}")
    texts = {name: list(dict.fromkeys(row[header.index(name)] for row in rows)) for name in names}
    parts = {name: _groups(path, domain[name], texts[name]) for name in names}
    answers: dict[tuple[int, ...], int] = {}
    for row in rows:
        cell = tuple(parts[name][1][row[header.index(name)]] for name in names)
        if cell in answers:
            raise unfit(path, "a cell is listed twice")
        answers[cell] = _count(path, row[header.index(COUNT)])
    sizes = [max(parts[name][1].values()) + 1 for name in names]
    if math.prod(sizes) != len(answers):  # asked before any cell is made: three columns have a billion in a small file
        raise unfit(path, "cells are left out", fix="add a row for every cell, with 0 where nobody was counted")
    cells = itertools.product(*(range(size) for size in sizes))
    bins = {
        name: groups_of(domain[name], parts[name][0]) for name in names if len(set(parts[name][0])) < domain[name].size
    }
    return Known(Histogram(tuple(names), tuple(bins.items())), tuple(answers[cell] for cell in cells))


def read_rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a CSV file beside the policy."""
    if path.is_file() and path.stat().st_size > SIZE_LIMIT:
        raise unfit(path, f"it is larger than {SIZE_LIMIT // 10**6} MB", fix="give a coarser table")
    try:
        if not path.is_file():
            raise OSError
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(itertools.islice(csv.reader(file), ROW_LIMIT + 1))
    except (OSError, ValueError, csv.Error):
        raise unfit(path, "it cannot be read", fix="name a CSV file in the folder of the policy file") from None
    rows = [[part.strip() for part in row] for row in rows if row]
    if not rows or len(rows) > ROW_LIMIT or any(len(row) != len(rows[0]) for row in rows):
        raise unfit(path, "it is not a table with a header and rows of the same length")
    return rows[0], rows[1:]


def _groups(path: Path, attribute: Attribute, texts: list[str]) -> tuple[tuple[int, ...], dict[str, int]]:
    """The group of every code, and the group that each text of the table stands for."""
    typed = [text.split(BETWEEN) if by_ends(attribute) and BETWEEN in text else [text] for text in texts]
    try:
        owner = partition(attribute, typed, "row")
        return owner, {text: owner[members(attribute, group)[0]] for text, group in zip(texts, typed, strict=True)}
    except PolicyError as error:
        raise unfit(path, error.what, fix=error.fix) from None
    except PydanticCustomError as error:
        context = error.context or {}
        raise unfit(path, str(context["what"]), fix=str(context["fix"])) from None


def _count(path: Path, text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise unfit(path, "a count is not a whole number")
    return int(text)


def unfit(path: Path, why: str, *, fix: str = "give an exact table over attributes of this policy") -> PolicyError:
    """What is wrong with a table beside the policy."""
    return PolicyError(f"the table {path.name} does not fit: {why}", fix=fix)


MOST_ENTRIES = 200
"""Entries of `known`: what neighbours look like takes a time that grows with their square, and more."""


def build_known(
    sections: Sequence[KnownSection], domain: Domain, folder: Path | None, problems: Problems
) -> tuple[Known, ...]:
    """The known facts. Stops with every problem of the list. Tables are looked for in the policy's folder."""
    if len(sections) > MOST_ENTRIES:
        with problems.at("known"):
            raise PolicyError(
                f"more than {MOST_ENTRIES} entries are known, too many to be compared with each other",
                fix="list counts that make up a table as one `marginal` or as `blocks`",
            )
        problems.stop()
    known: list[Known] = []
    cells = 0
    for number, section in enumerate(sections):
        if cells > FACT_LIMIT:
            break
        with problems.at("known", number):
            entry = known_from(section, domain, folder)
            query = known_query(entry, domain)
            cells += query.contribution.matrix.size if isinstance(query.contribution, Table) else 0
            if cells > FACT_LIMIT:
                raise PolicyError(
                    f"the known counts up to here are about more than {FACT_LIMIT:,} cells",
                    fix="know fewer counts, about fewer or coarser attributes, or write them as a marginal with bins",
                )
            require_possible(query)
            known.append(entry)
            check_known([entry], domain)
    problems.stop()
    with problems.at("known"):
        if len(known) > 1 and any(entry.bounded for entry in known) and overlap(known, domain):
            raise Refused(
                "a known inequality is priced beside counts of other records only, and these count some of them twice",
                fix="list counts that share no record, or exact counts only, with `is:` or without it",
            )
        check_known(known, domain)
    problems.stop()
    once: dict[Fact, Known] = {}
    for entry in known:  # what is listed twice is known once, with its answer if either has it
        if entry.fact not in once or once[entry.fact].answers is None:
            once[entry.fact] = entry
    return tuple(once.values())


def known_from(section: KnownSection, domain: Domain, folder: Path | None) -> Known:
    """One entry as a fact with its answers."""
    if section.bins and section.kind != "marginal":
        raise PolicyError(f"`bins` means nothing for `{section.kind}`", fix="use it with marginal")
    if section.kind == "table":
        if "answers" in section.model_fields_set:
            raise PolicyError("a known table has its answers in its file", fix="drop `is`")
        return read_known_table(beside(folder, section.table), domain)
    answers = section.answers if "answers" in section.model_fields_set else None
    return Known(_fact(section, domain), answers, section.at_least, section.at_most)


def _fact(section: KnownSection, domain: Domain) -> Fact:
    match section.kind:
        case "count":
            return Count("" if section.count == "all" else section.count)
        case "marginal":
            return _marginal(section.marginal, section.bins, domain)
        case "blocks":
            return _marginal(tuple(section.blocks), section.blocks, domain)
        case _:
            return _rectangle(section, domain)


def _marginal(names: Sequence[str], bins: dict[str, list[list[str]]], domain: Domain) -> Histogram:
    if not names or len(set(names)) < len(names):
        raise PolicyError("a known marginal does not name each attribute once", fix="write {marginal: [sex, region]}")
    for name in bins:
        if name not in names:
            raise PolicyError(f"`bins` names {name!r}, which the marginal does not have", fix="name it there too")
    for name in names:
        _attribute(name, domain)
        if domain[name].size > FACT_LIMIT:
            raise PolicyError(
                f"a known marginal is about {name}, which has more than {FACT_LIMIT:,} values",
                fix="use a coarser attribute",
            )
    grouped = {
        name: groups_of(domain[name], partition(domain[name], bins[name], "block")) for name in names if name in bins
    }
    return Histogram(tuple(names), tuple(grouped.items()))


def _rectangle(section: KnownSection, domain: Domain) -> Rectangle:
    sides = []
    for name, ends in section.rectangle.items():
        _attribute(name, domain)
        attribute = domain[name]
        if len(ends) != 2:
            raise PolicyError(f"the side {name} of a rectangle does not have two ends", fix="write x: [low, high]")
        low, high = (code_of(attribute, end) for end in ends)
        sides.append((name, attribute.value(low), attribute.value(high)))
    order = {name: place for place, name in enumerate(domain.names)}
    return Rectangle(tuple(sorted(sides, key=lambda side: order[side[0]])))


def _attribute(name: str, domain: Domain) -> None:
    try:
        domain.position(name)
    except DomainError as error:
        raise QueryError(error.what, fix=error.fix) from None
