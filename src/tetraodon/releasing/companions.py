"""What stands beside the answers for others to read: a notebook, and descriptions of the tables in open formats.

Folders of earlier days have none of these files. One that has any of them has all.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import Any

from tetraodon.releasing.json_stat import is_json_table, json_stat_text
from tetraodon.releasing.plan import Plan
from tetraodon.releasing.release import Release
from tetraodon.releasing.table_metadata import CSV_ON_THE_WEB, PACKAGE, package_text, web_text
from tetraodon.report.rounding import date_text


def companion_names(plan: Plan) -> tuple[str, ...]:
    """The files that go with the answers of a plan."""
    return (NOTEBOOK, PACKAGE, CSV_ON_THE_WEB, *json_tables(plan).values())


def json_tables(plan: Plan) -> dict[str, str]:
    """The items whose answers are written as JSON-stat too, each with its file."""
    return {item.name: f"answers/{item.name}.json" for item in plan if is_json_table(item, plan.policy.domain)}


def companion_texts(release: Release) -> dict[str, str]:
    """Each of them with what it holds. The same release always makes the same."""
    policy = release.plan.policy
    found = {NOTEBOOK: notebook_text(release), PACKAGE: package_text(release), CSV_ON_THE_WEB: web_text(release)}
    for name, file in json_tables(release.plan).items():
        found[file] = json_stat_text(release[name], policy.title or policy.dataset, release.when)
    return found


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
