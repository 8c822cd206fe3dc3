"""From the `release` list of a policy file to the questions it asks."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tetraodon.domain import Attribute, Value
from tetraodon.errors import PolicyError, did_you_mean
from tetraodon.policy.attribute_graph import Blocks
from tetraodon.policy.build_domain import LISTED_LIMIT, code_of
from tetraodon.policy.build_graph import by_ends, partition
from tetraodon.policy.document import PolicyDocument
from tetraodon.policy.item_section import SECRET_BLOCKS, ItemSection
from tetraodon.policy.policy import Item
from tetraodon.policy.problems import Problems
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.policy.typed import exact
from tetraodon.workload import areas
from tetraodon.workload import query as words
from tetraodon.workload.contribution import Table
from tetraodon.workload.linear import LinearQuery
from tetraodon.workload.query import Bins, Query, linear

BINS_LIMIT = 4 * LISTED_LIMIT
"""The most values of which bins are made in one policy, added up."""
RANGES_LIMIT = 4 * LISTED_LIMIT
"""The most values that the listed ranges of an item are about, added up: each of them is a row over all values."""
_USES = {
    "bins": ("histogram",),
    "weight": ("total", "sum", "mean"),
    "at": ("quantiles",),
    "whole": ("histogram", "count", "cdf", "ranges"),
    "clusters": ("kmeans",),
    "by": ("histogram", "count", "cdf", "ranges", "total", "sum", "mean", "quantiles"),
}


def build_items(document: PolicyDocument, graph: SecretGraph, problems: Problems) -> tuple[Item, ...]:
    """The items to release. Stops with every problem of the list."""
    items: list[Item] = []
    names: set[str] = set()
    listed = 0
    for number, section in enumerate(document.release):
        if listed > BINS_LIMIT:
            break
        with problems.at("release", number):
            listed += sum(graph.domain[name].size for name in section.bins if name in graph.domain.names)
            if listed > BINS_LIMIT:
                raise PolicyError(
                    f"the bins up to here are of more than {BINS_LIMIT:,} values together",
                    fix="ask for fewer bins, or use coarser attributes",
                )
            items.append(_item(section, graph))
            if section.name in names:
                raise PolicyError(f"two items are called {section.name!r}", fix="give each its own name")
            names.add(section.name)
    problems.stop()
    return tuple(items)


def _item(section: ItemSection, graph: SecretGraph) -> Item:
    for option, kinds in _USES.items():
        if option in section.model_fields_set and section.kind not in kinds and getattr(section, option) is not False:
            raise PolicyError(f"`{option}` means nothing for `{section.kind}`", fix=f"use it with {kinds[0]}")
    query = _query(section, graph)
    require_possible(linear(query, graph.domain))
    return Item(section.name, query, section.share, section.whole)


def require_possible(asked: LinearQuery) -> None:
    """Refuse a condition that holds for no record, whatever the data are."""
    if isinstance(asked.contribution, Table) and not asked.contribution.matrix.any():
        raise PolicyError(
            "no record can satisfy this condition: none of the declared values does",
            fix="correct the condition, or declare the values that it is about under `attributes`",
        )


def _query(section: ItemSection, graph: SecretGraph) -> Query:
    by, domain = section.by, graph.domain
    match section.kind:
        case "count":
            return words.count("" if section.count == "all" else section.count, by=by)
        case "histogram":
            if not section.histogram:
                raise PolicyError("the histogram has no attribute", fix="name one, or write `count: all`")
            for name in section.bins:
                if name not in (*section.histogram, *by):
                    raise PolicyError(f"`bins` names {name!r}", fix=did_you_mean(name, (*section.histogram, *by)))
            bins = {
                name: _bins(section.bins[name], domain[name], graph) for name in domain.names if name in section.bins
            }
            return words.histogram(*section.histogram, bins=bins, by=by)
        case "cdf":
            return words.cdf(section.cdf, by=by)
        case "ranges":
            name, listed = section.ranges
            return words.ranges(name, _ranges(listed, words.ordered(domain, name)), by=by)
        case "total" | "sum":
            return words.total(section.total or section.sum, weight=section.weight, by=by)
        case "mean":
            return words.mean(section.mean, weight=section.weight, by=by)
        case "rectangles":
            if len(section.rectangles) != 2:
                raise PolicyError("rectangles need two attributes", fix="write `rectangles: [x, y]`")
            return areas.rectangles(*section.rectangles)
        case "kmeans":
            if section.clusters is None:
                raise PolicyError("`kmeans` does not say how many clusters", fix="add `clusters: 4`")
            return areas.kmeans(*section.kmeans, clusters=section.clusters)
        case _:
            if not section.at and "at" in section.model_fields_set:
                raise PolicyError("the list of quantiles is empty", fix="list shares, or leave `at` out for quartiles")
            return words.quantiles(section.quantiles, at=section.at, by=by)


def _ranges(listed: list[tuple[str, str, str]], attribute: Attribute) -> dict[str, tuple[Value, Value]]:
    """Named ranges; a range without a name is called after its ends."""
    if len(listed) * attribute.size > RANGES_LIMIT or (listed and attribute.size > LISTED_LIMIT):
        raise PolicyError(
            f"{attribute.name} has {attribute.size:,} values, too many for {len(listed):,} listed ranges",
            fix="use a coarser attribute, or a cdf",
        )
    named: dict[str, tuple[Value, Value]] = {}
    for name, low, high in listed:
        first, last = code_of(attribute, low), code_of(attribute, high)
        label = name or f"{attribute.text(first)}..{attribute.text(last)}"
        if label in named:
            raise PolicyError(f"two ranges are called {label!r}", fix="give each its own name")
        named[label] = (attribute.value(first), attribute.value(last))
    return named


def _bins(typed: str | list[list[str]], attribute: Attribute, graph: SecretGraph) -> Bins:
    """Bins as groups of values, in the order of their first values."""
    if isinstance(typed, list):
        owner = partition(attribute, typed, "bin")
    elif typed == SECRET_BLOCKS:
        secrets = graph.factor_of(attribute.name).graph
        if not isinstance(secrets, Blocks):
            raise PolicyError(f"the secrets of {attribute.name} are not blocks", fix="list the bins, or give it blocks")
        owner = secrets.blocks
    else:
        owner = _by_width(exact(typed), attribute)
    return groups_of(attribute, owner)


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
