"""A graphical model of noisy tables in plain floating point: a junction tree, belief propagation, mirror descent.

What Private-PGM does (McKenna, Sheldon and Miklau, ICML 2019), written anew for comparison: of all distributions whose
logarithm is a sum of one term for each measured table it looks for the one that fits the noisy counts best. Attributes
are places from 0, a table is a sorted tuple of them, and its array has their sizes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Places = tuple[int, ...]
STEPS, PATIENCE, ENOUGH = 1000, 25, 1e-4
"""Steps of the descent at most; it ends before if so many steps in a row lower the loss by less than this part of it."""


@dataclass(frozen=True)
class Noisy:
    """Counts of a table with Gaussian noise of deviation `sigma`."""

    places: Places
    counts: Floats
    sigma: float


def cliques_of(tables: Iterable[Places], sizes: Sequence[int]) -> list[Places]:
    """The parts of a junction tree in which every table lies: attributes go one by one, the cheapest first."""
    near = {place: {place} for place in range(len(sizes))}
    for table in tables:
        for place in table:
            near[place] |= set(table)
    found: list[set[int]] = []
    while near:
        gone = min(near, key=lambda place: math.prod(sizes[one] for one in near[place]))
        around = near.pop(gone)
        if not any(around <= one for one in found):
            found.append(around)
        for place in around - {gone}:
            near[place] = (near[place] | around) - {gone}
    return [tuple(sorted(one)) for one in found]


def megabytes(tables: Iterable[Places], sizes: Sequence[int]) -> float:
    """What a model of these tables holds, at eight bytes a cell."""
    return sum(math.prod(sizes[place] for place in one) for one in cliques_of(tables, sizes)) * 8 / 2**20


class Model:
    """A distribution with terms for some tables; without any, all values are alike and independent."""

    def __init__(self, sizes: Sequence[int], terms: Mapping[Places, Floats], total: float) -> None:
        self.sizes, self.total, self.terms = tuple(sizes), total, dict(terms)
        self.cliques = cliques_of(self.terms, sizes)
        self._above = _rooted(self.cliques)  # every part after the one it hangs on
        home = {one: min((c for c in self.cliques if set(one) <= set(c)), key=self._cells) for one in self.terms}
        self._of = {clique: [one for one, at in home.items() if at == clique] for clique in self.cliques}
        self.beliefs = self._propagated(self.terms)
        self._kept: dict[tuple[Places, Places], Floats] = {}

    def counts(self, places: Places) -> Floats:
        """The table of any attributes that the model expects."""
        inside = [clique for clique in self.cliques if set(places) <= set(clique)]
        if inside:
            return self._summed(min(inside, key=self._cells), places) * self.total
        (axes, found), *rest = self._below(next(iter(self._above)), set(places))
        for more, other in rest:
            found, axes = np.multiply.outer(found, other), axes + more
        return found.transpose(np.argsort(axes)) * self.total

    def fit(self, noisy: Sequence[Noisy]) -> Model:
        """The same terms after mirror descent towards noisy counts. Pre: each of them is of a table with a term."""
        terms, beliefs, size = self.terms, self.beliefs, min(one.sigma for one in noisy) ** 2 / self.total
        loss, slopes = self._loss(beliefs, noisy)
        trace = [loss]
        for _ in range(STEPS):
            while True:
                tried = {one: term - size * slopes.get(one, 0.0) for one, term in terms.items()}
                there = self._propagated(tried)
                lower, next_slopes = self._loss(there, noisy)
                if lower <= loss or size < 1e-30:
                    break
                size /= 2
            terms, beliefs, loss, slopes, size = tried, there, lower, next_slopes, size * 1.2
            trace.append(loss)
            if len(trace) > PATIENCE and trace[-PATIENCE - 1] - loss < ENOUGH * loss:
                break
        return Model(self.sizes, terms, self.total)

    def drawn(self, n: int, rng: np.random.Generator) -> Codes:
        """Records of which every attribute is as evenly spread as can be, given those before it in its part."""
        found, done = np.zeros((n, len(self.sizes)), np.int64), set[int]()
        for clique in self._above:
            for place in [one for one in clique if one not in done]:
                given = tuple(one for one in clique if one in done)
                table = self._summed(clique, tuple(sorted((*given, place))))
                table = np.moveaxis(table, sorted((*given, place)).index(place), -1).reshape(-1, self.sizes[place])
                cell = np.zeros(n, np.int64)
                for one in given:
                    cell = cell * self.sizes[one] + found[:, one]
                found[:, place] = _spread(table, cell, rng)
                done.add(place)
        return found

    def _cells(self, places: Places) -> int:
        return math.prod(self.sizes[place] for place in places)

    def _wide(self, table: Floats, places: Places, clique: Places) -> Floats:
        return table.reshape([self.sizes[place] if place in places else 1 for place in clique])

    def _propagated(self, terms: Mapping[Places, Floats]) -> dict[Places, Floats]:
        """The share of records in every cell of every part: inwards, then outwards."""
        found: dict[Places, Floats] = {}
        for clique in self.cliques:
            found[clique] = np.ones([self.sizes[place] for place in clique])
            for one in self._of[clique]:
                found[clique] *= self._wide(np.exp(terms[one] - terms[one].max()), one, clique)
        told: dict[Places, Floats] = {}
        for clique in reversed(list(self._above)):
            above = self._above[clique]
            if above is not None:
                shared = _shared(clique, above)
                told[clique] = _over(found[clique], clique, shared)
                told[clique] /= told[clique].max()
                found[above] *= self._wide(told[clique], shared, above)
        for clique, above in self._above.items():
            if above is None:
                found[clique] /= found[clique].sum()
            else:
                shared = _shared(clique, above)
                there = _over(found[above], above, shared)
                ratio = np.divide(there, told[clique], out=np.zeros_like(there), where=told[clique] > 0)
                found[clique] *= self._wide(ratio, shared, clique)
                found[clique] /= found[clique].sum()
        return found

    def _loss(self, beliefs: Mapping[Places, Floats], noisy: Sequence[Noisy]) -> tuple[float, dict[Places, Floats]]:
        """Half the squared distance in deviations, and its slope along every term."""
        loss, slopes, tables = 0.0, dict[Places, Floats](), dict(beliefs)
        for one in sorted(noisy, key=lambda one: -one.counts.size):
            if one.places not in tables:
                from_ = min((c for c in tables if set(one.places) <= set(c)), key=self._cells)
                tables[one.places] = _over(tables[from_], from_, one.places)
            off = (self.total * tables[one.places] - one.counts) / one.sigma
            loss += float((off**2).sum()) / 2
            slopes[one.places] = slopes.get(one.places, 0.0) + off / one.sigma
        return loss, slopes

    def _summed(self, clique: Places, places: Places) -> Floats:
        key = (clique, places)
        if key not in self._kept:
            self._kept[key] = _over(self.beliefs[clique], clique, places)
        return self._kept[key]

    def _below(self, clique: Places, asked: set[int]) -> list[tuple[Places, Floats]]:
        """Tables of what is asked at and below a part, given what it shares with the part above; apart if unrelated."""
        above = self._above[clique]
        shared = _shared(clique, above) if above is not None else ()
        here, parts, apart = asked & set(clique), list[tuple[Places, Floats]](), list[tuple[Places, Floats]]()
        for child in (one for one, over in self._above.items() if over == clique):
            if self._under(child) & asked - set(clique):
                both = _shared(child, clique)
                for axes, table in self._below(child, asked - set(clique) | (asked & set(both))):
                    (parts if set(axes) & set(clique) else apart).append((axes, table))
        need = tuple(sorted(here | set(shared) | {place for axes, _ in parts for place in axes if place in clique}))
        table = self._summed(clique, need)
        if shared:
            base = self._wide(_over(table, need, shared), shared, need)
            table = np.divide(table, base, out=np.zeros_like(table), where=base > 0)
        out = tuple(sorted(set(shared) | here | {place for axes, _ in parts for place in axes if place in asked}))
        axes_now, now = need, table
        for number, (axes, other) in enumerate(parts):
            later = {place for more, _ in parts[number + 1 :] for place in more}
            kept = tuple(sorted((set(axes_now) | set(axes)) & (set(out) | later)))
            now, axes_now = np.einsum(now, list(axes_now), other, list(axes), list(kept)), kept
        if axes_now != out:
            now = _over(now, axes_now, out)
        return [(out, now), *apart] if out else apart or [((), now)]

    def _under(self, clique: Places) -> set[int]:
        found = set(clique)
        for one, over in self._above.items():
            if over == clique:
                found |= self._under(one)
        return found


def _shared(one: Places, other: Places) -> Places:
    return tuple(place for place in one if place in other)


def _over(table: Floats, places: Places, kept: Places) -> Floats:
    """The table of fewer attributes."""
    gone = tuple(axis for axis, place in enumerate(places) if place not in kept)
    found: Floats = table.sum(axis=gone) if gone else table
    return found


def _rooted(cliques: Sequence[Places]) -> dict[Places, Places | None]:
    """A tree of parts in which those that hold an attribute hang together, every part with the one above it."""
    above: dict[Places, Places | None] = {cliques[0]: None}
    while len(above) < len(cliques):
        left = [one for one in cliques if one not in above]
        one, over = max(((a, b) for a in left for b in above), key=lambda two: len(set(two[0]) & set(two[1])))
        above[one] = over
    return above


def _spread(table: Floats, rows: Codes, rng: np.random.Generator) -> Codes:
    """A column for each record, as the row of the table that it has says, records of a row spread evenly over it."""
    sums = table.sum(axis=1, keepdims=True)
    shares = np.where(sums > 0, table / np.where(sums > 0, sums, 1), 1 / table.shape[1])
    ends = np.cumsum(shares, axis=1)
    ends[:, -1] = 1.0
    order = rng.permutation(len(rows))
    order = order[np.argsort(rows[order], kind="stable")]
    many = np.bincount(rows, minlength=len(table))
    within = np.arange(len(rows)) - np.repeat(np.cumsum(many) - many, many)
    at = (within + rng.random(len(table))[rows[order]]) / many[rows[order]]
    flat = (ends + np.arange(len(table))[:, None]).ravel()
    found = np.empty(len(rows), np.int64)
    found[order] = np.searchsorted(flat, rows[order] + at, side="right").clip(0, flat.size - 1) % table.shape[1]
    return found


def downward(tables: Iterable[Places]) -> list[Places]:
    """All tables that lie in some of these, small ones first."""
    found = {part for table in tables for many in range(1, len(table) + 1) for part in combinations(table, many)}
    return sorted(found, key=lambda one: (len(one), one))
