"""Releases one after the other from selections of one table: the ledger's charges cover what all of them lose together.

Each release reads `select * from 'table.csv' where ...` through the ledger, by the governing file or by another one,
for the curator or for an owner. The loss of a pair of neighbours is the sum over all releases, each counted by itself.
Whether a table is refused to an owner must be the same for every file that they can write.

python -m scripts.audit.over_time --cases 5000 --seed 3
"""

from __future__ import annotations

import copy
import random
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import tetraodon as td
from scripts.audit.asking import other_file
from scripts.audit.audit import Finding, run_cases
from scripts.audit.counting import Told, count, loss
from scripts.audit.neighbours import make_rows, neighbour
from scripts.audit.questions import make_condition
from scripts.audit.tables import Row, written
from scripts.audit.worlds import World, make_world
from tetraodon.ledger import Ledger
from tetraodon.ledger.account import JOINTLY
from tetraodon.policy.policy import Policy
from tetraodon.releases.counting import selected
from tetraodon.releases.plan import Plan
from tetraodon.releases.pricing import check_same_data

MOST = 4
"""Releases of one table."""
OWNED = Fraction(1, 5)
"""How often an owner asks."""
NEIGHBOURS = 5
FILES = 4
"""Files that an owner writes to find out about the table by what is refused."""
SHARES = ("0%", "20%", "34%", "50%", "80%", "100%")


def case(dice: random.Random, folder: Path) -> Counter[str]:
    """Make a world and a table, release from it several times, and look at neighbours of the table."""
    looked = Counter[str](cases=1)
    if dice.random() < OWNED:
        _refusals(dice, folder, looked)
        return looked
    while True:
        world = make_world(dice)
        rows = make_rows(dice, world)
        try:
            governing = td.load_policy(world.document)
            td.plan(governing)
            break
        except td.errors.TetraodonError:
            looked["refused before reading"] += 1
    book = folder / "over_time.db"
    try:
        with td.Ledger(f"sqlite:///{book}") as ledger:
            _look(dice, world, governing, rows, ledger, folder, looked)
    finally:
        for file in folder.glob("over_time.db*"):
            file.unlink()
    return looked


def _look(
    dice: random.Random,
    world: World,
    governing: Policy,
    rows: list[Row],
    ledger: Ledger,
    folder: Path,
    looked: Counter[str],
) -> None:
    ledger.open("d", 1000, world.document, delta=governing.delta)
    ledger.allot("d", "owner", 900)
    table, made = folder / "selected.csv", list[tuple[str, Plan]]()
    table.write_bytes(written(world, rows))
    for _ in range(dice.randint(1, MOST)):
        document = other_file(dice, world) if dice.random() < 0.4 else world.document
        asked = "" if dice.random() < 0.3 else make_condition(dice, world.attributes)[0]
        query = f"select * from '{table}'" + (f" where {asked}" if asked else "")
        owner = "owner" if dice.random() < OWNED else ""
        try:
            policy, _ = selected(td.load_policy(document), query)
            plan = td.plan(policy)
            td.release(document, query, ledger=ledger, allow_dearer=True, owner=owner)
        except td.errors.TetraodonError as error:
            looked["refused"] += 1
            looked["charged and refused"] += isinstance(error, td.errors.FailedAfterCharge)
            continue
        looked["releases"] += 1
        looked["with a condition"] += bool(asked)
        looked["for an owner"] += bool(owner)
        made.append((query, plan))
    spent = ledger.account("d").spent
    looked["together"] += any(entry.composition == JOINTLY for entry in ledger.entries("d"))
    told = [_told(plan, world, rows, folder, governing) for _, plan in made]
    for _ in range(NEIGHBOURS if made else 0):
        other = neighbour(dice, world, rows)
        if other is None:
            continue
        looked["neighbours"] += 1
        pure, rho = Fraction(0), Fraction(0)
        for (query, plan), here in zip(made, told, strict=True):
            there = _told(plan, world, other, folder, governing)
            if there.refusal:
                raise _finding(f"refused beside a neighbour: {there.refusal}", world, made, rows, other)
            lost = loss(plan, here, there)
            if lost == float("inf"):
                raise _finding(f"{query}: told for certain", world, made, rows, other)
            if plan.certificate.rho is None:
                pure += Fraction(lost)
            else:
                rho += Fraction(lost)
        if pure > spent.pure or rho > spent.rho:
            raise _finding(f"lost {pure} and rho {rho}, charged {spent}", world, made, rows, other)


def _refusals(dice: random.Random, folder: Path, looked: Counter[str]) -> None:
    """Whether a table is refused to an owner is the same for every file that they write."""
    world = make_world(dice)
    world.document["table"]["unreadable"] = dice.choice(SHARES)
    rows, seen = make_rows(dice, world), dict[bool, str]()
    content = written(world, rows)
    try:
        governing = td.load_policy(world.document)
    except td.errors.TetraodonError:
        looked["refused before reading"] += 1
        return
    for _ in range(FILES):
        document = other_file(dice, world) if dice.random() < 0.7 else copy.deepcopy(world.document)
        document.setdefault("table", {})["unreadable"] = dice.choice(SHARES)
        condition = "" if dice.random() < 0.5 else f" where {make_condition(dice, world.attributes)[0]}"
        try:
            policy, _ = selected(td.load_policy(document), f"select * from 't.csv'{condition}")
            check_same_data(policy, governing)
            plan = td.plan(policy)
        except td.errors.TetraodonError:
            continue
        looked["files of an owner"] += 1
        seen[bool(count(plan, content, folder, governing, owned=True).refusal)] = str(document)
    looked["tables refused to an owner"] += True in seen
    if len(seen) > 1:
        raise Finding(f"refused for one file only\n{world.document}\n{seen}\n{content!r}")


def _told(plan: Plan, world: World, rows: list[Row], folder: Path, governing: Policy) -> Told:
    return count(plan, written(world, rows), folder, governing)


def _finding(what: str, world: World, made: list[tuple[str, Plan]], rows: list[Row], other: list[Row]) -> Finding:
    asked = "\n".join(f"{query}\n{plan.policy.document['release']}" for query, plan in made)
    return Finding(f"{what}\n{world.document}\n{asked}\n{written(world, rows)!r}\n{written(world, other)!r}")


if __name__ == "__main__":
    sys.exit(run_cases(case, __doc__ or ""))
