"""An answer as named columns, ready for a file or a frame."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.errors import Refused
from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.mechanism.kmeans import centres_of
from tetraodon.releasing.estimates import Measured
from tetraodon.releasing.plan import PlannedItem
from tetraodon.releasing.quantile import read_quantile
from tetraodon.releasing.table_answer import TableAnswer
from tetraodon.workload.areas import KMeans, Rectangles
from tetraodon.workload.linear import Split
from tetraodon.workload.query import Cdf, Count, Histogram, Mean, Quantiles, Ranges, Total

Columns: TypeAlias = dict[str, NDArray[Any]]
OURS = frozenset(
    ["at_most", "cluster", "count", "high", "low", "lower", "mean", "quantile", "range", "records", "total", "upper"]
)
"""Names of the columns that hold answers."""


def columns_of(item: PlannedItem, domain: Domain, measured: Measured, values: NDArray[np.float64] | None) -> Columns:
    """Attributes first, then the answer, then `lower` and `upper`, which hold the truth with 95% probability."""
    query = item.item.query
    match query:
        case Histogram() | Rectangles():
            table = _table(item, domain, measured, values)
            return _labels(item.strategy.table, domain) | _numbers("count", table.values, *table.cells())
        case Cdf():
            table = _table(item, domain, measured, values)
            return _labels(item.strategy.table, domain) | _numbers("at_most", *table.running())
        case Ranges() if not query.named:
            table = _table(item, domain, measured, values)
            return _labels(item.strategy.table, domain) | _numbers("at_most", *table.running())
        case Ranges():
            return _named_ranges(query, item, domain, measured, values)
        case Quantiles():
            return _quantiles(query, _table(item, domain, measured, values), domain)
        case Count() if values is not None:
            table = _table(item, domain, measured, values)
            return _labels(item.strategy.table, domain) | _numbers("count", table.values, *table.cells())
        case Count() | Total():
            word = "count" if isinstance(query, Count) else "total"
            queries = item.strategy.noisy or item.strategy.exact
            unit = float(queries[0].contribution.unit)
            number = measured[0][..., 0].astype(np.float64) * unit
            reach = unit * (item.strategy.noise.sum_quantile(item.scale, 1, CONFIDENCE) if item.strategy.noisy else 0)
            lower, upper = number - reach, number + reach
            if isinstance(query, Count):
                lower, upper = np.maximum(lower, 0), np.maximum(upper, 0)
                number = np.maximum(np.round(number), 0) if item.item.whole else number
                lower, upper = np.minimum(lower, number), np.maximum(upper, number)
            return _labels(queries[0].by, domain) | _numbers(word, number, lower, upper)
        case Mean():
            return _mean(query, item, domain, measured)
        case KMeans():
            return _clusters(query, item, domain, measured)
        case _:
            assert_never(query)


def _table(item: PlannedItem, domain: Domain, measured: Measured, values: NDArray[np.float64] | None) -> TableAnswer:
    if values is None:
        raise Refused("a table has no estimates", fix="report this: the release is not complete")
    return TableAnswer(item, domain, measured, values)


def _numbers(word: str, values: NDArray[Any], lower: NDArray[Any], upper: NDArray[Any]) -> Columns:
    return {word: values.ravel(), "lower": lower.ravel(), "upper": upper.ravel()}


def _labels(splits: Sequence[Split], domain: Domain, extra: int = 1) -> Columns:
    """One column of values per split, in the order of the table's cells, each repeated `extra` times."""
    shape = [split.size(domain) for split in splits]
    columns: Columns = {}
    for axis, split in enumerate(splits):
        view = [1] * (len(shape) + 1)
        view[axis] = -1
        column = split_values(split, domain[split.name]).reshape(view)
        columns[column_name(split.name)] = np.broadcast_to(column, (*shape, extra)).ravel()
    return columns


def column_name(attribute: str) -> str:
    """The column an attribute is written in: its name, unless an answer's own column is called that."""
    return f"{attribute}_value" if attribute in OURS else attribute


def split_values(split: Split, attribute: Attribute) -> NDArray[Any]:
    """The values, or the names of the bins, of a split."""
    if split.bins is not None:
        labels = split.labels or tuple(f"bin {number}" for number in range(max(split.bins) + 1))
        return np.array(labels, object)
    return attribute_values(attribute)


def attribute_values(attribute: Attribute) -> NDArray[Any]:
    """All values of an attribute as an array of the natural type."""
    match attribute.values:
        case Integers(low=low, high=high):
            return np.arange(low, high + 1, dtype=np.int64 if max(abs(low), abs(high)) < 2**62 else object)
        case Grid(low=low, step=step):
            return np.array([float(low + code * step) for code in range(attribute.size)])
        case Dates(first=first):
            return np.array([first + dt.timedelta(days=d) for d in range(attribute.size)], "datetime64[D]")
        case Booleans():
            return np.array([False, True])
        case Categories(labels=labels):
            return np.array(labels, object)
        case _:
            assert_never(attribute.values)


def _named_ranges(
    query: Ranges, item: PlannedItem, domain: Domain, measured: Measured, values: NDArray[np.float64] | None
) -> Columns:
    attribute = domain[query.attribute]
    codes = [(attribute.code(low), attribute.code(high)) for _, low, high in query.named]
    by = tuple(Split(name) for name in query.by)
    shape = (*(s.size(domain) for s in by), len(codes))
    if values is None:
        centre = measured[0].astype(np.float64)
        reach = item.strategy.noise.sum_quantile(item.scale, 1, CONFIDENCE) if item.strategy.noisy else 0
        number = np.maximum(np.round(centre), 0) if item.item.whole else centre
        lower, upper = np.maximum(centre - reach, 0), np.maximum(centre + reach, 0)
    else:
        table = _table(item, domain, measured, values)
        cells = [table.add_up(_row_range(table, row, *ends)) for row in np.ndindex(shape[:-1]) for ends in codes]
        number = np.array([float(cell) for cell in cells]).reshape(shape)
        lower = np.array([cell.lower for cell in cells]).reshape(shape)
        upper = np.array([cell.upper for cell in cells]).reshape(shape)
    lower, upper = np.minimum(lower, number), np.maximum(upper, number)
    labels = _labels(by, domain, extra=len(codes))
    groups = int(np.prod(shape[:-1], dtype=np.int64))
    named = np.tile(np.array([name for name, _, _ in query.named], object), groups)
    values_of = attribute_values(attribute)
    ends = {
        "low": np.tile(values_of[[low for low, _ in codes]], groups),
        "high": np.tile(values_of[[high for _, high in codes]], groups),
    }
    return labels | {"range": named} | ends | _numbers("count", number, lower, upper)


def _row_range(table: TableAnswer, row: tuple[int, ...], low: int, high: int) -> NDArray[np.bool_]:
    mask = np.zeros(table.values.shape, np.bool_)
    mask[row][low : high + 1] = True
    return mask


def _quantiles(query: Quantiles, table: TableAnswer, domain: Domain) -> Columns:
    attribute = domain[query.attribute]
    running, lower, upper = (a.reshape(-1, attribute.size) for a in table.running(table.quantile_confidence))
    codes = [read_quantile(r, lo, hi, q) for r, lo, hi in zip(running, lower, upper, strict=True) for q in query.at]
    values = attribute_values(attribute)
    picked = [values[[code[end] for code in codes]] for end in range(3)]
    shares = np.tile(np.array([float(q) for q in query.at]), len(running))
    labels = _labels(table.item.strategy.table[:-1], domain, extra=len(query.at))
    return labels | {
        "quantile": shares,
        column_name(query.attribute): picked[0],
        "lower": picked[1],
        "upper": picked[2],
    }


def _mean(query: Mean, item: PlannedItem, domain: Domain, measured: Measured) -> Columns:
    attribute = domain[query.attribute]
    strategy = item.strategy
    summed, divided = (*strategy.noisy, *strategy.exact)[:2]
    unit = float(summed.contribution.unit / divided.contribution.unit)
    total, records = (array[..., 0].astype(np.float64) for array in measured[:2])
    both_noisy = len(strategy.noisy) == 2
    sure = 1 - (1 - CONFIDENCE) / 2 if both_noisy else CONFIDENCE
    reach, unsure = (m.noise.sum_quantile(m.scale, 1, sure) if m.scale else 0 for m in item.measurements[:2])
    low, high = float(attribute.number(0)), float(attribute.number(attribute.size - 1))
    fewest = records - unsure
    most = records + unsure
    known = fewest >= 1
    middle = np.full(total.shape, (low + high) / 2)
    mean = np.clip(np.where(records >= 1, total * unit / np.maximum(records, 1), middle), low, high)
    ends = [(total + sign * reach) * unit / np.maximum(n, 1) for sign in (-1, 1) for n in (fewest, most)]
    lower = np.where(known, np.clip(np.minimum.reduce(ends), low, high), low)
    upper = np.where(known, np.clip(np.maximum.reduce(ends), low, high), high)
    by = tuple(Split(name) for name in query.by)
    return _labels(by, domain) | _numbers("mean", mean, np.minimum(lower, mean), np.maximum(upper, mean))


def _clusters(query: KMeans, item: PlannedItem, domain: Domain, measured: Measured) -> Columns:
    """Centres, the largest cluster first, and about how many records each has."""
    strategy = item.strategy
    table = (*strategy.noisy, *strategy.exact)[0]
    known = (strategy.exact[0], measured[1]) if strategy.noisy and strategy.exact else None
    variance = strategy.noise.variance(item.scale) if strategy.noisy else 0.0
    centres, records = centres_of(query, domain, table, measured[0], variance, known)
    places = {column_name(name): centres[:, number] for number, name in enumerate(query.attributes)}
    return {"cluster": np.arange(1, len(centres) + 1)} | places | {"records": records}


def value_text(value: Any) -> str:
    """A value of a column as a person writes it."""
    if isinstance(value, Fraction | np.datetime64 | dt.date):
        return str(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
