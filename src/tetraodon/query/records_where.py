"""Some of the records: those for which a condition holds, and what they can be like."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.domain.domain import MISSING
from tetraodon.domain.values import TreeLevel, Values
from tetraodon.errors import QueryError, Refused
from tetraodon.exact.arrays import Bools
from tetraodon.query import condition
from tetraodon.query.condition.read import CELL_LIMIT
from tetraodon.query.contribution import Among
from tetraodon.query.linear import LinearQuery, Split
from tetraodon.wording import listing


@dataclass(frozen=True, slots=True)
class Kept:
    """The values of an attribute that some of the records can have: those between two codes, or listed ones."""

    first: int
    last: int
    listed: tuple[int, ...] = ()


@dataclass(frozen=True)
class RecordsWhere:
    """The records for which `where` holds and whose values of the attributes `answered` are not missing.

    `inside` is the domain of such records: numbers and dates from the least to the largest that they can have, and of
    categories those that they can have. What is asked about them is asked there, and `lifted` to all records.

    >>> domain = Domain((Attribute("age", Integers(0, 99)), Attribute("sex", Categories(("f", "m")), other=0)))
    >>> grown = RecordsWhere("age >= 18 and sex = 'f'", (), domain)
    >>> grown.inside["age"].values, grown.inside["sex"].labels
    (Integers(low=18, high=99, ordered=True), ('f',))
    """

    where: str
    answered: tuple[str, ...]
    domain: Domain

    @cached_property
    def _truth(self) -> tuple[tuple[str, ...], Bools]:
        names, holds = condition.truth_table(self.where, self.domain) if self.where else ((), np.array(True))
        asked = tuple(name for name in self.domain.names if name in {*names, *self.answered})
        if math.prod(self.domain[name].size for name in asked) > CELL_LIMIT:
            raise Refused(
                f"{listing(asked)} have too many values together for missing ones to stand apart in this question",
                fix="write a larger `step` for one of them, or `missing:` one of its values in place of `separate`",
            )
        table = holds.reshape([self.domain[name].size if name in names else 1 for name in asked])
        for axis, name in enumerate(asked):
            attribute = self.domain[name]
            if name in self.answered:
                there = np.arange(attribute.size) != attribute.missing
                table = table & there.reshape([-1 if axis == other else 1 for other in range(len(asked))])
        return asked, np.ascontiguousarray(table)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that say whether a record is among them."""
        return self._truth[0]

    @property
    def holds(self) -> Bools:
        """Whether a record is among them, with one axis for each of `names`."""
        return self._truth[1]

    def can_hold(self, names: Sequence[str]) -> Bools:
        """Which cells of some of `names`, in their order, these records can be in."""
        return np.asarray(self.holds.any(axis=tuple(a for a, name in enumerate(self.names) if name not in names)))

    @cached_property
    def kept(self) -> dict[str, Kept]:
        """What is left of the attributes that they cannot have every value of."""
        found = {}
        for name in self.names:
            able = self.can_hold((name,))
            codes = np.flatnonzero(able).tolist()
            listed = (
                isinstance(self.domain[name].values, Booleans | Categories) and not self.domain[name].values.ordered
            )
            if not able.all() and (listed or codes[-1] - codes[0] + 1 < len(able)):
                found[name] = Kept(codes[0], codes[-1], tuple(codes) if listed else ())
        return found

    @cached_property
    def inside(self) -> Domain:
        """What one of these records can be like."""
        return Domain(tuple(left_of(one, self.kept[one.name]) if one.name in self.kept else one for one in self.domain))

    def inside_of(
        self, names: Sequence[str], holds: Bools, known: Collection[str]
    ) -> tuple[tuple[str, ...], Bools] | None:
        """A condition on all records as one on these, by attributes that are `known` of them.

        None where it may hold for a record that is not among them, or where these attributes do not tell.

        >>> domain = Domain((Attribute("age", Integers(0, 3)), Attribute("sex", Categories(("f", "m")), other=0)))
        >>> grown, old = RecordsWhere("age >= 2", (), domain), np.array([False, False, False, True])
        >>> grown.inside_of(("age",), old, ("age", "sex"))
        (('age',), array([False,  True]))
        """
        every = tuple(name for name in self.domain.names if name in {*names, *self.names})
        sizes = [self.domain[name].size for name in every]
        if math.prod(sizes) > CELL_LIMIT:
            return None
        asked, here = (
            np.broadcast_to(
                np.reshape(told, [size if name in of else 1 for name, size in zip(every, sizes, strict=True)]), sizes
            )
            for of, told in ((names, holds), (self.names, self.holds))
        )
        hidden = tuple(axis for axis, name in enumerate(every) if name not in known)
        some, others = asked.any(axis=hidden), (here & ~asked).any(axis=hidden)
        if (asked & ~here).any() or (some & others).any():
            return None
        left = tuple(name for name in every if name in known)
        for axis, name in enumerate(left):
            if (kept := self.kept.get(name)) is not None:
                some = some.take(kept.listed or range(kept.first, kept.last + 1), axis)
        return left, np.asarray(some)

    def lifted(self, query: LinearQuery) -> LinearQuery:
        """A query over `inside` as one over all records, to which all others add nothing."""
        inner = query.contribution
        if twice := [name for name in inner.names if name in self.kept and self.kept[name].listed]:
            raise QueryError(f"two conditions look at {twice[0]}", fix="join them by `and` under `where`")
        names = (*inner.names, *(name for name in self.names if name not in inner.names))
        first = tuple(self.kept[name].first if name in self.kept else 0 for name in inner.names)
        among = Among(
            inner,
            names,
            tuple(self.domain[name].size for name in names),
            self.names,
            self.holds.tobytes(),
            first,
            tuple(self.inside[name].size for name in inner.names),
        )
        return LinearQuery(among, tuple(map(self._split, query.by)))

    def _split(self, split: Split) -> Split:
        kept = self.kept.get(split.name)
        if kept is None:
            return split
        if not kept.listed and split.bins is None:
            return Split(split.name, ends=(kept.first, kept.last))
        codes = np.arange(self.domain[split.name].size)
        here = np.searchsorted(kept.listed, codes) if kept.listed else codes - kept.first
        bins = split.of(np.clip(here, 0, self.inside[split.name].size - 1))
        return Split(split.name, tuple(bins.tolist()), split.labels)

    def check_cells(self, table: Sequence[Split]) -> None:
        """Refuse a table with cells that none of these records can be in."""
        names = [name for name in self.names if name in {split.name for split in table}]
        able = self.can_hold(names)
        for axis, name in enumerate(names):
            if (kept := self.kept.get(name)) is not None:
                able = able.take(kept.listed or range(kept.first, kept.last + 1), axis)
        if names and not able.all():
            raise Refused(
                f"nobody for whom `{self.where}` holds can be in some cells of this table of {' and '.join(names)}",
                fix="ask for each part in an item of its own, or leave the condition out and read the cells you want",
            )


@lru_cache(maxsize=256)
def records_where(where: str, answered: tuple[str, ...], domain: Domain) -> RecordsWhere | None:
    """The records for which a condition holds, None if it holds for all there can be. Refuses one that never holds."""
    if not where and not answered:
        return None
    found = RecordsWhere(where, answered, domain)
    if found.holds.all():
        return None
    if not found.holds.any():
        raise QueryError(
            "no record can satisfy this condition: none of the declared values does",
            fix="correct the condition, or declare the values that it is about under `attributes`",
        )
    return found


def left_of(attribute: Attribute, kept: Kept) -> Attribute:
    """An attribute with the values that are kept; nothing is read with it, so that others stand for nothing."""
    values, last = attribute.values, min(kept.last, attribute.values.size - 1)
    separate = attribute.separate and attribute.missing in (kept.last, *kept.listed)
    left: Values
    match values:
        case _ if kept.first >= values.size:
            left, separate = Categories((MISSING,)), False
        case Integers():
            left = Integers(values.low + kept.first, values.low + last)
        case Grid():
            left = Grid(attribute.number(kept.first), attribute.number(last), values.step)
        case Dates():
            left = Dates(values.first + dt.timedelta(days=kept.first), values.first + dt.timedelta(days=last))
        case _:
            codes = kept.listed or range(kept.first, last + 1)
            there = tuple(attribute.text(code) for code in codes if code < values.size)
            levels = (
                TreeLevel(one.name, tuple(one.of[c] for c in codes if c < values.size)) for one in attribute.levels
            )
            left = Categories(there, values.ordered, tuple(levels))
    written = attribute.format if isinstance(left, Dates) else ""
    missing = left.size if separate else 0
    return replace(attribute, values=left, missing=missing, other=0, separate=separate, format=written)
