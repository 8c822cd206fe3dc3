"""Several processes resume one release at once, and some are killed: one charge, one set of numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.gate.ways import WAYS

import tetraodon as td
from tetraodon.gate.output_folder import Pending

RESUMING = """
import os, signal, sys
import tetraodon as td
from tests.gate.ways import WAYS
from tetraodon.gate.output_folder import Place
if sys.argv[3] == "dies":
    Place.take = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
try:
    WAYS[0].run(ledger=td.Ledger(sys.argv[1]), out=sys.argv[2], resume=True)
except td.errors.ReleaseError as error:
    print(error.what)
"""


def test_the_first_drawn_numbers_are_the_only_ones(tmp_path: Path) -> None:
    out, ledger = tmp_path / "out", WAYS[0].open(tmp_path / "ledger.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pending, "keep", _stopped)
        with pytest.raises(KeyboardInterrupt):
            WAYS[0].run(ledger=ledger, out=out)
    kept = []
    for fates in (("dies", "dies", "dies"), ("dies", "lives", "lives")):
        command = [sys.executable, "-c", RESUMING, str(tmp_path / "ledger.db"), str(out)]
        running = [subprocess.Popen([*command, fate], stdout=subprocess.PIPE, text=True) for fate in fates]
        told = [process.communicate()[0].strip() for process in running]
        assert set(told) <= {"", "another process is writing to this folder"}
        if (drawn := out.parent / ".out.pending" / "drawn" / "measured.npz").exists():
            kept.append(drawn.read_bytes())
    if not out.exists():  # the one that was to live met one that was dying
        WAYS[0].run(ledger=ledger, out=out, resume=True)
    (entry,) = ledger.entries("people")
    assert entry.state == "settled"
    assert kept
    assert len(set(kept)) == 1
    (tmp_path / "kept.npz").write_bytes(kept[0])
    published = td.load_release(out).measured
    with np.load(tmp_path / "kept.npz") as arrays:
        for name, parts in published.items():
            assert all(np.array_equal(part, arrays[f"{name}/{place}"]) for place, part in enumerate(parts))
    assert json.loads((out / "release.json").read_text())["charged"] == "1"


def _stopped(*_: object) -> None:
    raise KeyboardInterrupt
