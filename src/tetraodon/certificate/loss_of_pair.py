"""What one given step costs: the loss of measurements for a single pair of records."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from tetraodon.arrays import Ints
from tetraodon.certificate.certificate import Dataset
from tetraodon.certificate.edge_noise import standing_in
from tetraodon.domain import Domain
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.workload.linear import Measurement
from tetraodon.workload.squared import squared


def loss_of_pair(domain: Domain, measurements: Sequence[Measurement], pair: tuple[Any, Any]) -> Fraction:
    """sum_i |a_i(x) - a_i(y)| / b_i for one record that is x in one dataset and y in the other, or for two datasets.

    Pre   no measurement is exact.
    """
    present, measurements = _present(domain, pair), standing_in(measurements, alone=ABSENT in pair)
    return sum((Fraction(_moved(domain, m, pair, present)) * m.noise.rate(m.scale) for m in measurements), Fraction(0))


def rho_of_pair(domain: Domain, measurements: Sequence[Measurement], pair: tuple[Any, Any]) -> Fraction:
    """sum_i (a_i(x) - a_i(y))^2 / (2 s_i^2), as `loss_of_pair`."""
    present, measurements = _present(domain, pair), standing_in(measurements, alone=ABSENT in pair)
    moved = [Fraction(_moved(domain, m, pair, present, squares=True)) for m in measurements]
    return sum(
        (moves * m.noise.rate(m.scale) ** 2 / 2 for moves, m in zip(moved, measurements, strict=True)), Fraction(0)
    )


Records: TypeAlias = "list[tuple[Any, ...]]"


def _present(domain: Domain, pair: tuple[Any, Any]) -> Records:
    """The records of a pair that are there, with a value for each attribute; none if it is of datasets."""
    there = [value for value in pair if value is not ABSENT and not isinstance(value, Dataset)]
    records = [tuple(value) if isinstance(value, tuple | list) else (value,) for value in there]
    for record in records:
        if len(record) != len(domain.attributes):
            domain.codes(record)  # which says what is wrong
    return records


def _code(domain: Domain, record: tuple[Any, ...], name: str) -> int:
    """One at a time, since of a wide record few are asked for."""
    return domain[name].code(record[domain.position(name)])


def _moved(
    domain: Domain, measurement: Measurement, pair: tuple[Any, Any], present: Records, *, squares: bool = False
) -> int:
    first, second = pair
    if isinstance(first, Dataset) and isinstance(second, Dataset):
        answers = [_answers(domain, measurement, dataset) for dataset in (first, second)]
        apart = np.abs(answers[0] - answers[1])
        return int((apart.astype(object) ** 2).sum() if squares else apart.sum())
    contribution = squared(measurement.query.contribution) if squares else measurement.query.contribution
    places = [tuple(_code(domain, record, name) for name in contribution.names) for record in present]
    shape = [domain[name].size for name in contribution.names]
    cells = [np.asarray(int(np.ravel_multi_index(place, shape)) if place else 0) for place in places]
    bins = [
        [int(split.of(np.asarray(_code(domain, record, split.name)))) for split in measurement.query.by]
        for record in present
    ]
    if len(present) == 2 and bins[0] == bins[1]:
        return int(contribution.apart(cells[0], cells[1]))
    return sum(int(contribution.alone(cell)) for cell in cells)


def _answers(domain: Domain, measurement: Measurement, dataset: Dataset) -> Ints:
    query = measurement.query
    places = [domain.position(name) for name in query.names]
    present = [domain.codes(record) for record in dataset.records if record is not ABSENT]
    codes = np.array([[codes[place] for place in places] for codes in present], np.int64)
    return query.evaluate(domain, codes.reshape(len(present), len(places)), np.ones(len(present), np.int64))
