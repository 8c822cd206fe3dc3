"""Checking a release folder without the data: files, certificates, and that everything follows from the measurements.

The folder is made again from its policy, plan and noisy numbers, and compared file by file. What remains to be believed
is listed in `NOT_CHECKED`, and shown with every result.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tetraodon.errors import ReleaseError, TetraodonError
from tetraodon.ledger import document_hash
from tetraodon.ledger.signing import SIGNATURE, STATEMENT, has_been
from tetraodon.policy.load import stated_policy
from tetraodon.policy.policy import Policy
from tetraodon.policy.source import SIZE_LIMIT, dump_policy, parse
from tetraodon.releases.codec import plan_document
from tetraodon.releases.estimates import Inference
from tetraodon.releases.folder import (
    BROKEN,
    MANIFEST,
    broken,
    companion_names,
    file_hash,
    file_names,
    fill_files,
    manifest_of,
    plan_from_manifest,
    read_manifest,
    software,
    stated_release,
)
from tetraodon.releases.plan import Plan, keeps_budget
from tetraodon.releases.release import Release
from tetraodon.releases.untrusted_parquet import same_columns
from tetraodon.untrusted_files import empty_folders, plain_files, read_plain

NOT_CHECKED = (
    "that the noisy numbers come from a table: whoever invents numbers can make a whole folder that follows from them",
    "that noise of the stated kind was drawn, and drawn once",
    "that the data set, the title, the day, the policy and its public tables are those of the curator",
    "that a ledger has the entry that is stated: its number, day, charge, delta and hash; nor the stated version",
    "that the policy's secrets are what the people in the table would call secret",
)
"""What no look at a folder can tell, in words. Who signed the folder vouches for these."""

STATEMENTS = "the manifest says what follows"
LATER = ("errors_together", "exposure")
"""What manifests of version 0.1 do not state."""
CHARGE = re.compile(r"\d{1,40}(\.\d{1,40}|/[1-9]\d{0,39})?")
"""A charge as the ledger shows it: a decimal number, or a fraction that has none, such as 1/3."""
SOFTWARE = re.compile(r"tetraodon \d+\.\d+\.\d+[\w.+-]*( with .{1,200})?")
"""Any version of this program: another cannot have made the folder. Which version it was, nothing shows."""
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?")
"""Of `12,340` it finds two: a comma also separates the cells of a table and the numbers of a list. An exponent has a
sign, for `0e5` may be a part of a hash.
"""
CELL = re.compile(r'"(?:[^"]|"")*"|[^,\n]+|[,\n]')
"""What a CSV file consists of: quoted cells, other cells, and what separates them."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked. With `other_version` it failed because other software is stated to have made the
    folder, whose words this version cannot make again.
    """

    what: str
    passed: bool
    detail: str
    other_version: bool = False


@dataclass(frozen=True, slots=True)
class Verification:
    """Every check of a folder. It is true only if all of them passed: `if td.verify(folder):` reads as it should."""

    checks: tuple[Check, ...]

    def __bool__(self) -> bool:
        return not self.failed

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that did not pass."""
        return tuple(check for check in self.checks if not check.passed)

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    def __len__(self) -> int:
        return len(self.checks)

    def __repr__(self) -> str:
        failed = self.failed
        if not failed:
            return f"<Verification: all {len(self)} checks passed>"
        return f"<Verification: {len(failed)} of {len(self)} checks FAILED: {', '.join(one.what for one in failed)}>"


def verify(path: str | Path) -> list[Check]:
    """Everything that can be checked about a release folder without the data."""
    folder = Path(path)
    manifest = read_manifest(folder, "release")
    found = files_beside(folder, MANIFEST)
    try:
        plan = plan_from_manifest(manifest, folder)
        companions = not {*manifest["files"], *found}.isdisjoint(companion_names(plan))
        checks = check_files(folder, manifest["files"], file_names(plan, companions=companions), found)
        policy_hash = document_hash(manifest["policy"])
        checks.append(Check("policy hash", policy_hash == manifest.get("policy_sha256"), policy_hash))
        checks += _check_plan(plan, manifest["plan"])
        if manifest["inference"] not in [one.value for one in Inference]:
            checks.append(Check(STATEMENTS, False, "inference"))
        if all(check.passed for check in checks):
            release = stated_release(folder, manifest, plan)
            checks.append(check_statements(manifest, manifest_of(release, manifest["files"])))
            if checks[-1].passed:  # pages are made from what it says
                checks += _check_contents(folder, release, manifest)
    except BROKEN:
        raise broken() from None
    return checks


def files_beside(folder: Path, manifest: str) -> tuple[str, ...]:
    """Every file of a folder but its manifest and what signs it, and every folder in it that is empty."""
    try:
        found = (*plain_files(folder), *empty_folders(folder))
        return tuple(name for name in found if name not in (manifest, SIGNATURE))
    except OSError:
        raise ReleaseError("the folder cannot be read", fix="ask for a new copy", where=str(folder)) from None


def _check_plan(plan: Plan, stated: Mapping[str, Any]) -> list[Check]:
    checks = []
    found = plan_document(plan)
    for item, mine, theirs in zip(plan, found["queries"], stated["queries"], strict=True):
        good = item.certificate.finite and mine["certificate"] == theirs.get("certificate")
        checks.append(Check(f"certificate of {item.name}", good, f"epsilon {item.certificate.epsilon!r}"))
        rest = same_numbers({**mine, "certificate": 0}, {**theirs, "certificate": 0})
        checks.append(Check(f"stated errors of {item.name}", rest, f"expected error {item.expected_error:.6g}"))
    for named, mine, theirs in zip(plan.names, found.get("names", []), stated.get("names", []), strict=True):
        told = f"epsilon {named.certificate.epsilon!r} at delta {float(named.certificate.delta):.3g}"
        checks.append(Check(f"certificate of {named.name}", mine == theirs, told))
    whole = plan.certificate
    good = keeps_budget(whole, plan.policy) and found["certificate"] == stated.get("certificate")
    good = good and same_numbers(found["epsilon"], stated.get("epsilon")) and found.keys() == stated.keys()
    checks.append(Check("certificate of the whole release", good, f"epsilon {whole.epsilon!r}"))
    return checks


def check_statements(stated: Mapping[str, Any], mine: Mapping[str, Any]) -> Check:
    """That a manifest says what follows from the rest of it, and nothing else; that its day and charge can be such.

    Pre   `mine` is the manifest that we would write. What differs between versions may differ.
    """
    other = is_other_version(stated)
    free = ("software", "date", "charged", "files", "policy_sha256", "plan", *(("policy",) if other else ()))
    wrong = [name for name in stated if name not in (*mine, STATEMENT)]
    wrong += [name for name in mine if name not in stated and not (other and name in LATER)]
    same = {*stated} & {*mine} - {*free}
    wrong += [name for name in same if not same_numbers(mine[name], stated[name])]
    if not all(isinstance(stated.get(name), str) for name in free[:3]) or not has_been(stated["date"]):
        wrong.append("date")
    if not CHARGE.fullmatch(str(stated.get("charged"))):
        wrong.append("charged")
    if not SOFTWARE.fullmatch(str(stated.get("software"))):
        wrong.append("software")
    return Check(STATEMENTS, not wrong, ", ".join(sorted(set(wrong)))[:40])


def is_other_version(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest names other software than this as what made its folder."""
    return manifest.get("software") != software()


def _check_contents(folder: Path, release: Release, manifest: Mapping[str, Any]) -> list[Check]:
    """Every file against the same file made again."""
    checks = [check_policy(folder, release.plan.policy, manifest)]
    with tempfile.TemporaryDirectory() as place:
        again = Path(place)
        fill_files(release, again)
        for answer in (*release.values(), *release.names.values()):
            name = f"answers/{answer.name}"
            same = same_columns(folder / f"{name}.parquet", dict(answer.columns))
            same = same and same_cells(folder / f"{name}.csv", (again / f"{name}.csv").read_text(encoding="utf-8"))
            checks.append(Check(f"answers of {answer.name} follow from its measurements", same, ""))
        beside = [name for name in companion_names(release.plan) if name in manifest["files"]]
        for name in ("report.html", "README.md", *beside):
            checks.append(check_text(folder, name, (again / name).read_text(encoding="utf-8"), manifest))
    return checks


def check_policy(folder: Path, policy: Policy, manifest: Mapping[str, Any]) -> Check:
    """That policy.yaml says what the manifest says, and nothing else in comments; other versions may spell it."""
    content, mine, means = b"", dump_policy(policy.document).encode(), False
    with suppress(TetraodonError):
        content = read_plain(folder / "policy.yaml", most=SIZE_LIMIT)
        means = content == mine or stated_policy(parse(content, "policy.yaml").data).document == policy.document
    return _page("policy.yaml says what the manifest says", content == mine, means and is_other_version(manifest))


def check_text(folder: Path, name: str, mine: str, manifest: Mapping[str, Any]) -> Check:
    """A file of text against the same made again."""
    same = same_text(folder / name, mine)
    return _page(f"{name} is what follows from the manifest", same, is_other_version(manifest))


def _page(what: str, same: bool, other: bool) -> Check:
    detail = "another version is said to have written it" if other and not same else ""
    return Check(what, same, detail, other_version=other and not same)


def same_text(path: Path, mine: str) -> bool:
    """Whether a file holds a text, but for the last digits of numbers, which another machine may round otherwise."""
    theirs = _text_like(path, mine)
    if mine == theirs:
        return True
    if theirs is None or NUMBER.sub("#", mine) != NUMBER.sub("#", theirs):
        return False
    pairs = NUMBER.findall(mine), NUMBER.findall(theirs)
    return all(map(_close, *pairs))


def same_cells(path: Path, mine: str) -> bool:
    """Whether a CSV file holds a table, cell by cell, but for the last digits of floating-point numbers."""
    theirs = _text_like(path, mine)
    if theirs is None or mine == theirs:
        return theirs is not None
    pairs = CELL.findall(mine), CELL.findall(theirs)
    return len(pairs[0]) == len(pairs[1]) and all(map(_close, *pairs))


def _text_like(path: Path, mine: str) -> str | None:
    """What a file holds; None where it is far longer than it should be, or no text."""
    if path.stat().st_size > 2 * len(mine.encode()) + 1000:
        return None
    with suppress(UnicodeDecodeError):
        return path.read_bytes().decode("utf-8")
    return None


def _close(mine: str, theirs: str) -> bool:
    """The same texts, or numbers with decimals that are equal up to rounding and to where an inference converges."""
    if mine == theirs:
        return True
    decimals = any("." in text or "e" in text for text in (mine, theirs))
    if not (decimals and NUMBER.fullmatch(mine) and NUMBER.fullmatch(theirs)):
        return False
    return math.isclose(float(mine), float(theirs), rel_tol=1e-6, abs_tol=1e-9)


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
    return type(mine) is type(theirs) and bool(mine == theirs)


def check_files(
    folder: Path, stated: Mapping[str, str], wanted: Collection[str], found: Collection[str]
) -> list[Check]:
    """Every file that such a folder has against the hash that its manifest states; there may be no other.

    Pre   `found` are plain files. A file is wanted whether or not the manifest names it.
    """
    checks = []
    for name in sorted(wanted):
        digest, there = stated.get(name), name in found and (folder / name).is_file()
        told = digest[:12] if isinstance(digest, str) else "its hash is missing"
        checks.append(Check(f"file {name}", there and file_hash(folder / name) == digest, told if there else "missing"))
    strangers = sorted({*found, *stated} - {*wanted})
    return checks + [Check(f"file {name[:60]}", False, "not a file of such a folder") for name in strangers]
