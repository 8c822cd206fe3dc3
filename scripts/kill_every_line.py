"""Kill a release and a publish at every line they execute on the way through the gate, resume, and look what stands.

    python -m scripts.kill_every_line              every line, and a table of what held
    python -m scripts.kill_every_line --points 60  so many of them, evenly spread

A line is killed (SIGKILL) when it is reached for the first time, and when it is reached for the last. Each attempt is a
process of its own, forked from one that has imported and planned everything. The lines are those of the modules in
`TRACED`: whatever charges, draws, keeps, writes, settles or forgets. Between them nothing is decided.

After the kill the same command is run with `resume`, and it must hold that
- the ledger has one charge, of the right amount, and it is settled;
- numbers that were on the disk when it was killed, kept or published, are the ones that are published;
- the output folder verifies, is the one that the ledger names, and nothing is left beside it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from pyarrow import parquet

import tetraodon as td
from tetraodon.ledger import Ledger
from tetraodon.views.plan import plan_view

SOURCE = Path(td.__file__).parent
TRACED = (
    "gate/*.py",
    "ledger/*.py",
    "releases/run.py",
    "releases/folder.py",
    "views/publish.py",
    "views/folder.py",
    "views/series_state.py",
    "views/tuple_files.py",
)
RELEASE = {
    "dataset": "people",
    "presence": "public",
    "attributes": {"age": {"integer": [20, 39]}, "nation": ["A", "B", "I"]},
    "budget": {"epsilon": 1},
    "release": [{"name": "ages", "histogram": ["age"]}, {"name": "few", "count": "nation = 'A'"}],
}
VIEW = {
    "dataset": "people",
    "attributes": {"age": {"integer": [20, 39]}, "nation": ["A", "B", "I"], "score": {"integer": [81, 100]}},
    "budget": {"epsilon": 20},
    "adversary": {"prior": {"k": 2}, "posterior": 0.5, "records": 120},
}
ROWS = "\n".join(
    ["age,nation,score", *(f"{20 + i * 7 % 20},{'ABI'[i * i % 3]},{81 + i * 11 % 20}" for i in range(120))]
)


@dataclass(frozen=True)
class Way:
    """What is run, and the files with the numbers it publishes and keeps."""

    name: str
    policy: dict[str, Any]
    run: Callable[..., Any]
    manifest: str
    published: str
    kept: str


def ways() -> list[Way]:
    """A release and a view; whatever can be worked out without the data is worked out here."""
    plan, policy = td.plan(RELEASE), td.load_policy(VIEW)
    plan_view(policy)  # its probabilities are remembered
    return [
        Way(
            "release",
            RELEASE,
            lambda *a, **k: td.release(plan, *a, **k),
            "release.json",
            "measurements",
            "measured.npz",
        ),
        Way(
            "publish",
            VIEW,
            lambda *a, **k: td.publish(policy, *a, accept_exposure=True, **k),
            "view.json",
            "tuples.parquet",
            "tuples.parquet",
        ),
    ]


# -- one attempt -----------------------------------------------------------------------------------


Point = tuple[str, int, int]
"""A file, a line of it, and how often the line has been reached by then."""


class Lines:
    """Every line that is reached in the traced modules, in order; at the point `last`, the process is killed."""

    def __init__(self, last: Point | None = None) -> None:
        self.files = {str(path) for pattern in TRACED for path in SOURCE.glob(pattern)}
        self.reached: list[tuple[str, int]] = []
        self.last = last
        self.left = last[2] if last else 0

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename not in self.files:
            return None
        if event == "line":
            line = (frame.f_code.co_filename, frame.f_lineno)
            if self.last is None:
                self.reached.append(line)
            elif line == self.last[:2]:
                self.left -= 1
                if not self.left:
                    os.kill(os.getpid(), signal.SIGKILL)
        return self


def forked(work: Callable[[], Any]) -> tuple[int, Any]:
    """Do something in a process of its own: the signal that ended it, or 0, and what it found."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            found: Any = {"found": work()}
        except BaseException as error:  # noqa: BLE001 - the parent tells it; raised here, a copy of it would go on
            found = {"error": f"{type(error).__name__}: {error}", "where": traceback.format_exc()}
        with os.fdopen(writing, "w") as pipe:
            json.dump(found, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return (os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0), json.loads(text) if text else {}


def prepared(way: Way, home: Path) -> None:
    """A table and an open ledger."""
    home.mkdir()
    (home / "table.csv").write_text(ROWS)
    with Ledger(home / "ledger.db") as book:
        book.open("people", 100, td.load_policy(way.policy).document)


def attempt(way: Way, home: Path, last: Point | None, *, resume: bool = False) -> Lines:
    """Run it, traced or killed."""
    lines = Lines(last)
    sys.settrace(lines)
    try:
        way.run(home / "table.csv", ledger=home / "ledger.db", out=home / "out", resume=resume)
    finally:
        sys.settrace(None)
    return lines


def numbers(folder: Path, name: str) -> str:
    """A hash of the numbers in a folder; empty if there are none."""
    path = folder / name
    if not path.exists():
        return ""
    if name == "measured.npz":
        with np.load(path) as arrays:
            found = {key.split("/")[0]: [] for key in arrays.files}
            for key in sorted(arrays.files):
                found[key.split("/")[0]] += arrays[key].ravel().tolist()
    elif path.is_dir():
        found = {file.stem: parquet.read_table(file)["value"].to_pylist() for file in sorted(path.glob("*.parquet"))}
    else:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


def looked_at(way: Way, home: Path) -> dict[str, Any]:
    """What stands after a kill."""
    with Ledger(home / "ledger.db") as book:
        states = [entry.state for entry in book.entries("people")]
    kept, published = numbers(home / ".out.pending" / "drawn", way.kept), numbers(home / "out", way.published)
    return {"states": states, "numbers": kept or published}


def resumed(way: Way, home: Path, before: dict[str, Any], charge: str) -> list[str]:
    """Resume, and say what does not hold."""
    way.run(home / "table.csv", ledger=home / "ledger.db", out=home / "out", resume=True)
    with Ledger(home / "ledger.db") as book:
        entries = book.entries("people")
        charged = str(book.account("people").charged)
    digest = hashlib.sha256((home / "out" / way.manifest).read_bytes()).hexdigest()
    held = {
        "charged once": len(entries) == 1 and charged == charge,
        "settled": [entry.state for entry in entries] == ["settled"],
        "named by the ledger": [entry.manifest_hash for entry in entries] == [digest],
        "drawn once": before["numbers"] in ("", numbers(home / "out", way.published)),
        "verifies": all(check.passed for check in td.verify(home / "out")),
        "nothing left": not list(home.glob(".out*")),
    }
    return [name for name, good in held.items() if not good]


# -- all of them -----------------------------------------------------------------------------------


def points_of(reached: list[tuple[str, int]]) -> list[Point]:
    """Where to kill: at every line when it is reached first, and last; in the order in which they are reached."""
    times, counted = Counter(reached), Counter[tuple[str, int]]()
    points = []
    for line in reached:
        counted[line] += 1
        if counted[line] in (1, times[line]):
            points.append((*line, counted[line]))
    return points


def killed_at(way: Way, home: Path, point: Point) -> bool:
    """Start anew and kill there, or, since how often a line is reached may hang on what was drawn, a time earlier."""
    file, line, most = point
    for times in range(most, 0, -1):
        shutil.rmtree(home)
        prepared(way, home)
        ended, _ = forked(lambda times=times: attempt(way, home, (file, line, times)) and None)
        if ended == signal.SIGKILL:
            return True
    return False


def spread(points: list[Point], wanted: int | None) -> list[Point]:
    """So many of the points, evenly."""
    if wanted is None or wanted >= len(points):
        return points
    return [points[round(place * (len(points) - 1) / (wanted - 1))] for place in range(wanted)]


def killed_everywhere(way: Way, wanted: int | None, folder: Path) -> dict[str, Any]:
    """Kill and resume at each point; how often, what stood, and what did not hold."""
    home = folder / way.name
    prepared(way, home)

    def whole() -> dict[str, Any]:
        lines = attempt(way, home, None)
        td.verify(home / "out")
        with Ledger(home / "ledger.db") as book:
            charge = str(book.account("people").charged)
        return {"reached": lines.reached, "charge": charge, "modules": sorted(sys.modules)}

    _, told = forked(whole)
    if "error" in told:
        raise SystemExit(told["where"])
    for name in told["found"]["modules"]:  # so that no attempt spends its time, and its lines, on importing
        with suppress(ImportError):
            import_module(name)
    if way.name == "release":
        td.verify(home / "out")  # what it remembers is remembered for all; with views it would start threads
    shutil.rmtree(home)
    prepared(way, home)
    _, told = forked(whole)
    reached = [(str(file), int(line)) for file, line in told["found"]["reached"]]
    points = points_of(reached)
    chosen = spread(points, wanted)
    stood = {"not charged": 0, "charged, nothing kept": 0, "numbers kept or published": 0, "settled": 0}
    failed = []
    for number, point in enumerate(chosen):
        if number % 25 == 0:
            print(f"{way.name}: {number} of {len(chosen)}, {len(failed)} did not hold", file=sys.stderr, flush=True)
        killed = killed_at(way, home, point)
        _, looked = forked(lambda: looked_at(way, home))
        before = looked["found"]
        _, after = forked(lambda before=before: resumed(way, home, before, told["found"]["charge"]))
        settled = before["states"] == ["settled"]
        charged = "numbers kept or published" if before["numbers"] else "charged, nothing kept"
        stood["settled" if settled else charged if before["states"] else "not charged"] += 1
        wrong = [after["error"]] if "error" in after else after["found"]
        if not killed:
            wrong = [*wrong, "it was not killed"]
        if wrong:
            failed.append({"where": f"{Path(point[0]).relative_to(SOURCE)}:{point[1]}", "wrong": wrong})
    return {
        "way": way.name,
        "lines": len(set(reached)),
        "points": len(points),
        "kills": len(chosen),
        "stood": stood,
        "failed": failed,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, help="how many kills of each way, instead of all")
    parser.add_argument("--way", choices=["release", "publish"], help="only this one")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        chosen = [way for way in ways() if given.way in (None, way.name)]
        found = [killed_everywhere(way, given.points, Path(folder)) for way in chosen]
    if given.json:
        print(json.dumps(found))
    else:
        print("| way | lines | kills | not charged | nothing kept | numbers kept | settled | did not hold |")
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        for row in found:
            counts = " | ".join(str(number) for number in row["stood"].values())
            print(f"| {row['way']} | {row['lines']} | {row['kills']} | {counts} | {len(row['failed'])} |")
            for failure in row["failed"]:
                print(f"  {failure['where']}: {', '.join(failure['wrong'])}")
    raise SystemExit(any(row["failed"] for row in found))


if __name__ == "__main__":
    main()
