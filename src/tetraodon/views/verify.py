"""Verifying a view folder without the data, and the one `verify` for releases and views."""

from __future__ import annotations

import filecmp
import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from tetraodon.domain import Attribute, Booleans, Categories, Dates, Domain, Grid, Integers
from tetraodon.errors import QueryError, ReleaseError
from tetraodon.exact.arrays import Ints
from tetraodon.ledger import document_hash
from tetraodon.ledger.signing import judged, stated_entry, stated_hash
from tetraodon.policy.load import stated_policy
from tetraodon.releases.folder import BROKEN, read_manifest
from tetraodon.releases.folder import MANIFEST as RELEASE
from tetraodon.releases.untrusted_parquet import parquet_rows, read_batches
from tetraodon.releases.verify import (
    Check,
    Verification,
    check_files,
    check_policy,
    check_statements,
    check_text,
    files_beside,
    is_other_version,
    same_numbers,
)
from tetraodon.releases.verify import verify as verify_folder
from tetraodon.untrusted_files import read_plain
from tetraodon.views import MANIFEST, is_view
from tetraodon.views.channel import CopyChannel, SourceChannel, channel_document, withstands
from tetraodon.views.exposure import Exposure, folder_exposure
from tetraodon.views.folder import CSV_ROWS, ROWS_AS_TEXT, file_names, pages_of, policy_document, stated_plan
from tetraodon.views.plan import ViewPlan
from tetraodon.views.sampling import Cells
from tetraodon.views.source_noise import withstands_source
from tetraodon.views.tuple_files import PARTS, TUPLES, cells_of, column, write_csv
from tetraodon.views.view import load_view

# -- stated rows ------------------------------------------------------------------------------------
# Whether the rows of a view folder are what they should be: tuples of the domain in order, as many as can be expected.
#
# A view is written in the order of its cells, so one pass with little memory tells whether rows repeat. A file that
# says it has more rows than the probabilities make possible is not read at all.

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


# -- verify -----------------------------------------------------------------------------------------

KEYS = {"tetraodon_view", "m", "n", "tuples", "seen", "public", "rows", "channel", "exposure"}


def verify_view(folder: Path) -> list[Check]:
    """Everything about a view that can be checked without the data: also of every view of a series."""
    manifest = read_manifest(folder, "view")
    found = files_beside(folder, MANIFEST)
    view = load_view(folder)
    try:
        plan, later = stated_plan(manifest), manifest["seen"] is not None
        names = file_names(manifest["tuples"], manifest["public"], later)
        checks = check_files(folder, manifest["files"], names, found)
        digest = document_hash(manifest["policy"])
        checks.append(Check("policy hash", digest == manifest["policy_sha256"], digest))
        checks.append(_check_plan(plan, manifest))
        if all(check.passed for check in checks):
            checks.append(check_statements(manifest, _statements(plan, manifest)))
            checks.append(check_policy(folder, plan.policy, manifest))
            checks.append(check_rows(folder / TUPLES, plan, manifest["tuples"]))
            if view.seen is not None:
                checks.append(check_parts(folder, plan.policy.domain))
        if all(check.passed for check in checks):
            exposed = folder_exposure(folder, plan, manifest["seen"])
            checks.append(_check_exposure(exposed, manifest))
            checks += _check_texts(folder, plan, manifest, exposed)
    except BROKEN:
        raise ReleaseError("the view does not fit together", fix="ask for a new copy", where=str(folder)) from None
    return checks


def _statements(plan: ViewPlan, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest as we would write it, as far as it follows from the plan and from itself."""
    policy, mine = plan.policy, policy_document(plan, manifest["public"])
    same = {name: manifest.get(name) for name in (*KEYS, "files", "date", "charged", "software")}
    return {**same, "name": policy.dataset, "title": policy.title, "policy": mine, "policy_sha256": "", "plan": None}


def _check_texts(folder: Path, plan: ViewPlan, manifest: Mapping[str, Any], exposed: Exposure) -> list[Check]:
    """The rows as CSV, and the pages and the estimator, which readers run."""
    checks = []
    if manifest["tuples"] <= CSV_ROWS:
        with tempfile.TemporaryDirectory() as place:
            write_csv(folder / TUPLES, Path(place) / ROWS_AS_TEXT)
            same = filecmp.cmp(folder / ROWS_AS_TEXT, Path(place) / ROWS_AS_TEXT, shallow=False)
        checks.append(Check(f"{ROWS_AS_TEXT} has the same rows", same, ""))
    said = manifest["tuples"], manifest["charged"], Exposure.of(exposed.document()), stated_hash(manifest)
    made = pages_of(plan, *said, later=manifest["seen"] is not None)
    return checks + [check_text(folder, name, text, manifest) for name, text in made.items()]


def _check_exposure(found: Exposure, manifest: Mapping[str, Any]) -> Check:
    """That the view exposes what it says, by playing the attack on it anew. Version 0.1 says nothing of it."""
    stated = manifest.get("exposure")
    detail = f"{found.new:,} tuples newly exposed{'; nothing is stated' if stated is None else ''}"
    silent = stated is None and is_other_version(manifest)
    return Check("the exposure is as stated", stated is not None and found.agrees(stated), detail, other_version=silent)


def _withstands(plan: ViewPlan) -> bool:
    if isinstance(plan.channel, SourceChannel):
        return withstands_source(plan.channel, plan.policy.domain, plan.adversary)
    return not plan.adversary.source and withstands(plan.channel, plan.adversary, plan.prior)


def _check_plan(plan: ViewPlan, manifest: Mapping[str, Any]) -> Check:
    """That the probabilities keep the bounds that the policy states, whoever chose them, and lose what is stated."""
    later = manifest["seen"]
    if plan.series is None:
        kept = _withstands(plan) and later is None
    else:
        kept = plan.series.withstands(plan.adversary, plan.prior)
        channel = channel_document(plan.series.seen)
        kept = kept and (later is None or later == {"number": later["number"], "channel": channel, **PARTS})
    kept = kept and manifest["channel"]["rows"] == plan.adversary.rows and plan.loss <= plan.policy.epsilon
    same = same_numbers(plan.document(), manifest["plan"])
    same = same and manifest["policy"].get("public", {}) == manifest["public"]
    public = (plan.records, str(plan.tuples), channel_document(plan.channel))
    good = kept and same and public == (manifest["n"], manifest["m"], manifest["channel"])
    return Check("probabilities withstand the adversary", good, f"epsilon {float(plan.loss):.9g}")


# -- verifying --------------------------------------------------------------------------------------
# One word, `verify`, for a release folder and a view folder.


def verify(folder: str | os.PathLike[str], *, key: str | os.PathLike[str] | None = None) -> Verification:
    """Check a release or view folder without its data: true if every check passed.

    It recomputes every hash and certificate, and says who signed the folder; with `key`, a public key that you trust, a
    file with one or its fingerprint, it must be signed with that; without it, anyone may have made the folder.
    A page that another version wrote fails with `other_version`. Mechanisms are verified against definitions by
    `td.pufferfish.verify`.
    """
    if not isinstance(folder, str | os.PathLike):
        raise QueryError("this is no folder", fix="write td.pufferfish.verify(mechanism, definition) for a mechanism")
    folder = Path(folder)
    view = is_view(folder)
    checks = verify_view(folder) if view else verify_folder(folder)
    return Verification((*checks, *_signature(folder, MANIFEST if view else RELEASE, key)))


def _signature(folder: Path, name: str, key: str | os.PathLike[str] | None) -> list[Check]:
    """Which entry of a ledger paid for a folder, as it says, and who signed that."""
    content = read_plain(folder / name)
    manifest = json.loads(content)
    asked = stated_plan(manifest).loss if name == MANIFEST else stated_policy(manifest["policy"]).epsilon
    entry = stated_entry(manifest, asked)
    return [*([] if entry is None else [Check(*entry)]), Check(*judged(folder, name, content, key))]
