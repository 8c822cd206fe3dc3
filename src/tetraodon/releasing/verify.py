"""Checking a release folder without the data: hashes, certificates, and that the answers follow."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np

from tetraodon.certificate.dependent import certify_release
from tetraodon.errors import ReleaseError
from tetraodon.ledger import document_hash
from tetraodon.mechanism.strategy import Mechanism, Strategy
from tetraodon.noise.laws import LAPLACE
from tetraodon.policy.load import load_policy
from tetraodon.policy.policy import Policy
from tetraodon.releasing.codec import measurement_from, split_from
from tetraodon.releasing.documents import plan_document
from tetraodon.releasing.folder import BROKEN, VERSION, file_hash, files_of, load_release
from tetraodon.releasing.parquet import read_columns
from tetraodon.releasing.plan import Plan, PlannedItem, keeps_budget, planned_item


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked."""

    what: str
    passed: bool
    detail: str


def read_manifest(folder: Path) -> Mapping[str, Any]:
    """release.json, or a ReleaseError."""
    try:
        manifest = json.loads((folder / "release.json").read_text(encoding="utf-8"))
        version = manifest["tetraodon_release"]
    except FileNotFoundError:
        raise ReleaseError("there is no release.json", fix="name a release folder", where=str(folder)) from None
    except (OSError, ValueError, KeyError, TypeError):
        raise ReleaseError("release.json cannot be read", fix="ask for a new copy", where=str(folder)) from None
    if version != VERSION:
        raise ReleaseError("the release was made by another version", fix="upgrade tetraodon", where=str(folder))
    assert isinstance(manifest, dict)
    return manifest


def plan_from_manifest(manifest: Mapping[str, Any]) -> Plan:
    """The plan a manifest describes, its certificates and errors computed anew rather than believed."""
    try:
        policy = load_policy(manifest["policy"])
        items = tuple(_item(document, policy) for document in manifest["plan"]["queries"])
    except BROKEN:
        raise _broken() from None
    if [item.name for item in items] != [item.name for item in policy.items]:
        raise _broken()
    measurements = [m for item in items for m in item.measurements]
    return Plan(policy, items, certify_release(policy, measurements))


def _broken() -> ReleaseError:
    return ReleaseError("release.json does not describe a release", fix="ask for a new copy")


def _item(document: Mapping[str, Any], policy: Policy) -> PlannedItem:
    item = next((i for i in policy.items if i.name == document["name"]), None)
    if item is None or document["mechanism"] not in get_args(Mechanism):
        raise _broken()
    measured = [measurement_from(m, item.query, policy.domain) for m in document["measurements"]]
    noisy = [m for m in measured if m.scale]
    scale = noisy[0].scale if noisy else Fraction(0)
    weights = tuple(m.scale / scale for m in noisy)
    strategy = Strategy(
        document["mechanism"],
        tuple(m.query for m in noisy),
        tuple(m.query for m in measured if not m.scale),
        tuple(split_from(split) for split in document["table"]),
        weights if any(weight != 1 for weight in weights) else (),
        noisy[0].noise if noisy else LAPLACE,
    )
    return planned_item(item, strategy, scale, policy)


def verify(path: str | Path) -> list[Check]:
    """Everything that can be checked about a release folder without the data."""
    folder = Path(path)
    manifest = read_manifest(folder)
    try:
        checks = check_files(folder, manifest["files"], files_of(folder), "release.json")
        policy_hash = document_hash(manifest["policy"])
        checks.append(Check("policy hash", policy_hash == manifest.get("policy_sha256"), policy_hash))
    except BROKEN:
        raise _broken() from None
    plan = plan_from_manifest(manifest)
    checks += _check_plan(plan, manifest["plan"])
    if all(check.passed for check in checks):
        for answer in load_release(folder):
            stated = read_columns(folder / "answers" / answer.name)
            same = all(_equal(stated.get(name), column) for name, column in answer.columns.items())
            checks.append(Check(f"answers of {answer.name} follow from its measurements", same, ""))
    return checks


def _check_plan(plan: Plan, stated: Mapping[str, Any]) -> list[Check]:
    checks = []
    found = plan_document(plan)
    for item, mine, theirs in zip(plan, found["queries"], stated["queries"], strict=True):
        good = item.certificate.finite and mine["certificate"] == theirs.get("certificate")
        checks.append(Check(f"certificate of {item.name}", good, f"epsilon {item.certificate.epsilon}"))
        rest = same_numbers({**mine, "certificate": 0}, {**theirs, "certificate": 0})
        checks.append(Check(f"stated errors of {item.name}", rest, f"expected error {item.expected_error:.6g}"))
    whole = plan.certificate
    good = keeps_budget(whole, plan.policy) and found["certificate"] == stated.get("certificate")
    good = good and same_numbers(found["epsilon"], stated.get("epsilon"))
    checks.append(Check("certificate of the whole release", good, f"epsilon {whole.epsilon}"))
    return checks


def same_numbers(mine: Any, theirs: Any) -> bool:
    """Equal, but for the last digits of floating-point numbers, which another machine may round otherwise."""
    if isinstance(mine, float) and isinstance(theirs, int | float):
        return math.isclose(mine, theirs, rel_tol=1e-6)
    if isinstance(mine, dict):
        return (
            isinstance(theirs, dict)
            and mine.keys() == theirs.keys()
            and all(same_numbers(mine[k], theirs[k]) for k in mine)
        )
    if isinstance(mine, list):
        return isinstance(theirs, list) and len(mine) == len(theirs) and all(map(same_numbers, mine, theirs))
    return bool(mine == theirs)


def check_files(folder: Path, stated: Mapping[str, str], found: Collection[str], manifest: str) -> list[Check]:
    """Every file of a folder against the hash that its manifest states; no other file may be there."""
    checks = [_check_file(folder, name, digest) for name, digest in stated.items()]
    strangers = sorted(set(found) - set(stated))
    return checks + [Check(f"file {name}", False, f"not named in {manifest}") for name in strangers]


def _check_file(folder: Path, name: str, digest: str) -> Check:
    path = folder / name
    inside = path.resolve().is_relative_to(folder.resolve())
    if not inside or not path.is_file():
        return Check(f"file {name}", False, "missing")
    return Check(f"file {name}", file_hash(path) == digest, digest[:12])


def _equal(stated: Any, found: Any) -> bool:
    if stated is None or len(stated) != len(found):
        return False
    array = np.asarray(found)
    if np.issubdtype(array.dtype, np.floating):
        return bool(np.allclose(stated.astype(float), array, rtol=1e-9, atol=1e-9))
    if np.issubdtype(array.dtype, np.datetime64):
        return bool((stated.astype("datetime64[D]") == array).all())
    return bool((stated == array).all())
