"""What a view is good for, exactly on small worlds: usefulness, statistical difference and meaningfulness.

Everything here is for views of distinct rows over m tuples of which n are in the table ([RS07] 2.3, 3 and 6.2.2).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from tetraodon.errors import PolicyError, Refused
from tetraodon.pufferfish.view_attackers import Table, likelihood

if TYPE_CHECKING:
    from tetraodon.views.channel import SetChannel

SMALL = 12


def failure(channel: SetChannel, tuples: int, records: int, error: Fraction) -> Fraction:
    """The largest probability, over all tables and queries, that an estimate is off by `error` or more.

    With error = rho sqrt(n) this is the epsilon of (rho, epsilon)-usefulness ([RS07] Def. 2.5).
    """
    _check(tuples, records)
    worst = Fraction(0)
    for true in range(records + 1):
        for others in range(tuples - records + 1):
            law = counts_law(channel, true, true + others)
            off = (p for n, p in enumerate(law) if abs(channel.estimate(n, true + others) - true) >= error)
            worst = max(worst, sum(off, Fraction(0)))
    return worst


def counts_law(channel: SetChannel, true: int, in_domain: int) -> list[Fraction]:
    """The probability of each count in the view, for a query that `true` records and `in_domain` tuples satisfy."""
    law = [Fraction(1)]
    for p in [channel.shown] * true + [channel.noise] * (in_domain - true):
        law = [a * (1 - p) + b * p for a, b in zip([*law, Fraction(0)], [Fraction(0), *law], strict=True)]
    return law


def statistical_difference(channel: SetChannel, tuples: int, records: int, query: int) -> Fraction:
    """SD of the views of tables inside a query of so many tuples, and of tables outside it ([RS07] Def. 3.1).

    It is 0 when views say nothing of the query, and 2 when every view tells. Tables of n records are equally likely.
    """
    _check(tuples, records)
    if not records <= query <= tuples - records:
        raise PolicyError("the query is too small or too large for a table inside and one outside it", fix="change it")
    total = Fraction(0)
    for inside, outside in itertools.product(range(query + 1), range(tuples - query + 1)):
        yes = _mixed(channel, query, records, inside) * _noise(channel, tuples - query, outside)
        no = _noise(channel, query, inside) * _mixed(channel, tuples - query, records, outside)
        total += math.comb(query, inside) * math.comb(tuples - query, outside) * abs(yes - no)
    return total


def meaningless(channel: SetChannel, tuples: int, records: int, f: Fraction) -> bool:
    """Whether two thirds of the queries of middling size have a statistical difference below 1/2 ([RS07] Def. 3.2)."""
    sizes = [q for q in range(tuples + 1) if abs(Fraction(2 * q, tuples) - 1) <= f]
    lost = Fraction(0)
    for size in sizes:
        fits = records <= size <= tuples - records
        if not fits or statistical_difference(channel, tuples, records, size) < Fraction(1, 2):
            lost += math.comb(tuples, size)
    return 3 * lost >= 2 * sum(math.comb(tuples, size) for size in sizes)


def k_meaningless(
    channel: SetChannel, tuples: int, records: int, given: Iterable[int], view: Iterable[int], k: int, f: Fraction
) -> bool:
    """Whether a view says nothing of the tuples outside a part S of the table ([RS07] Def. 6.5).

    Two thirds of the queries of middling size must leave the view about as likely, within a factor 2, whether the rest
    of the table is outside the query or has n/k records in it. Tables of n records that contain S are equally likely.
    """
    _check(tuples, records)
    known, shown = frozenset(given), frozenset(view)
    if records % k or len(known) > records - records // k:
        raise PolicyError("S is too large, or n is no multiple of k", fix="take |S| <= n (1 - 1/k)")
    everything = range(tuples)
    rest = [t for t in everything if t not in known]
    tables = [known | frozenset(more) for more in itertools.combinations(rest, records - len(known))]
    chance = {table: likelihood(channel, everything, table, shown) for table in tables}
    overall = sum(chance.values(), Fraction(0)) / len(tables)
    lost = asked = 0
    for size in range(tuples + 1):
        if abs(Fraction(2 * size, tuples) - 1) > f:
            continue
        for query in map(frozenset, itertools.combinations(everything, size)):
            asked += 1
            lost += all(
                _about(query, tables, chance, overall, len(query & known) + extra) for extra in (0, records // k)
            )
    return 3 * lost >= 2 * asked


def _about(query: Table, tables: list[Table], chance: dict[Table, Fraction], overall: Fraction, count: int) -> bool:
    """Whether the view is within a factor 2 as likely among the tables with this count; so it is if there are none."""
    matching = [chance[table] for table in tables if len(query & table) == count]
    if not matching:
        return True
    return overall / 2 <= sum(matching, Fraction(0)) / len(matching) <= 2 * overall


@cache
def _mixed(channel: SetChannel, size: int, records: int, seen: int) -> Fraction:
    """The probability of one view of `size` tuples that shows `seen` of them, the table being any n of them."""
    total = Fraction(0)
    s, b = channel.shown, channel.noise
    for kept in range(max(0, seen + records - size), min(records, seen) + 1):
        ways = math.comb(seen, kept) * math.comb(size - seen, records - kept)
        chance = s**kept * (1 - s) ** (records - kept) * b ** (seen - kept)
        total += ways * chance * (1 - b) ** (size - records - seen + kept)
    return total / math.comb(size, records)


def _noise(channel: SetChannel, size: int, seen: int) -> Fraction:
    return channel.noise**seen * (1 - channel.noise) ** (size - seen)


def _check(tuples: int, records: int) -> None:
    if not 0 < records <= tuples:
        raise PolicyError("a table has at least one record, and no more than there are tuples", fix="change n or m")
    if tuples > 2**SMALL:
        raise Refused("the world is too large to be exact about", fix=f"take at most {2**SMALL} tuples")
