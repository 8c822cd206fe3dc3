"""The versions and hashes that are installed: `requirements-dev.lock`, and the parts of it that are `requirements.lock`
and, with the driver of Postgres, `requirements-server.lock`.

    python -m scripts.lock             # writes all; what is locked stays where pyproject.toml allows it
    python -m scripts.lock --upgrade   # writes all, with the newest versions
    python -m scripts.lock --plain     # writes the parts from requirements-dev.lock
    python -m scripts.lock --check     # fails if the parts are not what is needed

`requirements-dev.lock` holds everything that tests, checks, documentation and engines need, with hashes, for all
machines at once, which `uv` works out. `make demo` needs what the package requires, what builds it and the extra `web`,
without which there is no studio; the container of `deploy/` needs that and the extra `postgres`. Each entry is the same
in all files, and none says where packages come from.
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
DEV, PLAIN, SERVER = (ROOT / f"requirements{part}.lock" for part in ("-dev", "", "-server"))
PARTS: dict[Path, tuple[str, ...]] = {PLAIN: ("web",), SERVER: ("web", "postgres")}
"""The files that are parts of the first, and the extras that each has."""
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


def part_lock(*extras: str) -> str:
    """What a file has to say that has these extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    every = entries(DEV.read_text(encoding="utf-8"))
    more = [each for extra in extras for each in project["optional-dependencies"][extra]]
    names = needed([*project["dependencies"], *BUILDING, *more], every)
    return "".join(every[name] for name in sorted(names))


def main() -> None:
    if "--check" in sys.argv:
        for path, extras in PARTS.items():
            if path.read_text(encoding="utf-8") != part_lock(*extras):
                sys.exit(f"{path.name} is not what is needed. Fix: python -m scripts.lock --plain")
        return
    if "--plain" not in sys.argv:
        DEV.write_text(dev_lock(*(option for option in sys.argv[1:] if option == "--upgrade")), encoding="utf-8")
    for path, extras in PARTS.items():
        path.write_text(part_lock(*extras), encoding="utf-8")


if __name__ == "__main__":
    main()
