"""Which packages of `requirements-dev.lock` a plain installation needs: they are `requirements.lock`.

    python -m scripts.lock             # writes requirements.lock
    python -m scripts.lock --check     # fails if it is not what is needed

`requirements-dev.lock` holds everything that tests, checks, documentation and engines need, with hashes. What belongs
to `make demo` is what the package itself requires, and what builds it; each entry is the same in both files.
"""

from __future__ import annotations

import re
import sys
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


def plain_lock() -> str:
    """What `requirements.lock` has to say."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    every = entries(DEV.read_text(encoding="utf-8"))
    names = needed([*project["dependencies"], *BUILDING], every)
    return "".join(every[name] for name in sorted(names))


def main() -> None:
    wanted = plain_lock()
    if "--check" in sys.argv:
        if PLAIN.read_text(encoding="utf-8") != wanted:
            sys.exit("requirements.lock is not what is needed. Fix: python -m scripts.lock")
        return
    PLAIN.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()
