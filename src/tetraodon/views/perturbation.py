"""Local perturbation of records: PRAM along the secret graph and FRAPP, with their proofs.

A matrix says how likely each value is to be shown for each true one. Its loss is exact: the largest ratio, over the
edges of the graph and the values shown, of the two chances. Values that no edge joins may be distinguished, so a
partition is kept to its blocks, and a distance threshold blurs the near more than the far. Respondents can do it to
their own records (the local model), or a curator to all of them; the loss is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, assert_never

import numpy as np

from tetraodon.certificate.direct_losses import worst_ratio
from tetraodon.domain import Attribute, Domain
from tetraodon.errors import PolicyError, Refused
from tetraodon.exact.arrays import Ints, components
from tetraodon.exact.exponent import exp_below
from tetraodon.exact.rational import Number, log_rounded_up, rational, row_reduced
from tetraodon.noise.coins import Coins, system_coins
from tetraodon.noise.elementary import rational_heads, uniform_below
from tetraodon.policy.adversary import Adversary, largest_ratio
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Pairs, Public, Within, WithinOrMissing
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.pufferfish import Channel, Definition, World, optimal_mechanism, pairs, scenarios
from tetraodon.views.sampling import Cells
from tetraodon.views.tuple_files import require_numbered

# -- exact inverse ----------------------------------------------------------------------------------
# Inverses of matrices of fractions, exactly.

LARGEST_INVERSE = 80
Matrix = tuple[tuple[Fraction, ...], ...]


def inverse_of(matrix: Sequence[Sequence[Fraction]]) -> Matrix:
    """The inverse, by elimination with the parts that do not mix taken one by one.

    >>> inverse_of([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]])[0]
    (Fraction(3, 2), Fraction(-1, 2))
    """
    size = len(matrix)
    fall = fall_of(matrix)
    if fall is not None:
        return inverse_of_band(fall, size)
    found = [[Fraction(0)] * size for _ in range(size)]
    for part in _parts(matrix):
        if len(part) > LARGEST_INVERSE:
            raise Refused("the matrix is too large to invert exactly", fix="use a usual matrix, or coarser values")
        inner = _eliminated([[matrix[x][w] for w in part] for x in part])
        for a, x in enumerate(part):
            for b, w in enumerate(part):
                found[x][w] = inner[a][b]
    return tuple(tuple(row) for row in found)


def geometric(fall: Fraction, size: int) -> Matrix:
    """The geometric law around each value, clamped at both ends: what lies beyond an end is shown as that end.

    >>> geometric(Fraction(1, 2), 3)[0]
    (Fraction(2, 3), Fraction(1, 6), Fraction(1, 6))
    """
    if size == 1:
        return ((Fraction(1),),)
    powers = [fall**steps for steps in range(size)]
    inner, outer = (1 - fall) / (1 + fall), 1 / (1 + fall)
    ends = (0, size - 1)
    return tuple(tuple(powers[abs(w - x)] * (outer if w in ends else inner) for w in range(size)) for x in range(size))


def fall_of(matrix: Sequence[Sequence[Fraction]]) -> Fraction | None:
    """How much less likely each further step is, if a matrix is the clamped geometric law; None if it is not."""
    size = len(matrix)
    if size < 2 or not matrix[0][0]:
        return None
    fall = matrix[1][0] / matrix[0][0]
    same = fall < 1 and all(tuple(a) == b for a, b in zip(matrix, geometric(fall, size), strict=True))
    return fall if same else None


def inverse_of_band(fall: Fraction, size: int) -> Matrix:
    """The inverse of the clamped geometric law, which has three diagonals."""
    if size == 1:
        return ((Fraction(1),),)
    inner, outer = (1 - fall) / (1 + fall), 1 / (1 + fall)
    rows = []
    for w in range(size):
        scale = (outer if w in (0, size - 1) else inner) * (1 - fall**2)
        middle = 1 if w in (0, size - 1) else 1 + fall**2
        rows.append(
            tuple(middle / scale if x == w else -fall / scale if abs(x - w) == 1 else Fraction(0) for x in range(size))
        )
    return tuple(rows)


def _parts(matrix: Sequence[Sequence[Fraction]]) -> list[list[int]]:
    """Rows and columns that are tied together by entries above zero."""
    tied = ((x, w) for x, row in enumerate(matrix) for w, entry in enumerate(row) if entry)
    parts: dict[int, list[int]] = {}
    for x, part in enumerate(components(len(matrix), tied)):
        parts.setdefault(part, []).append(x)
    return list(parts.values())


def _eliminated(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    size = len(matrix)
    rows = [[*row, *(Fraction(int(n == k)) for k in range(size))] for n, row in enumerate(matrix)]
    reduced, leading = row_reduced(rows, size)
    if len(leading) < size:
        raise PolicyError(
            "the matrix cannot be inverted, so counts cannot be told from it", fix="use another matrix or loss"
        )
    return [row[size:] for row in reduced]


# -- frapp ------------------------------------------------------------------------------------------
# Local perturbation: respondents replace their own records at random, and trust no curator ([RS07] 4.3).
#
# The gamma-diagonal matrix of FRAPP keeps a record with some probability and otherwise replaces it by a tuple drawn
# uniformly.


@dataclass(frozen=True, slots=True)
class Frapp:
    """The gamma-diagonal perturbation of a domain: with probability `keep` a record stays, else it is drawn anew.

    >>> from tetraodon.domain import Attribute, Integers
    >>> method = Frapp(Domain((Attribute("age", Integers(1, 5)),)), Fraction(1, 2))
    >>> method.retain, method.ratio, float(method.condition)
    (Fraction(3, 5), Fraction(6, 1), 2.0)
    """

    domain: Domain
    keep: Fraction

    def __post_init__(self) -> None:
        require_numbered(self.domain)
        if not 0 < self.keep < 1:
            raise PolicyError("`keep` is not between 0 and 1", fix="choose a probability strictly between 0 and 1")

    @property
    def retain(self) -> Fraction:
        """The diagonal of the matrix: the chance that a record comes out as it was, drawn anew or not."""
        return self.keep + self.elsewhere

    @property
    def elsewhere(self) -> Fraction:
        """Every other entry of the matrix."""
        return (1 - self.keep) / self.domain.size

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of entries in a row: what one perturbed record can tell about one person."""
        return self.retain / self.elsewhere

    @property
    def loss(self) -> Fraction:
        """Epsilon of one perturbed record, towards everybody: the logarithm of the ratio, rounded up."""
        return log_rounded_up(self.ratio)

    @property
    def condition(self) -> Fraction:
        """The condition number of the matrix; its eigenvalues are 1 and `keep`."""
        return 1 / self.keep

    def perturb(self, cells: Cells, *, coins: Coins | None = None) -> Cells:
        """What the records become, each on its own."""
        source = coins or system_coins()
        stays = rational_heads(self.keep, len(cells), source)
        return np.where(stays, cells, uniform_below(self.domain.size, len(cells), source))

    def estimate(self, in_view: int, in_domain: int, records: int) -> Fraction:
        """The unbiased estimate of a count from perturbed records; all of them are published, so n is known."""
        share = Fraction(in_domain, self.domain.size)
        return (in_view - records * (1 - self.keep) * share) / self.keep

    def variance(self, true: int, in_domain: int, records: int) -> Fraction:
        """The exact variance of the estimate."""
        share = Fraction(in_domain, self.domain.size)
        out = (1 - self.keep) * share
        into = self.keep + out
        return (true * into * (1 - into) + (records - true) * out * (1 - out)) / self.keep**2


def frapp(domain: Domain, *, keep: Number | None = None, adversary: Adversary | None = None) -> Frapp:
    """The gamma-diagonal perturbation of a domain, by its probability or by whom its output must withstand.

    With an adversary and a public number of records n, the perturbed records are looked at together, without names,
    and each tuple once: a tuple is then hidden among what the others drew, and the adversary's posterior is bounded as
    for a view. Who also sees that a tuple came out j times sees about j times that ratio.
    Why  with e = elsewhere, a tuple comes out with chance 1 - (1 - keep - e)(1 - e)^(n-1) if it is one of the records
         and 1 - (1 - e)^n if it is not. Their ratio is at most 1 + keep / (n e), because n e (1 - e)^(n-1) + (1 - e)^n
         is at most 1; and that of not coming out is 1 - keep / (1 - e). (keep is 1/41 for Adult.)
    """
    if (keep is None) == (adversary is None):
        raise PolicyError("neither or both of keep and adversary were given", fix="give one of them")
    if keep is not None:
        return Frapp(domain, rational(keep, name="keep"))
    assert adversary is not None
    if adversary.records is None:
        raise PolicyError("records are hidden among others, whose number is not given", fix="give records=N")
    d, gamma = adversary.prior(domain.size), adversary.gamma
    odds = (largest_ratio(d, gamma) - 1) * Fraction(adversary.records, domain.size)
    falls = (1 - d / gamma) * (domain.size - 1) / (domain.size - (1 - d / gamma))
    return Frapp(domain, min(odds / (1 + odds), falls))


# -- perturbation -----------------------------------------------------------------------------------

LARGEST = 4096
DIGITS = 12
"""The matrices are made of numbers of so many digits, so that they can be read; the loss is computed from those."""
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

    # -- estimation ----------------------------------------------------------------

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
