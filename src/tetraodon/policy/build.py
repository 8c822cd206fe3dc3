"""From the sections of a policy file to known facts, attackers and queries."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from pydantic_core import PydanticCustomError

from tetraodon.domain import Attribute, Domain
from tetraodon.errors import DomainError, PolicyError, QueryError, Refused
from tetraodon.exact.rational import decimal_text
from tetraodon.policy.attackers import (
    INDEPENDENT,
    Attackers,
    Chain,
    Contacts,
    DependentGroups,
    Independent,
    TableSecret,
    distribution,
    transition_matrix,
)
from tetraodon.policy.attribute_graph import Blocks, branches_of
from tetraodon.policy.build_domain import LISTED_LIMIT, code_of
from tetraodon.policy.build_graph import by_ends, members, partition
from tetraodon.policy.document import KEYS, ItemSection, PolicyDocument, Together
from tetraodon.policy.known import FACT_LIMIT, Fact, Known, Rectangle, check_known, known_query, overlap
from tetraodon.policy.policy import Item
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.policy.section import STATIONARY, AttackersSection, ChainSection, KnownSection, exact
from tetraodon.policy.source import Problems, beside
from tetraodon.query.contribution import Table
from tetraodon.query.counts import SECRET_BLOCKS
from tetraodon.query.kinds import KINDS, Count, Histogram
from tetraodon.query.linear import LinearQuery
from tetraodon.query.query import Bins, TypedBins
from tetraodon.query.records_where import records_where

# -- build attackers --------------------------------------------------------------------------------
# From the `attackers` list of a policy file to the attackers that the policy is priced for.


def build_attackers(document: PolicyDocument, domain: Domain, problems: Problems) -> Attackers:
    """The attackers whose price is the highest of those listed. Stops with every problem of the list.

    Why  the others cost at least what independent people cost: a group may have one row, a person no contact, and
         next to a row on which nothing depends there is the row itself. So whoever lists `independent` beside another
         has the other.
    """
    found: list[Attackers] = []
    for number, section in enumerate(document.attackers):
        with problems.at("attackers", number):
            found.append(_one(section, document, domain))
    problems.stop()
    others = [attackers for attackers in found if not isinstance(attackers, Independent)]
    with problems.at("attackers"):
        if not found:
            raise PolicyError("no attacker is listed, so nothing would be protected", fix="write [independent]")
        if len(others) > 1:
            raise Refused(
                "two kinds of dependence at once are not priced in this version",
                fix="list one of them; `independent` may stand beside it",
            )
    problems.stop()
    return others[0] if others else INDEPENDENT


def _one(section: AttackersSection, document: PolicyDocument, domain: Domain) -> Attackers:
    if section.kind == "independent":
        if not section.independent:
            raise PolicyError("`independent: false` says nothing", fix="name the groups or the chain")
        return INDEPENDENT
    if document.known and section.kind != "groups":
        raise Refused(
            f"known counts have no price beside {'contacts' if section.kind == 'contacts' else 'a chain'}: everybody "
            "would depend on everybody",
            fix="name `groups` that are independent of each other, which have one beside one known count; leaving out "
            "what is known would not make it unknown",
        )
    if document.individuals:
        raise Refused(
            "people with several rows are priced for attackers to whom people are independent only",
            fix="name the larger unit, all of whose rows may depend on each other, as the individual: {key: "
            "household_id, at most: 15 rows}",
        )
    if document.groups:
        raise Refused(
            "people with secrets of their own are priced for attackers to whom people are independent only",
            fix="drop the key `groups`, and let `secrets` say all that anybody hides"
            if section.kind == "contacts"
            else "drop the key `groups`: under these attackers every change of a row is priced for everybody",
        )
    if section.kind == "contacts" and (document.budget.delta or document.budget.rho):
        raise Refused(
            "a delta is not priced for attackers who know of contacts",
            fix="write a budget in epsilon alone, or use `groups`, which have a price at a delta",
        )
    if section.kind == "chain" and (document.budget.delta or document.budget.rho) and not document.budget.once:
        raise Refused(
            "several releases at a delta are not priced for attackers who know a chain",
            fix="drop delta, or write {epsilon: 1, delta: 1e-6, once: true} for one release",
        )
    if section.kind == "groups":
        if section.at_most is None:
            raise PolicyError("`at most` is missing", fix="add how large a group can be: `at most: 5`")
        groups = DependentGroups(section.groups, section.at_most)
        groups.rows_together(sum(1 if known.kind in ("count", "rectangle") else 2 for known in document.known))
        return groups
    if section.kind == "contacts":
        if section.contacts is None:
            raise PolicyError("`contacts` is empty", fix="write {contacts: {at most: 5, influence: 1.2, source: ...}}")
        said = section.contacts
        return Contacts(said.at_most, said.influence, from_elsewhere(said.source, document))
    if section.chain is None:
        raise PolicyError("`chain` is empty", fix="write {chain: {along: time, transition: [[...]], source: ...}}")
    return _chain(section.chain, document, domain)


def _chain(section: ChainSection, document: PolicyDocument, domain: Domain) -> Chain:
    if document.presence != "public":
        raise Refused(
            "nobody is absent from a chain: its rows follow each other",
            fix="write `presence: public`; what each row says stays a secret",
        )
    if len(domain.names) != 1:
        raise Refused(
            "the states of a chain are the values of one attribute, and this policy has several",
            fix="declare the attribute that moves along the chain, and no other",
        )
    (attribute,) = domain
    if section.states is not None and section.states != attribute.size:
        raise PolicyError(
            f"the chain has {section.states} states and {attribute.name} has {attribute.size} values",
            fix="let each value be a state",
        )
    matrices = tuple(transition_matrix(matrix) for matrix in section.transition)
    if any(len(matrix) != attribute.size for matrix in matrices):
        raise PolicyError(
            f"the transition matrix does not have one row for each of the {attribute.size} values of {attribute.name}",
            fix="write them in the order of the values",
        )
    starts = tuple(distribution(start, name="the start") for start in section.start)
    return Chain(section.along, matrices, starts, from_elsewhere(section.source, document), section.length)


def from_elsewhere(stated: str, document: PolicyDocument) -> str:
    """A source that is not the data set itself."""
    name, source = document.dataset.casefold(), stated.casefold()
    if source.strip() == name or (not name.isalpha() and name in source):  # a plain word may mean something else
        raise Refused(
            "what attackers know was estimated from the protected table, so publishing under it would leak",
            fix="take the numbers from another source than this data set",
        )
    return stated


def attackers_document(attackers: Attackers) -> list[Any]:
    """The list as it is written in a policy file, every number exact."""
    if isinstance(attackers, Independent | TableSecret):  # a secret of the whole table stands among the secrets
        return ["independent"]
    if isinstance(attackers, DependentGroups):
        return [{"groups": attackers.column, "at most": attackers.at_most}]
    if isinstance(attackers, Contacts):
        said = {"at most": attackers.at_most, "influence": decimal_text(attackers.influence)}
        return [{"contacts": {**said, "source": attackers.source}}]
    matrices = [[[decimal_text(number) for number in row] for row in matrix] for matrix in attackers.transitions]
    starts = [[decimal_text(number) for number in start] for start in attackers.starts]
    return [
        {
            "chain": {
                "along": attackers.along,
                "states": attackers.states,
                "transition": matrices[0] if len(matrices) == 1 else matrices,
                "start": (starts[0] if len(starts) == 1 else starts) or STATIONARY,
                "source": attackers.source,
                **({"length": attackers.length} if attackers.length else {}),
            }
        }
    ]


# -- build items ------------------------------------------------------------------------------------
# From the `release` list of a policy file to the questions it asks.

BINS_LIMIT = 4 * LISTED_LIMIT
"""The most values of which bins are made in one policy, added up."""


@dataclass(frozen=True)
class DeclaredValues:
    """What a policy declares that a question may be about."""

    graph: SecretGraph
    domain: Domain
    """What the records can be like that the question is about."""
    rows_each: int = 0

    def code(self, attribute: Attribute, typed: str) -> int:
        """The code of a value as it was typed."""
        return code_of(attribute, typed)

    def bins(self, attribute: Attribute, typed: TypedBins) -> tuple[Bins, tuple[str, ...]]:
        """Bins as groups of values, in the order of their first values, and their names, if they have any."""
        names: tuple[str, ...] = ()
        if isinstance(typed, list):
            owner = partition(attribute, typed, "bin")
        elif isinstance(typed, dict):
            owner = partition(attribute, list(typed.values()), "bin")
            names = tuple(sorted(typed, key=lambda name: min(code_of(attribute, value) for value in typed[name])))
        elif typed in [level.name for level in attribute.levels]:
            owner = branches_of(attribute, typed)
            names = next(level.branches for level in attribute.levels if level.name == typed)
        elif typed == SECRET_BLOCKS:
            secrets = self.graph.factor_of(attribute.name).graph
            if not isinstance(secrets, Blocks):
                raise PolicyError(
                    f"the secrets of {attribute.name} are not blocks", fix="list the bins, or give it blocks"
                )
            owner, whole = secrets.blocks, self.graph.domain[attribute.name]
            if attribute != whole:
                owner = tuple(owner[whole.code(attribute.value(code))] for code in range(attribute.size))
        else:
            owner = _by_width(exact(typed), attribute)
        return groups_of(attribute, owner), names


def build_items(document: PolicyDocument, graph: SecretGraph, problems: Problems) -> tuple[Item, ...]:
    """The items to release. Stops with every problem of the list."""
    items: list[Item] = []
    names: set[str] = set()
    listed, rows_each = 0, (document.individuals.at_most or 0) if document.individuals else 0
    for number, section in enumerate(document.release):
        if listed > BINS_LIMIT:
            break
        if section.kind == "names":
            continue
        with problems.at("release", number):
            binned = section.written().get("bins", {})
            listed += sum(graph.domain[name].size for name in binned if name in graph.domain.names)
            if listed > BINS_LIMIT:
                raise PolicyError(
                    f"the bins up to here are of more than {BINS_LIMIT:,} values together",
                    fix="ask for fewer bins, or use coarser attributes",
                )
            items.append(_item(section, graph, rows_each))
            if section.name in names:
                raise PolicyError(f"two items are called {section.name!r}", fix="give each its own name")
            names.add(section.name)
    problems.stop()
    return tuple(items)


def _item(section: ItemSection, graph: SecretGraph, rows_each: int) -> Item:
    kind, written = section.asks, section.written()
    for option in KEYS:
        foreign = option in section.model_fields_set and option not in kind.keys
        if foreign and getattr(section, option) is not False:
            users = [other.words[0] for other in KINDS if option in other.keys]
            raise PolicyError(f"`{option}` means nothing for `{section.kind}`", fix=f"use it with {users[0]}")
    part = records_where(section.condition, (), graph.domain)
    query = kind.read(written, DeclaredValues(graph, graph.domain if part is None else part.inside, rows_each))
    told = section.title or "", section.notes
    error = None if section.error is None else section.error.target()
    item = Item(section.name, query, section.share, written.get("whole", False), *told, section.condition, error)
    if (those := item.among(graph.domain)) is not None:
        if not query.of_parts:
            raise Refused(f"`{section.kind}` is about all records", fix="leave `where` out, or use it with mean")
        those.check_cells(query.table(those.inside))
    require_possible(query.linear(item.inside(graph.domain)))
    item.linear(graph.domain)
    return item


def require_possible(asked: LinearQuery) -> None:
    """Refuse a condition that holds for no record, whatever the data are."""
    if isinstance(asked.contribution, Table) and not asked.contribution.matrix.any():
        raise PolicyError(
            "no record can satisfy this condition: none of the declared values does",
            fix="correct the condition, or declare the values that it is about under `attributes`",
        )


def _by_width(width: Fraction, attribute: Attribute) -> tuple[int, ...]:
    """The bin of each code, where bins are so wide."""
    steps = width / attribute.step
    if not by_ends(attribute) or steps < 1 or steps.denominator != 1:
        raise PolicyError(
            f"{width} is not a width of bins of {attribute.name}",
            fix=f"write a multiple of {attribute.step}" if by_ends(attribute) else "list the bins",
        )
    if attribute.size > LISTED_LIMIT:
        partition(attribute, [], "bin")
    return tuple((np.arange(attribute.size) // int(steps)).tolist())


def groups_of(attribute: Attribute, owner: tuple[int, ...]) -> Bins:
    """Groups of values in the form they are typed: [low, high] for numbers and dates, lists for the rest."""
    if by_ends(attribute):  # ranges, numbered in their order
        first = np.unique(np.asarray(owner), return_index=True)[1]
        last = np.append(first[1:], len(owner)) - 1
        ends = zip(first.tolist(), last.tolist(), strict=True)
        return tuple((attribute.value(low), attribute.value(high)) for low, high in ends)
    codes: dict[int, list[int]] = {}
    for code, group in enumerate(owner):
        codes.setdefault(group, []).append(code)
    return tuple(tuple(attribute.value(code) for code in group) for group in codes.values())


# -- build known ------------------------------------------------------------------------------------
# From the `known` list of a policy file to facts about the data.

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
        _known_attribute(name, domain)
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
        _known_attribute(name, domain)
        attribute = domain[name]
        if len(ends) != 2:
            raise PolicyError(f"the side {name} of a rectangle does not have two ends", fix="write x: [low, high]")
        low, high = (code_of(attribute, end) for end in ends)
        sides.append((name, attribute.value(low), attribute.value(high)))
    order = {name: place for place, name in enumerate(domain.names)}
    return Rectangle(tuple(sorted(sides, key=lambda side: order[side[0]])))


def _known_attribute(name: str, domain: Domain) -> None:
    try:
        domain.position(name)
    except DomainError as error:
        raise QueryError(error.what, fix=error.fix) from None


# -- cells file -------------------------------------------------------------------------------------


def with_cells(document: PolicyDocument, domain: Domain, folder: Path | None, problems: Problems) -> PolicyDocument:
    """The document with the blocks of cells in place of the name of their file, so that it is whole by itself."""
    together = document.together
    if together.cells is None:
        return document
    with problems.at("together", "cells"):
        if together.blocks:
            raise PolicyError("the blocks are given twice", fix="write `blocks` or `cells`, and not both")
        blocks = _blocks(beside(folder, together.cells), together, domain)
        together = together.model_copy(update={"blocks": blocks, "cells": None})
    problems.stop()
    return document.model_copy(update={"together": together})


def _blocks(path: Path, together: Together, domain: Domain) -> tuple[tuple[str, ...], ...]:
    axes = [domain[name] for name in together.over]
    shape = [axis.size for axis in axes]
    if not axes or math.prod(shape) > ROW_LIMIT:
        raise PolicyError(
            f"a file of cells is for up to {ROW_LIMIT:,} cells of the attributes in `over`",
            fix="use coarser attributes",
        )
    header, rows = read_rows(path)
    names = [axis.name for axis in axes]
    others = [place for place, name in enumerate(header) if name not in names]
    if len(header) != len(names) + 1 or len(others) != 1 or not {*names} <= {*header}:
        raise unfit(
            path,
            "it does not have one column for each attribute and one for the block",
            fix=f"give it the columns {', '.join(names)} and one more",
        )
    owner = np.full(math.prod(shape), None, dtype=object)
    codes: list[dict[str, int]] = [{} for _ in axes]
    for row in rows:
        cell = 0
        for axis, known in zip(axes, codes, strict=True):
            text = row[header.index(axis.name)]
            if text not in known:
                known[text] = _code(path, axis, text)
            cell = cell * axis.size + known[text]
        if owner[cell] is not None:
            raise unfit(path, "a cell is listed twice", fix="give each cell one block")
        owner[cell] = row[others[0]]
    if (left := sum(one is None for one in owner)) > 0:
        raise unfit(
            path,
            f"{left:,} of {len(owner):,} cells are left out",
            fix="add a row for every cell; those where nobody can be may share a block of their own",
        )
    return tuple(map(tuple, owner.reshape(shape[0], -1).tolist()))


def _code(path: Path, axis: Attribute, text: str) -> int:
    try:
        return code_of(axis, text)
    except PolicyError as error:
        raise unfit(path, error.what, fix=error.fix) from None
    except PydanticCustomError as error:
        context = error.context or {}
        raise unfit(path, str(context["what"]), fix=str(context["fix"])) from None
