"""Bins of an attribute: groups of its values that are counted together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from tetraodon.domain import Attribute, Categories, Domain
from tetraodon.domain.domain import MISSING
from tetraodon.errors import QueryError, Refused
from tetraodon.query.linear import ANSWER_LIMIT, Split, split_by

Bins: TypeAlias = tuple[tuple[object, ...], ...]
"""Groups of values: [low, high] for ordered attributes, lists of values for categories."""


def binned(name: str, groups: Bins | None, domain: Domain, called: Sequence[str] = ()) -> Split:
    """The split of an attribute by its bins, or by every value where it has none; `called` are the names of the bins.

    Post  where missing values are separate, they are a bin of their own, the last one.
    """
    if groups is None:
        return split_by(name, domain)
    separate, attribute = domain[name].separate, without_missing(domain[name])
    groups = tuple(group for group in groups if not separate or tuple(group) != (MISSING,))
    # two ordered labels are ends where the groups do not have every value as they are listed
    listed = isinstance(attribute.values, Categories) and sum(map(len, groups)) >= attribute.size
    ends = attribute.ordered and not listed
    codes = tuple(tuple(attribute.code(value) for value in group) for group in groups)
    bins = bin_of_each(attribute.name, listable(attribute).size, codes, ends)
    labels = tuple(called) or tuple(_label(attribute, group, ends) for group in codes)
    if separate:
        return Split(attribute.name, (*bins, len(groups)), (*labels, MISSING))
    return Split(attribute.name, bins, labels)


def without_missing(attribute: Attribute) -> Attribute:
    """An attribute without its separate missing values."""
    return replace(attribute, separate=False, missing=0) if attribute.separate else attribute


def listable(attribute: Attribute) -> Attribute:
    """The attribute, if it has so few values that each of them can be looked at."""
    if attribute.size > ANSWER_LIMIT:
        raise Refused(f"{attribute.name} has more than {ANSWER_LIMIT:,} values", fix="use a coarser one, or a cdf")
    return attribute


def _label(attribute: Attribute, codes: Sequence[int], ends: bool) -> str:
    ranged = attribute.ordered and len(codes) == 2 and (ends or codes[1] - codes[0] == 1)
    return (".." if ranged else ", ").join(attribute.text(code) for code in codes)


@lru_cache(maxsize=4)
def bin_of_each(name: str, size: int, groups: tuple[tuple[int, ...], ...], ends: bool) -> tuple[int, ...]:
    """The bin of every code, from the codes of each bin; with `ends`, a bin of two codes has all between them too.

    Why   there may be millions, and a plan asks for them again and again: they are made once.

    >>> bin_of_each("x", 5, ((0, 2), (3, 4)), True), bin_of_each("x", 4, ((0, 2), (1, 3)), False)
    ((0, 0, 0, 1, 1), (0, 1, 0, 1))
    """
    bins = np.full(size, -1)
    for number, group in enumerate(groups):
        members: slice | list[int] = list(group)
        if len(group) == 2 and ends:
            members = slice(group[0], group[1] + 1)
        if not bins[members].size:
            raise QueryError(f"a bin of {name} is empty", fix="write the smaller end first")
        if (bins[members] >= 0).any() or (isinstance(members, list) and len(set(members)) < len(members)):
            raise QueryError(f"two bins of {name} overlap", fix="put each value in one bin")
        bins[members] = number
    if (bins < 0).any():
        raise QueryError(f"the bins of {name} leave values out", fix="put each value in one bin")
    numbers = np.arange(len(groups)).astype(object)  # one object for each bin, not for each value
    return tuple(numbers[bins].tolist())
