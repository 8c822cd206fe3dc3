"""The noisy numbers of a release as a file, kept between drawing and publishing them."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tetraodon.errors import ReleaseError
from tetraodon.mechanism.strategy import Measured
from tetraodon.releasing.plan import Plan

FILE = "measured.npz"


def write_measured(folder: Path, measured: Mapping[str, Measured]) -> None:
    """Write them."""
    arrays = {f"{name}/{place}": array for name, parts in measured.items() for place, array in enumerate(parts)}
    with (folder / FILE).open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def read_measured(folder: Path, plan: Plan) -> Mapping[str, Measured]:
    """Read them back; refused if they are not those of the plan."""
    try:
        with np.load(folder / FILE, allow_pickle=False) as arrays:
            found = {i.name: tuple(arrays[f"{i.name}/{place}"] for place in range(len(i.measurements))) for i in plan}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        found = {}
    for item in plan:
        shapes = [measurement.query.shape(plan.policy.domain) for measurement in item.measurements]
        if [array.shape for array in found.get(item.name, ())] != shapes:
            raise ReleaseError(
                "the numbers that were drawn cannot be read",
                fix="restore them from a backup, or remove what is left and release again, which is charged again",
                where=str(folder),
            )
    return found
