"""Connected parts: which things hang together, by union and find."""

from __future__ import annotations

from collections.abc import Iterable


def components(size: int, links: Iterable[tuple[int, int]]) -> list[int]:
    """For each of the things 0 to size - 1, one of those that links join it to: the same for all of a part.

    >>> components(5, [(0, 1), (3, 1)])
    [1, 1, 2, 1, 4]
    """
    label = list(range(size))

    def root(x: int) -> int:
        while label[x] != x:
            label[x] = label[label[x]]
            x = label[x]
        return x

    for x, y in links:
        label[root(x)] = root(y)
    return [root(x) for x in range(size)]
