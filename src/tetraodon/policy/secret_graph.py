"""The discriminative secret graph over whole records ([HMD14] section 3.1, [MK15] "Example: Blowfish")."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final, TypeAlias

import numpy as np

from tetraodon.domain import Domain, Value
from tetraodon.errors import DomainError, PolicyError, Refused
from tetraodon.exact.arrays import Bools, Ints
from tetraodon.exact.effort import spend
from tetraodon.policy.attribute_graph import INFINITE, AttributeGraph, Everything, Public, Remembering, WithinShare
from tetraodon.policy.joint_graph import JointGraph
from tetraodon.policy.known import Known

FactorGraph: TypeAlias = AttributeGraph | JointGraph
MATRIX_LIMIT = 4096


class Absent(enum.Enum):
    """The value of somebody who is not in the data."""

    ABSENT = "not in the data"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT


@dataclass(frozen=True)
class Factor:
    """A graph over one attribute, or over several that are measured together."""

    names: tuple[str, ...]
    graph: FactorGraph

    @property
    def complete(self) -> bool:
        """Whether any two values are a secret. A joint metric is said to leave some pair out."""
        if isinstance(self.graph, JointGraph):
            return False
        return self.graph.edge_count == self.graph.size * (self.graph.size - 1) // 2


@dataclass(frozen=True)
class Groups:
    """People whose secrets depend on an attribute that is not protected: graphs of those groups that have their own.

    `own` lists the codes of these groups, rising, each with its graph. A graph without any edge is that of people
    who do not mind.
    """

    by: str
    own: tuple[tuple[int, SecretGraph], ...]


@dataclass(frozen=True)
class SecretGraph(Remembering):
    """Pairs of records that an observer must not tell apart. An edge IS protected.

    A step changes between one and `at_most` factors, each along an edge of its own graph: 1 is the
    Cartesian product ("one attribute at a time"), the number of factors is "all at once". With
    `absent`, the value ABSENT is joined to every record. `known` lists what is public about the data already: it
    changes no edge, but decides which datasets are neighbours, and is kept here so that no certificate forgets it.
    With `groups`, two records are a secret if they are in the same group and its own graph joins them; the factors
    here are those of groups that have none.

    >>> from tetraodon.domain import Attribute, Integers
    >>> from tetraodon.policy.attribute_graph import Within
    >>> domain = Domain((Attribute("x", Integers(0, 9)), Attribute("y", Integers(0, 9))))
    >>> graph = SecretGraph(domain, (Factor(("x",), Within(10, 2)), Factor(("y",), Within(10, 3))), 1)
    >>> graph.is_edge((0, 0), (2, 0)), graph.is_edge((0, 0), (1, 1)), graph.distance((0, 0), (4, 4))
    (True, False, 4)
    """

    domain: Domain
    factors: tuple[Factor, ...]
    at_most: int
    absent: bool = False
    known: tuple[Known, ...] = ()
    groups: Groups | None = None

    def __post_init__(self) -> None:
        named = sorted(name for factor in self.factors for name in factor.names)
        if named != sorted(self.domain.names):
            raise PolicyError("the secrets do not cover each attribute once", fix="name each attribute once")
        for factor in self.factors:
            if factor.graph.size != self.domain.project(factor.names).size:
                raise PolicyError("a graph does not fit its attribute", fix="use all values of the attribute")
        if self.at_most < 1:
            raise PolicyError("`at most` is below one", fix="let at least one attribute change")
        if self.groups is not None:
            self._check_groups(self.groups)

    def _check_groups(self, groups: Groups) -> None:
        graphs = [graph for _, graph in groups.own]
        if any(g.domain != self.domain or g.known or g.groups or g.absent > self.absent for g in graphs):
            raise PolicyError("a group's graph is not one of this table", fix="let groups differ in their secrets only")
        if any(g.factor_of(groups.by) != Factor((groups.by,), Public(self._groups_size)) for g in (self, *graphs)):
            raise PolicyError(
                f"{groups.by} is a secret, so that it cannot say whose secrets are which", fix="let it be public"
            )
        codes = [code for code, _ in groups.own]
        if codes != sorted({*codes}) or any(not 0 <= code < self._groups_size for code in codes):
            raise PolicyError("the groups are not values of their attribute, each once", fix="name each value once")

    # -- people with secrets of their own --------------------------------------------------------

    @property
    def _groups_size(self) -> int:
        assert self.groups is not None
        return self.domain[self.groups.by].size

    def of_group(self, code: int) -> SecretGraph:
        """The graph of the people of one group, and what is known; this graph where no group has its own."""
        if self.groups is None:
            return self
        own = dict(self.groups.own).get(code, self)
        return replace(own, known=self.known, groups=None)

    @cached_property
    def by_graph(self) -> tuple[tuple[SecretGraph, tuple[int, ...]], ...]:
        """Every graph that some group has, with the groups that have it."""
        assert self.groups is not None
        found: dict[SecretGraph, list[int]] = {}
        for code in range(self._groups_size):
            found.setdefault(self.of_group(code), []).append(code)
        return tuple((graph, tuple(codes)) for graph, codes in found.items())

    def _graph_at(self, x: object) -> SecretGraph:
        assert self.groups is not None
        return self.of_group(self.domain.codes(x)[self.domain.position(self.groups.by)])

    # -- asking about two values ---------------------------------------------------------------

    def is_edge(self, x: object, y: object) -> bool:
        """Whether an observer must not tell x from y."""
        if x is ABSENT or y is ABSENT:
            self._check_absent()
            return x is not y and (self.groups is None or self._graph_at(y if x is ABSENT else x).absent)
        if self.groups is not None:
            own = self._graph_at(x)
            return own == self._graph_at(y) and own.is_edge(x, y)
        moves = [
            (factor, a, b) for factor, a, b in zip(self.factors, self.local(x), self.local(y), strict=True) if a != b
        ]
        return 1 <= len(moves) <= self.at_most and all(f.graph.is_edge(a, b) for f, a, b in moves)

    def distance(self, x: object, y: object) -> float:
        """Least number of edges from x to y; infinite when nothing joins them.

        Why  every factor needs its own number of steps d_i, one step moves at most `at_most` of them, and
             unit tasks on that many machines finish in max(max d_i, ceil(sum d_i / at_most)). Through ABSENT
             there are never more than two.
        """
        if x is ABSENT or y is ABSENT:
            self._check_absent()
            return 0 if x is y else 1 if self.is_edge(x, y) else INFINITE
        if self.groups is not None:
            own, other = self._graph_at(x), self._graph_at(y)
            return own.distance(x, y) if own == other else 2 if own.absent and other.absent else INFINITE
        if self.absent:
            return 0 if self.local(x) == self.local(y) else 1 if self.is_edge(x, y) else 2
        steps = [f.graph.distance(a, b) for f, a, b in zip(self.factors, self.local(x), self.local(y), strict=True)]
        return INFINITE if INFINITE in steps else max(max(steps), -(-int(sum(steps)) // self.at_most))

    def component(self, x: object) -> tuple[int, ...]:
        """A label that two values share exactly when some chain of edges joins them."""
        if self.groups is not None and x is not ABSENT:
            own = self._graph_at(x)  # the group is a part of the label, since no step changes it
            return own.component(x)
        if self.absent or x is ABSENT:
            self._check_absent()
            return ()
        return tuple(int(f.graph.components()[a]) for f, a in zip(self.factors, self.local(x), strict=True))

    def local(self, x: object) -> tuple[int, ...]:
        """The vertex of x in each factor."""
        codes = self.domain.codes(x)
        return tuple(self.domain.cell_among(factor.names, codes) for factor in self.factors)

    def _check_absent(self) -> None:
        if not self.absent:
            raise DomainError(
                "presence is public here: everybody is in the data", fix="write `presence: secret` to protect it"
            )

    # -- asking about all of them --------------------------------------------------------------

    @cached_property
    def has_edges(self) -> bool:
        """Whether anything is a secret at all."""
        if self.groups is not None:
            return any(graph.has_edges for graph, _ in self.by_graph)
        return self.absent or any(factor.graph.has_edges for factor in self.factors)

    @property
    def complete(self) -> bool:
        """Whether any two records are known to be a secret, which is plain differential privacy."""
        moving = [factor for factor in self.factors if factor.graph.size > 1]
        return self.groups is None and len(moving) <= self.at_most and all(factor.complete for factor in moving)

    @property
    def presence_alone(self) -> bool:
        """Whether records come or go, and are never replaced."""
        return self.absent and self.groups is None and not replace(self, absent=False).has_edges

    def farthest_share(self, name: str) -> Fraction | None:
        """By what share of its value a step changes a number at most: 0 for no change, None where it may be any."""
        shares = []
        for one in [self] if self.groups is None else [one for one, _ in self.by_graph]:
            own = one.factor_of(name).graph
            if not isinstance(own, Public | WithinShare):
                return None
            shares.append(own.share if isinstance(own, WithinShare) else Fraction(0))
        return max(shares)

    def factor_of(self, name: str) -> Factor:
        """The factor an attribute belongs to."""
        return self.factors[self.place_of[name]]

    @cached_property
    def place_of(self) -> Mapping[str, int]:
        """The place of every attribute's factor among the factors."""
        return {name: place for place, factor in enumerate(self.factors) for name in factor.names}

    @cached_property
    def completed(self) -> SecretGraph:
        """Any two records are a secret; made once, since plans ask for it with every item."""
        every = tuple(Factor((a.name,), Everything(a.size)) for a in self.domain)
        return SecretGraph(self.domain, every, len(every), self.absent)

    @cached_property
    def first_record(self) -> tuple[Value, ...]:
        """The record with the first value of every attribute."""
        return self.domain.value_of([0] * len(self.domain.attributes))

    def edge_cells(self) -> tuple[Ints, Ints]:
        """All edges between records, as cell numbers, for a domain small enough to hold all pairs."""
        return _edge_cells(self)

    def _all_edges(self) -> tuple[Ints, Ints]:
        size = self.domain.size
        if size > MATRIX_LIMIT:
            raise Refused(
                f"the domain has more than {MATRIX_LIMIT:,} cells, too many to list every pair",
                fix="use fewer or coarser attributes",
            )
        if self.groups is not None:
            found = [graph.edge_cells() for graph, _ in self.by_graph]
            mine = [self._in_groups(x, codes) for (x, _), (_, codes) in zip(found, self.by_graph, strict=True)]
            first, second = (
                np.concatenate([pair[end][own] for pair, own in zip(found, mine, strict=True)]) for end in (0, 1)
            )
            return first, second
        spend(size * size // 2)
        axes = dict(zip(self.domain.names, np.unravel_index(np.arange(size), self.domain.shape), strict=True))
        changed = np.zeros((size, size), np.int16)
        allowed = np.triu(np.ones((size, size), np.bool_), 1)
        for factor in self.factors:
            shape = self.domain.project(factor.names).shape
            vertex: Ints = np.ravel_multi_index([axes[n] for n in factor.names], shape)
            if self.at_most < len(self.factors):
                changed += vertex[:, None] != vertex[None, :]
            if not factor.complete:
                ends = np.arange(factor.graph.size)
                joined = factor.graph.adjacent(ends[:, None], ends[None, :]) | np.eye(len(ends), dtype=np.bool_)
                allowed &= joined[np.ix_(vertex, vertex)]
        first, second = np.nonzero(allowed & (changed <= self.at_most))
        return first.astype(np.int64, copy=False), second.astype(np.int64, copy=False)

    def absent_cells(self) -> Ints:
        """The records that ABSENT is joined to, as cell numbers."""
        cells = np.arange(self.domain.size if self.absent else 0)
        if self.groups is None:
            return cells
        return cells[self._in_groups(cells, [code for g, codes in self.by_graph for code in codes if g.absent])]

    def _in_groups(self, cells: Ints, codes: Sequence[int]) -> Bools:
        assert self.groups is not None
        place = self.domain.position(self.groups.by)
        return np.isin(np.unravel_index(cells, self.domain.shape)[place], codes)

    def part(self, names: Iterable[str]) -> SecretGraph:
        """The graph on the factors that some attributes belong to, and on the groups; nothing is taken as known.

        Why  an edge that changes some of these attributes stays an edge when the others are left alone.
        """
        graphs = [self] if self.groups is None else [self, *(graph for _, graph in self.groups.own)]
        kept = {*names} if self.groups is None else {*names, self.groups.by}
        while True:
            joined = {n for g in graphs for f in g.factors if kept & set(f.names) for n in f.names}
            if joined == kept:
                break
            kept = joined
        domain = self.domain.project([name for name in self.domain.names if name in kept])
        factors = tuple(f for f in self.factors if kept & set(f.names))
        groups = self.groups and Groups(self.groups.by, tuple((code, g.part(kept)) for code, g in self.groups.own))
        return SecretGraph(domain, factors, min(self.at_most, len(factors)), self.absent, groups=groups)


@lru_cache(maxsize=2)
def _edge_cells(graph: SecretGraph) -> tuple[Ints, Ints]:
    """The edges of a graph, read-only: a plan asks for those of the same few attributes with every certificate."""
    found = graph._all_edges()
    for cells in found:
        cells.setflags(write=False)
    return found


def complete_graph(graph: SecretGraph) -> SecretGraph:
    """Plain differential privacy on the same domain: any two records are a secret, and no count is taken as known."""
    return graph.completed


def no_secrets(domain: Domain) -> SecretGraph:
    """The graph of people who do not mind: nothing of theirs is a secret, not even that they are in the data."""
    return SecretGraph(domain, tuple(Factor((a.name,), Public(a.size)) for a in domain), len(domain.names))
