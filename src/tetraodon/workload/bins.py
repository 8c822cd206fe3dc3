"""Which bin each value of an attribute is counted in."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tetraodon.errors import QueryError


@lru_cache(maxsize=4)
def bin_of_each(name: str, size: int, groups: tuple[tuple[int, ...], ...], ends: bool) -> tuple[int, ...]:
    """The bin of every code, from the codes of each; where a bin's two are its `ends`, all between them too.

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
