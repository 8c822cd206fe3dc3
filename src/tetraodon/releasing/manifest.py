"""release.json read back: a stranger may have written it, so its sizes are asked before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from tetraodon.certificate.against_attackers import certify_release
from tetraodon.errors import ReleaseError
from tetraodon.foreign import plain_file, read_json
from tetraodon.mechanism.registry import mechanism_named
from tetraodon.mechanism.strategy import Strategy
from tetraodon.noise.laws import LAPLACE
from tetraodon.policy.load import stated_policy
from tetraodon.policy.policy import Item, Policy
from tetraodon.questions import linear
from tetraodon.releasing.codec import measurement_from, split_from
from tetraodon.releasing.folder import BROKEN, MANIFEST, VERSION
from tetraodon.releasing.foreign_parquet import parquet_rows
from tetraodon.releasing.plan import Plan, PlannedItem, planned_item
from tetraodon.workload.linear import ANSWER_LIMIT, Measurement


def read_manifest(folder: Path) -> Mapping[str, Any]:
    """release.json, or a ReleaseError."""
    try:
        manifest = read_json(plain_file(folder, MANIFEST))
        version = manifest["tetraodon_release"]
    except (FileNotFoundError, NotADirectoryError):
        raise ReleaseError("there is no release.json", fix="name a release folder", where=str(folder)) from None
    except (OSError, ValueError, KeyError, TypeError):
        raise ReleaseError("release.json cannot be read", fix="ask for a new copy", where=str(folder)) from None
    if version != VERSION:
        raise ReleaseError("the release was made by another version", fix="upgrade tetraodon", where=str(folder))
    assert isinstance(manifest, dict)
    return manifest


def plan_from_manifest(manifest: Mapping[str, Any], folder: Path) -> Plan:
    """The plan a manifest describes, its certificates and errors computed anew rather than believed.

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
            _check_size(folder, item.name, parts, policy)
        items = tuple(map(_item, stated, policy.items, measured, [policy] * len(stated)))
    except FileNotFoundError:
        raise ReleaseError("a file of the release is missing", fix="ask for a new copy", where=str(folder)) from None
    except BROKEN:
        raise broken() from None
    return Plan(policy, items, certify_release(policy, [m for item in items for m in item.measurements]))


def broken() -> ReleaseError:
    """What is said of a manifest that nobody would have written."""
    return ReleaseError("release.json does not describe a release", fix="ask for a new copy")


def _measured(document: Mapping[str, Any], item: Item, policy: Policy) -> list[Measurement]:
    return [measurement_from(m, item.query, policy.domain) for m in document["measurements"]]


def _check_size(folder: Path, name: str, measured: Sequence[Measurement], policy: Policy) -> None:
    wanted = sum(measurement.query.size(policy.domain) for measurement in measured)
    path = plain_file(folder, f"measurements/{name}.parquet")
    if wanted > 2 * ANSWER_LIMIT or parquet_rows(path) != wanted:
        raise ReleaseError("the measurements do not fit the plan", fix="ask for a new copy", where=name)


def _item(document: Mapping[str, Any], item: Item, measured: Sequence[Measurement], policy: Policy) -> PlannedItem:
    table = tuple(split_from(split, policy.domain) for split in document["table"])
    asked = linear(item.query, policy.domain).by
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
    )
    return planned_item(item, strategy, scale, policy)
