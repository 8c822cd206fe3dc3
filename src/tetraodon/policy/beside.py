"""Files that a policy names: they are in its own folder, or are not opened.

A policy may come from somebody else, and what it names is published: known figures and blocks in every release, public
tables in every view. So it must not name other files of this machine, and one that came without a folder names none.
"""

from __future__ import annotations

from pathlib import Path

from tetraodon.errors import PolicyError


def beside(folder: Path | None, name: str) -> Path:
    """The path of a file that a policy in `folder` names; refused where that is elsewhere, or there is no folder.

    >>> beside(Path("policies"), "counties.csv").name
    'counties.csv'
    """
    if folder is None:
        raise PolicyError(
            "a policy that comes without its folder names no files",
            fix="write what is in the file into the policy itself",
        )
    path = folder / name
    try:
        inside = not Path(name).is_absolute() and path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # links in a circle, or a name that no file can have
        inside = False
    if not inside:
        raise PolicyError(
            "a file is named that is outside the policy's folder",
            fix="put it beside the policy, and name that: what a policy names is published with its releases",
        )
    return path
