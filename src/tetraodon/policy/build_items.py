"""From the `release` list of a policy file to the questions it asks."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tetraodon.domain import Attribute, Domain
from tetraodon.errors import PolicyError, Refused
from tetraodon.policy.attribute_graph import Blocks
from tetraodon.policy.build_domain import LISTED_LIMIT, code_of
from tetraodon.policy.build_graph import by_ends, partition
from tetraodon.policy.category_tree import branches_of
from tetraodon.policy.document import PolicyDocument
from tetraodon.policy.item_section import KEYS, ItemSection
from tetraodon.policy.policy import Item
from tetraodon.policy.problems import Problems
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.policy.typed import exact
from tetraodon.questions import KINDS
from tetraodon.questions.histogram import SECRET_BLOCKS
from tetraodon.questions.query import Bins, TypedBins
from tetraodon.workload.contribution import Table
from tetraodon.workload.linear import LinearQuery
from tetraodon.workload.records_where import records_where

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
