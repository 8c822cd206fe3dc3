"""A linear query over the domain: a contribution, answered separately for every cell of some splits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Domain
from tetraodon.domain.domain import MISSING
from tetraodon.errors import QueryError, Refused
from tetraodon.exact.arrays import Ints, cut_off, fits, sum_by
from tetraodon.noise.coins import Coins
from tetraodon.noise.laws import LAPLACE, NoiseLaw
from tetraodon.query.contribution import Among, Contribution, Draw
from tetraodon.query.number import Number

ANSWER_LIMIT = 20_000_000


@dataclass(frozen=True)
class Split:
    """An attribute whose values, or `bins` of values, are counted apart. `bins[code]` is a code's bin.

    With `ends`, only values between these codes are counted apart. It goes with a condition that holds for no others,
    so that it does not matter where those are put.
    """

    name: str
    bins: tuple[int, ...] | None = None
    labels: tuple[str, ...] = ()
    ends: tuple[int, int] | None = None

    def size(self, domain: Domain) -> int:
        if self.ends is not None:
            return self.ends[1] - self.ends[0] + 1
        return domain[self.name].size if self.bins is None else int(self._bin_of.max()) + 1

    def of(self, codes: Ints) -> Ints:
        """The bin of each code."""
        if self.ends is not None:
            return np.clip(codes, *self.ends) - self.ends[0]
        return codes if self.bins is None else self._bin_of[codes]

    @cached_property
    def _bin_of(self) -> Ints:
        return np.asarray(self.bins, np.int64)


@dataclass(frozen=True)
class LinearQuery:
    """sum over records of contribution(x), for every cell of `by`."""

    contribution: Contribution
    by: tuple[Split, ...] = ()

    def __post_init__(self) -> None:
        given = self.contribution
        own = given.inner.names if isinstance(given, Among) else given.names
        names = [split.name for split in self.by] + list(own)
        if len(set(names)) != len(names):
            raise QueryError("an attribute is used twice in one query", fix="name each attribute once")

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes it looks at, splits first; a condition may look at them too."""
        return tuple(dict.fromkeys([*(split.name for split in self.by), *self.contribution.names]))

    def shape(self, domain: Domain) -> tuple[int, ...]:
        """One axis per split, then the rows of the contribution."""
        return (*(split.size(domain) for split in self.by), self.contribution.rows)

    def size(self, domain: Domain) -> int:
        """How many answers it has. Ask before evaluating."""
        return math.prod(self.shape(domain))

    def evaluate(self, domain: Domain, codes: Ints, counts: Ints) -> Ints:
        """Exact answers, in units of the contribution, from counts of the non-empty cells of `names`.

        Pre   the counts add up to `MOST_ROWS` at most.
        Post  an array of `shape`, zero where nothing was counted, and nothing beyond `LARGEST`. Whether that is refused
              depends on the query alone.
        """
        shape = self.shape(domain)
        if math.prod(shape) > ANSWER_LIMIT:
            raise Refused(
                f"the answer has more than {ANSWER_LIMIT:,} numbers",
                fix="ask for fewer attributes, or for `bins` of them",
            )
        place = self._places(codes, shape)
        groups, given = math.prod(shape[:-1]), self.contribution
        rest = [codes[:, self.names.index(name)] for name in given.names]
        if isinstance(given, Among):
            there = given.holds(rest)
            kept = [code[there] for code in given.inner_codes(rest)]
            assert not isinstance(given.inner, Among), "conditions are joined before they are looked at"
            return given.inner.totals(kept, given.within, counts[there], place[there], groups).reshape(shape)
        sizes = [domain[name].size for name in given.names]
        return given.totals(rest, sizes, counts, place, groups).reshape(shape)

    def occupied(self, domain: Domain, codes: Ints, counts: Ints) -> NDArray[Any]:
        """For each cell of `by` the codes of the contribution's only attribute that somebody has, and how many do."""
        shape, given = self.shape(domain), self.contribution
        rest, there = [codes[:, self.names.index(name)] for name in given.names], counts > 0
        if isinstance(given, Among):
            there, rest = there & given.holds(rest), given.inner_codes(rest)
        cells = np.stack([self._places(codes, shape), rest[0]], axis=1)[there]
        kinds, same = np.unique(cells, axis=0, return_inverse=True)
        rows = np.column_stack([kinds[:, 1], sum_by(len(kinds), same.ravel(), counts[there])])
        ends = np.searchsorted(kinds[:, 0], np.arange(math.prod(shape[:-1]) + 1))
        found = np.empty(len(ends) - 1, object)
        for cell, (first, last) in enumerate(pairwise(ends)):
            found[cell] = rows[first:last]
        return found.reshape(shape[:-1])

    def counted(self, domain: Domain, codes: Ints, counts: Ints) -> NDArray[Any]:
        """What is measured of such cells: the exact answers, or what a contribution that is not linear starts from."""
        return self.contribution.counted(self, domain, codes, counts)

    def _places(self, codes: Ints, shape: tuple[int, ...]) -> Ints:
        """The cell of the splits that each row of codes lies in."""
        place = np.zeros(len(codes), np.int64)
        for axis, split in enumerate(self.by):
            place = place * shape[axis] + split.of(codes[:, axis])
        return place

    def evaluate_sums(self, domain: Domain, codes: Ints, counts: Ints, sums: Ints) -> Ints:
        """Exact answers to a sum of one attribute, from the sums of its codes in the non-empty cells of `by`.

        Why  a table with a billion different incomes need not send their counts: with values first + step * code,
             the sum of the values is first * count + step * (sum of the codes).
        """
        assert isinstance(self.contribution, Number)
        shape = self.shape(domain)
        place = self._places(codes, shape)
        first, second = self.contribution.values(np.arange(2)).tolist()
        step = second - first
        groups = math.prod(shape[:-1])
        if fits(self.contribution.longest):
            return sum_by(groups, place, first * counts + step * sums).reshape(shape)
        whole = np.zeros(groups, object)
        np.add.at(whole, place, first * counts.astype(object) + step * sums.astype(object))
        return cut_off(whole).reshape(shape)

    def matrix(self, domain: Domain) -> tuple[Ints, Fraction]:
        """All rows over all cells of the domain, and their unit; for tiny worlds only."""
        cells = np.arange(domain.size)
        axes = dict(zip(domain.names, np.unravel_index(cells, domain.shape), strict=True))
        columns = self.contribution.columns()
        if self.contribution.names:
            sizes = [domain[name].size for name in self.contribution.names]
            columns = columns[:, np.ravel_multi_index([axes[n] for n in self.contribution.names], sizes)]
        else:
            columns = np.repeat(columns, domain.size, axis=1)
        rows = [columns]
        for split in reversed(self.by):
            bins = split.of(axes[split.name])
            rows = [row * (bins == b) for b in range(split.size(domain)) for row in rows]
        return np.concatenate(rows), self.contribution.unit


@dataclass(frozen=True)
class Measurement:
    """A query that is answered with noise of a law on each answer, at a scale in units; scale 0 means exactly."""

    query: LinearQuery
    scale: Fraction
    noise: NoiseLaw = LAPLACE

    def __post_init__(self) -> None:
        if not isinstance(self.noise, NoiseLaw):
            raise QueryError("the noise of a measurement is not a law", fix="give one of `tetraodon.noise.laws`")
        if not isinstance(self.scale, Fraction | int):
            raise QueryError("a noise scale is no exact number", fix="give a Fraction")
        if self.scale < 0:
            raise QueryError("a noise scale is negative", fix="use 0 for exact, or a positive scale")

    @property
    def on_each(self) -> bool:
        """Whether each answer has noise of its own, and no earlier output decides what is measured."""
        return self.query.contribution.on_each

    def measured(self, exact: NDArray[Any], noise: Draw, coins: Callable[[], Coins]) -> Ints:
        """What is released of exact answers; `noise` gives noise, and `coins` what is drawn in another way."""
        return self.query.contribution.measured(exact, self, noise, coins) if self.scale else exact


def split_document(split: Split) -> dict[str, Any]:
    """A split as JSON."""
    bins = {} if split.bins is None else {"bins": list(split.bins), "labels": list(split.labels)}
    return {"attribute": split.name} | bins


def split_from(document: Mapping[str, Any], domain: Domain) -> Split:
    """The split of a domain that a document describes. Raises ValueError where its bins are not those of any split."""
    attribute = domain[document["attribute"]]
    if "bins" not in document:
        return Split(attribute.name)
    bins, labels = tuple(document["bins"]), tuple(document["labels"])
    fits = all(type(bin_) is int for bin_ in bins) and all(isinstance(label, str) for label in labels)
    if not fits or len(bins) != attribute.size or len(set(bins)) != max(bins) + 1 or min(bins) < 0:
        raise ValueError("bins that are not those of the attribute")
    if labels and len(labels) != max(bins) + 1:
        raise ValueError("bins that are not those of the attribute")
    return Split(attribute.name, bins, labels)


def split_by(name: str, domain: Domain) -> Split:
    """The split by every value of an attribute, or by the branches at a level of its tree.

    Post  where missing values stand apart, they are apart from every branch, too.
    """
    if name in domain.places:
        return Split(name)
    found = ((a, level) for a in domain for level in a.levels if level.name == name)
    attribute, level = next(found, (None, None))
    if attribute is None or level is None:
        return Split(domain[name].name)
    apart = (MISSING,) if attribute.separate else ()
    return Split(attribute.name, (*level.places, *(len(level.branches) for _ in apart)), (*level.branches, *apart))


def splits(names: Sequence[str]) -> tuple[Split, ...]:
    """Splits by every value of the attributes."""
    return tuple(Split(name) for name in names)
