"""What tables lose that are chosen one after the other: never more than a few linear queries with the same noise.

Of two data sets that differ in one record, let H_q be the L1 distance of their tables q, and H that of the table of all
attributes that are not free. No H_q is larger than H. A table q is chosen with a chance proportional to e^(w S_q / b),
where S_q is the L1 distance of its counts from numbers that follow from what was told before, less a constant, and w is
its number of attributes over the most that a table has, at most 1:

- w S_q differs by at most H_q, by the triangle inequality. So every weight, and the sum of all, changes by a factor of
  e^(H / b) at most, and a chance by e^(2H / b): the loss of Laplace noise of scale b / 2 on the table of everything.
  The log of the ratio lies in an interval of length 2H / b, so that by Hoeffding's lemma the choice is
  (H / b)^2 / 2-zCDP ([CR21]). Where a record is replaced H^2 is at most twice the squared L2 distance: the loss of
  Gaussian noise of scale b / sqrt(2). Where one comes or goes both are 1: that of scale b. So if presence alone is a
  secret, choices cost half as much.
- The table chosen then gets noise of scale s. It moves only where one of its attributes does, and by as much as one
  attribute by itself. So `rounds` of them lose no more than that many tables of everything; and if at most d of them
  share an attribute, no more than d tables of each attribute by itself.

What comes later depends on what was told before and on nothing else, so that on every way the losses add up; for zCDP
that is [FZ21]. One row changes at a time: several rows of a person are several such steps. Where counts are known,
neighbours differ in several records whose single tables may cancel while larger ones do not, and this is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from tetraodon.noise.laws import Currency
from tetraodon.policy.secret_graph import SecretGraph
from tetraodon.workload.chosen_tables import ChosenTables
from tetraodon.workload.contribution import One
from tetraodon.workload.linear import LinearQuery, Measurement


def choices_of(query: LinearQuery) -> ChosenTables | None:
    """The tables that are chosen, if any are."""
    return query.contribution if isinstance(query.contribution, ChosenTables) else None


def with_choices(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Those of the measurements that choose tables."""
    return [one for one in measurements if choices_of(one.query) is not None]


def without_choices(measurements: Sequence[Measurement], *, alone: bool = False) -> list[Measurement]:
    """The same measurements, with linear queries that lose as much or more in place of tables that are chosen.

    Pre   `alone` only if records come or go, and are never replaced.
    Post  of any two data sets that differ in one record the loss is not below that of the given measurements.
    """
    found: list[Measurement] = []
    for one in measurements:
        tables = choices_of(one.query)
        found += [one] if tables is None else _dominating(tables, one, replaced=not alone)
    return found


def presence_alone(graph: SecretGraph) -> bool:
    """Whether records come or go in this graph, and are never replaced."""
    return graph.absent and graph.groups is None and not replace(graph, absent=False).has_edges


def _dominating(tables: ChosenTables, one: Measurement, *, replaced: bool) -> Iterator[Measurement]:
    pure, secret = one.noise.currency is Currency.PURE, [tables.splits[place] for place in tables.secret]
    alone, choice = (one.scale * wider for wider in tables.wider(one.noise))

    def copies(query: LinearQuery, scale: Fraction, times: int) -> Iterator[Measurement]:
        """What loses as much as so many measurements of a query, exactly: losses add up, or their squares do."""
        for part in (times,) if pure else four_squares(times):
            yield Measurement(query, scale / part, one.noise)

    for split in secret:
        single = LinearQuery(One(), (split,))
        yield Measurement(single, alone, one.noise)
        yield from copies(single, one.scale, tables.most) if tables.most else ()
    if tables.rounds:
        everything, times = LinearQuery(One(), tuple(secret)), 2 if pure or replaced else 1
        yield from copies(everything, choice, times * tables.rounds)
        yield from () if tables.most else copies(everything, one.scale, tables.rounds)
    if tables.total:
        yield Measurement(LinearQuery(One(), tuple(tables.splits[place] for place in tables.free)), Fraction(0))


@lru_cache(maxsize=1024)
def four_squares(number: int, parts: int = 4) -> tuple[int, ...]:
    """Whole numbers, four at most, whose squares add up to a number, as there always are (Lagrange); else none.

    >>> four_squares(19), four_squares(7), four_squares(7, parts=3)
    ((4, 1, 1, 1), (2, 1, 1, 1), ())
    """
    for first in range(isqrt(number), 0, -1):
        rest = number - first**2
        if not rest:
            return (first,)
        if parts > 1 and (found := four_squares(rest, parts - 1)):
            return (first, *found)
    return ()
