"""Each attack is run once, however many tests look at it."""

from __future__ import annotations

from functools import cache

from tetraodon.attacks import Story, find


@cache
def story(name: str) -> Story:
    return find(name).run()
