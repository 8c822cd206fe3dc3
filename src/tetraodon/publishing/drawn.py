"""A view as it is drawn: its files of tuples, kept before anything of them is published."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from tetraodon.domain import Domain
from tetraodon.publishing.sampling import Cells
from tetraodon.publishing.writing import write_tuples

TUPLES = "tuples.parquet"
PARTS = {name: f"parts/{name}.parquet" for name in ("fresh", "rows", "before")}
"""The two parts of a later view of a series, and what earlier ones showed."""


def write_view(folder: Path, domain: Domain, parts: Iterable[Cells]) -> None:
    """Write the tuples of a view, in the order in which they are drawn."""
    write_tuples(domain, parts, folder / TUPLES)


def write_later(folder: Path, domain: Domain, fresh: Iterable[Cells], rows: Cells, before: Cells) -> None:
    """Write a later view of a series: its tuples that no view has shown, those that one has, and all such."""
    new = list(fresh)
    (folder / "parts").mkdir()
    for name, cells in (("fresh", new), ("rows", [rows]), ("before", [before])):
        write_tuples(domain, cells, folder / PARTS[name])
    write_tuples(domain, [np.sort(np.concatenate([*new, rows]), kind="stable")], folder / TUPLES)


def take_drawn(drawn: Path, folder: Path) -> int:
    """Put a drawn view into the folder that is to be published; how many tuples it has.

    Why  the files are linked, for a view may be long; where links are not possible they are copied.
    """
    from pyarrow import parquet

    for path in sorted(drawn.rglob("*.parquet")):
        target = folder / path.relative_to(drawn)
        target.parent.mkdir(exist_ok=True)
        try:
            os.link(path, target)
        except OSError:
            shutil.copyfile(path, target)
    return int(parquet.read_metadata(folder / TUPLES).num_rows)
