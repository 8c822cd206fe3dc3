"""Release and view folders that somebody tampered with, verified, loaded and asked.

A folder that differs from the one that was made and passes is a finding too, unless only the spelling of JSON changed.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import tetraodon as td
from scripts.fuzz.cases import main
from scripts.fuzz.hostile import mutated

KEPT = Path(__file__).parent.parent.parent / "tests" / "data" / "0.1"


class Accepted(Exception):
    """A forgery that passed."""


def case(dice: random.Random, folder: Path) -> object:
    """One folder, changed in one way."""
    kind = dice.choice(["release", "view"])
    here = folder / kind
    shutil.copytree(KEPT / kind, here)
    manifest = here / f"{kind}.json"
    before = json.loads(manifest.read_text(encoding="utf-8"))
    way = dice.randrange(6)
    _change(way, here, manifest, dice)
    action = dice.random()
    if action < 0.75:
        checks = td.verify(here)
        if all(check.passed or check.other_version for check in checks) and _meant(manifest) != before:
            lenient = {"date", "charged", "software"}
            after = _meant(manifest)
            if {key for key in {*after, *before} if after.get(key) != before.get(key)} - lenient:
                raise Accepted
        return checks
    if kind == "view":
        return td.load_view(here).ask("age < 30")
    return td.load_release(here)


def _meant(manifest: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(manifest.read_text(encoding="utf-8"))
    return found


def _change(way: int, here: Path, manifest: Path, dice: random.Random) -> None:
    files = sorted(path for path in here.rglob("*") if path.is_file())
    one = dice.choice(files)
    if way <= 2:
        text = json.dumps(mutated(json.loads(manifest.read_text(encoding="utf-8")), dice))
        manifest.write_text(text, encoding="utf-8")
    elif way == 3:
        content = bytearray(one.read_bytes())
        for _ in range(dice.randint(1, 5)):
            content[dice.randrange(len(content))] = dice.randrange(256)
        one.write_bytes(content)
    elif way == 4:
        one.unlink()
        made = dice.randrange(4)
        if made == 0:
            one.symlink_to("/dev/zero")
        elif made == 1:
            os.mkfifo(one)
        elif made == 2:
            one.mkdir()
    else:
        one.write_bytes(one.read_bytes()[: dice.randrange(1 + one.stat().st_size)])


if __name__ == "__main__":
    main(case, __doc__ or "")
