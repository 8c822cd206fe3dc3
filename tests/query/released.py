"""Questions from sums: what was measured of records with given noise, and how often intervals hold the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import numpy as np
import polars as pl
from scipy.stats import binom

import tetraodon as td
from tetraodon.domain import Domain
from tetraodon.exact.arrays import Ints
from tetraodon.gate import without_ledger
from tetraodon.query.query import MeasuredSum, Query
from tetraodon.releases.counting import count
from tetraodon.releases.release import infer
from tetraodon.releases.run import noisy

RUNS = 150
FEWEST = int(binom.ppf(1e-10, RUNS, 0.95))
"""How many of the intervals of as many releases hold the truth at least: fewer by chance with probability 1e-10."""


def answered(
    query: Query, domain: Domain, records: Ints, noise: Sequence[int], reach: Sequence[int]
) -> SimpleNamespace:
    """What is released of rows of codes when each sum has this noise, and could have had as much as `reach`."""
    sums = []
    for asked, off, far in zip(query.sums(domain), noise, reach, strict=True):
        codes = records[:, [domain.position(name) for name in asked.names]]
        exact = asked.evaluate(domain, codes, np.ones(len(records), np.int64))
        sums.append(MeasuredSum(exact + off, asked.contribution.unit, not far, lambda _, far=far: float(far)))
    return SimpleNamespace(domain=domain, sums=tuple(sums))


def check_coverage(policy: td.Policy, table: pl.DataFrame, truth: Mapping[str, Sequence[float]]) -> None:
    """Release many times; every interval of every item holds the truth often enough."""
    plan = td.plan(policy)
    exact = count(plan, table)
    covered = {name: np.zeros(len(numbers), np.int64) for name, numbers in truth.items()}
    for _ in range(RUNS):
        permit = without_ledger(plan.certificate)
        release = infer(plan, {item.name: noisy(item, exact[item.name], permit) for item in plan}, "", "")
        for name, numbers in truth.items():
            columns = release[name].columns
            covered[name] += (columns["lower"] <= numbers) & (numbers <= columns["upper"])
    assert min(found.min() for found in covered.values()) >= FEWEST
