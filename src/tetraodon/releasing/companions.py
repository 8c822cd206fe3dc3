"""What stands beside the answers for others to read: a notebook, and descriptions of the tables in open formats.

Folders of earlier days have none of these files. One that has any of them has all.
"""

from __future__ import annotations

from tetraodon.releasing.notebook_file import NOTEBOOK, notebook_text
from tetraodon.releasing.plan import Plan
from tetraodon.releasing.release import Release


def companion_names(plan: Plan) -> tuple[str, ...]:  # noqa: ARG001 - tables will have theirs
    """The files that go with the answers of a plan."""
    return (NOTEBOOK,)


def companion_texts(release: Release) -> dict[str, str]:
    """Each of them with what it holds. The same release always makes the same."""
    return {NOTEBOOK: notebook_text(release)}
