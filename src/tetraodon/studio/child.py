"""The release, in a process of its own: the one place where the studio's machine reads the table."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

RUN = "import json, sys; sys.argv[1:] = json.load(sys.stdin); from tetraodon.cli.main import main; main()"
"""Runs a command whose words come by a pipe: addresses of a ledger or a table may hold a password, and everybody on a
machine can read the command line of a process."""


@dataclass
class Child:
    """A release that runs, or has run: `told` is what there is to say of it, `folder` where it is once it is done."""

    told: str = ""
    fix: str = ""
    folder: Path | None = None
    running: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, policy: Path, table: str, ledger: str, out: Path) -> bool:
        """Begin, unless one is running already."""
        with self._lock:
            if self.running:
                return False
            self.running, self.told, self.fix, self.folder = True, "counting, charging, adding noise", "", None
        words = ["release", str(policy), table, "--out", str(out), "--ledger", ledger, "--json"]
        threading.Thread(target=self._run, args=(words, out), daemon=True).start()
        return True

    def _run(self, words: list[str], out: Path) -> None:
        try:
            done = subprocess.run(
                [sys.executable, "-c", RUN],
                input=json.dumps(words),
                capture_output=True,
                text=True,
                check=False,
            )
            said = json.loads(done.stdout) if done.stdout.strip() else {}
        except (OSError, ValueError):
            done, said = None, {}
        with self._lock:
            self.running = False
            if done is not None and done.returncode == 0:
                self.folder = out
                self.told = f"Released. Charged epsilon {said.get('charged', '?')}; {said.get('left', '?')} left."
                return
            error = said.get("error", {}) if isinstance(said, dict) else {}
            self.told = f"Refused: {error.get('what', 'the release did not come to its end')}."
            self.fix = str(error.get("fix", "run `tetraodon release` in a terminal"))

    def document(self) -> dict[str, object]:
        """For the page that waits."""
        with self._lock:
            done = self.folder is not None
            return {"running": self.running, "told": self.told, "fix": self.fix, "done": done}
