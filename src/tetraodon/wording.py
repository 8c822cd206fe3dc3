"""Lists and numbers of things in words."""

from __future__ import annotations

from collections.abc import Iterable


def number_of(count: int, thing: str) -> str:
    """`1 row`, `3 rows`."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def listing(parts: Iterable[str], *, most: int = 8, word: str = "and") -> str:
    """`a, b and c`, or the first few and how many more."""
    words = list(parts)
    if len(words) > most:
        return f"{', '.join(words[:most])} {word} {len(words) - most:,} more"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {word} {words[-1]}"
