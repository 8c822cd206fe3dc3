"""One case of the audit: a policy, a table, its neighbours; what they lose, and what the certificate says.

python -m scripts.audit.audit --cases 10000 --seed 7
python -m scripts.audit.audit --seed 7 --only 123
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import tetraodon as td
from scripts.audit.asking import other_file
from scripts.audit.counting import Told, count, loss, quickly
from scripts.audit.neighbours import Figures, Move, is_step, make_rows, moved, neighbour
from scripts.audit.steps import Record
from scripts.audit.tables import Row, write_row, written
from scripts.audit.worlds import World, make_world
from tetraodon.certificate.certificate import Certificate, Dataset
from tetraodon.ledger import Account, document_hash
from tetraodon.policy.policy import Policy
from tetraodon.policy.secret_graph import ABSENT
from tetraodon.releases.plan import Plan
from tetraodon.releases.pricing import governing_certificate

NEIGHBOURS = 2
OTHER_FILES = Fraction(1, 4)
"""How often another file than the governing one asks."""
SMALL = 6
"""Records of a world in which all of them are listed."""


class Finding(AssertionError):
    """Something that the documentation does not allow."""


class Case:
    """A plan, the folder of its tables, and what was looked at."""

    def __init__(
        self, world: World, plan: Plan, certificate: Certificate, folder: Path, governing: Policy | None = None
    ) -> None:
        self.world, self.plan, self.folder, self.governing = world, plan, folder, governing
        self.certificate = certificate
        self.looked = Counter[str]()

    @property
    def certified(self) -> Fraction | float:
        return self.certificate.epsilon if self.certificate.rho is None else self.certificate.rho

    def told(self, rows: list[Row]) -> Told:
        return count(self.plan, written(self.world, rows), self.folder, self.governing)

    def compare(self, what: str, rows: list[Row], one: Told, other: list[Row], two: Told) -> Fraction | float:
        """Look at two neighbouring tables."""
        self.looked[what] += 1
        if one.refusal != two.refusal:
            raise self.finding(f"{what}: {one.refusal!r} here and {two.refusal!r} there", rows, other)
        if one.refusal:
            self.looked["refused alike"] += 1
            return 0
        lost = loss(self.plan, one, two)
        if lost > self.certified:
            raise self.finding(f"{what}: certified {self.certified}, lost {lost}", rows, other)
        return lost

    def finding(self, what: str, rows: list[Row], other: list[Row]) -> Finding:
        shown = json.dumps(self.world.document, ensure_ascii=False, default=str)
        asked = "" if self.governing is None else f"\nasked: {json.dumps(self.plan.policy.document, default=str)}"
        tables = "\n".join(str(written(self.world, table)) for table in (rows, other))
        return Finding(f"{what}\n{self.certificate}\n{shown}{asked}\n{tables}")


def case(dice: random.Random, folder: Path) -> Counter[str]:
    """Make a case and look at it. Policies that are refused are counted, thrown away and made anew."""
    refused = 0
    while True:
        world = make_world(dice)
        rows = make_rows(dice, world)
        if world.facts and dice.random() < 0.3:
            world = _with_answers(world, rows)
        try:
            looked = _another_file(dice, world, folder) if dice.random() < OTHER_FILES else _its_own(world, folder)
            break
        except td.errors.TetraodonError:
            refused += 1
    looked.looked.update({"cases": 1, "refused before reading": refused})
    looked.looked["of another file"] += looked.governing is not None
    _look(dice, looked, rows)
    return looked.looked


def _its_own(world: World, folder: Path) -> Case:
    """What the world's own file asks for."""
    plan = td.plan(td.load_policy(world.document))
    return Case(world, plan, plan.certificate, folder)


def _another_file(dice: random.Random, world: World, folder: Path) -> Case:
    """What another file asks for, at the price of the world's, which governs the data."""
    governing = td.load_policy(world.document)
    plan = td.plan(td.load_policy(other_file(dice, world)))
    document = dict(governing.document)
    delta = governing.delta or plan.policy.delta
    account = Account("d", Fraction(10), Fraction(0), document, document_hash(document), "", delta)
    return Case(world, plan, governing_certificate(plan, account), folder, governing)


def _look(dice: random.Random, looked: Case, rows: list[Row]) -> None:
    world, base = looked.world, looked.told(rows)
    for _ in range(NEIGHBOURS):
        other = neighbour(dice, world, rows)
        if other is not None:
            looked.compare("neighbours", rows, base, other, looked.told(other))
    if dice.random() < 0.3:
        _spelt_anew(dice, looked, rows, base)
    if dice.random() < 0.4:
        _witness(dice, looked, rows)
    if not world.whose and not world.facts and len(world.records()) <= SMALL and dice.random() < 0.5:
        _every_step(dice, looked)
    if dice.random() < 0.02 and (other := neighbour(dice, world, rows)) is not None:
        _released(looked, rows, other)


def _released(looked: Case, rows: list[Row], other: list[Row]) -> None:
    """A whole release, through the ledger: what can be seen of it from outside is the same for both tables."""
    seen = []
    for number, table in enumerate((rows, other)):
        path, book = looked.folder / f"{number}.csv", looked.folder / f"{number}.db"
        path.write_bytes(written(looked.world, table))
        with td.Ledger(f"sqlite:///{book}") as ledger:
            delta = looked.certificate.delta or looked.plan.policy.delta
            ledger.open("d", 1000, looked.world.document, delta=delta)
            try:
                td.release(looked.plan, path, ledger=ledger)
                told = "released"
            except td.errors.TetraodonError as error:
                told = f"{type(error).__name__} {str(error).replace(path.name, '')}"
            seen.append((told, ledger.account("d").left, [entry.state for entry in ledger.entries("d")]))
        book.unlink()
    looked.looked["whole releases"] += 1
    if seen[0] != seen[1]:
        raise looked.finding(f"{seen[0]} here and {seen[1]} there", rows, other)


def _with_answers(world: World, rows: list[Row]) -> World:
    """The same world, whose file says what the known figures are."""
    known = []
    for fact in world.facts:
        answers = fact.answers([row.record for row in rows])
        single = "count" in fact.declared or "rectangle" in fact.declared
        known.append({**fact.declared, "is": answers[0] if single else answers})
    return replace(world, document={**world.document, "known": known})


def _spelt_anew(dice: random.Random, looked: Case, rows: list[Row], base: Told) -> None:
    """The same records in other words, and in another order, are the same table."""
    other = [write_row(dice, looked.world, row.whose, row.record) for row in rows]
    dice.shuffle(other)
    two = looked.told(other)
    looked.looked["spelt anew"] += 1
    if two != base:
        raise looked.finding("the same records in other words", rows, other)


def _witness(dice: random.Random, looked: Case, rows: list[Row]) -> None:
    """The pair that the certificate names is one step apart; if the certificate is exact, it attains it."""
    world, pair = looked.world, looked.certificate.witness
    if pair is None or not looked.certificate.finite:
        return
    if isinstance(pair[0], Dataset):
        moves = [(_record(x), _record(y)) for x, y in zip(pair[0].records, pair[1].records, strict=True) if x != y]
    else:
        moves = [(_record(pair[0]), _record(pair[1]))]
    if world.facts and not Figures(world).are_neighbours(moves):
        raise looked.finding(f"{moves} are no neighbours under known counts", [], [])
    if not world.facts and not world.whose and not is_step(world, moves[0]):
        raise looked.finding(f"{moves} is no step", [], [])
    if world.people and not (None in moves[0] or world.steps.edge(*moves[0])):  # type: ignore[arg-type]
        raise looked.finding(f"{moves} is no step of a row", [], [])
    one, two = _tables(dice, world, rows, moves)
    if any("is" in fact for fact in world.document.get("known", [])):
        return  # the table of the witness has other figures
    lost = looked.compare("witness", one, looked.told(one), two, looked.told(two))
    if looked.certificate.exact:
        looked.looked["exact"] += 1
        if lost != looked.certified:
            raise looked.finding(f"certified {looked.certified} exactly, attained {lost}", one, two)


def _tables(dice: random.Random, world: World, rows: list[Row], moves: list[Move]) -> tuple[list[Row], list[Row]]:
    """Two tables that differ by these moves, as often as one step may make them."""
    if world.whose:
        around = [row for row in rows if row.whose != "w"]
        one, two = (
            around + [write_row(dice, world, "w", r) for r in [side] * world.rows if r is not None] for side in moves[0]
        )
        return one, two
    one = rows + [write_row(dice, world, "", x) for x, _ in moves if x is not None]
    return one, moved(dice, world, one, moves)


def _every_step(dice: random.Random, looked: Case) -> None:
    """All tables of one record, or of none: where the certificate is exact, the worst of their steps attains it."""
    world = looked.world
    records: list[Record | None] = [*world.records(), *([None] if world.secret_presence else [])]
    tables = [[] if record is None else [write_row(dice, world, "", record)] for record in records]
    told = [looked.told(rows) for rows in tables]
    worst: Fraction | float = 0
    for n, x in enumerate(records):
        for m in range(n):
            if is_step(world, (x, records[m])):
                worst = max(worst, looked.compare("steps of all", tables[n], told[n], tables[m], told[m]))
    if looked.certificate.exact:
        looked.looked["exact over all"] += 1
        if worst != looked.certified:
            raise looked.finding(f"certified {looked.certified} exactly, the worst step loses {worst}", [], [])


def _record(value: Any) -> Record | None:
    return None if value is ABSENT else tuple(value)


Make: TypeAlias = Callable[[random.Random, Path], Counter[str]]


def one(seed: int, number: int, folder: Path, make: Make = case) -> Counter[str]:
    """One case, made again by its number."""
    try:
        return make(random.Random(f"{seed}:{number}"), folder)
    except Exception as error:
        error.add_note(f"--seed {seed} --only {number}")
        raise


def run_cases(make: Make, description: str, opening: Callable[[], AbstractContextManager[None]] = quickly) -> bool:
    """Make as many cases as the command line says; `opening` says how tables are opened. Whether anything was found."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="make this case alone")
    wanted = parser.parse_args()
    numbers = range(wanted.cases) if wanted.only is None else [wanted.only]
    done, found = Counter[str](), 0
    with tempfile.TemporaryDirectory() as place, opening():
        for number in numbers:
            try:
                done += one(wanted.seed, number, Path(place), make)
            except Exception as error:  # noqa: BLE001
                found += 1
                print(f"{type(error).__name__}: {error}\n{error.__notes__}\n", flush=True)
                if not isinstance(error, Finding):
                    traceback.print_exc()
    print(f"{dict(sorted(done.items()))}, {found} found")
    return bool(found)


if __name__ == "__main__":
    sys.exit(run_cases(case, __doc__ or ""))
