"""The notebook of a release folder: it loads the folder and shows every answer with its chart, its error and its rows.

It needs Tetraodon and a Jupyter kernel, nothing else. The same release always makes the same notebook: it has not been
run, so it holds no output.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import Any

from tetraodon.releasing.release import Release
from tetraodon.report.rounding import date_text

NOTEBOOK = "release.ipynb"


def notebook_text(release: Release) -> str:
    """release.ipynb, in the fourth version of the notebook format."""
    cells = [cell | {"id": f"cell-{place}"} for place, cell in enumerate(_cells(release), 1)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    document = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _cells(release: Release) -> Iterator[dict[str, Any]]:
    policy = release.plan.policy
    yield _text(
        f"# {policy.title or policy.dataset}",
        f"Released on {date_text(release.when)} with Tetraodon (`pip install tetraodon`). Run this notebook in the "
        "release folder, or in a copy of it: a notebook that is saved has changed, and `tetraodon verify` will say so.",
    )
    yield _code("import tetraodon as td", "", 'release = td.load_release(".")', "release.plan.policy")
    for answer in release:
        yield _text(f"## {answer.name}", answer.sentence)
        yield _code(f"release[{json.dumps(answer.name)}]")
    for named in release.names.values():
        yield _text(f"## {named.name}", named.item.sentence)
        yield _code(f"release.names[{json.dumps(named.name)}]")


def _text(*paragraphs: str) -> dict[str, Any]:
    """Words of the policy stay words: what they hold is not read as HTML."""
    told = "\n\n".join(html.escape(paragraph, quote=False) for paragraph in paragraphs)
    return {"cell_type": "markdown", "metadata": {}, "source": told}


def _code(*lines: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": "\n".join(lines),
    }
