"""One environment for each peer, made from a hash-checked list and made anew when the list changes.

A lock file is made again with
`uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate`
from the names in `ASKED`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.services import java

HERE = Path(__file__).parent
HOME = HERE.parent.parent / ".peers"
ASKED = {
    "opendp": "opendp[polars] numpy",
    "diffprivlib": "diffprivlib pyarrow scikit-learn<1.7",
    "tumult": "tmlt-analytics",
    "pipelinedp": "pipeline-dp pyarrow",
    "smartnoise": "smartnoise-sql pyarrow setuptools<81",
    "jaxprivacy": "jax-privacy",
    "dpmm": "dpmm",
    "dpaccounting": "dp-accounting",
}
NEEDS_JAVA = {"tumult"}
WATCH = """
import os, sys, time
start = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
print("watched:", time.perf_counter() - start, usage.ru_maxrss / 1024, os.waitstatus_to_exitcode(status), flush=True)
"""


@dataclass(frozen=True)
class Done:
    """What a worker said, the seconds of its whole process, and the largest memory it held."""

    answer: dict[str, Any]
    seconds: float
    megabytes: float


@dataclass(frozen=True)
class Missing:
    """A peer that cannot be run here, and why."""

    why: str


def python_of(peer: str) -> Path | Missing:
    """The interpreter of a peer's environment, which is made if it is not there or its lock has changed."""
    if peer in ("plain", "tetraodon"):
        return Path(sys.executable)
    if peer in NEEDS_JAVA and not java():
        return Missing("there is no Java on this machine")
    lock, home = HERE / "locks" / f"{peer}.txt", HOME / peer
    python, stamp = home / "bin" / "python", home / "ready"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    shutil.rmtree(home, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    made = subprocess.run([*install, "--requirement", str(lock)], capture_output=True, text=True)
    if made.returncode:
        return Missing(f"its packages could not be installed: {made.stderr.strip().splitlines()[-1]}")
    stamp.write_text(wanted)
    return python


def work(peer: str, task: str, limit: float = 900, **given: Any) -> Done | Missing:
    """Let one worker do one task in a fresh process."""
    python = python_of(peer)
    if isinstance(python, Missing):
        return python
    command = [sys.executable, "-c", WATCH, str(python), str(HERE / "workers" / f"with_{peer}.py"), task]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, start_new_session=True, **pipes) as watch:
        try:
            told, complaints = watch.communicate(json.dumps(given), timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(watch.pid, signal.SIGKILL)  # the worker too, not only who watches it
            return Missing(f"it had not ended after {limit:g} seconds")
        except BaseException:  # the comparison itself has no time left
            os.killpg(watch.pid, signal.SIGKILL)
            raise
    lines = told.splitlines()
    answers = [line for line in lines if line.startswith("answer: ")]
    watched = [line for line in lines if line.startswith("watched: ")]
    if not answers or not watched:
        last = complaints.strip().splitlines()
        return Missing(f"it failed: {last[-1] if last else 'without a word'}")
    seconds, megabytes, _ = (float(part) for part in watched[-1].split()[1:])
    return Done(json.loads(answers[-1].removeprefix("answer: ")), seconds, megabytes)
