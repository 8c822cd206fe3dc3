"""A thousand made-up policies, each with a table as bytes and its neighbours: no certificate is below what they lose.

Neighbours are made before anything is read, clamped or left out, by a program of its own (`scripts/audit`). A failure
names the case; `python -m scripts.audit.audit --seed S --only N` makes it again, and `--cases` runs more.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from scripts.audit import audit
from scripts.audit.counting import quickly

from tetraodon.engine import Individuals, csv_file
from tetraodon.errors import TableError
from tetraodon.releasing import counting as releasing_counting
from tetraodon.releasing import pricing

PARTS, CASES = 10, int(os.environ.get("TETRAODON_AUDIT_CASES", "1000"))


def look(folder: Path, numbers: range, seed: int = 12) -> Counter[str]:
    with quickly():
        return sum((audit.one(seed, number, folder) for number in numbers), Counter[str]())


@pytest.mark.parametrize("part", range(PARTS))
def test_no_certificate_is_below_what_neighbours_lose(part: int, tmp_path: Path) -> None:
    numbers = range(part * CASES // PARTS, (part + 1) * CASES // PARTS)
    done = look(tmp_path, numbers)
    assert done["cases"] == len(numbers)
    assert done["neighbours"] > len(numbers)
    assert min(done[what] for what in ("exact", "exact over all", "of another file", "spelt anew")) > 0


def test_the_same_answers_come_from_a_database_of_their_own(tmp_path: Path) -> None:
    """Opening one for each table, as a release does, changes nothing."""
    numbers = range(10)
    assert sum((audit.one(12, number, tmp_path) for number in numbers), Counter[str]()) == look(tmp_path, numbers)


def first_rows(policy: Any) -> Individuals:
    return Individuals(policy.key or None, policy.rows_per_person, cut=bool(policy.key))


def wrong_price(patch: pytest.MonkeyPatch) -> None:
    certified = property(lambda case: Fraction(99, 100) * (case.certificate.rho or case.certificate.epsilon))
    patch.setattr(audit.Case, "certified", certified)


def first_rows_of_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(releasing_counting, "_individuals", first_rows)


def files_that_read_otherwise(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(audit, "OTHER_FILES", 1)
    patch.setattr(pricing, "check_same_data", lambda _, __: None)


def one_byte_decides(patch: pytest.MonkeyPatch) -> None:
    guess = csv_file._encoding

    def latin(path: Path, told: str | None) -> str:
        return "iso8859-1" if b"\xff" in path.read_bytes()[2:] else guess(path, told)

    patch.setattr(csv_file, "_encoding", latin)


@pytest.mark.parametrize("wrong", [wrong_price, first_rows_of_all, files_that_read_otherwise, one_byte_decides])
def test_what_is_wrong_is_found(
    wrong: Callable[[pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong(monkeypatch)
    with pytest.raises((audit.Finding, TableError)):
        look(tmp_path, range(400), seed=5)
