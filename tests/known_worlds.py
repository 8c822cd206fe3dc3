"""Random tiny policies with known counts, and the closed forms of the paper as they are printed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tetraodon.certificate import oracle
from tetraodon.domain import Attribute, Domain, Integers
from tetraodon.policy.attribute_graph import AttributeGraph, Blocks, Everything, Pairs, Within
from tetraodon.policy.known import CountWhere, Known, Marginal, Rectangle, known_query
from tetraodon.policy.secret_graph import Factor, SecretGraph
from tetraodon.pufferfish.policy_graph import longest_cycle, longest_path, policy_graph, sparsity
from tetraodon.query.contribution import One, Prefix, Table
from tetraodon.query.linear import LinearQuery, Split, splits
from tetraodon.query.number import Number


@dataclass(frozen=True)
class Case:
    graph: SecretGraph
    known: tuple[Known, ...]
    n: int

    @property
    def complete(self) -> bool:
        size = self.graph.domain.size
        return len(self.graph.edge_cells()[0]) == size * (size - 1) // 2

    @property
    def overlapping(self) -> bool:
        """Whether two or more known counts hold the same cell."""
        domain = self.graph.domain
        table = np.concatenate([known_query(entry, domain).matrix(domain)[0] for entry in self.known])
        return int(table.sum(axis=0).max()) > 1


def line(size: int, *conditions: str, theta: int = 1) -> Case:
    """Values 0..size-1, secrets within theta, and known counts."""
    domain = Domain((Attribute("v", Integers(0, size - 1)),))
    graph = SecretGraph(domain, (Factor(("v",), Within(size, theta)),), 1)
    return Case(graph, tuple(Known(CountWhere(condition)) for condition in conditions), 3)


def pairs_graph(size: int, pairs: Sequence[tuple[int, int]], *conditions: str) -> Case:
    domain = Domain((Attribute("v", Integers(0, size - 1)),))
    graph = SecretGraph(domain, (Factor(("v",), Pairs(size, frozenset(pairs))),), 1)
    return Case(graph, tuple(Known(CountWhere(condition)) for condition in conditions), 2)


def one_at_a_time(shape: Sequence[int], *known: Known, n: int = 3) -> Case:
    domain = Domain(tuple(Attribute(f"a{k}", Integers(0, size - 1)) for k, size in enumerate(shape, 1)))
    graph = SecretGraph(domain, tuple(Factor((a.name,), Everything(a.size)) for a in domain), 1)
    return Case(graph, known, n)


def random_case(rng: random.Random) -> Case:
    shape = rng.choice([(3,), (4,), (4,), (5,), (5,), (2, 2), (2, 2), (3, 2), (2, 1, 2)])
    names = "abc"[: len(shape)]
    domain = Domain(tuple(Attribute(name, Integers(0, size - 1)) for name, size in zip(names, shape, strict=True)))
    factors = tuple(Factor((a.name,), _random_graph(rng, a.size)) for a in domain)
    absent = domain.size < 5 and rng.random() < 0.25
    graph = SecretGraph(domain, factors, rng.randint(1, len(shape)), absent)
    wanted = rng.choice([1, 2, 2, 3, 3, 3, 3])
    known = {_random_known(rng, domain) for _ in range(wanted)}
    return Case(
        graph, tuple(sorted(known, key=repr)), 4 if domain.size + absent < 4 else rng.choice([2, 3, 3, 3, 3, 3, 3, 3])
    )


def _random_graph(rng: random.Random, size: int) -> AttributeGraph:
    kind = rng.choice(["everything", "within", "blocks", "pairs", "pairs", "pairs"])
    if kind == "everything":
        return Everything(size)
    if kind == "within":
        return Within(size, 1)
    if kind == "blocks":
        return Blocks(tuple(rng.randrange(2) for _ in range(size)))
    return Pairs(size, frozenset(pair for pair in itertools.combinations(range(size), 2) if rng.random() < 0.5))


def _random_known(rng: random.Random, domain: Domain) -> Known:
    kind = rng.choice(["count", "count", "count", "count", "count", "marginal", "rectangle"])
    if kind == "marginal":
        return Known(Marginal((rng.choice(domain.names),)))
    if kind == "rectangle":
        sides = []
        for attribute in domain:
            low, high = sorted((rng.randrange(attribute.size), rng.randrange(attribute.size)))
            sides.append((attribute.name, attribute.value(low), attribute.value(high)))
        return Known(Rectangle(tuple(sides)))
    cells = [cell for cell in range(domain.size) if rng.random() < 0.5] or [0]
    told = [" and ".join(f"{n} = {v}" for n, v in zip(domain.names, domain.value(c), strict=True)) for c in cells]
    return Known(CountWhere(" or ".join(f"({words})" for words in told)))


def random_query(rng: random.Random, domain: Domain) -> LinearQuery:
    names = domain.names
    first = domain[names[0]]
    match rng.randrange(6):
        case 0 | 1:
            return LinearQuery(One(), splits(names))
        case 2:
            return LinearQuery(Prefix(first.name, first.size, first.size), splits(names[1:]))
        case 3:
            return LinearQuery(Number(first), splits(names[1:]) if rng.random() < 0.5 else ())
        case 4:
            return LinearQuery(One(), (Split(rng.choice(names)),))
        case _:
            rows = [[rng.randint(-2, 2) for _ in range(first.size)] for _ in range(rng.randint(1, 3))]
            return LinearQuery(Table((first.name,), np.array(rows, np.int64)))


def whole_histogram(case: Case) -> list[tuple[LinearQuery, Fraction]]:
    return [(LinearQuery(One(), splits(case.graph.domain.names)), Fraction(1))]


# -- the closed forms of [HMD14] section 8, as printed -------------------------------------------


def printed_8_2(case: Case) -> int | None:
    """2 max(alpha, xi) of the policy graph for G, if Q is sparse for G."""
    if not sparsity(case.graph, case.known, "policy").sparse:
        return None
    graph = policy_graph(case.graph, case.known, "policy")
    return 2 * max(longest_cycle(graph).found, longest_path(graph).found)


def printed_8_3(case: Case) -> int | None:
    """2 max(|Q|, 1), if Q is sparse for G."""
    if not sparsity(case.graph, case.known, "policy").sparse:
        return None
    domain = case.graph.domain
    return 2 * max(sum(known_query(entry, domain).size(domain) for entry in case.known), 1)


def printed_8_5(case: Case) -> int:
    """2 max size(C) for disjoint marginals, one attribute at a time."""
    domain = case.graph.domain
    return 2 * max(known_query(entry, domain).size(domain) for entry in case.known)


def printed_8_6(rectangles: Sequence[tuple[int, int]], theta: int) -> int:
    """2 (maxcomp + 1) for disjoint ranges of a line, joined when they are within theta."""
    parts = [{k} for k in range(len(rectangles))]
    for i, j in itertools.combinations(range(len(rectangles)), 2):
        (_, high), (left, _) = sorted([rectangles[i], rectangles[j]])
        if left - high <= theta:
            one = next(part for part in parts if i in part)
            other = next(part for part in parts if j in part)
            if one is not other:
                parts.remove(other)
                one |= other
    return 2 * (max(map(len, parts)) + 1)


def is_star_neighbour(here: oracle.TinyWorld, first: oracle.Dataset, second: oracle.Dataset) -> bool:
    """An independent check of N*: the changes are a minimal zero-sum sequence of moves with an edge among them.

    It never looks at a dataset: only at the vectors of the moves, and at every part of them.
    """
    moves = [(x, y) for x, y in zip(first, second, strict=True) if x != y]
    if not any(here.edge[x][y] for x, y in moves):
        return False
    vectors = [tuple(b - a for a, b in zip(here.adds[x], here.adds[y], strict=True)) for x, y in moves]

    def zero(part: Sequence[tuple[int, ...]]) -> bool:
        return not any(sum(column) for column in zip(*part, strict=True))

    proper = (part for size in range(1, len(vectors)) for part in itertools.combinations(vectors, size))
    return zero(vectors) and not any(zero(part) for part in proper)
