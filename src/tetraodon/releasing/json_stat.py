"""Tables of answers as JSON-stat 2.0 datasets, which statistics offices and their tools read.

The last dimension, `measure`, has the answer and both ends of its 95% interval.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from tetraodon.domain import Domain
from tetraodon.questions.answered import MEASURED
from tetraodon.questions.query import Drawing
from tetraodon.releasing.answer import Answer
from tetraodon.releasing.chart import axis_of, value_column
from tetraodon.releasing.plan import PlannedItem
from tetraodon.report.picture import DrawnAxis

MOST_CELLS = 50_000
"""Longer tables are in Parquet and CSV only: JSON would take many times their size."""


def is_json_table(item: PlannedItem, domain: Domain) -> bool:
    """Whether an answer is a table of numbers of a size that JSON is good for; the plan alone decides."""
    drawing = _drawing(item, domain)
    if drawing is None or (drawing.of is not None and not drawing.of.numeric):
        return False
    return math.prod(axis_of(side, domain).size for side in drawing.sides) <= MOST_CELLS


def json_stat_text(answer: Answer, title: str, when: str) -> str:
    """An answer as a dataset.

    Pre   `is_json_table` of its item.
    """
    drawing, columns = _drawing(answer.item, answer.domain), answer.columns
    assert drawing is not None, "it is a table"
    axes = [axis_of(side, answer.domain) for side in drawing.sides]
    word = value_column(columns)
    measures = {word: drawing.title, "lower": "lower end (95%)", "upper": "upper end (95%)"}
    measures |= {MEASURED: "as measured, not rounded"} if MEASURED in columns else {}
    dimensions = {_free(axis.title, axes[:place]): _dimension(axis) for place, axis in enumerate(axes)}
    metric = _free("measure", axes)
    dimensions[metric] = {"label": "measure", "category": {"index": list(measures), "label": measures}}
    roles = {"metric": [metric]}
    if times := [name for name, axis in zip(dimensions, axes, strict=False) if axis.kind == "date"]:
        roles["time"] = times
    values = np.stack([columns[name].astype(float) for name in measures], axis=-1).ravel().tolist()
    document = {
        "version": "2.0",
        "class": "dataset",
        "label": answer.sentence,
        "source": title,
        "updated": when,
        "id": list(dimensions),
        "size": [len(dimension["category"]["index"]) for dimension in dimensions.values()],
        "role": roles,
        "dimension": dimensions,
        "value": [value if math.isfinite(value) else None for value in values],
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n"


def _drawing(item: PlannedItem, domain: Domain) -> Drawing | None:
    return item.item.query.drawing(domain, item.strategy.table)


def _free(title: str, others: list[DrawnAxis]) -> str:
    """A name of a dimension that no other has."""
    taken = {axis.title for axis in others}
    while title in taken:
        title += "_"
    return title


def _dimension(axis: DrawnAxis) -> dict[str, Any]:
    texts = [axis.text(place) for place in range(axis.size)]
    if len(set(texts)) == len(texts):
        return {"label": axis.title, "category": {"index": texts}}
    numbered = [str(place) for place in range(axis.size)]
    return {"label": axis.title, "category": {"index": numbered, "label": dict(zip(numbered, texts, strict=True))}}
