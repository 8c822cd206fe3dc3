"""A mechanism written out: the exact probability of every output on every dataset."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tetraodon.errors import PolicyError
from tetraodon.exact.rational import decimal_text, exact_sum, probabilities, rational
from tetraodon.pufferfish.world import Dataset, World


@dataclass(frozen=True)
class Channel:
    """P(output | dataset), one row for each dataset. Rows sum to one; `0.1` means one tenth.

    >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], datasets=[(0,), (1,)], outputs=["tails", "heads"])
    >>> coin.probability((1,), "heads")
    Fraction(3, 4)
    """

    matrix: Sequence[Sequence[Any]]
    datasets: Sequence[Any]
    outputs: Sequence[Any]
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        rows = tuple(_exact(row) for row in self.matrix)
        object.__setattr__(self, "matrix", rows)
        object.__setattr__(self, "datasets", World.of(self.datasets).datasets)
        object.__setattr__(self, "outputs", tuple(self.outputs))
        if len(rows) != len(self.datasets) or any(len(row) != len(self.outputs) for row in rows):
            raise PolicyError(
                "the matrix does not fit the datasets and outputs",
                fix="give one row for each dataset and one column for each output",
            )
        if len(set(self.outputs)) != len(self.outputs):
            raise PolicyError("an output is listed twice", fix="add up the columns of equal outputs")
        for dataset, row in zip(self.datasets, rows, strict=True):
            if any(number.numerator < 0 for number in row):
                raise PolicyError(f"a probability on {dataset!r} is negative", fix="use probabilities of at least zero")
            if exact_sum(row) != 1:
                raise PolicyError(
                    f"the probabilities on {dataset!r} sum to {decimal_text(exact_sum(row))}, not to 1",
                    fix="write probabilities that sum to one, as floats or as exact fractions such as 1/3",
                )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.datasets)} datasets, {len(self.outputs)} outputs)"

    @classmethod
    def of(cls, law: Callable[[Any], Mapping[Any, Any]], world: World) -> Channel:
        """A channel from a function that gives the law of the output on each dataset.

        >>> World.product((0, 1), individuals=1).size, Channel.of(lambda d: {d[0]: 1}, World.of([(0,), (1,)])).outputs
        (2, (0, 1))
        """
        laws = [law(dataset) for dataset in world.datasets]
        outputs = tuple(dict.fromkeys(output for one in laws for output in one))
        matrix = [[one.get(output, 0) for output in outputs] for one in laws]
        return cls(matrix, world.datasets, outputs, world.names)

    @cached_property
    def world(self) -> World:
        return World(tuple(self.datasets), self.names)

    def probability(self, dataset: Dataset, output: Hashable) -> Fraction:
        """P(output | dataset)."""
        found: Fraction = self.matrix[self.world.index[dataset]][self.outputs.index(output)]
        return found

    def then(self, post: Callable[[Any], Any]) -> Channel:
        """What is left after post-processing; `post` gives an output, or a mapping from outputs to probabilities."""
        laws = [_law(post(output)) for output in self.outputs]
        outputs = tuple(dict.fromkeys(after for law in laws for after in law))
        place = {output: n for n, output in enumerate(outputs)}
        rows = []
        for row in self.matrix:
            new = [Fraction(0)] * len(outputs)
            for number, law in zip(row, laws, strict=True):
                for after, chance in law.items():
                    new[place[after]] += number * chance
            rows.append(new)
        return Channel(rows, self.datasets, outputs, self.names)

    def with_(self, other: Channel) -> Channel:
        """Both outputs at once, from independent coins ([KM12] Def. 8.1)."""
        if other.datasets != self.datasets:
            raise PolicyError("two channels are about different datasets", fix="list the same datasets in one order")
        outputs = tuple((one, two) for one in self.outputs for two in other.outputs)
        rows = [[a * b for a in one for b in two] for one, two in zip(self.matrix, other.matrix, strict=True)]
        return Channel(rows, self.datasets, outputs, self.names)


def mixture(parts: Iterable[tuple[Any, Channel]]) -> Channel:
    """A channel chosen at random, by coins that do not look at the data; the choice is not published."""
    listed = [(rational(weight, name="a weight"), channel) for weight, channel in parts]
    if sum(weight for weight, _ in listed) != 1 or any(weight < 0 for weight, _ in listed):
        raise PolicyError("the weights of a mixture do not sum to 1", fix="write exact fractions")
    first = listed[0][1]
    if any(channel.datasets != first.datasets for _, channel in listed):
        raise PolicyError("two channels are about different datasets", fix="list the same datasets in one order")

    def law(number: int) -> dict[Any, Fraction]:
        total: dict[Any, Fraction] = {}
        for weight, channel in listed:
            for output, chance in zip(channel.outputs, channel.matrix[number], strict=True):
                total[output] = total.get(output, Fraction(0)) + weight * chance
        return total

    return Channel.of(lambda dataset: law(first.world.index[dataset]), first.world)


def _law(answer: Any) -> dict[Any, Fraction]:
    if isinstance(answer, Mapping):
        law = {after: rational(chance, name="a probability") for after, chance in answer.items()}
        if sum(law.values()) != 1 or any(chance < 0 for chance in law.values()):
            raise PolicyError("a step of the post-processing does not sum to 1", fix="write exact fractions")
        return law
    return {answer: Fraction(1)}


def _exact(row: Iterable[Any]) -> tuple[Fraction, ...]:
    numbers = tuple(number.item() if isinstance(number, np.generic) else number for number in row)
    return numbers if all(type(number) is Fraction for number in numbers) else probabilities(numbers)
