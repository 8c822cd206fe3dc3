"""How few times the table has to be grouped to answer several groups of attributes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from tetraodon.domain import Domain
from tetraodon.errors import QueryError

FINE_ENOUGH = 2**20
"""Up to this many cells, finer counts cost next to nothing and are added up afterwards."""

Adding: TypeAlias = Mapping[tuple[str, ...], Sequence[str]]
"""For some groups of attributes, those whose codes are to be added up in every cell."""
NOTHING: Adding = MappingProxyType({})
LONGEST_SUM = 2**26
"""Codes below this can be added up in 64 bits over 2^37 rows."""


def passes(groups: Sequence[tuple[str, ...]], domain: Domain) -> list[tuple[str, ...]]:
    """Groups of attributes, each in the domain's order, such that every group asked for is inside one.

    Post  two passes are kept apart only if together they would have more than `FINE_ENOUGH` cells.
          Depends on the groups and the domain alone.

    >>> from tetraodon.domain import Attribute, Integers
    >>> small, huge = Attribute("small", Integers(0, 9)), Attribute("huge", Integers(0, 10**9))
    >>> passes([("small",), ("huge",), ()], Domain((small, huge)))
    [('small',), ('huge',)]
    """
    chosen: list[set[str]] = []
    sizes = {attribute.name: attribute.size for attribute in domain}
    for group in sorted(groups, key=len, reverse=True):
        for name in group:
            domain.position(name)
        if len(set(group)) != len(group):
            raise QueryError("a group names an attribute twice", fix="name each attribute once")
        for held in chosen:
            both = held | set(group)
            if both == held or math.prod(sizes[name] for name in both) <= FINE_ENOUGH:
                held |= set(group)
                break
        else:
            chosen.append(set(group))
    return [tuple(name for name in domain.names if name in held) for held in chosen]


def covering(group: tuple[str, ...], done: Sequence[tuple[str, ...]]) -> int:
    """Which pass answers a group."""
    return next(place for place, names in enumerate(done) if set(group) <= set(names))


def require_summable(add: Adding, domain: Domain) -> None:
    """Refuse to add up codes that 64 bits may not hold the sum of."""
    for name in (name for names in add.values() for name in names):
        if domain[name].size > LONGEST_SUM:
            raise QueryError(f"{name} has too many values to be added up", fix="count its values instead", where=name)
