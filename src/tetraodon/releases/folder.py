"""The release folder, its manifest, and the files beside the answers.

release.json        the whole mechanism and its parameters, and a hash of every other file
policy.yaml         the policy it keeps
report.html         a chart per answer, then the promise in words; opens offline
answers/            one Parquet and one CSV file per item
measurements/       the noisy numbers that the answers were inferred from
README.md           a few lines of code to load it
release.ipynb       a notebook that shows the answers
"""

from __future__ import annotations

import hashlib
import html
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

import tetraodon
from tetraodon.certificate.correlated_records import certify_release
from tetraodon.certificate.partition_selection import NamesAbove, certify_names
from tetraodon.errors import ReleaseError
from tetraodon.exact.arrays import Ints
from tetraodon.exact.rational import rational
from tetraodon.ledger import document_hash
from tetraodon.ledger.signing import stated_hash
from tetraodon.mechanism.registry import mechanism_named
from tetraodon.mechanism.strategy import Strategy
from tetraodon.noise.laws import LAPLACE
from tetraodon.policy.load import stated_policy
from tetraodon.policy.policy import Item, Policy
from tetraodon.policy.source import dump_policy
from tetraodon.query.linear import ANSWER_LIMIT, Measurement, split_from
from tetraodon.releases.codec import measurement_from, plan_document
from tetraodon.releases.estimates import Inference
from tetraodon.releases.names import names_columns, stated_names
from tetraodon.releases.open_formats import (
    CSV_ON_THE_WEB,
    PACKAGE,
    is_json_table,
    json_stat_text,
    package_text,
    web_text,
    write_columns,
)
from tetraodon.releases.plan import Baseline, Plan, PlannedItem, PlannedNames, planned_item, read_together
from tetraodon.releases.release import Release, infer
from tetraodon.releases.report import report_html
from tetraodon.releases.untrusted_parquet import parquet_rows, read_columns
from tetraodon.report.picture import date_text
from tetraodon.untrusted_files import plain_file, read_json

# -- manifest ---------------------------------------------------------------------------------------
# The manifest of a folder, written and read back: what the folder is, what made it, and a hash of every other file.
#
# Releases and views have one each. A stranger may have written it.

Kind: TypeAlias = Literal["release", "view"]
VERSION = 1
BROKEN = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, ZeroDivisionError)
"""What reading a file that somebody else wrote may run into."""


def software() -> str:
    """What made a folder: the same software makes the same pages from the same numbers."""
    drawing, pages = version("vl-convert-python"), version("jinja2")
    return f"tetraodon {tetraodon.__version__} with vl-convert {drawing} and Jinja2 {pages}"


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_manifest(folder: Path, name: str, manifest: Mapping[str, Any]) -> str:
    """Write a manifest; its hash."""
    text = json.dumps(manifest, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    (folder / name).write_text(text, encoding="utf-8")
    return hashlib.sha256(text.encode()).hexdigest()


def read_manifest(folder: Path, kind: Kind) -> dict[str, Any]:
    """release.json or view.json as plain data, of a version that we know."""
    name = f"{kind}.json"
    try:
        manifest = read_json(plain_file(folder, name))
        made_by = manifest[f"tetraodon_{kind}"]
    except (FileNotFoundError, NotADirectoryError):
        raise ReleaseError(f"there is no {name}", fix=f"name a {kind} folder", where=str(folder)) from None
    except (OSError, ValueError, KeyError, TypeError):
        raise ReleaseError(f"{name} cannot be read", fix="ask for a new copy", where=str(folder)) from None
    if made_by != VERSION:
        raise ReleaseError(f"the {kind} was made by another version", fix="upgrade tetraodon", where=str(folder))
    assert isinstance(manifest, dict)
    return manifest


# -- companions -------------------------------------------------------------------------------------
# What stands beside the answers for others to read: a notebook, and descriptions of the tables in open formats.
#
# Folders of earlier days have none of these files. One that has any of them has all.


def companion_names(plan: Plan) -> tuple[str, ...]:
    """The files that go with the answers of a plan."""
    return (NOTEBOOK, PACKAGE, CSV_ON_THE_WEB, *json_tables(plan).values())


def json_tables(plan: Plan) -> dict[str, str]:
    """The items whose answers are written as JSON-stat too, each with its file."""
    return {item.name: f"answers/{item.name}.json" for item in plan if is_json_table(item, plan.policy.domain)}


def companion_texts(release: Release) -> dict[str, str]:
    """Each of them with what it holds. The same release always makes the same."""
    policy = release.plan.policy
    found = {NOTEBOOK: notebook_text(release), PACKAGE: package_text(release), CSV_ON_THE_WEB: web_text(release)}
    for name, file in json_tables(release.plan).items():
        found[file] = json_stat_text(release[name], policy.title or policy.dataset, release.when)
    return found


NOTEBOOK = "release.ipynb"


def notebook_text(release: Release) -> str:
    """release.ipynb, in the fourth version of the notebook format."""
    cells = [cell | {"id": f"cell-{place}"} for place, cell in enumerate(_cells(release), 1)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    document = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _cells(release: Release) -> Iterator[dict[str, Any]]:
    policy = release.plan.policy
    yield _text(
        f"# {policy.title or policy.dataset}",
        f"Released on {date_text(release.when)} with Tetraodon (`pip install tetraodon`). Run this notebook in the "
        "release folder, or in a copy of it: a notebook that is saved has changed, and `tetraodon verify` will say so.",
    )
    yield _code("import tetraodon as td", "", 'release = td.load_release(".")', "release.plan.policy")
    for answer in (*release.values(), *release.names.values()):
        yield _text(f"## {answer.name}", answer.sentence)
        yield _code(f"release{'' if answer.name in release else '.names'}[{json.dumps(answer.name)}]")


def _text(*paragraphs: str) -> dict[str, Any]:
    """Words of the policy stay words: what they hold is not read as HTML."""
    told = "\n\n".join(html.escape(paragraph, quote=False) for paragraph in paragraphs)
    return {"cell_type": "markdown", "metadata": {}, "source": told}


def _code(*lines: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": "\n".join(lines),
    }


# -- folder -----------------------------------------------------------------------------------------

MANIFEST = "release.json"


def fill_folder(release: Release, folder: Path) -> str:
    """Write a release into an empty folder; the hash of release.json."""
    fill_files(release, folder)
    manifest = manifest_of(release, {path: file_hash(folder / path) for path in file_names(release.plan)})
    return write_manifest(folder, MANIFEST, manifest)


def fill_files(release: Release, folder: Path) -> None:
    """Write every file of a release but release.json. The same release always writes the same."""
    (folder / "answers").mkdir()
    (folder / "measurements").mkdir()
    for answer in (*release.values(), *release.names.values()):
        write_columns(folder / "answers" / answer.name, dict(answer.columns))
    for name, arrays in release.measured.items():
        places = np.repeat(np.arange(len(arrays)), [array.size for array in arrays])
        flat = {"measurement": places, "value": np.concatenate([array.ravel() for array in arrays])}
        write_columns(folder / "measurements" / name, flat, csv=False)
    for named in release.names.values():
        write_columns(folder / "measurements" / named.name, names_columns(named.told), csv=False)
    (folder / "policy.yaml").write_text(dump_policy(release.plan.policy.document), encoding="utf-8")
    (folder / "report.html").write_text(report_html(release), encoding="utf-8")
    (folder / "README.md").write_text(readme_text(release), encoding="utf-8")
    for name, text in companion_texts(release).items():
        (folder / name).write_text(text, encoding="utf-8")


def file_names(plan: Plan, *, companions: bool = True) -> tuple[str, ...]:
    """Every file that a release of this plan consists of, but release.json, which names them.

    Earlier folders have no `companions`.
    """
    names = [*(item.name for item in plan), *(item.name for item in plan.names)]
    answers = [f"answers/{name}.{ending}" for name in names for ending in ("csv", "parquet")]
    measured = [f"measurements/{name}.parquet" for name in names]
    beside = companion_names(plan) if companions else ()
    return tuple(sorted(["README.md", "policy.yaml", "report.html", *answers, *measured, *beside]))


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
        "inference": release.inference.value,
        "errors_together": dict(release.joint_errors),
        "files": dict(files),
    }


def readme_text(release: Release) -> str:
    """README.md: a few lines of code to load a release."""
    first = next(iter((*release, *release.names)))
    title = release.plan.policy.title or release.plan.policy.dataset
    asked = f'release{"" if first in release else ".names"}["{first}"]'
    text = (Path(__file__).parent / "templates" / "readme.txt").read_text(encoding="utf-8")
    return text.format(title=title, when=release.when, first=first, asked=asked)


def load_release(path: str | os.PathLike[str]) -> Release:
    """A release folder, read back: the plan is decoded and certified anew, the answers inferred anew.

    What plain differential privacy would cost is taken from the manifest; `verify` plans it again.
    """
    folder = Path(path)
    manifest = read_manifest(folder, "release")
    return stated_release(folder, manifest, plan_from_manifest(manifest, folder, believed=True))


def stated_release(folder: Path, manifest: Mapping[str, Any], plan: Plan) -> Release:
    """The release that a folder states, with a plan that was found to be that of its manifest."""
    try:
        measured = {item.name: _unflat(folder, item.name, plan) for item in plan}
        names = stated_names(folder, plan) if plan.names else {}
        day, charged, inference = str(manifest["date"]), str(manifest["charged"]), Inference(manifest["inference"])
        return infer(plan, measured, day, charged, names, inference, stated_hash(manifest))
    except FileNotFoundError:
        raise ReleaseError("a file of the release is missing", fix="ask for a new copy", where=str(folder)) from None
    except BROKEN:
        raise ReleaseError("the release does not fit together", fix="ask for a new copy", where=str(folder)) from None


MEASURED = {"measurement": "i", "value": "i"}


def _unflat(folder: Path, name: str, plan: Plan) -> tuple[Ints, ...]:
    path = plain_file(folder, f"measurements/{name}.parquet")
    shapes = [measurement.query.shape(plan.policy.domain) for measurement in plan[name].measurements]
    sizes = [math.prod(shape) for shape in shapes]
    columns = read_columns(path, MEASURED, sum(sizes))
    if not np.array_equal(columns["measurement"], np.repeat(np.arange(len(sizes)), sizes)):
        raise ReleaseError("the measurements do not fit the plan", fix="ask for a new copy", where=name)
    parts = np.split(columns["value"], np.cumsum(sizes)[:-1])
    item = plan[name]
    noisy = [(one, part) for one, part in zip(item.measurements, parts, strict=True) if one.scale]
    if not all(item.strategy.mechanism.could_tell(one, part) for one, part in noisy):
        raise ReleaseError("the measurements do not fit the plan", fix="ask for a new copy", where=name)
    return tuple(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True))


def plan_from_manifest(manifest: Mapping[str, Any], folder: Path, *, believed: bool = False) -> Plan:
    """The plan a manifest describes, its certificates and errors computed anew rather than believed.

    With `believed`, what plain differential privacy would cost is as stated, since it takes a plan of its own.

    Why  computing costs as much as the plan is large, and a line of text can state a plan of any size. So the
         folder must hold the measurements of such a plan before anything is computed.
    """
    try:
        policy = stated_policy(manifest["policy"])
        stated = manifest["plan"]["queries"]
        if [document["name"] for document in stated] != [item.name for item in policy.items]:
            raise broken()
        measured = [_measured(document, item, policy) for document, item in zip(stated, policy.items, strict=True)]
        for item, parts in zip(policy.items, measured, strict=True):
            wanted = sum(measurement.query.size(item.inside(policy.domain)) for measurement in parts)
            path = plain_file(folder, f"measurements/{item.name}.parquet")
            if wanted > 2 * ANSWER_LIMIT or parquet_rows(path) != wanted:
                raise ReleaseError("the measurements do not fit the plan", fix="ask for a new copy", where=item.name)
        planned = [
            _item(document, item, parts, policy, _baseline(document) if believed else None)
            for document, item, parts in zip(stated, policy.items, measured, strict=True)
        ]
        items = read_together(planned, policy.domain)
        names = _planned_names(manifest["plan"].get("names", []), policy)
    except FileNotFoundError:
        raise ReleaseError("a file of the release is missing", fix="ask for a new copy", where=str(folder)) from None
    except BROKEN:
        raise broken() from None
    measurements, above = [m for item in items for m in item.measurements], [item.above for item in names]
    return Plan(policy, items, certify_release(policy, measurements, names=above), names)


def _planned_names(stated: Sequence[Mapping[str, Any]], policy: Policy) -> tuple[PlannedNames, ...]:
    """The items that tell names, as a manifest states them, certified anew."""
    found = []
    for document, item in zip(stated, policy.names, strict=True):
        above = NamesAbove(item.column, rational(str(document["scale"])), document["threshold"])
        if document["name"] != item.name or document["column"] != item.column:
            raise broken()
        found.append(PlannedNames(item, above, certify_names(policy, [above])))
    return tuple(found)


def broken() -> ReleaseError:
    """What is said of a manifest that nobody would have written."""
    return ReleaseError("release.json does not describe a release", fix="ask for a new copy")


def _measured(document: Mapping[str, Any], item: Item, policy: Policy) -> list[Measurement]:
    inside = item.inside(policy.domain)
    return [measurement_from(m, item.query, inside) for m in document["measurements"]]


def _baseline(document: Mapping[str, Any]) -> Baseline:
    """What plain differential privacy would cost, as stated."""
    error = document["baseline_error"]
    if type(error) not in (int, float) or not 0 <= error < math.inf:
        raise broken()
    return Baseline(float(error), mechanism_named(document["baseline_mechanism"]))


def _item(
    document: Mapping[str, Any],
    item: Item,
    measured: Sequence[Measurement],
    policy: Policy,
    baseline: Baseline | None,
) -> PlannedItem:
    inside = item.inside(policy.domain)
    table = tuple(split_from(split, inside) for split in document["table"])
    asked = item.query.linear(inside).by
    if any(split.labels and split not in asked for split in (*table, *(s for m in measured for s in m.query.by))):
        raise broken()  # bins that are called by other names than the policy's
    noisy = [m for m in measured if m.scale]
    scale = noisy[0].scale if noisy else Fraction(0)
    weights = tuple(m.scale / scale for m in noisy)
    strategy = Strategy(
        mechanism_named(document["mechanism"]),
        tuple(m.query for m in noisy),
        tuple(m.query for m in measured if not m.scale),
        table,
        weights if any(weight != 1 for weight in weights) else (),
        noisy[0].noise if noisy else LAPLACE,
        item.among(policy.domain),
    )
    return planned_item(item, strategy, scale, policy, baseline)
