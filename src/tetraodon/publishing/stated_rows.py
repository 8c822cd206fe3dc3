"""Whether the rows of a view folder are what they should be: tuples of the domain in order, as many as can be expected.

A view is written in the order of its cells, so one pass with little memory tells whether rows repeat. A file that says
it has more rows than the probabilities make possible is not read at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Ints
from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.errors import ReleaseError
from tetraodon.publishing.channel import CopyChannel
from tetraodon.publishing.columns import cells_of, column
from tetraodon.publishing.plan import ViewPlan
from tetraodon.publishing.sampling import Cells
from tetraodon.publishing.tuple_files import PARTS, TUPLES
from tetraodon.releasing.foreign_parquet import parquet_rows, read_batches
from tetraodon.releasing.verify import Check

SPREAD = 40
"""How many standard deviations the number of rows may be off: by Bernstein's inequality, never in a lifetime."""
DENSE, PER_BYTE = 20_000_000, 64
"""A longer file must spend some bits on its rows: a few kilobytes can hold a billion equal ones."""
PART_ROWS = 20_000_000


class NotTuples(ValueError):
    """Rows that no view would have."""


def check_rows(path: Path, plan: ViewPlan, stated: int) -> Check:
    """That the rows are tuples of the domain in order, as many as stated, and each once where rows all differ."""
    what = "the rows are tuples of the domain"
    if type(stated) is not int or not _likely(plan, stated):
        return Check(what, False, "far more or fewer than can be")
    if parquet_rows(path) != stated or (stated > DENSE and path.stat().st_size * PER_BYTE < stated):
        return Check(what, False, "another number than stated")
    distinct = not isinstance(plan.channel, CopyChannel)
    last = -1
    try:
        for cells in stated_cells(path, plan.policy.domain, stated):
            before = np.concatenate([cells[:1], cells[:-1]]) if last < 0 else np.append(np.uint64(last), cells[:-1])
            ordered = cells >= before if not distinct else cells > before
            if not (ordered[1:].all() and (last < 0 or ordered[0])):
                raise NotTuples("not in order")
            last = int(cells[-1])
    except NotTuples:
        return Check(what, False, "they are not, or not in order")
    return Check(what, True, f"{stated:,} rows")


def _likely(plan: ViewPlan, rows: int) -> bool:
    """Whether a view of this plan can have so many rows.

    Why  records and noise tuples are drawn independently, so their number is within a few standard deviations of its
         mean. Where the number of records is not public, only the noise is certain to be there. In a series, tuples
         that were shown before come back by other odds, and only what the domain holds bounds them.
    """
    most = math.inf if isinstance(plan.channel, CopyChannel) else plan.tuples
    if plan.series is not None:
        return 0 <= rows <= most
    noise = float(plan.noise_tuples)
    likely = noise + float(plan.most_records)
    slack = SPREAD * (math.sqrt(likely) + 10)
    if plan.records is not None:
        most = min(most, likely + slack)
    return max(0.0, noise - slack) <= rows <= most


def check_parts(folder: Path, domain: Domain) -> Check:
    """That a later view of a series is its two parts together: tuples never shown before, and tuples that were."""
    what = "the parts of the view fit together"
    files = [folder / name for name in (TUPLES, *PARTS.values())]
    sizes = [parquet_rows(path) for path in files]
    if sum(sizes) > PART_ROWS:
        return Check(what, False, "too long to be compared")
    try:
        found = [
            np.concatenate([np.zeros(0, np.uint64), *stated_cells(path, domain, rows)])
            for path, rows in zip(files, sizes, strict=True)
        ]
    except NotTuples:
        return Check(what, False, "they are not tuples of the domain")
    everything, new, back, old = found
    good = np.array_equal(everything, np.sort(np.concatenate([new, back]), kind="stable"))
    good = good and len(np.unique(old)) == len(old) and not np.isin(new, old).any()
    return Check(what, bool(good and np.isin(back, old).all()), "")


def stated_cells(path: Path, domain: Domain, rows: int) -> Iterator[Cells]:
    """The cells of a Parquet file, piece by piece. Raises NotTuples for anything that we would not have written."""
    kinds = {attribute.name: _kind(attribute) for attribute in domain}
    try:
        for batch in read_batches(path, kinds, rows):
            yield cells_of(domain, np.stack([_codes(a, batch[a.name]) for a in domain], axis=1))
    except ReleaseError:
        raise NotTuples("unreadable") from None


def _kind(attribute: Attribute) -> str:
    match attribute.values:
        case Categories():
            return "O"
        case Booleans():
            return "b"
        case Integers():
            return "i"
        case Grid():
            return "f"
        case Dates():
            return "M"
        case _:
            assert_never(attribute.values)


def _codes(attribute: Attribute, found: NDArray[Any]) -> Ints:
    """The positions of values. Raises NotTuples for others."""
    values = attribute.values
    match values:
        case Categories():
            places = {label: place for place, label in enumerate(values.labels)}
            codes = np.array([places.get(text, -1) for text in found.tolist()], np.int64)
            good = codes >= 0
        case Booleans():
            return found.astype(np.int64)
        case Integers():
            good = (found >= values.low) & (found <= values.high)
            codes = np.where(good, found, values.low) - values.low
        case Grid():
            number = (found - float(values.low)) / float(values.step)
            codes = np.clip(np.rint(np.nan_to_num(number)), 0, values.size - 1).astype(np.int64)
            good = np.asarray(column(attribute, codes)) == found
        case Dates():
            codes = (found - np.datetime64(values.first, "D")).astype(np.int64)
            good = (codes >= 0) & (codes < values.size)
        case _:
            assert_never(values)
    if not good.all():
        raise NotTuples("a value that is none")
    return codes
