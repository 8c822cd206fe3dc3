"""How large the house is, and how long the ways through it are, measured at any commits and told as one table.

    python -m scripts.house bf3caa8 HEAD                  # prints the table
    python -m scripts.house bf3caa8 HEAD --write          # and puts it into docs/how-it-works.md

A way begins at the policy file, or at the folder, and is walked with the bundled demonstration; every function of ours
that is called is noted once, when it is first called. A *room change* is where the next function is in another room:
what a reader who follows the way has to walk. What is written inside a function belongs to it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "how-it-works.md"
BEGIN, END = "<!-- scripts/house.py -->", "<!-- end -->"
WAYS = ("plan", "release", "ask")
NAMED = {
    "a mechanism (running counts)": r'"ordered"|\bORDERED\b',
    "a kind of question (quantiles)": r"\bQuantiles\b",
    "a law of noise (Gaussian)": r'"gaussian"|\bGAUSSIAN\b',
    "an engine (Spark)": r"\bspark_source\b|\bSpark\w*Engine\b",
    "a graph of secrets (within a distance)": r"\bWithin\b",
}
"""One of each, and what its name is in the source: the files that name it are those a new one like it may touch."""

WALK = """
import importlib, json, pkgutil, sys, tempfile
from pathlib import Path
import tetraodon as td

for module in pkgutil.walk_packages(td.__path__, "tetraodon."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)  # so that what happens at an import is no part of a way

HOME = Path(td.__file__).parent
BUNDLED, FOLDER = HOME / "demo", Path(tempfile.mkdtemp())
POLICY, TABLE = BUNDLED / "adult.policy.yaml", BUNDLED / "adult.parquet"

def walk(step):
    seen = {}  # functions in the order of their first call
    def note(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(str(HOME)):
            name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name).split(".<")[0]
            if not name.startswith("<"):
                seen.setdefault((frame.f_code.co_filename[len(str(HOME)) + 1 :], name))
    sys.setprofile(note)
    try:
        step()
    finally:
        sys.setprofile(None)
    files = [file for file, _ in seen]
    rooms = [file.split("/")[0] for file in files]
    changes = sum(one != next for one, next in zip(rooms, rooms[1:]))
    return {"functions": len(seen), "files": sorted(set(files)), "changes": changes}

policy = td.load_policy(POLICY)
with td.Ledger(FOLDER / "ledger.db") as book:
    book.open(policy.dataset, policy.epsilon, policy.document, delta=policy.delta)
    ways = {
        "plan": walk(lambda: td.plan(td.load_policy(POLICY))),
        "release": walk(lambda: td.release(td.plan(td.load_policy(POLICY)), TABLE, ledger=book, out=FOLDER / "made")),
        "ask": walk(lambda: td.load_release(FOLDER / "made").ask("age between 30 and 39")),
    }
print(json.dumps(ways))
"""


def measured(commit: str) -> dict[str, object]:
    """The figures of one commit, from its own files."""
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(
            ["git", "archive", "--format=tar", commit, "src"], cwd=ROOT, check=True, capture_output=True
        ).stdout
        with tarfile.open(fileobj=BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        source = Path(folder) / "src"
        modules = list(source.rglob("*.py"))
        texts = [module.read_text(encoding="utf-8") for module in modules]
        lines = sum(len(text.splitlines()) for text in texts)
        named = {what: sum(bool(re.search(word, text)) for text in texts) for what, word in NAMED.items()}
        walked = subprocess.run(
            [sys.executable, "-c", WALK],
            env={**os.environ, "PYTHONPATH": str(source)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    return {"files": len(modules), "lines": lines, "named": named, **json.loads(walked)}


def table(commits: list[str]) -> str:
    """The figures of several commits side by side, as Markdown."""
    found = [measured(commit) for commit in commits]
    names = [
        subprocess.run(
            ["git", "rev-parse", "--short", commit], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.strip()
        for commit in commits
    ]
    rows = [
        ["", *(f"`{name}`" for name in names)],
        ["---", *("---:" for _ in names)],
        ["files", *(f"{one['files']:,}" for one in found)],
        ["lines", *(f"{one['lines']:,}" for one in found)],
    ]
    for way in WAYS:
        told = [one[way] for one in found]
        rows.append(
            [
                f"`{way}`: functions / files / room changes",
                *(f"{each['functions']} / {len(each['files'])} / {each['changes']}" for each in told),  # type: ignore[index]
            ]
        )
    for what in NAMED:
        rows.append([f"files that name {what}", *(str(one["named"][what]) for one in found)])  # type: ignore[index]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commits", nargs="*", default=["HEAD"])
    parser.add_argument("--write", action="store_true", help="put the table into docs/how-it-works.md")
    options = parser.parse_args()
    told = table(options.commits)
    print(told)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        _, after = rest.split(END)
        PAGE.write_text(f"{before}{BEGIN}\n\n{told}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
