"""Laws of sums over records given one of them, and over Markov chains of any length.

Records that form a tree (chains, hidden Markov chains and Ising chains are trees), records that are exchangeable, an
epidemic. Each function gives pairs for `least_noise_on`: the laws of the answer given two values of one record. Sums
are of non-negative doubles, each with a bound on its relative error.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tetraodon.certificate.table_secret_loss import ROUNDING, AnswerLaw, LawPair
from tetraodon.errors import PolicyError, Refused
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.exact.rational import Number, probabilities, rational
from tetraodon.policy.attackers import stationary
from tetraodon.pufferfish.least_noise import LeastNoise, least_noise_on

# -- laws of sums -----------------------------------------------------------------------------------

MOST_WORK = 4_000_000_000

# -- exchangeable records --------------------------------------------------------------------------


def exchangeable(chances: Sequence[Number]) -> tuple[LawPair, ...]:
    """How many have it, if somebody has and if not, where any so many people are as likely as any other so many.

    `chances` are those of 0, 1, ..., n people.

    >>> (pair,) = exchangeable(["0.1", "0.15", "0.5", "0.15", "0.1"])
    >>> pair.one.first, [round(float(w), 4) for w in pair.one.weights]
    (1, [0.0375, 0.25, 0.1125, 0.1])
    """
    return _with_and_without(_chances([chances], "the chance of a count")[0], ROUNDING)


def exchangeable_histogram(chances: Mapping[tuple[int, ...], Number]) -> tuple[LawPair, ...]:
    """How many have each of some values, if somebody has one of them and if another: for every two values.

    `chances` are those of the numbers of people who have each value; who has which is as likely one way as another.

    >>> pairs = exchangeable_histogram({(2, 0, 0): "1/4", (1, 1, 0): "1/4", (0, 1, 1): "1/2"})
    >>> [pair.words for pair in pairs]
    ['somebody has value 0, or 1', 'somebody has value 0, or 2', 'somebody has value 1, or 2']
    """
    law = dict(zip(chances, probabilities(chances.values(), name="the chance of a histogram"), strict=True))
    sizes = {(len(counts), sum(counts)) for counts in law}
    if len(sizes) != 1 or min(min(counts) for counts in law) < 0 or max(sizes)[1] < 1:
        raise PolicyError("the histograms are not of the same people", fix="let each have as many counts, and people")
    values = range(max(sizes)[0])
    having = [{counts: chance * counts[value] for counts, chance in law.items() if counts[value]} for value in values]
    laws = [AnswerLaw.of(one) if any(one.values()) else None for one in having]
    return tuple(
        LawPair(one, other, f"somebody has value {x}, or {y}")
        for (x, one), (y, other) in itertools.combinations(enumerate(laws), 2)
        if one is not None and other is not None
    )


def _with_and_without(law: Floats, error: float) -> tuple[LawPair, ...]:
    """By Bayes' rule, s of n people include somebody with chance s / n."""
    share = np.arange(len(law)) / (len(law) - 1)
    having, lacking = law * share, law * (1 - share)
    if not having.any() or not lacking.any():
        return ()
    one, other = AnswerLaw(1, having[1:], error + 4 * ROUNDING), AnswerLaw(0, lacking[:-1], error + 4 * ROUNDING)
    return (LawPair(one, other, "somebody has it, or not"),)


def epidemic(size: int, *, introduced: Number, spread: Number) -> tuple[LawPair, ...]:
    """How many of a group are infected, if somebody is and if not: `contagion` for hundreds of people.

    Each is infected from outside with chance `introduced`, then by each of those with chance `spread`, independently.
    """
    outside, each = rational(introduced, name="introduced"), rational(spread, name="spread")
    if size < 1 or not 0 <= outside <= 1 or not 0 <= each <= 1:
        raise PolicyError("this is no epidemic", fix="give a size of at least 1 and two chances between 0 and 1")
    if size**3 > MOST_WORK:
        raise Refused("the group is too large to be summed exactly", fix="use at most 1,500 people")
    first = _binomials([outside], np.array([size]))[0]
    later = _binomials([1 - (1 - each) ** sources for sources in range(size + 1)], size - np.arange(size + 1))
    law = np.zeros(size + 1)
    for sources in range(size + 1):
        law[sources:] += first[sources] * later[sources, : size + 1 - sources]
    return _with_and_without(law, 12 * (size + 2) * ROUNDING)


def _binomials(chances: Sequence[Fraction], trials: Ints) -> Floats:
    """A row of binomial probabilities for each chance and number of trials, trial by trial: no digit is lost."""
    success, failure = (np.array([float(p) for p in side]) for side in (chances, [1 - p for p in chances]))
    most = int(trials.max())
    found = np.zeros((len(trials), most + 1))
    found[:, 0] = 1
    for done in range(most):
        more = trials > done
        rows = found[more]
        found[more] = rows * failure[more, None]
        found[more, 1:] += rows[:, :-1] * success[more, None]
    return found


# -- trees -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TreeModel:
    """Records whose chance is a product along a tree: of `root`'s state, and of each record's given its parent's.

    `parents[i]` comes before i, and the first has none (-1). `edges[i][x][y]` weighs state y of record i beside state
    x of its parent: a transition's chance, or any weight that is not negative. `adds[i][y]` is what the record adds
    to the answer in state y. `error` bounds the relative error of each weight.
    """

    parents: tuple[int, ...]
    root: Floats
    edges: tuple[Floats | None, ...]
    adds: tuple[tuple[int, ...], ...]
    error: float = ROUNDING

    def __repr__(self) -> str:
        return f"TreeModel({len(self.parents)} records)"

    def __post_init__(self) -> None:
        size = len(self.parents)
        if not size or self.parents[0] != -1 or len(self.edges) != size or len(self.adds) != size:
            raise PolicyError("a tree has one parent, one matrix and one addition for each record", fix="list them all")
        for i, (parent, edge) in enumerate(zip(self.parents, self.edges, strict=True)):
            if i and (not 0 <= parent < i or edge is None):
                raise PolicyError("a record comes before its parent", fix="number records so that parents come first")
            shape = (len(self.root),) if edge is None else edge.shape
            wanted = (len(self.adds[i]),) if edge is None else (len(self.adds[parent]), len(self.adds[i]))
            table = self.root if edge is None else edge
            if shape != wanted or not np.isfinite(table).all() or table.min() < 0:
                raise PolicyError("a matrix of the tree does not fit its states", fix="one row a state of the parent")

    @property
    def span(self) -> int:
        """By how much the answer can vary."""
        return sum(max(adds) - min(adds) for adds in self.adds)


def tree_laws(model: TreeModel, about: Iterable[int] | None = None) -> tuple[LawPair, ...]:
    """The laws of the answer for every two states of each record in `about`, or of every record.

    Why   given a record, its subtree and the rest are independent, and so are the subtrees of its children: the law of
          a sum is the convolution of theirs (sum-product on polynomials).
    """
    asked = range(len(model.parents)) if about is None else sorted(set(about))
    span, records = model.span + 1, len(model.parents)
    if span * span * max(map(len, model.adds)) * (len(asked) + 2 * records) > 4 * MOST_WORK:
        raise Refused(
            "the tree is too large to be summed for every record",
            fix="ask about fewer records, or for a long chain use `long_chain`",
        )
    inside = _inside(model)
    outside = _Beyond(model, inside)
    error = records * (model.error + (span + max(map(len, model.adds)) + 8) * ROUNDING)
    first = sum(map(min, model.adds))
    found = []
    for record in asked:
        below, beyond = inside[record], outside(record)
        laws = [np.convolve(below[state], beyond[state]) for state in range(len(below))]
        for x, y in itertools.combinations(range(len(laws)), 2):
            if laws[x].any() and laws[y].any():
                one, other = (AnswerLaw(first, laws[state], error) for state in (x, y))
                found.append(LawPair(one, other, f"record {record} is in state {x}, or {y}"))
    return tuple(found)


def _inside(model: TreeModel) -> list[Floats]:
    """For each record and state, the weights of what its subtree adds; and for each the message to its parent."""
    messages: list[list[Floats]] = [[] for _ in model.parents]
    found: list[Floats] = [np.zeros((0, 0))] * len(model.parents)
    for record in reversed(range(len(model.parents))):
        found[record] = _scaled(_product(_own(model.adds[record]), messages[record]))
        edge = model.edges[record]
        if edge is not None:
            messages[model.parents[record]].append(edge @ found[record])
    return found


class _Beyond:
    """For a record and each of its states, the weights of what all records outside its subtree add."""

    def __init__(self, model: TreeModel, inside: list[Floats]) -> None:
        self.model, self.inside = model, inside
        self.children: list[list[int]] = [[] for _ in model.parents]
        for record, parent in enumerate(model.parents):
            if parent >= 0:
                self.children[parent].append(record)
        self.known: dict[int, Floats] = {0: model.root[:, None]}

    def __call__(self, record: int) -> Floats:
        way = []
        here = record
        while here not in self.known:
            way.append(here)
            here = self.model.parents[here]
        for child in reversed(way):
            parent, edge = self.model.parents[child], self.model.edges[child]
            assert edge is not None
            others = [self._message(other) for other in self.children[parent] if other != child]
            rest = _product(_own(self.model.adds[parent]), [self.known[parent], *others])
            self.known[child] = _scaled(edge.T @ rest)
        return self.known[record]

    def _message(self, record: int) -> Floats:
        edge = self.model.edges[record]
        assert edge is not None
        found: Floats = edge @ self.inside[record]
        return found


def _own(adds: Sequence[int]) -> Floats:
    """A record alone: in state y it adds `adds[y]`, counted from the least."""
    least = min(adds)
    own = np.zeros((len(adds), max(adds) - least + 1))
    own[np.arange(len(adds)), [number - least for number in adds]] = 1
    return own


def _product(own: Floats, others: Sequence[Floats]) -> Floats:
    found = own
    for other in others:
        found = np.array([np.convolve(one, two) for one, two in zip(found, other, strict=True)])
    return found


def _scaled(weights: Floats) -> Floats:
    """Divided by a power of two, which loses nothing: long products neither vanish nor overflow."""
    largest = float(weights.max(initial=0.0))
    return weights if largest == 0 else np.ldexp(weights, -math.frexp(largest)[1])


def _chances(rows: Sequence[Sequence[Number]], name: str) -> Floats:
    return np.array([[float(p) for p in probabilities(row, name=name)] for row in rows])


def chain_model(
    transition: Sequence[Sequence[Number]], *, start: Sequence[Number], length: int, adds: Sequence[int] | None = None
) -> TreeModel:
    """A Markov chain; state x adds `adds[x]`, or x.

    >>> len(tree_laws(chain_model([["0.9", "0.1"], ["0.2", "0.8"]], start=["2/3", "1/3"], length=5)))
    5
    """
    rows, first = _chances(transition, "a transition"), _chances([start], "the start")[0]
    added = tuple(range(len(rows)) if adds is None else adds)
    edges: tuple[Floats | None, ...] = (None, *[rows] * (length - 1))
    return TreeModel((-1, *range(length - 1)), first, edges, (added,) * length)


def hidden_chain_model(
    transition: Sequence[Sequence[Number]],
    emission: Sequence[Sequence[Number]],
    *,
    start: Sequence[Number],
    length: int,
    adds: Sequence[int] | None = None,
) -> TreeModel:
    """A hidden Markov chain: records 0, 2, 4, ... are the hidden states, record 2t + 1 is what is seen at time t.

    What is seen adds to the answer; ask `tree_laws(model, about=...)` about whichever is secret.
    """
    chain = chain_model(transition, start=start, length=length)
    seen = _chances(emission, "an emission")
    added = tuple(range(seen.shape[1]) if adds is None else adds)
    silent = (0,) * len(seen)
    parents = tuple(i - 2 if i % 2 == 0 and i else i - 1 for i in range(2 * length))
    edges = tuple(seen if i % 2 else chain.edges[i // 2] for i in range(2 * length))
    return TreeModel(parents, chain.root, edges, (silent, added) * length)


def ising_model(length: int, *, coupling: Number, field: Number = 0) -> TreeModel:
    """Spins -1 and 1 in a row, of weight e^(coupling x neighbours' products + field x spins); ones are counted."""
    near, own = float(rational(coupling, name="coupling")), float(rational(field, name="field"))
    edge = np.array([[math.exp(near * x * y + own * y) for y in (-1, 1)] for x in (-1, 1)])
    root = np.array([math.exp(own * x) for x in (-1, 1)])
    edges: tuple[Floats | None, ...] = (None, *[edge] * (length - 1))
    error = (8 + abs(near) + abs(own)) * ROUNDING
    return TreeModel((-1, *range(length - 1)), root, edges, ((0, 1),) * length, error)


# -- long chain -------------------------------------------------------------------------------------
# Sums over a Markov chain of any length: what a record moves nearby is summed, what it moves beyond a quilt bounds.
#
# Take the records w before and w after record i, the *quilt*. Given the quilt, what lies beyond is independent of
# record i, and what lies inside has a law that is summed exactly. So the odds of two states x and y of record i move by
#
#     the largest, over the quilt's states q, of  P(q | x) / P(q | y)  times the odds that the noisy sum inside moves,
#
# given q. The Markov quilt mechanism ([SWC17] Thm 4.3) pays the number of records inside for the second factor; the sum
# inside is a mixture under x and another under y, and these differ by less.

WIDTHS = (1, 2, 4, 8, 16, 32, 64)
"""How many records to either side a quilt may be away."""


@dataclass(frozen=True)
class _Paths:
    """Weights of all paths of t steps from state u to x, by what the states after u add: `sums[t - 1][u, x]`."""

    sums: tuple[Floats, ...]
    start: Floats
    adds: tuple[int, ...]

    @property
    def states(self) -> int:
        return len(self.adds)

    def chance(self, steps: int) -> Floats:
        """P^t."""
        found: Floats = self.sums[steps - 1].sum(axis=2)
        return found

    def between(self, steps: int, one: int, other: int) -> Floats:
        """From `one` to `other`, without what the last state adds."""
        whole: Floats = self.sums[steps - 1][one, other]
        last = self.adds[other]
        return whole[last : len(whole) - (max(self.adds) - last) or None]


def long_chain(
    transition: Sequence[Sequence[Number]], *, length: int, epsilon: Number, adds: Sequence[int] | None = None
) -> LeastNoise:
    """The sum over a stationary chain, with the least noise that hides every record's state within epsilon.

    Post  the least over all widths of a quilt; the certificate is a bound, for any chain at least as long.
    Why   every width gives a bound on the loss of every record: those near an end have a quilt on one side alone, and
          everything up to that end inside.
    """
    budget = rational(epsilon, name="epsilon")
    matrix = tuple(probabilities(row, name="a transition") for row in transition)
    added = tuple(range(len(matrix)) if adds is None else adds)
    if len(added) != len(matrix) or min(added) < 0:
        raise PolicyError("a chain adds one whole number of at least 0 for each state", fix="list them in order")
    widths = [width for width in WIDTHS if 2 * width < length]
    if not widths:
        raise Refused("the chain is too short for a quilt", fix="use `tree_laws(chain_model(...))`, which is exact")
    start = np.array([float(p) for p in stationary(matrix)])
    paths = _paths(np.array([[float(p) for p in row] for row in matrix]), start, added, widths[-1])
    found: LeastNoise | None = None
    promise = f"nobody's state in a chain of {length:,} records, against attackers who know how it moves"
    for width in widths:
        pairs = tuple(_pairs(paths, width))
        if any(math.isinf(pair.apart) for pair in pairs) or max(pair.apart for pair in pairs) >= budget:
            continue
        made = least_noise_on(
            pairs, epsilon=budget, promise=promise, answer=sum, most=found.scale if found is not None else None
        )
        if found is None or made.scale < found.scale:
            found = made
    if found is None:
        raise Refused(
            "the chain forgets its states too slowly for this budget: no quilt is wide enough",
            fix="use a larger epsilon, coarser states, or a chain with longer steps",
        )
    return found


def _paths(matrix: Floats, start: Floats, adds: tuple[int, ...], steps: int) -> _Paths:
    states, most = len(adds), max(adds)
    sums = []
    here = np.zeros((states, states, 1))
    here[np.arange(states), np.arange(states), 0] = 1
    for _ in range(steps):
        moved = np.einsum("uys,yx->uxs", here, matrix)
        grown = np.zeros((states, states, moved.shape[2] + most))
        for state, added in enumerate(adds):
            grown[:, state, added : added + moved.shape[2]] = moved[:, state]
        here = grown
        sums.append(here)
    return _Paths(tuple(sums), start, adds)


def _pairs(paths: _Paths, width: int) -> Iterator[LawPair]:
    """Every two states of a record in the middle, and of each record nearer to an end than the quilt."""
    states, error = range(paths.states), 2 * (width + 2) * (paths.states + 2 * width * max(paths.adds) + 8) * ROUNDING
    chance = paths.chance(width)
    for x, y in itertools.combinations(states, 2):
        turn = math.log(paths.start[y]) - math.log(paths.start[x])
        for u in states:
            left = _log_ratio(chance[u, x], chance[u, y])
            before = None if left is None else left + turn
            sides = [paths.sums[width - 1][u, state] for state in (x, y)]
            for v in states:
                after = _log_ratio(chance[x, v], chance[y, v])
                if before is not None and after is not None:
                    ends = [paths.between(width, state, v) for state in (x, y)]
                    yield _pair(sides, ends, before + after, error, f"state {x} or {y}, in the middle")
            if before is not None:
                for place in range(width):
                    ends = [_onwards(paths, place, state) for state in (x, y)]
                    yield _pair(sides, ends, before, error, f"state {x} or {y}, {place} before the end")
        for v in states:
            after = _log_ratio(chance[x, v], chance[y, v])
            if after is None:
                continue
            ends = [paths.between(width, state, v) for state in (x, y)]
            for place in range(width):
                sides = [_from_start(paths, place, state) for state in (x, y)]
                yield _pair(sides, ends, after, error, f"state {x} or {y}, {place} after the start")


def _pair(sides: list[Floats], ends: list[Floats], influence: float, error: float, words: str) -> LawPair:
    if math.isinf(influence):
        point = AnswerLaw(0, np.ones(1))
        return LawPair(point, point, words, math.inf)
    one, other = (AnswerLaw(0, np.convolve(side, end), error) for side, end in zip(sides, ends, strict=True))
    return LawPair(one, other, words, abs(influence) + 2 * error + 1e-12)


def _log_ratio(one: float, other: float) -> float | None:
    """The logarithm of a ratio of chances; infinite where one of them is 0, None where both are."""
    if one == 0 and other == 0:
        return None
    return math.inf if one == 0 or other == 0 else math.log(one) - math.log(other)


def _from_start(paths: _Paths, place: int, state: int) -> Floats:
    """What the first records add, up to the one at `place` in a state; in the stationary law, up to a factor."""
    if place == 0:
        alone: Floats = np.eye(max(paths.adds) + 1)[paths.adds[state]]
        return alone
    found = np.zeros(paths.sums[place - 1].shape[2] + max(paths.adds))
    for first, chance in enumerate(paths.start):
        sums = paths.sums[place - 1][first, state] * chance
        found[paths.adds[first] : paths.adds[first] + len(sums)] += sums
    return found


def _onwards(paths: _Paths, place: int, state: int) -> Floats:
    """What the records after one in a state add, `place` of them up to the end."""
    if place == 0:
        return np.ones(1)
    found: Floats = paths.sums[place - 1][state].sum(axis=0)
    return found
