"""The release folder: everything an analyst needs, nothing that was not meant to be published.

release.json        the whole mechanism and its parameters, and a hash of every other file
policy.yaml         the policy it keeps
report.html         a chart per answer, then the promise in words; opens offline
answers/            one Parquet and one CSV file per item
measurements/       the noisy numbers that the answers were inferred from
README.md           a few lines of code to load it
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tetraodon
from tetraodon.errors import ReleaseError
from tetraodon.foreign import plain_file
from tetraodon.ledger import document_hash
from tetraodon.releasing.documents import plan_document
from tetraodon.releasing.foreign_parquet import read_columns
from tetraodon.releasing.parquet import write_columns
from tetraodon.releasing.plan import Plan
from tetraodon.releasing.release import Release

VERSION = 1
MANIFEST = "release.json"
BROKEN = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, ZeroDivisionError)
"""What reading a file that somebody else wrote may run into."""


def fill_folder(release: Release, folder: Path) -> str:
    """Write a release into an empty folder; the hash of release.json."""
    fill_files(release, folder)
    manifest = manifest_of(release, {path: file_hash(folder / path) for path in file_names(release.plan)})
    text = json.dumps(manifest, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    return hashlib.sha256(text.encode()).hexdigest()


def fill_files(release: Release, folder: Path) -> None:
    """Write every file of a release but release.json. The same release always writes the same."""
    from tetraodon.policy.source import dump_policy
    from tetraodon.releasing.report import report_html

    (folder / "answers").mkdir()
    (folder / "measurements").mkdir()
    for answer in release:
        write_columns(folder / "answers" / answer.name, dict(answer.columns))
    for name, arrays in release.measured.items():
        write_columns(folder / "measurements" / name, _flat(arrays), csv=False)
    (folder / "policy.yaml").write_text(dump_policy(release.plan.policy.document), encoding="utf-8")
    (folder / "report.html").write_text(report_html(release), encoding="utf-8")
    (folder / "README.md").write_text(_readme(release), encoding="utf-8")


def file_names(plan: Plan) -> tuple[str, ...]:
    """Every file that a release of this plan consists of, but release.json, which names them."""
    answers = [f"answers/{item.name}.{ending}" for item in plan for ending in ("csv", "parquet")]
    measured = [f"measurements/{item.name}.parquet" for item in plan]
    return tuple(sorted(["README.md", "policy.yaml", "report.html", *answers, *measured]))


def software() -> str:
    """What made a folder: the same software makes the same pages from the same numbers."""
    drawing, pages = version("vl-convert-python"), version("jinja2")
    return f"tetraodon {tetraodon.__version__} with vl-convert {drawing} and Jinja2 {pages}"


def _flat(arrays: tuple[NDArray[np.int64], ...]) -> dict[str, NDArray[Any]]:
    return {
        "measurement": np.concatenate([np.full(a.size, i, np.int64) for i, a in enumerate(arrays)]),
        "value": np.concatenate([a.ravel() for a in arrays]),
    }


def manifest_of(release: Release, files: Mapping[str, str]) -> dict[str, Any]:
    """release.json as plain data."""
    policy = release.plan.policy
    return {
        "tetraodon_release": VERSION,
        "software": software(),
        "dataset": policy.dataset,
        "title": policy.title,
        "date": release.when,
        "charged": release.charged,
        "policy": dict(policy.document),
        "policy_sha256": document_hash(policy.document),
        "plan": plan_document(release.plan),
        "inference": "margins averaged by precision; running counts made non-decreasing between 0 and their total",
        "files": dict(files),
    }


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _readme(release: Release) -> str:
    first = next(iter(release))
    policy = release.plan.policy
    return f"""# {policy.title or policy.dataset}

Released on {release.when} with Tetraodon. Open `report.html` for what these numbers promise and how far
off they can be.

    import tetraodon as td
    release = td.load_release(".")
    release["{first.name}"].to_polars()

or without Tetraodon:

    import polars
    polars.read_parquet("answers/{first.name}.parquet")

Every number lies with its truth between `lower` and `upper` with at least 95% probability.
`tetraodon verify .` recomputes the privacy certificate and every hash in `release.json`, without the data.
"""


def load_release(path: str | os.PathLike[str]) -> Release:
    """A release folder, read back: the plan is decoded and certified anew, the answers inferred anew."""
    from tetraodon.releasing.manifest import plan_from_manifest, read_manifest

    folder = Path(path)
    manifest = read_manifest(folder)
    return stated_release(folder, manifest, plan_from_manifest(manifest, folder))


def stated_release(folder: Path, manifest: Mapping[str, Any], plan: Plan) -> Release:
    """The release that a folder states, with a plan that was found to be that of its manifest."""
    try:
        measured = {item.name: _unflat(folder, item.name, plan) for item in plan}
        return Release(plan, measured, str(manifest["date"]), str(manifest["charged"]))
    except FileNotFoundError:
        raise ReleaseError("a file of the release is missing", fix="ask for a new copy", where=str(folder)) from None
    except BROKEN:
        raise ReleaseError("the release does not fit together", fix="ask for a new copy", where=str(folder)) from None


MEASURED = {"measurement": "i", "value": "i"}


def _unflat(folder: Path, name: str, plan: Plan) -> tuple[NDArray[np.int64], ...]:
    path = plain_file(folder, f"measurements/{name}.parquet")
    shapes = [measurement.query.shape(plan.policy.domain) for measurement in plan[name].measurements]
    sizes = [math.prod(shape) for shape in shapes]
    columns = read_columns(path, MEASURED, sum(sizes))
    if not np.array_equal(columns["measurement"], np.repeat(np.arange(len(sizes)), sizes)):
        raise ReleaseError("the measurements do not fit the plan", fix="ask for a new copy", where=name)
    parts = np.split(columns["value"], np.cumsum(sizes)[:-1])
    return tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))
