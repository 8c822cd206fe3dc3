"""From the `known` list of a policy file to facts about the data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tetraodon.domain import Domain
from tetraodon.errors import DomainError, PolicyError, QueryError, Refused
from tetraodon.policy.build_domain import code_of
from tetraodon.policy.build_graph import partition
from tetraodon.policy.build_items import groups_of, require_possible
from tetraodon.policy.known import FACT_LIMIT, Fact, Known, Rectangle, check_known, known_query
from tetraodon.policy.known_section import KnownSection
from tetraodon.policy.known_table import read_known_table
from tetraodon.policy.problems import Problems
from tetraodon.workload.contribution import Table
from tetraodon.workload.query import Count, Histogram

MOST_ENTRIES = 200
"""Entries of `known`: what neighbours look like takes a time that grows with their square, and more."""


def build_known(
    sections: Sequence[KnownSection], domain: Domain, folder: Path, problems: Problems
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
        check_known(known, domain)
    problems.stop()
    once: dict[Fact, Known] = {}
    for entry in known:  # what is listed twice is known once, with its answer if either has it
        if entry.fact not in once or once[entry.fact].answers is None:
            once[entry.fact] = entry
    return tuple(once.values())


def known_from(section: KnownSection, domain: Domain, folder: Path) -> Known:
    """One entry as a fact with its answers."""
    if section.at_most is not None or section.at_least is not None:
        raise Refused(
            "a known inequality cannot be priced: with inequalities there may be attackers whom no bound on "
            "neighbours covers",
            fix="declare the exact count with `is:`, or leave the answer out; its value does not change the price",
        )
    if section.bins and section.kind != "marginal":
        raise PolicyError(f"`bins` means nothing for `{section.kind}`", fix="use it with marginal")
    if section.kind == "table":
        if "answers" in section.model_fields_set:
            raise PolicyError("a known table has its answers in its file", fix="drop `is`")
        return read_known_table(folder / section.table, domain)
    answers = section.answers if "answers" in section.model_fields_set else None
    return Known(_fact(section, domain), answers)


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
