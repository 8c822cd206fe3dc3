"""The versions and hashes that are installed: `requirements-dev.lock`, and the part of it that is `requirements.lock`.

    python -m scripts.lock             # writes both; what is locked stays where pyproject.toml allows it
    python -m scripts.lock --upgrade   # writes both, with the newest versions
    python -m scripts.lock --plain     # writes requirements.lock from requirements-dev.lock
    python -m scripts.lock --check     # fails if requirements.lock is not what is needed

`requirements-dev.lock` holds everything that tests, checks, documentation and engines need, with hashes, for all
machines at once, which `uv` works out. What belongs to `make demo` is what the package itself requires, and what builds
it; each entry is the same in both files. Neither says where packages come from.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Collection, Iterable
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
DEV, PLAIN = ROOT / "requirements-dev.lock", ROOT / "requirements.lock"
BUILDING = ("hatchling", "editables")


def entries(text: str) -> dict[str, str]:
    """The lines of each package of a lock file; a package may have several versions, for several Pythons."""
    found: dict[str, str] = {}
    for part in re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE):
        if part.strip():
            name = canonicalize_name(part.split("==")[0])
            found[name] = found.get(name, "") + part
    return found


def needed(wanted: Iterable[str], locked: Collection[str]) -> set[str]:
    """The locked names among these requirements and whatever they require in turn, on any machine."""
    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    todo = [(Requirement(each), "") for each in wanted]
    while todo:
        requirement, extra = todo.pop()
        name = canonicalize_name(requirement.name)
        if name not in locked or not _may_hold(requirement, extra):
            continue
        found.add(name)
        for more in {"", *requirement.extras} - {known for one, known in seen if one == name}:
            seen.add((name, more))
            todo += [(each, more) for each in _below(name)]
    return found


def _may_hold(requirement: Requirement, extra: str) -> bool:
    """Whether a requirement may count on some machine: one for an extra counts with that extra only."""
    extras = re.findall(r"""extra == ["']([^"']+)["']""", str(requirement.marker or ""))
    return not extras or extra in extras


def _below(name: str) -> list[Requirement]:
    try:
        return [Requirement(each) for each in requires(name) or ()]
    except PackageNotFoundError:  # for another machine than this one
        return []


def only_entries(text: str) -> str:
    """A lock file without remarks and without options, which may name an index."""
    lines = (line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    return "".join(f"{line}\n" for line in lines if not re.match(r"\s*-(?!-hash=)", line))


def dev_lock(*options: str) -> str:
    """What `requirements-dev.lock` has to say, from the index that `uv` is set up with."""
    tool = shutil.which("uv")
    if tool is None:
        sys.exit("uv is not here, which resolves for all machines at once. Fix: install uv, or use --plain")
    shape = ("--universal", "--python-version", "3.11", "--all-extras", "--generate-hashes", "--no-header")
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / DEV.name
        shutil.copy(DEV, made)  # versions that are locked are taken from there
        command = [tool, "pip", "compile", "--quiet", *shape, "--no-annotate", *options, "--output-file", str(made)]
        if subprocess.run([*command, str(ROOT / "pyproject.toml")], check=False).returncode:
            sys.exit("uv found no versions that go together. Fix: see what it says above")
        return only_entries(made.read_text(encoding="utf-8"))


def plain_lock() -> str:
    """What `requirements.lock` has to say."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    every = entries(DEV.read_text(encoding="utf-8"))
    names = needed([*project["dependencies"], *BUILDING], every)
    return "".join(every[name] for name in sorted(names))


def main() -> None:
    if "--check" in sys.argv:
        if PLAIN.read_text(encoding="utf-8") != plain_lock():
            sys.exit("requirements.lock is not what is needed. Fix: python -m scripts.lock --plain")
        return
    if "--plain" not in sys.argv:
        DEV.write_text(dev_lock(*(option for option in sys.argv[1:] if option == "--upgrade")), encoding="utf-8")
    PLAIN.write_text(plain_lock(), encoding="utf-8")


if __name__ == "__main__":
    main()
