"""Pairs of values, near and far, that show what a policy promises. No attribute is ever written out for them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np

from tetraodon.domain import Attribute
from tetraodon.errors import Refused
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Pairs, Within, WithinOrMissing
from tetraodon.policy.joint_graph import JointGraph
from tetraodon.policy.joint_metric import JointMetric
from tetraodon.policy.policy import Policy
from tetraodon.policy.relative_graph import WithinShare
from tetraodon.policy.secret_graph import ABSENT, Factor
from tetraodon.policy.words import HOPELESS, WORTHLESS, chance, moves, odds, percent, times, valued

Codes: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """Two records, how many steps they are apart (None: no chain of steps), and what that allows.

    `first` and `second` are the positions of the two records, None for a person who is not in the data;
    `x` and `y` say what differs.
    """

    names: tuple[str, ...]
    x: str
    y: str
    first: Codes
    second: Codes | None
    steps: int | None
    odds: Decimal | None
    chance: Decimal | None

    @property
    def sentence(self) -> str:
        name = f"{self.names[0]} " if len(self.names) == 1 else ""
        if self.steps is None or self.odds is None or self.chance is None:
            return f"{name}{self.x} rather than {self.y}: not protected, whatever epsilon is"
        told = f"{name}{self.x} rather than {self.y}: the odds move {moves(self.odds)} ({steps_text(self.steps)}"
        if self.odds > WORTHLESS:
            return f"{told}), which is no protection worth the name"
        return f"{told}, {percent(self.chance)} truthful)"

    @property
    def document(self) -> dict[str, Any]:
        """Plain data; null where there is no bound."""
        bound = None if self.odds is None or self.odds > HOPELESS else float(self.odds)
        return {
            "attributes": list(self.names),
            "x": self.x,
            "y": self.y,
            "steps": self.steps,
            "odds": bound,
            "odds_at_most": None if bound is None or self.odds is None else times(self.odds),
            "truthful": None if self.chance is None else float(self.chance),
            "truthful_at_most": None if self.chance is None else percent(self.chance),
        }


def factor_examples(policy: Policy, factor: Factor, start: Codes | None = None) -> tuple[Example, ...]:
    """Records that differ only in the attributes of one factor, nearest first; the others are as in `start`."""
    domain = policy.domain
    attributes = [domain[name] for name in factor.names]
    found: dict[tuple[Codes, Codes], Example] = {}
    for x, y in _pairs(factor, attributes):
        first, second = (list(start or (0,) * len(domain.names)) for _ in "xy")
        for name, a, b in zip(factor.names, x, y, strict=True):
            first[domain.position(name)], second[domain.position(name)] = a, b
        example = _example(policy, factor.names, tuple(first), tuple(second))
        if x != y and example is not None:
            found.setdefault((x, y), example)
    return tuple(sorted(found.values(), key=lambda example: math.inf if example.steps is None else example.steps))


def record_examples(policy: Policy, given: Codes | None = None) -> tuple[Example, ...]:
    """Records that differ in everything that has secrets: by one secret each, and from end to end; the rest is as
    given."""
    domain, graph = policy.domain, policy.graph
    moved = [factor for factor in graph.factors if _edge(factor, domain.project(factor.names).shape)]
    if len(moved) < 2:
        return ()
    start, near, far = (list(given or (0,) * len(domain.names)) for _ in "xyz")
    for factor in moved:
        shape = domain.project(factor.names).shape
        edge = _edge(factor, shape)
        assert edge is not None
        for name, a, b, size in zip(factor.names, *edge, shape, strict=True):
            place = domain.position(name)
            start[place], near[place], far[place] = a, b, size - 1 if a < size - 1 else 0
    names = tuple(name for factor in moved for name in factor.names)
    examples = [_example(policy, names, tuple(start), tuple(end)) for end in (near, far)]
    return tuple(dict.fromkeys(example for example in examples if example is not None))


def presence_example(policy: Policy, start: Codes | None = None) -> Example:
    """Being in the data rather than not. Pre: that is a secret of a record such as `start`."""
    record = start or (0,) * len(policy.domain.names)
    steps = int(policy.graph.distance(policy.domain.value_of(record), ABSENT))
    rows = ("having a row", "not having it") if policy.every_row else ("having rows", "having none")
    x, y = rows if policy.key else ("being in the data", "not being in it")
    return Example((), x, y, record, None, steps, odds(policy.epsilon, steps), chance(policy.epsilon, steps))


def _example(policy: Policy, names: tuple[str, ...], first: Codes, second: Codes) -> Example | None:
    """None when the number of steps is too long to count: nothing is then said."""
    domain = policy.domain
    try:
        distance = policy.graph.distance(domain.value_of(first), domain.value_of(second))
    except Refused:
        return None
    steps = None if math.isinf(distance) else int(distance)
    places = [domain.position(name) for name in sorted(names, key=domain.position)]
    shown = [domain.attributes[place] for place in places]
    return Example(
        names,
        valued(shown, [first[place] for place in places]),
        valued(shown, [second[place] for place in places]),
        first,
        second,
        steps,
        None if steps is None else odds(policy.epsilon, steps),
        None if steps is None else chance(policy.epsilon, steps),
    )


def _pairs(factor: Factor, attributes: list[Attribute]) -> Iterator[tuple[Codes, Codes]]:
    """Candidates: one step, the edge of the secret, just beyond it, and from end to end."""
    shape = tuple(attribute.size for attribute in attributes)
    if isinstance(factor.graph, JointMetric):
        middle = tuple((size - 1) // 2 for size in shape)
        for axis, (size, step) in enumerate(zip(shape, factor.graph.steps, strict=True)):
            reach = int(factor.graph.within / step) if factor.graph.metric != "great circle km" else 1
            for gap in (1, reach, reach + 1):
                if middle[axis] + gap < size:
                    yield middle, (*middle[:axis], middle[axis] + gap, *middle[axis + 1 :])
        yield (0,) * len(shape), tuple(size - 1 for size in shape)
        return
    if isinstance(factor.graph, JointGraph):
        for x, y in _line_pairs(Blocks(tuple(factor.graph.components().tolist())), factor.graph.size):
            yield _places(factor.graph, x), _places(factor.graph, y)
        return
    for x, y in _line_pairs(factor.graph, shape[0]):
        if 0 <= x < shape[0] and 0 <= y < shape[0]:
            yield (x,), (y,)


def _places(graph: JointGraph, cell: int) -> Codes:
    return tuple(int(code) for code in graph.codes(cell))


def _line_pairs(graph: AttributeGraph, size: int) -> Iterator[tuple[int, int]]:
    middle = (size - 1) // 2
    match graph:
        case WithinShare():
            yield from graph.telling_pairs()
        case Within() | WithinOrMissing():
            for gap in (1, graph.reach, graph.reach + 1, 2 * graph.reach + 1):
                yield (middle, middle + gap) if middle + gap < size else (0, gap)
        case Blocks():
            first_of: dict[int, int] = {}
            for code, block in enumerate(graph.blocks):
                if first_of.setdefault(block, code) < code:
                    yield first_of[block], code
                    break
            yield 0, next((code for code, block in enumerate(graph.blocks) if block != graph.blocks[0]), 0)
        case Pairs():
            yield from sorted(graph.pairs)[:2]
        case _:
            yield middle, middle + 1
    yield 0, size - 1


def _edge(factor: Factor, shape: Codes) -> tuple[Codes, Codes] | None:
    """One secret of a factor, as positions, if it has any that is easy to find."""
    graph = factor.graph
    if isinstance(graph, JointGraph) and not isinstance(graph, JointMetric):
        first = next(graph.edges(), None)
        return None if first is None else (_places(graph, int(first[0][0])), _places(graph, int(first[1][0])))
    if isinstance(graph, JointMetric):
        zero = (0,) * len(shape)
        for axis, size in enumerate(shape):
            unit = tuple(int(other == axis) for other in range(len(shape)))
            if size > 1 and graph.is_edge(0, int(np.ravel_multi_index(unit, shape))):
                return zero, unit
        return None
    for x, y in _line_pairs(graph, shape[0]):
        if 0 <= x < y < shape[0] and graph.is_edge(x, y):
            return (x,), (y,)
    return None


def steps_text(distance: float) -> str:
    """A number of steps in words."""
    if math.isinf(distance):
        return "no chain of steps"
    return "one step" if distance == 1 else f"{int(distance)} steps"
