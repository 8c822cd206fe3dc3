"""Parts are those that chains of links join, found by following the links."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tetraodon.exact.arrays import components


def reached(start: int, links: list[tuple[int, int]]) -> set[int]:
    seen, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        new = {y for pair in links for x, y in (pair, pair[::-1]) if x == here} - seen
        seen |= new
        waiting += new
    return seen


@given(st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.tuples(*[st.integers(0, n - 1)] * 2)))))
def test_a_part_is_what_links_reach(case: tuple[int, list[tuple[int, int]]]) -> None:
    size, links = case
    found = components(size, links)
    for x in range(size):
        part = reached(x, links)
        assert {y for y in range(size) if found[y] == found[x]} == part
        assert found[x] in part
