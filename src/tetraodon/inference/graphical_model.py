"""Graphical models of noisy marginals ([MSM19]), and synthetic records drawn from them.

Of all distributions whose logarithm is a sum of one term for each table, one is looked for that fits the noisy counts.
Attributes are places from 0, and the array of a table has the sizes of its attributes, in their order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_letters

import numpy as np

from tetraodon.domain import Attribute, Domain
from tetraodon.exact.arrays import Floats, Ints
from tetraodon.query.aim import Places, cliques_of
from tetraodon.query.linear import Split

# -- graphical model --------------------------------------------------------------------------------

STEPS, SLOWER, ENOUGH = 120, 0.7, 0.8
"""Steps of a fit; how much shorter they become where one went too far; and the share of what noise alone would be off
at which a fit ends, because what comes nearer follows the noise."""


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Counts by some attributes with noise of a standard deviation."""

    places: Places
    counts: Floats
    deviation: float


class JunctionTree:
    """Parts that hold all tables, each hanging on another so that those with an attribute in common hang together."""

    def __init__(self, tables: Sequence[Places], sizes: Sequence[int]) -> None:
        self.sizes, self.cliques = tuple(sizes), cliques_of(tables, sizes)
        self.above: dict[Places, Places | None] = {self.cliques[0]: None}
        while len(self.above) < len(self.cliques):
            left = [one for one in self.cliques if one not in self.above]
            pairs = ((one, over) for one in left for over in self.above)
            one, over = max(pairs, key=lambda two: len(set(two[0]) & set(two[1])))
            self.above[one] = over
        self._held = {clique: [one for one in tables if self.home(one) == clique] for clique in self.cliques}

    def home(self, table: Places) -> Places | None:
        """The smallest part that holds a table, if any does."""
        return min((one for one in self.cliques if set(table) <= set(one)), key=self.cells, default=None)

    def cells(self, places: Places) -> int:
        return math.prod(self.sizes[place] for place in places)

    def wide(self, table: Floats, places: Places, clique: Places) -> Floats:
        """A table as one that can be multiplied with that of a part."""
        return table.reshape([self.sizes[place] if place in places else 1 for place in clique])

    @np.errstate(invalid="ignore", over="ignore")
    def propagated(self, terms: Mapping[Places, Floats]) -> dict[Places, Floats]:
        """The share of records in every cell of every part, by belief propagation: inwards, then outwards.

        Not a number where terms are so far apart that all shares of a part round to zero.
        """
        found: dict[Places, Floats] = {}
        for clique in self.cliques:
            found[clique] = np.ones([self.sizes[place] for place in clique])
            for one in self._held[clique]:
                found[clique] *= self.wide(np.exp(terms[one] - terms[one].max()), one, clique)
        told: dict[Places, Floats] = {}
        for clique, above in reversed(self.above.items()):
            if above is not None:
                shared = common(clique, above)
                told[clique] = summed(found[clique], clique, shared)
                told[clique] = told[clique] / told[clique].max()
                found[above] *= self.wide(told[clique], shared, above)
        for clique, above in self.above.items():
            if above is not None:
                shared = common(clique, above)
                there = summed(found[above], above, shared)
                ratio = np.divide(there, told[clique], out=np.zeros_like(there), where=told[clique] > 0)
                found[clique] *= self.wide(ratio, shared, clique)
            found[clique] /= found[clique].sum()
        return found

    def off(
        self, beliefs: Mapping[Places, Floats], noisy: Sequence[NoisyTable], total: float
    ) -> tuple[float, dict[Places, Floats]]:
        """Half the squared distance from noisy counts, in deviations, and its slope along every term."""
        loss, slopes, tables = 0.0, dict[Places, Floats](), dict(beliefs)
        for one in sorted(noisy, key=lambda one: -one.counts.size):
            if one.places not in tables:
                larger = min((there for there in tables if set(one.places) <= set(there)), key=self.cells)
                tables[one.places] = summed(tables[larger], larger, one.places)
            far = (total * tables[one.places] - one.counts) / one.deviation
            loss += float((far**2).sum()) / 2
            slopes[one.places] = slopes.get(one.places, 0.0) + far / one.deviation
        return loss, slopes


@dataclass(frozen=True, eq=False)
class GraphicalModel:
    """A distribution of `total` records: terms for some tables, and the shares of records that follow from them."""

    tree: JunctionTree
    terms: Mapping[Places, Floats]
    total: float

    @cached_property
    def beliefs(self) -> dict[Places, Floats]:
        return self.tree.propagated(self.terms)

    @cached_property
    def _kept(self) -> dict[tuple[Places, Places], Floats]:
        return {}

    def counts(self, places: Places) -> Floats:
        """The table of any attributes, as the model expects it."""
        home = self.tree.home(places)
        if home is not None:
            return self._part(home, places) * self.total
        (axes, found), *rest = self._below(next(iter(self.tree.above)), set(places))
        for more, other in rest:
            found, axes = np.multiply.outer(found, other), axes + more
        return np.asarray(found.transpose(np.argsort(axes)) * self.total)

    def drawn(self, n: int, rng: np.random.Generator) -> Ints:
        """Records, one row each: every attribute is spread as evenly as can be, given those before it in its part."""
        found, done = np.zeros((n, len(self.tree.sizes)), np.int64), set[int]()
        for clique in self.tree.above:
            for place in (one for one in clique if one not in done):
                given = tuple(one for one in clique if one in done)
                axes = tuple(sorted((*given, place)))
                table = np.moveaxis(self._part(clique, axes), axes.index(place), -1)
                rows = np.zeros(n, np.int64)
                for one in given:
                    rows = rows * self.tree.sizes[one] + found[:, one]
                found[:, place] = _spread(table.reshape(-1, table.shape[-1]), rows, rng)
                done.add(place)
        return found

    def _part(self, clique: Places, places: Places) -> Floats:
        if (clique, places) not in self._kept:
            self._kept[clique, places] = summed(self.beliefs[clique], clique, places)
        return self._kept[clique, places]

    def _below(self, clique: Places, asked: set[int]) -> list[tuple[Places, Floats]]:
        """What is asked of at and below a part, given what it shares with the part above; apart what is unrelated."""
        above, inside = self.tree.above[clique], set(clique)
        shared = common(clique, above) if above is not None else ()
        parts, apart = list[tuple[Places, Floats]](), list[tuple[Places, Floats]]()
        for child in (one for one, over in self.tree.above.items() if over == clique):
            if self._under(child) & (asked - inside):
                for axes, table in self._below(child, (asked - inside) | (asked & set(child))):
                    (parts if inside & set(axes) else apart).append((axes, table))
        axes = tuple(sorted((asked & inside) | set(shared) | {p for more, _ in parts for p in more if p in inside}))
        table = self._part(clique, axes)
        if shared:
            base = self.tree.wide(summed(table, axes, shared), shared, axes)
            table = np.divide(table, base, out=np.zeros_like(table), where=base > 0)
        out = tuple(sorted(set(shared) | (asked & inside) | {p for more, _ in parts for p in more if p in asked}))
        for number, (more, other) in enumerate(parts):
            later = {place for rest, _ in parts[number + 1 :] for place in rest}
            kept = tuple(sorted((set(axes) | set(more)) & (set(out) | later)))
            names = ("".join(ascii_letters[place] for place in each) for each in (axes, more, kept))
            table, axes = np.einsum("{},{}->{}".format(*names), table, other), kept
        found = [(out, summed(table, axes, out))] if out or not apart else []
        return [*found, *apart]

    def _under(self, clique: Places) -> set[int]:
        below = (self._under(one) for one, over in self.tree.above.items() if over == clique)
        return set(clique).union(*below)


def fit_model(
    noisy: Sequence[NoisyTable], sizes: Sequence[int], total: float, before: GraphicalModel | None = None
) -> GraphicalModel:
    """The model that noisy tables tell of, from where another one ended.

    Post  the same tables give the same model.
    Why   mirror descent with momentum. It starts with independent attributes and ends when it is as far from the noisy
          counts as the truth would be, or a little nearer: what is nearer still follows the noise.
    """
    tables = [*dict.fromkeys(one.places for one in noisy)]
    tree, known = JunctionTree(tables, sizes), before.terms if before else {}
    least = min(one.deviation for one in noisy)
    afresh = {one.places: _first(one, total) for one in noisy}
    terms = {places: known.get(places, first) for places, first in afresh.items()}
    wanted, size = ENOUGH * sum(one.counts.size for one in noisy) / 2, least**2 / total
    ahead, last, best, speed = terms, terms, math.inf, 0
    for _ in range(STEPS):
        loss, slopes = tree.off(tree.propagated(ahead), noisy, total)
        if loss <= best:
            best, there, steep, speed = loss, ahead, slopes, speed + 1
        elif best == math.inf:  # where another one ended there are no shares in these parts
            ahead = last = afresh
            continue
        else:  # too far: back to the best place so far, and on from there in shorter steps
            size, speed, last = size * SLOWER, 0, there
        if best <= wanted:
            break
        terms = {one: term - size * steep[one] for one, term in there.items()}
        ahead = {one: term + speed / (speed + 3) * (term - last[one]) for one, term in terms.items()}
        last = terms
    return GraphicalModel(tree, there, total)


def _first(table: NoisyTable, total: float) -> Floats:
    """Where a fit begins: attributes by themselves as they were told, nothing else."""
    if len(table.places) > 1:
        return np.zeros_like(table.counts)
    return np.log(np.maximum(table.counts, table.deviation / 2) / total)


def common(one: Places, other: Places) -> Places:
    """The attributes of both."""
    return tuple(place for place in one if place in other)


def summed(table: Floats, places: Places, kept: Places) -> Floats:
    """The table of fewer attributes."""
    gone = tuple(axis for axis, place in enumerate(places) if place not in kept)
    return np.asarray(table.sum(axis=gone)) if gone else table


def _spread(table: Floats, rows: Ints, rng: np.random.Generator) -> Ints:
    """A column for each record by the row of the table that it has; records of a row are spread evenly."""
    sums = table.sum(axis=1, keepdims=True)
    shares = np.where(sums > 0, table / np.where(sums > 0, sums, 1), 1 / table.shape[1])
    ends = np.minimum(np.cumsum(shares, axis=1), 1.0)
    ends[:, -1] = 1.0
    order = rng.permutation(len(rows))
    order = order[np.argsort(rows[order], kind="stable")]
    many = np.bincount(rows, minlength=len(table))
    within = np.arange(len(rows)) - np.repeat(np.cumsum(many) - many, many)
    at = (within + rng.random(len(table))[rows[order]]) / many[rows[order]]
    flat = (ends + np.arange(len(table))[:, None]).ravel()
    places = np.searchsorted(flat, rows[order] + at, side="right") - rows[order] * table.shape[1]
    found = np.empty(len(rows), np.int64)
    found[order] = places.clip(0, table.shape[1] - 1)
    return found


# -- made up records --------------------------------------------------------------------------------
# Made-up records that have about the counts of some tables.
#
# Records start with attributes that are independent of each other, each spread as its tables say. Then table after
# table is brought nearer to its counts: records in cells that have too many are moved to cells that have too few,
# some by becoming a copy of a record there, which keeps what goes together in it, the others by taking over the
# values of that cell alone, which keeps what goes together in them. This is the gradual update of PrivSyn (Zhang and
# others, 2021).

ROUNDS, SYNTHETIC_SLOWER, SLOWEST = 18, 0.88, 0.04
"""How often every table has its turn, and the share of what is amiss that is moved in later and later rounds."""
COPIES = 0.3
"""The share of moved records that become copies of others."""


def make_up(
    tables: Sequence[TargetTable], domain: Domain, n: int, *, progress: Callable[[str], None] = lambda _: None
) -> dict[str, Ints]:
    """The codes of `n` records by attribute, of every attribute that some table is about.

    Post  the same tables give the same records.
    """
    names = [name for name in domain.names if any(name in table.names for table in tables)]
    rng = np.random.default_rng(n)  # of made-up records; what they follow is public by then
    codes = {name: rng.permutation(_spread_rows(domain[name], tables, n)) for name in names}
    for number in range(ROUNDS):
        progress(f"round {number + 1} of {ROUNDS}")
        bring_all_nearer(codes, tables, domain, max(SYNTHETIC_SLOWER**number, SLOWEST), rng)
    return codes


def bring_all_nearer(
    codes: dict[str, Ints], tables: Sequence[TargetTable], domain: Domain, share: float, rng: np.random.Generator
) -> None:
    """Move a share of the records that are amiss, table by table in any order."""
    n = len(next(iter(codes.values())))
    for place in rng.permutation(len(tables)).tolist():
        _bring_nearer(codes, tables[place], n, share, domain, rng)


@dataclass(frozen=True, eq=False)
class TargetTable:
    """Counts that records are to have, none below zero."""

    name: str
    splits: tuple[Split, ...]
    counts: Floats

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(split.name for split in self.splits)

    def cells(self, codes: Mapping[str, Ints]) -> Ints:
        """The cell of each record."""
        found: Ints = np.ravel_multi_index([split.of(codes[split.name]) for split in self.splits], self.counts.shape)
        return found

    def wanted(self, n: int) -> Floats:
        """How many of `n` records each cell should have; all alike where nobody was counted."""
        total = self.counts.sum()
        flat = self.counts.ravel()
        return flat * (n / total) if total > 0 else np.full(flat.size, n / flat.size)

    def distance(self, codes: Mapping[str, Ints], n: int) -> float:
        there = np.bincount(self.cells(codes), minlength=self.counts.size)
        return float(np.abs(there - self.wanted(n)).sum()) / (2 * n)


def _spread_rows(attribute: Attribute, tables: Sequence[TargetTable], n: int) -> Ints:
    """Values of `n` records, sorted, as the finest and then smallest table tells them; within a bin evenly."""
    about = [table for table in tables if attribute.name in table.names]
    table = min(about, key=lambda one: (one.splits[one.names.index(attribute.name)].bins is not None, one.counts.size))
    axis = table.names.index(attribute.name)
    rest = tuple(other for other in range(table.counts.ndim) if other != axis)
    counts, bins = table.counts.sum(axis=rest), table.splits[axis].of(np.arange(attribute.size))
    chances = counts[bins] / np.bincount(bins, minlength=len(counts))[bins]
    chances = chances if chances.sum() > 0 else np.ones(attribute.size)
    ends = np.round(np.cumsum(chances) * (n / chances.sum())).astype(np.int64)
    return np.repeat(np.arange(attribute.size), np.diff(ends, prepend=0))


def _bring_nearer(
    codes: dict[str, Ints], table: TargetTable, n: int, share: float, domain: Domain, rng: np.random.Generator
) -> None:
    """Move a share of the records in cells with too many to cells with too few."""
    cells, wanted = table.cells(codes), table.wanted(n)
    there = np.bincount(cells, minlength=len(wanted))
    amiss = wanted - there
    taken = np.minimum((np.maximum(-amiss, 0) * share + rng.random(len(wanted))).astype(np.int64), there)
    lacking = np.maximum(amiss, 0)
    moved = int(taken.sum())
    if moved == 0 or lacking.sum() == 0:
        return
    mixed = rng.permutation(n)
    short = cells[mixed].astype(np.uint16 if len(wanted) <= 2**16 else np.int64)  # these are sorted digit by digit
    order = mixed[np.argsort(short, kind="stable")]  # by cell, in any order within it
    first = np.cumsum(there) - there
    within = np.arange(n) - np.repeat(first, there)
    who = rng.permutation(order[within < np.repeat(taken, there)])
    ends = np.cumsum(lacking) * (moved / lacking.sum())
    where = np.minimum(np.searchsorted(ends, np.arange(moved) + rng.random(), side="right"), len(wanted) - 1)
    copied = (there[where] > 0) & (rng.random(moved) < COPIES)
    like = order[first[where[copied]] + (rng.random(int(copied.sum())) * there[where[copied]]).astype(np.int64)]
    for name in codes:
        codes[name][who[copied]] = codes[name][like]
    rest, into = who[~copied], np.unravel_index(where[~copied], table.counts.shape)
    for split, bins in zip(table.splits, into, strict=True):
        codes[split.name][rest] = one_of(split, domain[split.name], bins, codes[split.name][rest], rng)


def one_of(split: Split, attribute: Attribute, bins: Ints, codes: Ints, rng: np.random.Generator) -> Ints:
    """A value in each bin: the one that is there if it lies in it, else any."""
    if split.bins is None and split.ends is None:
        return bins
    members = np.argsort(split.of(np.arange(attribute.size)), kind="stable")
    sizes = np.bincount(split.of(np.arange(attribute.size)), minlength=int(bins.max(initial=0)) + 1)
    first = np.cumsum(sizes) - sizes
    drawn = members[first[bins] + (rng.random(len(bins)) * sizes[bins]).astype(np.int64)]
    return np.where(split.of(codes) == bins, codes, drawn)
