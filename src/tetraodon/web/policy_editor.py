"""The policy file in the studio: its text and undo history, what follows from it, and the process that releases."""

from __future__ import annotations

import difflib
import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from tetraodon.errors import PolicyError, TetraodonError
from tetraodon.policy.draft import write_file
from tetraodon.policy.edit import edit_policy
from tetraodon.policy.load import Held, parse_partial
from tetraodon.policy.source import SIZE_LIMIT, KeyPath, Plain, read_source
from tetraodon.releases.plan import Plan, preview

# -- editor ----------------------------------------------------------------------------------------

MOST_UNDONE = 200


@dataclass
class PolicyEditor:
    """A policy file and its table. `text` is what pages show; every change is written to the file at once."""

    path: Path
    table: str = ""
    ledger: str = ""
    text: str = ""
    opened: str = ""
    before: list[str] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    _written: str = ""

    def __post_init__(self) -> None:
        self.text = self.opened = self._written = self._on_disk()

    # -- what it says -------------------------------------------------------------------------------

    @property
    def data(self) -> dict[str, Plain]:
        """The file as plain data; empty where it cannot be read."""
        try:
            found = read_source(self.text if "\n" in self.text else self.text + "\n").data
        except TetraodonError:
            return {}
        return found if isinstance(found, dict) else {}

    def map_of(self, key: str) -> dict[str, Plain]:
        """The map under a key; empty if there is none."""
        found = self.data.get(key)
        return found if isinstance(found, dict) else {}

    def list_of(self, key: str) -> list[Plain]:
        """The list under a key; empty if there is none."""
        found = self.data.get(key)
        return found if isinstance(found, list) else []

    def budget_with(self, epsilon: str) -> tuple[KeyPath, object]:
        """Path and value for another epsilon. A delta is kept, and a budget in zCDP is replaced."""
        budget = self.map_of("budget")
        if "rho" not in budget:
            return ("budget", "epsilon"), epsilon
        return ("budget",), {"epsilon": epsilon} | {key: budget[key] for key in ("delta",) if key in budget}

    # -- changes ------------------------------------------------------------------------------------

    def edit(self, path: Sequence[str | int], value: object, reason: str = "") -> None:
        """One change to the file; refused if another program has changed it meanwhile."""
        self.replace(edit_policy(self.text, path, value, reason=reason))

    def replace(self, text: str) -> None:
        """Another text, as it was typed."""
        with self.lock:
            if self.changed_elsewhere():
                raise PolicyError(
                    "another program has changed the file meanwhile",
                    fix="look at the difference, and take one of both",
                )
            if len(text.encode()) > SIZE_LIMIT:
                raise PolicyError("the text is larger than 1 MB", fix="give a policy file, not the data")
            text = text.replace("\r\n", "\n")
            if text == self.text:
                return
            self.before = [*self.before[-MOST_UNDONE:], self.text]
            self._write(text)

    def undo(self) -> None:
        """The text as it was before the last change."""
        with self.lock:
            if self.before:
                self._write(self.before.pop())

    def take(self, *, theirs: bool) -> None:
        """Resolve a conflict with the file on the disk: take its text, or overwrite it."""
        with self.lock:
            if theirs:
                self.before.append(self.text)
                self.text = self._written = self._on_disk()
            else:
                self._write(self.text)

    def changed_elsewhere(self) -> str:
        """The diff to the file on the disk; empty if there is none."""
        there = self._on_disk()
        if there == self._written:
            return ""
        return _difference(self.text, there, "here", "on the disk") or "only line ends differ"

    @property
    def changes(self) -> str:
        """The diff to the file as it was opened."""
        return _difference(self.opened, self.text, "as it was opened", "now")

    def _on_disk(self) -> str:
        try:
            return self.path.read_bytes()[: SIZE_LIMIT + 1].decode("utf-8-sig", "replace")
        except OSError:
            raise PolicyError("the policy file cannot be read", fix="check the file", where=str(self.path)) from None

    def _write(self, text: str) -> None:
        write_file(self.path, text, force=True)
        self.text = self._written = text

    # -- what follows from it -------------------------------------------------------------------------

    @property
    def held(self) -> Held:
        """The problems of the text, and as much of its policy as can be shown already."""
        return held_of(self.text, self.path.parent)

    def tried(self, path: Sequence[str | int], value: object) -> Held:
        """The same after a change that is not written, for pictures that follow a slider."""
        return held_of(edit_policy(self.text, path, value), self.path.parent)


def _difference(old: str, new: str, before: str, after: str) -> str:
    return "\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), before, after, lineterm=""))


@lru_cache(maxsize=64)
def held_of(text: str, folder: Path = Path()) -> Held:
    """The problems of a text, and as much of its policy as can be shown already."""
    return parse_partial(text if "\n" in text else text + "\n", folder=folder)


_LAST: list[Plan] = []
"""The last plan. Most texts differ from the one before in one place."""


@lru_cache(maxsize=64)
def plan_of(text: str, folder: Path = Path()) -> Plan | TetraodonError | None:
    """The plan of a text, or the error that refuses it; None if it has no items yet."""
    policy = held_of(text, folder).policy
    if policy is None or not (policy.items or policy.names):
        return None
    try:
        found = preview(policy, previous=_LAST[0] if _LAST else None)
    except TetraodonError as error:
        return error
    _LAST[:] = [found]
    return found


# -- release process -------------------------------------------------------------------------------

RUN = "import json, sys; sys.argv[1:] = json.load(sys.stdin); from tetraodon.cli.main import main; main()"
"""Runs a command whose arguments come through a pipe: a ledger or table address may hold a password, and every user of
a machine can read the command lines of its processes."""


@dataclass
class ReleaseProcess:
    """A release in a child process: `status` describes it in words, `folder` its output once it is done."""

    status: str = ""
    fix: str = ""
    folder: Path | None = None
    running: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, policy: Path, table: str, ledger: str, out: Path) -> bool:
        """Begin, unless one is running already."""
        with self._lock:
            if self.running:
                return False
            self.running, self.status, self.fix, self.folder = True, "counting, charging, adding noise", "", None
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
                self.status = f"Released. Charged epsilon {said.get('charged', '?')}; {said.get('left', '?')} left."
                return
            error = said.get("error", {}) if isinstance(said, dict) else {}
            self.status = f"Refused: {error.get('what', 'the release did not come to its end')}."
            self.fix = str(error.get("fix", "run `tetraodon release` in a terminal"))

    def document(self) -> dict[str, object]:
        """For the page that waits."""
        with self._lock:
            done = self.folder is not None
            return {"running": self.running, "status": self.status, "fix": self.fix, "done": done}
