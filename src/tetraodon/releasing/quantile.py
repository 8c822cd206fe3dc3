"""Quantiles read off running counts, with the interval that inverting the test at every value gives."""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

import numpy as np

from tetraodon.inference.estimate import CONFIDENCE
from tetraodon.questions.quantiles import read_quantile
from tetraodon.releasing.estimates import no_table
from tetraodon.releasing.grid_reach import rectangle_reach
from tetraodon.releasing.smooth_reach import running_reach
from tetraodon.releasing.table_answer import TableAnswer


def quantile_codes(table: TableAnswer, name: str, share: Fraction) -> tuple[int, int, int]:
    """Codes of the quantile of one attribute over the whole table, and of the ends of its interval."""
    axis = table.names.index(name)
    others = tuple(a for a in range(table.values.ndim) if a != axis)
    running = np.cumsum(table.values.sum(axis=others))
    along_order = axis == table.values.ndim - 1
    lines = int(np.prod([table.values.shape[a] for a in others], dtype=np.int64))
    sure = table.quantile_confidence
    if along_order and lines == 1 and table.item.mechanism != "grid":
        _, lower, upper = table.running(sure)
        return read_quantile(running, lower.ravel(), upper.ravel(), share)
    raw = np.cumsum(table.raw.sum(axis=others))
    match table.item.mechanism:
        case "hierarchical" if along_order:
            reach = running_reach(table.item.strategy, table.item.scale, sure, lines)
            return read_quantile(running, raw - reach, raw + reach, share)
        case "grid":
            high = np.tile([size - 1 for size in table.values.shape], (len(raw), 1))
            high[:, axis] = np.arange(len(raw))
            far = rectangle_reach(table.item.strategy, table.item.scale, table.domain, np.zeros_like(high), high, sure)
            return read_quantile(running, raw - far, raw + far, share)
        case "exact":
            terms = np.zeros(len(raw), np.int64)
        case "ordered" if along_order:
            terms = np.full(len(raw), lines)
        case "identity" | "hierarchical":
            terms = lines * np.arange(1, len(raw) + 1)
        case "ordered":
            terms = 2 * lines * np.arange(1, len(raw) + 1)
        case "direct" | "synopsis":
            raise no_table(table.item.mechanism)
        case _:
            assert_never(table.item.mechanism)
    item = table.item
    reach = np.array([item.strategy.noise.sum_quantile(item.scale, int(t), sure) for t in terms], np.float64)
    if table.quantile_confidence == CONFIDENCE:
        reach[-1] = 0.0  # the total is known: use it as it is
        raw[-1] = running[-1]
    return read_quantile(running, raw - reach, raw + reach, share)
