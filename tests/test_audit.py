"""A thousand made-up policies, each with a table as bytes and its neighbours: no certificate is below what they lose.

Neighbours are made before anything is read, clamped or left out, by a program of its own (`scripts/audit`). A failure
names the case; `python -m scripts.audit.audit --seed S --only N` makes it again, and `--cases` runs more.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import pytest
from scripts.audit import audit, over_time, reading
from scripts.audit.chosen import chosen_loss
from scripts.audit.counting import quickly
from scripts.audit.ranks import rank_loss

import tetraodon as td
from tetraodon.certificate.kernel import certify_measurements
from tetraodon.engine import Individuals
from tetraodon.engine import csv_table as csv_file
from tetraodon.errors import TableError
from tetraodon.noise.laws import LAPLACE
from tetraodon.query.aim import ChosenTables
from tetraodon.query.linear import LinearQuery, Measurement, Split
from tetraodon.query.ranks import Ranks
from tetraodon.releases import counting as releasing_counting
from tetraodon.releases import pricing

PARTS, CASES = 10, int(os.environ.get("TETRAODON_AUDIT_CASES", "1000"))


def look(folder: Path, numbers: range, seed: int = 12, make: audit.Make = audit.case) -> Counter[str]:
    with quickly():
        return sum((audit.one(seed, number, folder, make) for number in numbers), Counter[str]())


@pytest.mark.parametrize("part", range(PARTS))
def test_no_certificate_is_below_what_neighbours_lose(part: int, tmp_path: Path) -> None:
    numbers = range(part * CASES // PARTS, (part + 1) * CASES // PARTS)
    done = look(tmp_path, numbers)
    assert done["cases"] == len(numbers)
    assert done["neighbours"] > len(numbers)
    assert min(done[what] for what in ("exact", "exact over all", "of another file", "spelt anew")) > 0


@pytest.mark.parametrize("part", range(2))
def test_charges_cover_what_selections_of_a_table_lose_over_time(part: int, tmp_path: Path) -> None:
    done = look(tmp_path, range(40 * part, 40 * part + 40), make=over_time.case)
    counted = ("releases", "with a condition", "for an owner", "together", "neighbours", "files of an owner")
    assert min(done[what] for what in counted) > 0


def test_one_record_decides_nothing_about_how_others_are_read(tmp_path: Path) -> None:
    done = sum((audit.one(12, number, tmp_path, reading.case) for number in range(150)), Counter[str]())
    assert set(reading.FORMS) <= done.keys()


def test_earlier_releases_that_are_forgotten_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pricing, "entry_measurements", lambda _, __: [])
    with pytest.raises(audit.Finding, match="charged"):
        look(tmp_path, range(400), make=over_time.case)


def test_what_ranks_lose_is_worked_out_from_all_cuts() -> None:
    """A quarter of one record, at 0.5 or at 3.5 of [0, 4): U is 1/2 for cuts before it and 3/2 behind."""
    ranks = Ranks("x", 4, (Fraction(1, 4),))
    before, behind = math.exp(-1 / 4), math.exp(-3 / 4)
    sums = 0.5 * before + 3.5 * behind, 3.5 * before + 0.5 * behind
    lost = float(rank_loss(ranks, [((0, 1),)], [((3, 1),)], Fraction(2)))
    assert lost == pytest.approx(math.log(sums[1] / sums[0]))  # cuts before both places, or behind both
    assert rank_loss(ranks, [((0, 1),), ((2, 3),)], [((0, 1),), ((2, 3),)], Fraction(2)) == 0


def test_what_chosen_tables_lose_is_worked_out_from_all_choices() -> None:
    """A record is replaced: each attribute moves by 2 at scale 12, their table by 2 at scale 3; it is the only one."""
    both = ChosenTables((Split("a"), Split("b")), (2, 2), 1, total=True)
    one, two = [(0, 0, 1), (1, 0, 4)], [(1, 0, 4), (1, 1, 1)]
    assert float(chosen_loss(both, one, two, Fraction(3), LAPLACE)) == pytest.approx(2 * 2 / 12 + 2 / 3)
    assert chosen_loss(both, one, one, Fraction(3), LAPLACE) == 0
    assert chosen_loss(both, one, two[1:], Fraction(3), LAPLACE) == math.inf  # the total is told
    # of three and their threes, by weights of 2/3 and 1: that of 1 is up by 2, the others down by 4/3, at scale 27
    three = ChosenTables((Split("a"), Split("b"), Split("c")), (2, 2, 2), 1, total=True)
    low, high = math.exp(4 / 3 / 27), math.exp(2 / 27)
    choice = math.log(high * (1 + 3 * low) / (high + 3))
    lost = chosen_loss(three, [(0, 0, 0, 1)], [(1, 1, 1, 1)], Fraction(3), LAPLACE)
    assert float(lost) == pytest.approx(3 * 2 / 12 + 2 / 3 + choice)


@pytest.mark.parametrize("presence", ["public", "secret"])
@pytest.mark.parametrize("shares", [("1/2",), ("1/4",), ("0.1", "1/3", "0.9")])
def test_no_certificate_of_ranks_is_below_what_all_small_tables_lose(shares: tuple[str, ...], presence: str) -> None:
    """All tables of up to three records of four values, and all that are one step away."""
    here = td.load_policy(
        {"dataset": "d", "presence": presence, "attributes": {"x": {"integer": [0, 3]}}, "budget": {"epsilon": 1}}
    )
    ranks = Ranks("x", 4, tuple(Fraction(share) for share in shares))
    certificate = certify_measurements(here.graph, [Measurement(LinearQuery(ranks), Fraction(3))])
    worst = Fraction(0)
    for size in range(1, 4):
        for table in combinations_with_replacement(range(4), size):
            others = [sorted((*table[1:], code)) for code in range(4)] + [table[1:]] * (presence == "secret")
            for other in others:
                counts = [[tuple(Counter(one).items())] for one in (table, other)]
                worst = max(worst, rank_loss(ranks, *counts, Fraction(3)))
    assert certificate.epsilon / 5 < worst <= certificate.epsilon


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
