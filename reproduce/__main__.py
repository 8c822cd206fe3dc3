"""`python -m reproduce [--quick] [--again] [NAME ...]`: the papers' figures, from real data where they are.

A full run writes `reproduce/results/NAME.json`, the pages under `docs/evidence/` and their pictures; a result is used
again as long as the code and the data it came from are the same, unless `--again`. A quick run takes fewer repeats,
writes nothing, and fails when an ordering that must hold does not.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import importlib
import json
import platform
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import Progress

from benchmarks.data import fingerprint
from reproduce.figure import Figure, figure_of
from reproduce.page import write_page

Item = TypeVar("Item")
HERE = Path(__file__).parent
RESULTS = HERE / "results"


def names() -> list[str]:
    """The modules that reproduce something."""
    return sorted(path.stem.removeprefix("fig_") for path in HERE.glob("fig_*.py"))


def key_of(name: str) -> str:
    """Changes when the code of a figure, the package that it runs or the data beside the project change."""
    shared = [path for path in HERE.glob("*.py") if not path.stem.startswith(("fig_", "__")) and path.stem != "page"]
    package = [path for path in (HERE.parent / "src" / "tetraodon").rglob("*.py") if "cli" not in path.parts]
    digest = hashlib.sha256(fingerprint().encode())
    for path in [HERE / f"fig_{name}.py", *sorted(shared), *sorted(package)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def run(name: str, quick: bool, console: Console) -> Figure:
    """One figure, with a bar for each of its parts."""
    module = importlib.import_module(f"reproduce.fig_{name}")
    with Progress(console=console, transient=True) as progress:

        def shown(items: Sequence[Item], what: str) -> Iterable[Item]:
            return progress.track(items, description=f"{name}: {what}")

        found: Figure = module.run(quick, shown)
    return found


def reproduced(name: str, again: bool, console: Console) -> tuple[Figure, dict[str, Any]]:
    """A full figure, from its file where that is still true."""
    path, key = RESULTS / f"{name}.json", key_of(name)
    if path.exists() and not again:
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored["key"] == key:
            console.print(f"{name}: nothing has changed since {stored['date']}")
            return figure_of(stored["figure"]), stored
    figure = run(name, False, console)
    stored = {
        "key": key,
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": platform.python_version(),
        "figure": figure.document(),
    }
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    return figure, stored


def main() -> None:
    quick, again = "--quick" in sys.argv, "--again" in sys.argv
    wanted = [name for name in sys.argv[1:] if not name.startswith("-")] or names()
    console, broken = Console(), 0
    for name in wanted:
        if quick:
            figure = run(name, True, console)
        else:
            figure, stored = reproduced(name, again, console)
            write_page(name, figure, stored)
        for check in figure.checks:
            console.print(f"{name}: {'holds' if check.holds else 'DOES NOT HOLD'}: {check.what}", highlight=False)
            broken += not check.holds
    if not quick:
        console.print("the pages are in docs/evidence/")
    raise SystemExit(1 if broken else 0)


if __name__ == "__main__":
    main()
