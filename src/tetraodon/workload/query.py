"""Questions as a curator writes them, in the policy file or in Python, with the same words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, assert_never

import numpy as np

from tetraodon.domain import Attribute, Categories, Domain
from tetraodon.errors import QueryError, Refused, did_you_mean
from tetraodon.rational import Number as Typed
from tetraodon.rational import rational
from tetraodon.workload.areas import KMeans, Rectangles, check_kmeans
from tetraodon.workload.bins import bin_of_each
from tetraodon.workload.contribution import AllRanges, Number, One, Prefix, Table
from tetraodon.workload.linear import ANSWER_LIMIT, LinearQuery, Split

Bins: TypeAlias = tuple[tuple[object, ...], ...]
"""Groups of values: [low, high] for ordered attributes, lists of values for categories."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many records there are, or how many satisfy a condition."""

    where: str = ""
    by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many records there are in every cell of some attributes, or in every bin of them."""

    attributes: tuple[str, ...]
    bins: tuple[tuple[str, Bins], ...] = ()


@dataclass(frozen=True, slots=True)
class Cdf:
    """How many records have at most each value of an ordered attribute ([HMD14] Def. 7.1)."""

    attribute: str
    by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranges:
    """How many records lie in each named range of an ordered attribute, or in every range when none is named."""

    attribute: str
    named: tuple[tuple[str, object, object], ...] = ()
    by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of a numeric attribute, each record times its public `weight` if one is named."""

    attribute: str
    weight: str = ""
    by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mean:
    """The average of a numeric attribute, each record counting as much as its `weight` if one is named."""

    attribute: str
    weight: str = ""
    by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quantiles:
    """The values below which given shares of the records lie."""

    attribute: str
    at: tuple[Fraction, ...]
    by: tuple[str, ...] = ()


Query: TypeAlias = Count | Histogram | Cdf | Ranges | Total | Mean | Quantiles | Rectangles | KMeans
KINDS: dict[str, type[Query]] = {
    "count": Count,
    "histogram": Histogram,
    "cdf": Cdf,
    "ranges": Ranges,
    "total": Total,
    "mean": Mean,
    "quantiles": Quantiles,
    "rectangles": Rectangles,
    "kmeans": KMeans,
}


def kind_of(query: Query) -> str:
    """The word for a query in the policy file."""
    return next(word for word, kind in KINDS.items() if isinstance(query, kind))


# -- building ----------------------------------------------------------------------------------


def count(where: str = "", *, by: Sequence[str] = ()) -> Count:
    """How many records satisfy a condition such as `"age > 30 and sex = 'Male'"`; all of them without one."""
    return Count(where, _names(by))


def histogram(
    *attributes: str, bins: Mapping[str, Sequence[Sequence[object]]] | None = None, by: Sequence[str] = ()
) -> Histogram:
    """Counts in every cell of the attributes; `bins={"age": [[17, 29], [30, 90]]}` counts groups of values.

    `by` names further attributes: a histogram of age by sex is a histogram of age and sex.
    """
    grouped = {name: tuple(tuple(group) for group in groups) for name, groups in (bins or {}).items()}
    for name in grouped:
        if name not in _names(attributes):
            raise QueryError(f"`bins` names {name!r}", fix=did_you_mean(name, attributes))
    return Histogram((*attributes, *_names(by)), tuple(grouped.items()))


def cdf(attribute: str, *, by: Sequence[str] = ()) -> Cdf:
    """Running counts of an ordered attribute."""
    return Cdf(attribute, _names(by))


def ranges(
    attribute: str,
    named: Mapping[str, Sequence[object]] | Sequence[Sequence[object]] = (),
    *,
    by: Sequence[str] = (),
) -> Ranges:
    """Counts in ranges of an ordered attribute: `{"young": [17, 29]}`, `[[17, 29]]`, or every range there is."""
    listed = named.items() if isinstance(named, Mapping) else ((f"{low}..{high}", (low, high)) for low, high in named)
    try:
        triples = tuple((str(name), low, high) for name, (low, high) in listed)
    except (TypeError, ValueError):
        raise QueryError("a range is not a pair", fix="write each range as [low, high]") from None
    return Ranges(attribute, triples, _names(by))


def total(attribute: str, *, weight: str = "", by: Sequence[str] = ()) -> Total:
    """The sum of a numeric attribute."""
    return Total(attribute, weight, _names(by))


def mean(attribute: str, *, weight: str = "", by: Sequence[str] = ()) -> Mean:
    """The average of a numeric attribute, weighted if a weight is named."""
    return Mean(attribute, weight, _names(by))


def quantiles(attribute: str, *, at: Sequence[Typed] = (), by: Sequence[str] = ()) -> Quantiles:
    """Quantiles of an ordered attribute, by default the median and the quartiles."""
    shares = tuple(rational(q, name="`at`") for q in at) or (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
    if any(not 0 <= q <= 1 for q in shares):
        raise QueryError("a quantile is not between 0 and 1", fix="write shares such as 0.1, 0.5, 0.9")
    return Quantiles(attribute, shares, _names(by))


def _names(names: Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


# -- as linear queries -------------------------------------------------------------------------


def linear(query: Query, domain: Domain) -> LinearQuery:
    """The linear query over the domain that a question asks for.

    A mean is the sum it divides; quantiles are the running counts they are read from; rectangles and clusters are the
    table of the values they are about.
    """
    if not isinstance(query, Query):
        raise QueryError(
            "this is no question", fix="write td.histogram('age') or the like; td.certify and td.strategy take a matrix"
        )
    match query:
        case Count():
            by = _splits(query.by, domain)
            if not query.where:
                return LinearQuery(One(), by)
            from tetraodon.workload.condition import truth_table

            names, table = truth_table(query.where, domain)
            return LinearQuery(Table(names, table[None, :].astype(np.int64)), by)
        case Histogram():
            return LinearQuery(One(), tuple(_binned(query, domain[name]) for name in query.attributes))
        case Cdf() | Quantiles():
            attribute = ordered(domain, query.attribute)
            return LinearQuery(Prefix(attribute.name, attribute.size, attribute.size), _splits(query.by, domain))
        case Ranges():
            attribute = ordered(domain, query.attribute)
            by = _splits(query.by, domain)
            if not query.named:
                return LinearQuery(AllRanges(attribute.name, attribute.size), by)
            code = np.arange(_listable(attribute).size)
            rows = [_inside(attribute, low, high, code) for _, low, high in query.named]
            return LinearQuery(Table((attribute.name,), np.array(rows, np.int64)), by)
        case Total():
            attribute = _numeric(domain, query.attribute)
            weight = _numeric(domain, query.weight) if query.weight else None
            return LinearQuery(Number(attribute, weight), _splits(query.by, domain))
        case Mean():
            divisor(query, domain)
            weight = _numeric(domain, query.weight) if query.weight else None
            return LinearQuery(Number(_numeric(domain, query.attribute), weight), _splits(query.by, domain))
        case Rectangles():
            return LinearQuery(One(), _splits([ordered(domain, name).name for name in query.attributes], domain))
        case KMeans():
            check_kmeans(query, domain)
            return LinearQuery(One(), _splits(query.attributes, domain))
        case _:
            assert_never(query)


def divisor(query: Mean, domain: Domain) -> LinearQuery:
    """What the sum of a mean is divided by: the number of records, or the sum of their weights."""
    by = _splits(query.by, domain)
    if not query.weight:
        return LinearQuery(One(), by)
    weight = _numeric(domain, query.weight)
    if weight.number(0) < 0:
        raise QueryError(f"{weight.name} can be negative, so it cannot weigh a mean", fix="use a weight from 0 upwards")
    return LinearQuery(Number(weight), by)


def ordered(domain: Domain, name: str) -> Attribute:
    """The attribute, if 'at most' means something for it."""
    attribute = domain[name]
    if not attribute.ordered:
        raise QueryError(
            f"the values of {name} have no order", fix="declare it as {ordered: [...]} or ask for a histogram"
        )
    return attribute


def _numeric(domain: Domain, name: str) -> Attribute:
    attribute = domain[name]
    if not attribute.numeric:
        raise QueryError(f"{name} is not a number", fix="add up an integer or real attribute")
    return attribute


def _listable(attribute: Attribute) -> Attribute:
    if attribute.size > ANSWER_LIMIT:
        raise Refused(
            f"{attribute.name} has more than {ANSWER_LIMIT:,} values", fix="use a coarser attribute, or a cdf"
        )
    return attribute


def _splits(names: Sequence[str], domain: Domain) -> tuple[Split, ...]:
    return tuple(Split(domain[name].name) for name in names)


def _inside(attribute: Attribute, low: object, high: object, code: np.ndarray) -> np.ndarray:
    first, last = attribute.code(low), attribute.code(high)
    if first > last:
        raise QueryError(f"a range of {attribute.name} is empty", fix="write the smaller end first")
    return (first <= code) & (code <= last)


def _binned(query: Histogram, attribute: Attribute) -> Split:
    groups = dict(query.bins).get(attribute.name)
    if groups is None:
        return Split(attribute.name)
    # two ordered labels are ends where the groups do not have every value as they are listed
    listed = isinstance(attribute.values, Categories) and sum(map(len, groups)) >= attribute.size
    ends = attribute.ordered and not listed
    codes = tuple(tuple(attribute.code(value) for value in group) for group in groups)
    bins = bin_of_each(attribute.name, _listable(attribute).size, codes, ends)
    return Split(attribute.name, bins, tuple(_label(attribute, group, ends) for group in groups))


def _label(attribute: Attribute, group: Sequence[object], ends: bool) -> str:
    codes = [attribute.code(value) for value in group]
    texts = [attribute.text(code) for code in codes]
    ranged = attribute.ordered and len(group) == 2 and (ends or codes[1] - codes[0] == 1)
    return "..".join(texts) if ranged else ", ".join(texts)
