"""Events that may tell two samples of outputs apart: thresholds on numbers drawn from the outputs, and exact values."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

DIGITS = 9
CUTS = 40


@dataclass(frozen=True)
class Event:
    """Something that can be seen of an output; `forward` when it speaks for the first secret."""

    feature: str
    kind: str
    bound: Any
    forward: bool

    def happens(self, output: Any) -> bool:
        value = features(output).get(self.feature)
        if value is None:
            return False
        if self.kind == "is":
            return bool(_rounded(value) == self.bound)
        return bool(value <= self.bound if self.kind == "at most" else value > self.bound)

    def __repr__(self) -> str:
        return f"{self.feature} {self.kind} {self.bound}"


def features(output: Any) -> dict[str, Any]:
    """Numbers and values that can be seen of an output: its parts, their total and their differences.

    >>> features((3, 5))
    {'part 0': 3, 'part 1': 5, 'the total': 8, 'part 0 less part 1': -2}
    """
    if isinstance(output, np.ndarray):
        output = tuple(output.tolist())
    if not isinstance(output, tuple | list):
        return {"the output": output}
    found = {f"part {n}": part for n, part in enumerate(output)}
    numbers = [(n, part) for n, part in enumerate(output) if _is_number(part)]
    if numbers and len(numbers) == len(output):
        found["the total"] = sum(part for _, part in numbers)
        for (n, a), (m, b) in itertools.islice(itertools.combinations(numbers, 2), 50):
            found[f"part {n} less part {m}"] = a - b
    return found


def best_event(one: Sequence[Any], other: Sequence[Any]) -> list[tuple[float, Event]]:
    """The most telling event in either direction, scored by a cautious odds ratio."""
    seen = [[features(output) for output in side] for side in (one, other)]
    best: dict[bool, tuple[float, Event]] = {}

    def offer(name: str, kind: str, bound: Any, hits: tuple[int, int]) -> None:
        for forward in (True, False):
            likely, rare = hits if forward else (hits[1], hits[0])
            # a cautious ratio: two standard errors against the event, and never nought below
            low = likely - 2 * math.sqrt(likely)
            score = low / (rare + 2 * math.sqrt(rare) + 3)
            if forward not in best or score > best[forward][0]:
                best[forward] = (score, Event(name, kind, bound, forward))

    for name in seen[0][0]:
        columns = [[row[name] for row in side if name in row] for side in seen]
        if all(_is_number(value) for column in columns for value in column):
            numbers = [np.sort(np.array(column, dtype=float)) for column in columns]
            pooled = np.unique(np.concatenate(numbers))
            for cut in pooled[np.unique(np.linspace(0, len(pooled) - 1, CUTS).astype(int))].tolist():
                under = [int(np.searchsorted(column, cut, side="right")) for column in numbers]
                offer(name, "at most", cut, (under[0], under[1]))
                offer(name, "more than", cut, (len(numbers[0]) - under[0], len(numbers[1]) - under[1]))
        counts = [Counter(_rounded(value) for value in column) for column in columns]
        for value, _ in (counts[0] + counts[1]).most_common(5):
            offer(name, "is", value, (counts[0][value], counts[1][value]))
    return list(best.values())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and math.isfinite(value)


def _rounded(value: Any) -> Any:
    return round(float(value), DIGITS) if _is_number(value) else value
