"""Replacing values along the secret graph: statistics offices' post-randomisation (PRAM), with a proof.

A matrix says how likely each value is to be shown for each true one. Its loss is exact: the largest ratio, over the
edges of the graph and the values shown, of the two chances. Values that no edge joins may be told apart, so a partition
is kept to its blocks, and a distance threshold blurs the near more than the far. Everybody can do it to their own
record (nobody is trusted) or a curator to all of them; the loss is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, assert_never

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.certificate.direct_losses import worst_ratio
from tetraodon.domain import Attribute, Domain
from tetraodon.errors import PolicyError, Refused
from tetraodon.exponent import exp_below
from tetraodon.noise.coins import Coins, system_coins
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Pairs, Public, Within, WithinOrMissing
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.publishing.exact_inverse import geometric, inverse_of
from tetraodon.pufferfish import Channel, Definition, World, optimal_mechanism, pairs, scenarios
from tetraodon.rational import Number, log_rounded_up, rational

LARGEST = 4096
DIGITS = 12
"""The matrices are made of numbers of so many digits, so that they can be read; the loss is computed from those."""
Matrix = tuple[tuple[Fraction, ...], ...]
Loss = Literal["absolute", "wrong"] | Callable[[Any, Any], Any]
WIDTH = 64


@dataclass(frozen=True)
class Perturbation:
    """The chance `matrix[x][w]` that value number w is shown for value number x of an attribute.

    >>> from tetraodon.domain import Integers
    >>> coin = Perturbation(Attribute("ill", Integers(0, 1)), Everything(2), (("3/4", "1/4"), ("1/4", "3/4")))
    >>> coin.ratio, coin.histogram([60, 40])
    (Fraction(3, 1), [Fraction(70, 1), Fraction(30, 1)])
    """

    attribute: Attribute
    graph: AttributeGraph
    matrix: Sequence[Sequence[Any]]

    def __post_init__(self) -> None:
        rows = tuple(tuple(rational(entry, name="a probability") for entry in row) for row in self.matrix)
        object.__setattr__(self, "matrix", rows)
        size = self.attribute.size
        if self.graph.size != size or len(rows) != size or any(len(row) != size for row in rows):
            raise PolicyError("the matrix does not fit the attribute", fix="give a row and a column for each value")
        if any(entry < 0 for row in rows for entry in row) or any(sum(row) != 1 for row in rows):
            raise PolicyError("a row of the matrix is no probability", fix="write fractions that sum to exactly 1")

    # -- what it loses ---------------------------------------------------------------------------

    def ratio_under(self, graph: AttributeGraph) -> Fraction | None:
        """The largest ratio of two chances of showing one value, over the edges of a graph; None if it is infinite."""
        return worst_ratio(self.matrix, graph)

    @cached_property
    def ratio(self) -> Fraction | None:
        """As `ratio_under` the attribute's own graph."""
        return self.ratio_under(self.graph)

    @property
    def loss(self) -> Fraction:
        """Epsilon of one record: the logarithm of the ratio, rounded up in the twelfth decimal."""
        if self.ratio is None:
            raise Refused("the matrix tells two secret values apart for certain", fix="let both show the same values")
        return log_rounded_up(self.ratio)

    @property
    def channel(self) -> Channel:
        """The matrix as a mechanism for one individual, for `td.pufferfish.verify`."""
        values = [self.attribute.value(code) for code in range(self.attribute.size)]
        return Channel(self.matrix, [(value,) for value in values], values)

    def definition(self, epsilon: Number) -> Definition:
        """The promise that `verify(perturbation.channel, ...)` checks: the edges of the graph, at this epsilon."""
        return _definition(self.attribute, self.graph, rational(epsilon, name="epsilon"))

    # -- what can be told from it ----------------------------------------------------------------

    @cached_property
    def inverse(self) -> Matrix:
        """The exact inverse of the matrix."""
        return inverse_of(self.matrix)

    def histogram(self, shown: Sequence[int]) -> list[Fraction]:
        """Unbiased estimates of how many records have each value, from how many show each."""
        if len(shown) != self.attribute.size:
            raise PolicyError("there is not one count for each value", fix="count every value, also those not shown")
        terms = [(int(count), row) for count, row in zip(shown, self.inverse, strict=True) if count]
        return [sum((count * row[x] for count, row in terms), Fraction(0)) for x in range(self.attribute.size)]

    def weights(self, codes: Collection[int]) -> list[Fraction]:
        """What a record that shows each value adds to the estimate of how many records have one of some values."""
        return [sum((row[code] for code in codes), Fraction(0)) for row in self.inverse]

    def count(self, shown: Sequence[int], codes: Collection[int]) -> Fraction:
        """The unbiased estimate of how many records have one of some values."""
        return sum((n * weight for n, weight in zip(shown, self.weights(codes), strict=True)), Fraction(0))

    def variance(self, true: Sequence[int], codes: Collection[int]) -> Fraction:
        """The exact variance of `count` for a table with these true counts."""
        weights = self.weights(codes)
        total = Fraction(0)
        for n, row in zip(true, self.matrix, strict=True):
            mean = sum((p * weight for p, weight in zip(row, weights, strict=True)), Fraction(0))
            total += n * (sum((p * w * w for p, w in zip(row, weights, strict=True)), Fraction(0)) - mean**2)
        return total

    # -- doing it --------------------------------------------------------------------------------

    def draw(self, codes: Ints, *, coins: Coins | None = None) -> Ints:
        """What is shown for each true code, each on its own, with exactly the probabilities of the matrix."""
        source = coins or system_coins()
        shown = np.empty(len(codes), np.int64)
        for code in np.unique(codes).tolist():
            places = np.flatnonzero(codes == code)
            shown[places] = _draw(self.matrix[code], len(places), source)
        return shown


def _draw(row: Sequence[Fraction], count: int, coins: Coins) -> Ints:
    """`count` codes with exactly these probabilities.

    Why   a word is the first 64 bits of a uniform number; it decides unless it equals the first 64 bits of a border
          between two codes. Then more bits are drawn until it does.
    """
    borders = np.cumsum(np.array(row, object)).tolist()[:-1]
    whole = np.array([min(int(border * 2**WIDTH), 2**WIDTH - 1) for border in borders], np.uint64)
    words = coins.draw(count, WIDTH)
    found = np.searchsorted(whole, words, side="right").astype(np.int64)
    for place in np.flatnonzero(np.isin(words, whole)):
        low, bits = int(words[place]), WIDTH
        while any(low < border * 2**bits < low + 1 for border in borders):
            low, bits = (low << WIDTH) + int(coins.draw(1, WIDTH)[0]), bits + WIDTH
        found[place] = sum(border * 2**bits <= low for border in borders)
    return found


# -- matrices ------------------------------------------------------------------------------------


def perturbation(
    attribute: Attribute, graph: AttributeGraph, epsilon: Number, loss: Loss | None = None
) -> Perturbation:
    """A matrix that keeps the edges of a graph at epsilon.

    Without `loss`, the usual one for the kind of graph: randomised response within everything or within each block, the
    clamped geometric law within a distance. With "absolute", "wrong" or a function of a true and a shown value, the
    one of least expected loss for a uniform law of values, by linear programming, exact afterwards.
    """
    exact = rational(epsilon, name="epsilon")
    if exact <= 0:
        raise PolicyError("epsilon is not positive", fix="write an epsilon above zero")
    if attribute.size > LARGEST:
        raise Refused(f"{attribute.name} has too many values for a matrix", fix="declare it coarser")
    if loss is not None:
        return Perturbation(attribute, graph, _optimal(attribute, graph, exact, loss))
    match graph:
        case Public():
            return Perturbation(attribute, graph, _responses(graph, exact))
        case Everything() | Blocks():
            return Perturbation(attribute, graph, _responses(graph, exact))
        case Within():
            return _banded(attribute, graph, exact)
        case Pairs() | WithinOrMissing():
            return Perturbation(attribute, graph, _optimal(attribute, graph, exact, "wrong"))
        case _:
            assert_never(graph)


def _responses(graph: Everything | Blocks | Public, epsilon: Fraction) -> Matrix:
    """Randomised response among the values that share a block: e^epsilon to 1."""
    block = np.arange(graph.size) if isinstance(graph, Public) else graph.components()
    sizes = np.bincount(block)
    odds = exp_below(epsilon, DIGITS)
    rows = []
    for x in range(graph.size):
        other = 1 / (odds + int(sizes[block[x]]) - 1)
        near = block == block[x]
        rows.append(tuple(odds * other if w == x else other if near[w] else Fraction(0) for w in range(graph.size)))
    return tuple(rows)


def _banded(attribute: Attribute, graph: Within, epsilon: Fraction) -> Perturbation:
    """The geometric law, clamped at both ends: a step of one value costs epsilon / reach."""
    return Perturbation(attribute, graph, geometric(1 / exp_below(epsilon / graph.reach, DIGITS), graph.size))


def _optimal(attribute: Attribute, graph: AttributeGraph, epsilon: Fraction, loss: Loss) -> Matrix:
    """[MK15] "optimal mechanisms": the linear program of one record, re-verified with exact fractions."""
    if isinstance(graph, Public):
        return _responses(graph, epsilon)

    def cost(dataset: Any, shown: Any) -> Any:
        true = dataset[0]
        if callable(loss):
            return loss(true, shown)
        if loss == "wrong":
            return int(true != shown)
        return abs(attribute.number(attribute.code(true)) - attribute.number(attribute.code(shown)))

    values = [attribute.value(code) for code in range(attribute.size)]
    world = World.product(values, individuals=1)
    found = optimal_mechanism(_definition(attribute, graph, epsilon), cost, world=world, outputs=values)
    return tuple(tuple(row) for row in found.matrix)


def _definition(attribute: Attribute, graph: AttributeGraph, epsilon: Fraction) -> Definition:
    secrets = SecretGraph(Domain((attribute,)), (Factor((attribute.name,), graph),), 1)
    return Definition(pairs.graph(secrets), scenarios.independent(), epsilon=epsilon)
