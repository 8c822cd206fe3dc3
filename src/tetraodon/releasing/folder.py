"""The release folder: everything an analyst needs, nothing that was not meant to be published.

release.json        the whole mechanism and its parameters, and a hash of every other file
policy.yaml         the policy it keeps
report.html         a chart per answer, then the promise in words; opens offline
answers/            one Parquet and one CSV file per item
measurements/       the noisy numbers that the answers were inferred from
README.md           a few lines of code to load it
release.ipynb       a notebook that shows the answers
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tetraodon.arrays import Ints
from tetraodon.certificate.against_attackers import certify_release
from tetraodon.certificate.choice_loss import choices_of
from tetraodon.certificate.divided_loss import divided_of
from tetraodon.certificate.names_above import NamesAbove, certify_names
from tetraodon.certificate.rank_loss import ranks_of
from tetraodon.errors import ReleaseError
from tetraodon.foreign import plain_file
from tetraodon.ledger import document_hash
from tetraodon.ledger.signature import stated_hash
from tetraodon.mechanism.registry import mechanism_named
from tetraodon.mechanism.strategy import Strategy
from tetraodon.noise.laws import LAPLACE
from tetraodon.policy.load import stated_policy
from tetraodon.policy.policy import Item, Policy
from tetraodon.policy.source import dump_policy
from tetraodon.rational import rational
from tetraodon.releasing.codec import measurement_from, split_from
from tetraodon.releasing.column_files import write_columns
from tetraodon.releasing.companions import companion_names, companion_texts
from tetraodon.releasing.documents import plan_document
from tetraodon.releasing.estimates import Inference
from tetraodon.releasing.foreign_parquet import parquet_rows, read_columns
from tetraodon.releasing.manifest import BROKEN, VERSION, file_hash, read_manifest, software, write_manifest
from tetraodon.releasing.names_answer import names_columns, stated_names
from tetraodon.releasing.plan import Baseline, Plan, PlannedItem, planned_item, read_together
from tetraodon.releasing.plan_names import PlannedNames
from tetraodon.releasing.release import Release, infer
from tetraodon.releasing.report import report_html
from tetraodon.workload.disguised import disguised_of
from tetraodon.workload.linear import ANSWER_LIMIT, Measurement

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
    for answer in release:
        write_columns(folder / "answers" / answer.name, dict(answer.columns))
    for name, arrays in release.measured.items():
        write_columns(folder / "measurements" / name, _flat(arrays), csv=False)
    for named in release.names.values():
        write_columns(folder / "answers" / named.name, dict(named.columns))
        write_columns(folder / "measurements" / named.name, names_columns(named.told), csv=False)
    (folder / "policy.yaml").write_text(dump_policy(release.plan.policy.document), encoding="utf-8")
    (folder / "report.html").write_text(report_html(release), encoding="utf-8")
    (folder / "README.md").write_text(_readme(release), encoding="utf-8")
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


def _flat(arrays: tuple[Ints, ...]) -> dict[str, NDArray[Any]]:
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
        "inference": release.inference.value,
        "errors_together": dict(release.errors_together),
        "files": dict(files),
    }


def _readme(release: Release) -> str:
    first = next(iter((*release, *release.names.values())))
    where = ".names" if first.name in release.names else ""
    policy = release.plan.policy
    return f"""# {policy.title or policy.dataset}

Released on {release.when} with Tetraodon. Open `report.html` for what these numbers promise and how far
off they can be.

    import tetraodon as td
    release = td.load_release(".")
    release{where}["{first.name}"].to_polars()

or without Tetraodon:

    import polars
    polars.read_parquet("answers/{first.name}.parquet")

`release.ipynb` is a notebook that shows all of them. Run it in a copy of this folder.

Every number lies with its truth between `lower` and `upper` with at least 95% probability.
`tetraodon verify .` recomputes the privacy certificate and every hash in `release.json`, without the data.
"""


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
        names = stated_names(folder, plan)
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
    for part, measurement in zip(parts, plan[name].measurements, strict=True):
        chosen = ranks_of(measurement.query) or choices_of(measurement.query) or disguised_of(measurement.query)
        if chosen is not None and not chosen.told(part):
            raise ReleaseError("the measurements do not fit the plan", fix="ask for a new copy", where=name)
        divided = divided_of(measurement.query)
        if divided is not None and not divided.could_tell(part, measurement.scale):
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
            _check_size(folder, item, parts, policy)
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


def _check_size(folder: Path, item: Item, measured: Sequence[Measurement], policy: Policy) -> None:
    wanted = sum(measurement.query.size(item.inside(policy.domain)) for measurement in measured)
    path = plain_file(folder, f"measurements/{item.name}.parquet")
    if wanted > 2 * ANSWER_LIMIT or parquet_rows(path) != wanted:
        raise ReleaseError("the measurements do not fit the plan", fix="ask for a new copy", where=item.name)


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
